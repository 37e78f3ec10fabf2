// References of gather and scatter.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/NnElementwise.h"
#include "dialects/nn/IR/NnIndexing.h"
#include "dialects/nn/IR/NnReference.h"

using namespace mlir;

namespace weft::nn {

/// Calls `function` with each picked element, in row-major order of the index
/// dims, and the operand element that its index names; -1 if it is out of
/// range.
static void forEachPicked(const IndexedDims &dims, ArrayRef<int64_t> operandShape,
                          const HostTensor &indices,
                          llvm::function_ref<void(int64_t picked, int64_t operand)> function) {
  auto strides = rowMajorStrides(operandShape), indicesStrides = rowMajorStrides(indices.shape);
  SmallVector<int64_t> windowShape, windowStrides;
  for (int64_t dim : dims.windowDims(operandShape.size())) {
    windowShape.push_back(operandShape[dim]);
    windowStrides.push_back(strides[dim]);
  }
  // An unsigned 64-bit index of 2^63 or more reads as negative: out of range
  // too.
  int64_t picked = 0;
  forEachIndex(ArrayRef(indices.shape).drop_back(), [&](ArrayRef<int64_t> position) {
    int64_t vector = linearIndex(position, ArrayRef(indicesStrides).drop_back()), base = 0;
    bool inRange = true;
    for (auto [component, dim] : llvm::enumerate(dims.indexed)) {
      int64_t index = indices.integers[vector + component];
      inRange &= index >= 0 && index < operandShape[dim];
      base += index * strides[dim];
    }
    for (auto [dim, indicesDim] : llvm::zip_equal(dims.operandBatch, dims.indicesBatch))
      base += position[indicesDim] * strides[dim];
    forEachIndex(windowShape, [&](ArrayRef<int64_t> window) {
      function(picked++, inRange ? base + linearIndex(window, windowStrides) : -1);
    });
  });
}

SmallVector<HostTensor> GatherOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result(getType());
  forEachPicked(indexedDims(*this), operands[0].shape, operands[1],
                [&](int64_t picked, int64_t at) {
                  result.set(picked, at < 0 ? Scalar() : operands[0].at(at));
                });
  return {std::move(result)};
}

static Scalar meet(ScatterKind kind, Type type, Scalar old, Scalar update) {
  switch (kind) {
  case ScatterKind::Assign:
    return update;
  case ScatterKind::Add:
    return combine(ReduceKind::Sum, old, update, type);
  case ScatterKind::Mul:
    return combine(ReduceKind::Prod, old, update, type);
  case ScatterKind::Max:
    return combine(ReduceKind::Max, old, update, type);
  case ScatterKind::Min:
    return combine(ReduceKind::Min, old, update, type);
  }
  llvm_unreachable("scatter kind");
}

SmallVector<HostTensor> ScatterOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result = operands[0];
  forEachPicked(
      indexedDims(*this), operands[0].shape, operands[1], [&](int64_t picked, int64_t at) {
        if (at >= 0)
          result.set(at,
                     meet(getKind(), result.elementType, result.at(at), operands[2].at(picked)));
      });
  return {std::move(result)};
}

} // namespace weft::nn
