// Makes a module of each stage's part of the programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/Passes.h"
#include "passes/dist/RequireMesh.h"

#include "dialects/dist/IR/ChunkRows.h"
#include "dialects/dist/IR/ScheduleAttrs.h"
#include "dialects/nn/IR/NnProgram.h"
#include "dialects/rt/IR/Rt.h"
#include "passes/dist/stages/StageProgram.h"
#include "passes/dist/stages/StageSchedule.h"
#include "weft/Support/InputError.h"

using namespace mlir;

namespace weft::dist {
#define GEN_PASS_DEF_DISTPROJECTSTAGES
#include "passes/dist/Passes.h.inc"

namespace {

struct ProjectStages : impl::DistProjectStagesBase<ProjectStages> {
  using DistProjectStagesBase::DistProjectStagesBase;

  void runOnOperation() override {
    MeshAttr meshAttr = requireMesh(getOperation());
    if (!meshAttr)
      return signalPassFailure();
    const Mesh &mesh = meshAttr.getValue();
    std::optional<AxisId> axis = mesh.stageAxis();
    if (!axis || mesh.size(*axis) == 1)
      return markAllAnalysesPreserved();
    if (failed(requireLocal()))
      return signalPassFailure();
    AxisList temporal = mesh.temporalAxes();
    std::string text = schedule;
    if (auto cut = getOperation()->getAttrOfType<StringAttr>(kScheduleAttr);
        cut && wantsThatOfCut())
      text = cut.str();
    llvm::Expected<pipeline::Schedule> chosen =
        scheduleOf(text, mesh.size(*axis), mesh.groupSize(temporal));
    if (!chosen) {
      emitInputError(getOperation()) << llvm::toString(chosen.takeError());
      return signalPassFailure();
    }
    std::vector<int32_t> place = placeOf(getOperation(), mesh.size(*axis));
    if (chosen->place != place) {
      emitInputError(getOperation())
          << "the schedule has chunks of the model on stages " << chosen->place
          << ", but it was cut for chunks on stages " << place
          << "; choose a schedule for these, or cut the model anew (phase sharded)";
      return signalPassFailure();
    }
    getOperation()->removeAttr(kPlaceAttr);
    getOperation()->removeAttr(kScheduleSearchedAttr);
    std::string written = pipeline::writeSchedule(*chosen);
    if (auto cut = getOperation()->removeAttr(kScheduleAttr);
        cut != StringAttr::get(&getContext(), written)) {
      getOperation()->removeAttr(kScheduleReasonAttr);
      getOperation()->removeAttr(kChunkRowsAttr);
    }
    if (!temporal.empty())
      getOperation()->setAttr(kScheduleAttr, StringAttr::get(&getContext(), written));
    bool splitsWeights = llvm::any_of(chosen->ranks, [](const auto &actions) {
      return llvm::any_of(actions, [](const pipeline::Action &action) {
        return action.kind == pipeline::Kind::Weight;
      });
    });
    SmallVector<ModuleOp> modules = makeModules(meshAttr, mesh.size(*axis));
    NamedAttrList ports;
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      ports.set(function.getSymNameAttr(), portsOf(function));
      StageSections sections(function, place, mesh.size(*axis), splitsWeights);
      StagePrograms programs(function, meshAttr, *axis, sections);
      programs.project(modules);
      programs.eraseDead();
      programs.order(*chosen);
      function.erase();
    }
    getOperation()->setAttr(rt::kPortsAttr, ports.getDictionary(&getContext()));
  }

private:
  LogicalResult requireLocal() {
    WalkResult found = getOperation().walk([](Operation *op) {
      for (Value result : op->getResults())
        if (isa<RankedTensorType>(result.getType()) && !getLocal(result.getType())) {
          op->emitOpError("is of all devices; run dist-partition before");
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    return failure(found.wasInterrupted());
  }

  /// Whether `schedule` asks for what the program was cut for.
  bool wantsThatOfCut() {
    ScheduleRequest request = requestOf(schedule);
    return request == ScheduleRequest::Best ||
           (request == ScheduleRequest::Search && getOperation()->hasAttr(kScheduleSearchedAttr));
  }

  /// Inputs and outputs in their order. What has no name gets that of its number here, because a
  /// stage counts only those that it has.
  static ArrayAttr portsOf(func::FuncOp program) {
    Builder builder(program.getContext());
    SmallVector<Attribute> inputs, outputs;
    for (unsigned number = 0; number < program.getNumArguments(); ++number) {
      if (nn::isState(program, number))
        continue;
      if (!program.getArgAttr(number, nn::kNameAttr))
        program.setArgAttr(number, nn::kNameAttr, builder.getStringAttr("input" + Twine(number)));
      inputs.push_back(program.getArgAttr(number, nn::kNameAttr));
    }
    for (unsigned number = 0; number < program.getNumResults(); ++number) {
      if (nn::updatedState(program, number))
        continue;
      if (!program.getResultAttr(number, nn::kNameAttr))
        program.setResultAttr(number, nn::kNameAttr,
                              builder.getStringAttr("output" + Twine(number)));
      outputs.push_back(program.getResultAttr(number, nn::kNameAttr));
    }
    return builder.getArrayAttr({builder.getArrayAttr(inputs), builder.getArrayAttr(outputs)});
  }

  SmallVector<ModuleOp> makeModules(MeshAttr mesh, int64_t stages) {
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    SmallVector<ModuleOp> modules;
    for (int64_t stage = 0; stage < stages; ++stage) {
      auto module = ModuleOp::create(builder, getOperation().getLoc(),
                                     StringRef("stage" + std::to_string(stage)));
      module->setAttr(rt::kStageAttr, builder.getI64IntegerAttr(stage));
      module->setAttr(kMeshAttr, mesh);
      modules.push_back(module);
    }
    return modules;
  }
};

} // namespace
} // namespace weft::dist
