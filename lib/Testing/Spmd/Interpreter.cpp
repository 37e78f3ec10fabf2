// Lockstep execution of one program by all devices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Testing/Spmd/Interpreter.h"

#include "dialects/dist/IR/Dist.h"
#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Testing/Spmd/Shards.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace weft {

namespace {

class Interpreter {
public:
  Interpreter(func::FuncOp function, double tolerance, std::string *why)
      : function(function), mesh(dist::getMesh(function).getValue()), tolerance(tolerance),
        why(why) {}

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

private:
  static const Placement &placementOf(Value value) {
    return dist::getLocal(value.getType()).getValue();
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
        bool runs = isHeldAt(placementOf(op->getResult(0)), coordinates);
        result.push_back(runs ? body.evaluateOn(coordinates, local) : HostTensor());
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
      if (!isHeldAt(placementOf(op->getResult(0)), mesh.coordinates(rank))) {
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
      if (!isHeldAt(placementOf(value), mesh.coordinates(rank)))
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
  llvm::DenseMap<Value, Shards> values;
};

} // namespace

std::optional<std::vector<HostTensor>> interpretSpmd(func::FuncOp function,
                                                     ArrayRef<HostTensor> inputs, double tolerance,
                                                     std::string *why) {
  return Interpreter(function, tolerance, why).run(inputs);
}

} // namespace weft
