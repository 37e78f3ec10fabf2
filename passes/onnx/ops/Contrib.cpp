// Operators of ONNX Runtime's domain that optimised files contain.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

static constexpr llvm::StringLiteral kDomain = "com.microsoft";

template <bool tanh> static Results gelu(NodeContext &n) {
  Value x = n.in(0);
  if (n.has(1))
    x = n.b.add(x, n.in(1));
  return {n.b.make<nn::GeluOp>(x, tanh)};
}

static Results quickGelu(NodeContext &n) {
  Value x = n.in(0);
  return {
      n.b.mul(x, n.b.unary<nn::SigmoidOp>(n.b.mul(x, n.real("alpha", 1.702))))};
}

/// alpha A' B' over the last two dims.
static Results fusedMatMul(NodeContext &n) {
  auto operand = [&](unsigned index, llvm::StringRef flag) -> Value {
    Value x = n.in(index);
    if (!x || !n.integer(flag, 0) || n.b.rankOf(x) < 2)
      return x;
    SmallVector<int64_t> permutation = n.b.range(0, n.b.rankOf(x));
    std::swap(permutation[permutation.size() - 1],
              permutation[permutation.size() - 2]);
    return n.b.transpose(x, permutation);
  };
  if (n.integer("transBatchA", 0) || n.integer("transBatchB", 0))
    return {n.fail("transposed batch dims are not supported")};
  Value product = n.b.matmul(operand(0, "transA"), operand(1, "transB"));
  double alpha = n.real("alpha", 1.0);
  return {alpha == 1.0 ? product : n.b.mul(product, alpha)};
}

/// Normalises x + skip (+ bias); the sum is the last output.
template <bool rms> static Results skipNormalization(NodeContext &n) {
  unsigned biasIndex = rms ? 3 : 4;
  Value x = n.b.add(n.in(0), n.in(1));
  if (n.has(biasIndex))
    x = n.b.add(x, n.in(biasIndex));
  Value scale = n.in(2);
  if (!x || !scale)
    return {};
  int64_t dim = n.b.rankOf(x) - 1;
  // The runtime's default; the attribute is always written in practice.
  double epsilon = n.real("epsilon", 1e-12);
  Value normal =
      rms ? n.b.rmsNorm(x, scale, dim, epsilon)
          : n.b.layerNorm(x, scale, n.has(3) ? n.in(3) : Value(), dim, epsilon);
  if (n.wants(1) || n.wants(2))
    return {n.fail("outputs mean and inv_std_var are not supported")};
  return {normal, Value(), Value(), x};
}

static Results simplifiedNormalization(NodeContext &n) {
  Value x = n.in(0), scale = n.in(1);
  auto axis = x ? n.axis(-1) : std::nullopt;
  if (!axis || !scale)
    return {};
  return {n.b.rmsNorm(x, scale, *axis, n.real("epsilon", 1e-5))};
}

void weft::onnx::registerContrib(Registry &r) {
  r.add("Gelu", 1, 1, gelu<false>, kDomain);
  r.add("BiasGelu", 1, 1, gelu<false>, kDomain);
  r.add("FastGelu", 1, 1, gelu<true>, kDomain);
  r.add("QuickGelu", 1, 1, quickGelu, kDomain);
  r.add("FusedMatMul", 1, 1, fusedMatMul, kDomain);
  r.add("SkipLayerNormalization", 1, 1, skipNormalization<false>, kDomain);
  r.add("SkipSimplifiedLayerNormalization", 1, 1, skipNormalization<true>,
        kDomain);
  // Written without a domain of its own by ONNX Runtime's optimiser.
  r.add("SimplifiedLayerNormalization", simplifiedNormalization);
}
