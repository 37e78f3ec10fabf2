// The addresses of what MLIR keeps once in a context, as bytes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/placement/AlikeOps.h"

using namespace mlir;

weft::dist::AlikeKey weft::dist::alikeKey(Operation *op, ArrayRef<const void *> more) {
  SmallVector<const void *, 20> parts{op->getName().getAsOpaquePointer(),
                                      op->getPropertiesAsAttribute().getAsOpaquePointer()};
  auto append = [&](TypeRange types) {
    for (Type type : types)
      parts.push_back(type.getAsOpaquePointer());
    parts.push_back(nullptr);
  };
  append(op->getOperandTypes());
  append(op->getResultTypes());
  // What adds to zeros has other rules than what adds to anything else.
  for (Value operand : op->getOperands()) {
    Operation *maker = operand.getDefiningOp();
    bool isConstant = maker && maker->hasTrait<OpTrait::ConstantLike>();
    parts.push_back(isConstant ? maker->getPropertiesAsAttribute().getAsOpaquePointer() : nullptr);
  }
  llvm::append_range(parts, more);
  AlikeKey key;
  key.append(
      StringRef(reinterpret_cast<const char *>(parts.data()), parts.size() * sizeof(parts[0])));
  return key;
}
