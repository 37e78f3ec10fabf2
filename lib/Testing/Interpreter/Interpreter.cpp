// Runs a function op by op with each op's own reference method.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Testing/Interpreter/Interpreter.h"

#include "weft/Interfaces/OpInterfaces.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace weft {

namespace {

class Interpreter {
public:
  explicit Interpreter(const InterpreterOptions &options) : options(options) {}

  LogicalResult bindArguments(func::FuncOp function, std::vector<HostTensor> inputs);
  LogicalResult run(Operation &op);
  /// The operands of the terminator.
  SmallVector<HostTensor> take(ValueRange values);

private:
  struct Slot {
    HostTensor tensor;
    /// Uses that are still to come; a value used twice by one op counts twice.
    int64_t uses = 0;
  };

  void define(Value value, HostTensor tensor) {
    int64_t uses = std::distance(value.use_begin(), value.use_end());
    if (uses > 0)
      live.try_emplace(value, Slot{std::move(tensor), uses});
  }

  /// Gives back tensors lent to an op; those without further use are dropped.
  void giveBack(ValueRange operands, MutableArrayRef<HostTensor> tensors);

  const InterpreterOptions &options;
  llvm::DenseMap<Value, Slot> live;
};

} // namespace

static std::string describe(ArrayRef<int64_t> shape, Type elementType) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << RankedTensorType::get(shape, elementType);
  return text;
}

LogicalResult Interpreter::bindArguments(func::FuncOp function, std::vector<HostTensor> inputs) {
  if (inputs.size() != function.getNumArguments())
    return function.emitError() << "has " << function.getNumArguments() << " arguments, but "
                                << inputs.size() << " inputs were given";
  for (auto [index, argument, input] : llvm::enumerate(function.getArguments(), inputs)) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (!type || type.getElementType() != input.elementType ||
        type.getShape() != ArrayRef<int64_t>(input.shape))
      return function.emitError() << "argument " << index << " has type " << argument.getType()
                                  << ", but its input has type "
                                  << describe(input.shape, input.elementType);
    define(argument, std::move(input));
  }
  return success();
}

SmallVector<HostTensor> Interpreter::take(ValueRange values) {
  SmallVector<HostTensor> tensors;
  llvm::SmallDenseMap<Value, size_t> lent;
  for (auto [index, value] : llvm::enumerate(values)) {
    auto [first, isNew] = lent.try_emplace(value, index);
    // Moved, not copied: an operand may be a weight of gigabytes.
    if (isNew)
      tensors.push_back(std::move(live.find(value)->second.tensor));
    else
      tensors.push_back(HostTensor(tensors[first->second]));
  }
  return tensors;
}

void Interpreter::giveBack(ValueRange operands, MutableArrayRef<HostTensor> tensors) {
  llvm::SmallDenseSet<Value> seen;
  for (auto [operand, tensor] : llvm::zip_equal(operands, tensors))
    if (seen.insert(operand).second)
      live.find(operand)->second.tensor = std::move(tensor);
  for (Value operand : operands) {
    auto slot = live.find(operand);
    if (--slot->second.uses == 0)
      live.erase(slot);
  }
}

LogicalResult Interpreter::run(Operation &op) {
  auto reference = dyn_cast<ReferenceOpInterface>(op);
  if (!reference)
    return op.emitOpError("has no reference evaluation, so the program cannot be interpreted");
  SmallVector<HostTensor> operands = take(op.getOperands());
  SmallVector<HostTensor> results = reference.evaluate(operands);
  giveBack(op.getOperands(), operands);
  for (HostTensor &result : results)
    if (options.rounding == InterpreterOptions::Rounding::EveryResult)
      roundToOwnType(result);
  if (options.afterOp)
    options.afterOp(&op, results);
  for (auto [value, result] : llvm::zip_equal(op.getResults(), results))
    define(value, std::move(result));
  return success();
}

FailureOr<SmallVector<HostTensor>> interpret(func::FuncOp function, std::vector<HostTensor> inputs,
                                             const InterpreterOptions &options) {
  if (!function.getBody().hasOneBlock())
    return function.emitError("has no body of one block to interpret");
  Interpreter interpreter(options);
  if (failed(interpreter.bindArguments(function, std::move(inputs))))
    return failure();
  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator())
    if (failed(interpreter.run(op)))
      return failure();
  return interpreter.take(body.getTerminator()->getOperands());
}

} // namespace weft
