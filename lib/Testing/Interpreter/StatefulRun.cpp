// Feeds the updates of one program run to the next.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Testing/Interpreter/StatefulRun.h"

#include "weft/Testing/Interpreter/StateSource.h"

using namespace mlir;
using namespace weft;

/// A number repeated, or the elements.
static HostTensor initialValue(Attribute initial, RankedTensorType type) {
  if (auto elements = dyn_cast<ElementsAttr>(initial))
    return toHostTensor(elements);
  HostTensor tensor(type);
  if (auto real = dyn_cast<FloatAttr>(initial))
    std::fill(tensor.reals.begin(), tensor.reals.end(), real.getValueAsDouble());
  else if (auto integer = dyn_cast<IntegerAttr>(initial))
    std::fill(tensor.integers.begin(), tensor.integers.end(), integer.getInt());
  return tensor;
}

LogicalResult StatefulRun::start(func::FuncOp function, StringRef folder) {
  for (BlockArgument arg : function.getArguments()) {
    unsigned i = arg.getArgNumber();
    StringRef name = nn::argumentName(function, i);
    auto source = function.getArgAttrOfType<nn::SourceAttr>(i, nn::kSourceAttr);
    Attribute initial = function.getArgAttr(i, nn::kInitialAttr);
    if ((!source && !initial) || states.contains(name))
      continue;
    auto type = cast<RankedTensorType>(arg.getType());
    HostTensor value;
    if (source) {
      auto sourceType = function.getArgAttrOfType<TypeAttr>(i, nn::kSourceTypeAttr);
      auto read = readSource(source, sourceType ? type.clone(sourceType.getValue()) : type, folder,
                             [&] { return function.emitError() << "state '" << name << "' "; });
      if (failed(read))
        return failure();
      value = std::move(*read);
    } else {
      value = initialValue(initial, type);
    }
    value.elementType = type.getElementType();
    roundToOwnType(value);
    states[name] = std::move(value);
  }
  return success();
}

FailureOr<StatefulRun::Tensors> StatefulRun::run(func::FuncOp function, const Tensors &inputs) {
  std::vector<HostTensor> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    StringRef name = nn::argumentName(function, i);
    bool isState = states.contains(name);
    auto found = isState ? states.find(name) : inputs.find(name);
    if (!isState && found == inputs.end())
      return function.emitError() << "input '" << name << "' is not given";
    arguments.push_back(found->second);
  }
  FailureOr<SmallVector<HostTensor>> results = interpret(function, std::move(arguments), options);
  if (failed(results))
    return failure();
  Tensors named;
  for (auto [i, result] : llvm::enumerate(*results)) {
    if (auto state = function.getResultAttrOfType<StringAttr>(i, nn::kUpdatesAttr))
      states[state.getValue()] = std::move(result);
    else if (auto name = function.getResultAttrOfType<StringAttr>(i, nn::kNameAttr))
      named[name.getValue()] = std::move(result);
  }
  return named;
}
