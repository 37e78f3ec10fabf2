// Work of ops from factor rules, and whether there is any.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Interfaces/OpWork.h"

#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Interfaces/TensorTypes.h"

#include <numeric>

using namespace mlir;

#include "weft/Interfaces/WorkOpInterface.cpp.inc"

namespace weft {

int64_t OpWork::bytesRead() const { return std::accumulate(read.begin(), read.end(), int64_t(0)); }

int64_t OpWork::bytesWritten() const {
  return std::accumulate(written.begin(), written.end(), int64_t(0));
}

static int64_t bytesOfType(Type type) {
  auto shaped = dyn_cast<ShapedType>(type);
  return shaped ? bytesOf(shaped) : elementBytes(type);
}

OpWork workByRule(Operation *op, TypeRange operandTypes, TypeRange resultTypes) {
  OpWork work;
  for (Type type : operandTypes)
    work.read.push_back(bytesOfType(type));
  for (Type type : resultTypes)
    work.written.push_back(bytesOfType(type));
  if (!operandTypes.empty())
    work.element = getElementTypeOrSelf(operandTypes.front());
  else if (!resultTypes.empty())
    work.element = getElementTypeOrSelf(resultTypes.front());
  if (auto shardable = dyn_cast<ShardableOpInterface>(op))
    if (double perPoint = shardable.getFlopsPerPoint(); perPoint != 0)
      work.flops = perPoint * shardable.getFactorRule(operandTypes, resultTypes).points();
  return work;
}

bool isViewOrConstant(Operation *op) {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  if (!kernel || op->getNumResults() != 1)
    return false;
  if (op->getNumOperands() == 0)
    return true;
  auto type = dyn_cast<RankedTensorType>(op->getOperand(0).getType());
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  return type && kernel.getView(rowMajorStrides(type.getShape()), strides, offset);
}

OpWork workOf(Operation *op, TypeRange operandTypes, TypeRange resultTypes) {
  if (isViewOrConstant(op)) {
    OpWork none = workByRule(op, operandTypes, resultTypes);
    none.read.assign(operandTypes.size(), 0);
    none.written.assign(resultTypes.size(), 0);
    none.flops = 0;
    none.launches = 0;
    return none;
  }
  if (auto own = dyn_cast<WorkOpInterface>(op))
    return own.getWork(operandTypes, resultTypes);
  return workByRule(op, operandTypes, resultTypes);
}

OpWork workOf(Operation *op) { return workOf(op, op->getOperandTypes(), op->getResultTypes()); }

} // namespace weft
