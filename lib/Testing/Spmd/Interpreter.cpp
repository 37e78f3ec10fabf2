// Lockstep execution of one program by all devices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Testing/Spmd/Interpreter.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/NnProgram.h"
#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Testing/Spmd/Shards.h"

#include "llvm/ADT/DenseMap.h"

#include <map>

using namespace mlir;

namespace weft {

namespace {

class Interpreter {
public:
  /// `stage`: the only one whose devices run the function.
  Interpreter(func::FuncOp function, double tolerance, std::string *why,
              std::optional<int64_t> stage = {})
      : function(function), mesh(dist::getMesh(function).getValue()), tolerance(tolerance),
        why(why), stage(stage) {}

  std::optional<std::vector<HostTensor>> run(ArrayRef<HostTensor> inputs) {
    for (auto [argument, input] : llvm::zip_equal(function.getArguments(), inputs))
      values[argument] = distribute(mesh, placementOf(argument), input);
    Block &body = function.getBody().front();
    for (Operation &op : body.without_terminator())
      if (!runOp(&op))
        return std::nullopt;
    std::vector<HostTensor> results;
    for (auto [index, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
      std::string text;
      auto whole = assemble(mesh, placementOf(value), values.at(value), tolerance, &text);
      if (!whole) {
        fail("result " + std::to_string(index) + ": " + text);
        return std::nullopt;
      }
      results.push_back(std::move(*whole));
    }
    return results;
  }

  static const Placement &placementOf(Value value) {
    return dist::getLocal(value.getType()).getValue();
  }

  /// Whether the device runs the function at all.
  bool runs(ArrayRef<int64_t> coordinates) const {
    return !stage || coordinates[*mesh.stageAxis()] == *stage;
  }

  bool fail(const std::string &text) {
    if (why)
      *why = text;
    return false;
  }

  /// All microbatches in lockstep: the body lets none see another, so that their
  /// order does not matter before they are brought together.
  bool runLoop(dist::RepeatOp loop) {
    Block &body = loop.getBody().front();
    for (Operation &op : body.without_terminator())
      if (!runOp(&op))
        return false;
    return endLoop(loop);
  }

  bool endLoop(dist::RepeatOp loop) {
    Block &body = loop.getBody().front();
    AxisList axes = mesh.resolve(loop.getAxis());
    for (auto [input, result] :
         llvm::zip_equal(body.getTerminator()->getOperands(), loop.getResults())) {
      std::optional<Combination> combination =
          combinationOver(mesh, placementOf(input), axes.front());
      CollectiveGeometry geometry = geometryOf(mesh, combination->kind, axes, combination->dim, -1,
                                               placementOf(input), placementOf(result));
      ArrayRef<int64_t> shape = cast<RankedTensorType>(result.getType()).getShape();
      if (!define(result, runTransition(mesh, geometry, shape, values.at(input))))
        return false;
    }
    return true;
  }

  bool runOp(Operation *op) {
    if (auto loop = dyn_cast<dist::RepeatOp>(op))
      return runLoop(loop);
    if (auto body = dyn_cast<DeviceBodyOpInterface>(op)) {
      Shards result;
      for (auto [rank, local] : llvm::enumerate(values.at(op->getOperand(0)))) {
        SmallVector<int64_t, 4> coordinates = mesh.coordinates(rank);
        bool isHere = runs(coordinates) && isHeldAt(placementOf(op->getResult(0)), coordinates);
        result.push_back(isHere ? body.evaluateOn(coordinates, local) : HostTensor());
      }
      return define(op->getResult(0), std::move(result));
    }
    if (auto transition = dyn_cast<TransitionOpInterface>(op)) {
      auto type = cast<RankedTensorType>(op->getResult(0).getType());
      return define(op->getResult(0), runTransition(mesh, transition.getGeometry(), type.getShape(),
                                                    values.at(op->getOperand(0))));
    }
    auto reference = dyn_cast<ReferenceOpInterface>(op);
    if (!reference)
      return fail("op '" + op->getName().getStringRef().str() + "' has no reference");
    SmallVector<Shards> results(op->getNumResults());
    for (int64_t rank = 0, end = mesh.deviceCount(); rank < end; ++rank) {
      if (SmallVector<int64_t, 4> coordinates = mesh.coordinates(rank);
          !runs(coordinates) || !isHeldAt(placementOf(op->getResult(0)), coordinates)) {
        for (Shards &shards : results)
          shards.emplace_back();
        continue;
      }
      SmallVector<HostTensor> operands;
      for (Value operand : op->getOperands()) {
        operands.push_back(values.at(operand)[rank]);
        if (isAbsent(operands.back()))
          return fail("op '" + op->getName().getStringRef().str() + "' reads what process rank " +
                      std::to_string(rank) + " does not hold");
      }
      for (auto [index, result] : llvm::enumerate(reference.evaluate(operands)))
        results[index].push_back(std::move(result));
    }
    for (auto [index, shards] : llvm::enumerate(results))
      if (!define(op->getResult(index), std::move(shards)))
        return false;
    return true;
  }

  bool define(Value value, Shards shards) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
    for (auto [rank, local] : llvm::enumerate(shards)) {
      SmallVector<int64_t, 4> coordinates = mesh.coordinates(rank);
      if (!runs(coordinates) || !isHeldAt(placementOf(value), coordinates))
        local = HostTensor();
      else if (isAbsent(local) || ArrayRef<int64_t>(local.shape) != shape)
        return fail("an op made another shape than its type says");
    }
    poisonPadding(mesh, placementOf(value), shards);
    values[value] = std::move(shards);
    return true;
  }

  func::FuncOp function;
  const Mesh &mesh;
  double tolerance;
  std::string *why;
  std::optional<int64_t> stage;
  llvm::DenseMap<Value, Shards> values;
};

/// Runs the programs of all stages, each as far as it gets without the others. All microbatches go
/// in lockstep, so that of the order of their steps nothing is seen.
class StagesInterpreter {
public:
  StagesInterpreter(ArrayRef<func::FuncOp> programs, double tolerance) : tolerance(tolerance) {
    for (func::FuncOp program : programs) {
      stages.push_back(
          {Interpreter(program, tolerance, &wrong, int64_t(stages.size())), program, {}});
      list(program.getBody().front(), stages.back().ops);
    }
  }

  llvm::Expected<llvm::StringMap<HostTensor>> interpret(const llvm::StringMap<HostTensor> &inputs) {
    if (auto found = run(inputs))
      return std::move(*found);
    return llvm::createStringError(wrong);
  }

private:
  std::optional<llvm::StringMap<HostTensor>> run(const llvm::StringMap<HostTensor> &inputs) {
    for (Stage &stage : stages)
      for (BlockArgument argument : stage.program.getArguments()) {
        auto input = inputs.find(nn::argumentName(stage.program, argument.getArgNumber()));
        Shards shards =
            distribute(meshOf(stage), Interpreter::placementOf(argument), input->second);
        if (!stage.interpreter.define(argument, std::move(shards)))
          return std::nullopt;
      }
    bool moved = true;
    while (std::exchange(moved, false)) {
      for (auto [number, stage] : llvm::enumerate(stages))
        while (stage.next < stage.ops.size() && canRun(stage, number)) {
          if (!runNext(stage, int64_t(number)))
            return std::nullopt;
          moved = true;
        }
      if (!moved &&
          llvm::all_of(stages, [](Stage &stage) { return stage.next < stage.ops.size(); })) {
        if (!runSum())
          return std::nullopt;
        moved = true;
      }
    }
    if (llvm::any_of(stages, [](Stage &stage) { return stage.next < stage.ops.size(); }))
      return fail("stages wait for each other");
    return results();
  }

  struct Stage {
    Interpreter interpreter;
    func::FuncOp program;
    std::vector<Operation *> ops; // with those of loops, and their ends
    size_t next = 0;
  };

  std::nullopt_t fail(const std::string &text) {
    wrong = text;
    return std::nullopt;
  }

  static const Mesh &meshOf(Stage &stage) { return dist::getMesh(stage.program).getValue(); }

  static void list(Block &block, std::vector<Operation *> &ops) {
    for (Operation &op : block) {
      if (auto loop = dyn_cast<dist::RepeatOp>(op))
        list(loop.getBody().front(), ops);
      else if (!isa<func::ReturnOp>(op))
        ops.push_back(&op);
    }
  }

  static bool isSum(Operation *op) {
    return dist::crossesStages(op) && !isa<dist::SendOp, dist::ReceiveOp>(op);
  }

  bool canRun(Stage &stage, int64_t number) {
    Operation *op = stage.ops[stage.next];
    auto receive = dyn_cast<dist::ReceiveOp>(op);
    return !isSum(op) &&
           !(receive && !sent.count({receive.getPeer(), number, receive.getChannel().str()}));
  }

  bool runNext(Stage &stage, int64_t number) {
    Operation *op = stage.ops[stage.next++];
    if (auto send = dyn_cast<dist::SendOp>(op)) {
      sent[{number, send.getPeer(), send.getChannel().str()}] =
          stage.interpreter.values.at(send.getInput());
      return true;
    }
    if (auto receive = dyn_cast<dist::ReceiveOp>(op)) {
      const Mesh &mesh = meshOf(stage);
      Shards &from = sent.at({receive.getPeer(), number, receive.getChannel().str()}), here;
      for (int64_t rank = 0; rank < mesh.deviceCount(); ++rank) {
        SmallVector<int64_t, 4> coordinates = mesh.coordinates(rank);
        coordinates[*mesh.stageAxis()] = receive.getPeer();
        here.push_back(from[mesh.rank(coordinates)]);
      }
      return stage.interpreter.define(receive.getResult(), std::move(here));
    }
    if (isa<dist::AccumulateOp>(op))
      return stage.interpreter.endLoop(cast<dist::RepeatOp>(op->getParentOp()));
    return stage.interpreter.runOp(op);
  }

  /// What all stages do together, with what each of them has.
  bool runSum() {
    Operation *first = stages.front().ops[stages.front().next];
    const Mesh &mesh = meshOf(stages.front());
    Shards all(mesh.deviceCount());
    for (auto [number, stage] : llvm::enumerate(stages)) {
      Operation *op = stage.ops[stage.next];
      if (!isSum(op) || op->getName() != first->getName()) {
        fail("stages wait for each other");
        return false;
      }
      const Shards &own = stage.interpreter.values.at(op->getOperand(0));
      for (int64_t rank = 0; rank < mesh.deviceCount(); ++rank)
        if (!isAbsent(own[rank]))
          all[rank] = own[rank];
    }
    auto transition = cast<TransitionOpInterface>(first);
    ArrayRef<int64_t> shape = cast<RankedTensorType>(first->getResult(0).getType()).getShape();
    Shards made = runTransition(mesh, transition.getGeometry(), shape, all);
    for (Stage &stage : stages)
      if (!stage.interpreter.define(stage.ops[stage.next++]->getResult(0), made))
        return false;
    return true;
  }

  /// Each is put together from the stages that have it.
  std::optional<llvm::StringMap<HostTensor>> results() {
    struct Parts {
      Placement placement;
      Shards shards;
    };
    llvm::StringMap<Parts> parts;
    for (auto [number, stage] : llvm::enumerate(stages)) {
      const Mesh &mesh = meshOf(stage);
      for (auto [i, value] :
           llvm::enumerate(stage.program.getBody().front().getTerminator()->getOperands())) {
        StringAttr name = nn::updatedState(stage.program, i);
        if (!name)
          name = stage.program.getResultAttrOfType<StringAttr>(i, nn::kNameAttr);
        Parts &own = parts[name.getValue()];
        if (own.shards.empty()) {
          own.placement = Interpreter::placementOf(value);
          own.placement.held = Held{*mesh.stageAxis(), {}};
          own.shards.resize(mesh.deviceCount());
        }
        own.placement.held->stages.push_back(int64_t(number));
        for (auto [rank, local] : llvm::enumerate(stage.interpreter.values.at(value)))
          if (!isAbsent(local))
            own.shards[rank] = local;
      }
    }
    llvm::StringMap<HostTensor> whole;
    for (auto &entry : parts) {
      const Mesh &mesh = meshOf(stages.front());
      std::string text;
      auto tensor = assemble(mesh, canonicalize(mesh, entry.second.placement), entry.second.shards,
                             tolerance, &text);
      if (!tensor)
        return fail("result " + entry.first().str() + ": " + text);
      whole[entry.first()] = std::move(*tensor);
    }
    return whole;
  }

  double tolerance;
  std::string wrong;
  std::vector<Stage> stages;
  std::map<std::tuple<int64_t, int64_t, std::string>, Shards> sent; // from, to, channel
};

} // namespace

std::optional<std::vector<HostTensor>> interpretSpmd(func::FuncOp function,
                                                     ArrayRef<HostTensor> inputs, double tolerance,
                                                     std::string *why) {
  return Interpreter(function, tolerance, why).run(inputs);
}

llvm::Expected<llvm::StringMap<HostTensor>>
interpretStages(ArrayRef<func::FuncOp> programs, const llvm::StringMap<HostTensor> &inputs,
                double tolerance) {
  return StagesInterpreter(programs, tolerance).interpret(inputs);
}

} // namespace weft
