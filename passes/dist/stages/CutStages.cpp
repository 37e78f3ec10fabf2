// Cuts programs into the stages of a pipeline.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/Passes.h"
#include "passes/dist/RequireMesh.h"

#include "dialects/dist/IR/ScheduleAttrs.h"
#include "passes/dist/Reasons.h"
#include "passes/dist/stages/ScheduleRating.h"
#include "passes/dist/stages/StageAssignment.h"
#include "passes/dist/stages/StageRows.h"
#include "passes/dist/stages/StageSchedule.h"

#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;

namespace weft::dist {
#define GEN_PASS_DEF_DISTCUTSTAGES
#include "passes/dist/Passes.h.inc"

namespace {

/// Writes an assignment into a program's types, with a reshard wherever a value is read on a stage
/// that does not hold it.
class StageWriter {
public:
  StageWriter(func::FuncOp function, MeshAttr mesh, AxisId axis, ArrayRef<int32_t> place,
              StageAssignment &chunks)
      : function(function), mesh(mesh), axis(axis), place(place), chunks(chunks),
        everywhere(stagesOf(chunks.everywhere())) {}

  void run(const StateHomes &homes) {
    Block &body = function.getBody().front();
    for (BlockArgument argument : body.getArguments())
      hold(argument, stagesOf(chunks.ofArgument(argument.getArgNumber())));
    for (Operation &op : llvm::make_early_inc_range(body.without_terminator())) {
      SmallVector<int64_t> where = stagesOf(chunks.of(&op));
      bool addsUp = chunks.addsUp(&op);
      for (OpOperand &operand : op.getOpOperands())
        if (addsUp)
          operand.set(asPart(operand.get(), &op));
        else if (!isa<ReshardOp>(op) || !isPart(operand.get()))
          operand.set(brought(operand.get(), where, &op));
      for (Value result : op.getResults())
        if (addsUp)
          result.setType(partType(result));
        else
          hold(result, where);
      // Who holds a value does not say of which chunk it is where a stage has several.
      if (place.size() > everywhere.size() && chunks.of(&op).size() < place.size())
        op.setAttr(kChunksAttr, DenseI64ArrayAttr::get(op.getContext(), chunks.of(&op)));
    }
    Operation *end = body.getTerminator();
    for (OpOperand &result : end->getOpOperands()) {
      StringAttr state = nn::updatedState(function, result.getOperandNumber());
      auto home = state ? homes.find(state.getValue()) : homes.end();
      // An output is where it is made.
      if (state || isPart(result.get()))
        result.set(brought(result.get(), home == homes.end() ? everywhere : stagesOf(home->second),
                           end, /*exactly=*/true));
    }
    updateFunctionType(function);
    recordReasons(function, mesh);
  }

private:
  SmallVector<int64_t> stagesOf(ArrayRef<int64_t> list) const {
    SmallVector<int64_t> where;
    for (int64_t chunk : list)
      where.push_back(place[chunk]);
    llvm::sort(where);
    where.erase(llvm::unique(where), where.end());
    return where;
  }

  static const Placement &placementOf(Value value) {
    return getPlacement(value.getType()).getValue();
  }

  bool isOfAxis(const PartialAxis &partial) const { return partial.axis == axis; }

  /// Whether each stage has its part of a sum over all of them.
  bool isPart(Value value) const {
    return llvm::any_of(placementOf(value).partial,
                        [&](const PartialAxis &partial) { return isOfAxis(partial); });
  }

  Type partType(Value value) const {
    Placement part = placementOf(value);
    part.held.reset();
    part.partial.push_back({axis, ReduceKind::Sum});
    llvm::sort(part.partial,
               [](const PartialAxis &a, const PartialAxis &b) { return a.axis < b.axis; });
    return placedType(cast<RankedTensorType>(value.getType()), mesh,
                      canonicalize(mesh.getValue(), std::move(part)));
  }

  /// The value as a part of a sum: the first of the stages that hold it has all of it, others
  /// nothing.
  Value asPart(Value value, Operation *reader) {
    if (isPart(value))
      return value;
    Value &part = parts[value];
    if (!part) {
      OpBuilder builder(reader);
      part = ReshardOp::create(builder, reader->getLoc(), partType(value), value);
    }
    return part;
  }

  Placement onStages(const Placement &placement, ArrayRef<int64_t> where) const {
    Placement held = placement;
    llvm::erase_if(held.partial, [&](const PartialAxis &partial) { return isOfAxis(partial); });
    held.held = Held{axis, llvm::to_vector_of<int64_t, 0>(where)};
    return canonicalize(mesh.getValue(), std::move(held));
  }

  Type typeOn(Value value, ArrayRef<int64_t> where) const {
    return placedType(cast<RankedTensorType>(value.getType()), mesh,
                      onStages(placementOf(value), where));
  }

  void hold(Value value, ArrayRef<int64_t> where) { value.setType(typeOn(value, where)); }

  /// How far the nearest of the stages that hold `value` is from those where it is wanted.
  int64_t distance(Value value, ArrayRef<int64_t> where) const {
    const std::optional<Held> &held = placementOf(value).held;
    int64_t least = std::numeric_limits<int64_t>::max();
    for (int64_t stage : held->stages)
      for (int64_t wanted : where)
        least = std::min(least, std::abs(stage - wanted));
    return least;
  }

  /// The value on these stages: itself, a copy that is there already, or a new one, from the
  /// nearest copy, so that what many stages read is handed on from one to the next. Scalars go to
  /// all at once.
  Value brought(Value value, ArrayRef<int64_t> where, Operation *reader, bool exactly = false) {
    Placement wanted = onStages(placementOf(value), where);
    auto serves = [&](Value copy) {
      if (isPart(copy))
        return false;
      return exactly ? placementOf(copy).held == wanted.held
                     : isHeldWithin(wanted, placementOf(copy));
    };
    if (serves(value))
      return value;
    SmallVector<Value> &known = copies[value];
    if (auto *copy = llvm::find_if(known, serves); copy != known.end())
      return *copy;
    Value nearest = value;
    for (Value copy : known)
      if (placementOf(nearest).held && placementOf(copy).held &&
          distance(copy, where) < distance(nearest, where))
        nearest = copy;
    OpBuilder builder(reader);
    Type type = typeOn(value, isScalar(value) && !exactly ? ArrayRef<int64_t>(everywhere) : where);
    known.push_back(ReshardOp::create(builder, reader->getLoc(), type, nearest));
    return known.back();
  }

  func::FuncOp function;
  MeshAttr mesh;
  AxisId axis;
  ArrayRef<int32_t> place;
  StageAssignment &chunks;
  SmallVector<int64_t> everywhere;
  /// Of a value: the same on other stages, in the order in which they were made.
  DenseMap<Value, SmallVector<Value>> copies;
  DenseMap<Value, Value> parts; ///< of a sum over stages
};

struct CutStages : impl::DistCutStagesBase<CutStages> {
  using DistCutStagesBase::DistCutStagesBase;

  void runOnOperation() override {
    MeshAttr mesh = requireMesh(getOperation());
    if (!mesh)
      return signalPassFailure();
    std::optional<AxisId> axis = mesh.getValue().stageAxis();
    if (!axis || mesh.getValue().size(*axis) == 1)
      return markAllAnalysesPreserved();
    int64_t size = mesh.getValue().size(*axis);
    FailureOr<CostModel> costs = costModelOf(getOperation(), mesh.getValue());
    if (failed(costs))
      return signalPassFailure();
    std::vector<RatedSchedule> rated;
    ScheduleRequest request = requestOf(schedule);
    bool isSearch = request == ScheduleRequest::Search,
         isOpen = isSearch || request == ScheduleRequest::Best;
    if (isOpen) {
      FailureOr<std::vector<RatedSchedule>> all =
          isSearch ? searchSchedule(getOperation(), *costs, stages, stageCosts)
                   : rateSchedules(getOperation(), *costs, stages, stageCosts);
      if (failed(all))
        return signalPassFailure();
      rated = std::move(*all);
    }
    // Where none fits the cut tells why.
    std::string name = !rated.empty() ? rated.front().name
                       : isOpen       ? std::string("1f1b")
                                      : std::string(schedule);
    int64_t microbatches = mesh.getValue().groupSize(mesh.getValue().temporalAxes());
    llvm::Expected<pipeline::Schedule> chosen =
        rated.empty() ? scheduleOf(name, size, microbatches)
                      : llvm::Expected<pipeline::Schedule>(rated.front().schedule);
    if (!chosen) {
      getOperation().emitError() << llvm::toString(chosen.takeError());
      return signalPassFailure();
    }
    if (isSearch)
      getOperation()->setAttr(kScheduleSearchedAttr, UnitAttr::get(&getContext()));
    // What was searched for before the cut is written out, too.
    if (request == ScheduleRequest::Written)
      name = getOperation()->hasAttr(kScheduleSearchedAttr) ? kSearch.str() : "as written";
    ArrayRef<int32_t> place = chosen->place;
    setPlace(getOperation(), place, size);
    StateHomes homes;
    for (auto [index, function] : llvm::enumerate(programsByLead(getOperation()))) {
      StageAssignment chunks(function, place);
      if (index > 0) {
        chunks.follow(homes);
      } else {
        FailureOr<OpCosts> ops = opCostsOf(function, chunks, *costs, stageCosts);
        if (failed(ops) || failed(chunks.cut(*ops, stages, homes)))
          return signalPassFailure();
        chunks.tellNotAsAsked(stages);
        if (getOperation()->hasAttr(kRecordedAttr))
          chunks.recordStages();
        tell(function, name, *chosen, rated, chunks, *ops);
      }
      StageWriter(function, mesh, *axis, place, chunks).run(homes);
    }
    getOperation()->removeAttr(kNodeStagesAttr);
  }

private:
  /// Leaves word of the schedule, for what comes later, why it is this one, and of the chunks.
  void tell(func::FuncOp function, std::string name, const pipeline::Schedule &schedule,
            ArrayRef<RatedSchedule> all, StageAssignment &cut, const OpCosts &costs) {
    cut.tellUneven(costs);
    pipeline::Costs each = chunkCosts(function, cut, costs);
    getOperation()->setAttr(
        kChunkRowsAttr, writeChunkRows(&getContext(), chunkRows(function, cut, costs.model().mesh(),
                                                                schedule, each)));
    RatedSchedule own = rate(std::move(name), schedule, each, cut.meet());
    Builder builder(&getContext());
    std::string text;
    llvm::raw_string_ostream stream(text);
    int64_t ranks = own.schedule.ranks.size(), chunks = own.schedule.place.size();
    stream << own.name << " of " << ranks << " stages";
    if (chunks != ranks)
      stream << " with " << chunks << " chunks";
    stream << llvm::format(": ranks idle %.1f %% of a step, %.1f %% of their own time",
                           100 * own.wallBubble, 100 * own.spanBubble);
    if (all.size() > 1) {
      stream << "; others by modelled times: ";
      llvm::interleaveComma(all.drop_front(), stream, [&](const RatedSchedule &other) {
        // Rounded here: what is as long but for rounding has no minus.
        double more = std::round(1000 * (other.seconds / own.seconds - 1)) / 10;
        stream << other.name << llvm::format(" %+.1f %%", more == 0 ? 0.0 : more);
      });
    }
    getOperation()->setAttr(kScheduleAttr,
                            builder.getStringAttr(pipeline::writeSchedule(own.schedule)));
    getOperation()->setAttr(kScheduleReasonAttr, builder.getStringAttr(text));
  }
};

} // namespace
} // namespace weft::dist
