// Matrix products: MatMul, Gemm and their integer forms' float parts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"
#include "passes/onnx/ops/Shared.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

static Results matmul(NodeContext &n) { return {n.b.matmul(n.in(0), n.in(1))}; }

/// alpha A' B' + beta C, with C broadcast.
Results weft::onnx::gemm(NodeContext &n) {
  Value a = n.in(0), c = n.in(1);
  if (!a || !c || n.b.rankOf(a) != 2 || n.b.rankOf(c) != 2)
    return {n.fail("A and B must be matrices")};
  bool transA = n.integer("transA", 0), transB = n.integer("transB", 0);
  if (n.b.shapeOf(a)[!transA] != n.b.shapeOf(c)[transB])
    return {n.fail("inner dims differ: " + llvm::Twine(n.b.shapeOf(a)[!transA]) + " and " +
                   llvm::Twine(n.b.shapeOf(c)[transB]))};
  SmallVector<int64_t> aLabels{0, 2}, cLabels{2, 1};
  if (transA)
    std::swap(aLabels[0], aLabels[1]);
  if (transB)
    std::swap(cLabels[0], cLabels[1]);
  Value product = n.b.contract(a, c, aLabels, cLabels, {0, 1});
  double alpha = n.real("alpha", 1.0), beta = n.real("beta", 1.0);
  return {n.b.withNumbers(product, {alpha, beta}, [&](Value product) {
    if (alpha != 1.0)
      product = n.b.mul(product, alpha);
    if (!product || !n.has(2) || beta == 0.0)
      return product;
    Value bias = n.in(2);
    if (n.b.elementOf(bias) == n.b.elementOf(a))
      bias = n.b.cast(bias, n.b.elementOf(product));
    if (beta != 1.0)
      bias = n.b.mul(bias, beta);
    return bias ? n.b.add(product, n.b.broadcastTo(bias, n.b.shapeOf(product))) : Value();
  })};
}

void weft::onnx::registerProducts(Registry &r) {
  r.add("MatMul", matmul);
  r.add("Gemm", gemm);
}
