// Operators of ONNX Runtime's domain that optimised files contain.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"
#include "passes/onnx/ops/ActivationFunctions.h"
#include "passes/onnx/ops/Shared.h"

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
  return {n.b.mul(x, n.b.unary<nn::SigmoidOp>(n.b.mul(x, n.real("alpha", 1.702))))};
}

/// alpha A' B' over the last two dims.
static Results fusedMatMul(NodeContext &n) {
  auto operand = [&](unsigned index, llvm::StringRef flag) -> Value {
    Value x = n.in(index);
    if (!x || !n.integer(flag, 0) || n.b.rankOf(x) < 2)
      return x;
    SmallVector<int64_t> permutation = n.b.range(0, n.b.rankOf(x));
    std::swap(permutation[permutation.size() - 1], permutation[permutation.size() - 2]);
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
  Value normal = rms ? n.b.rmsNorm(x, scale, dim, epsilon)
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

/// Sums of embeddings, normalised; how many words count in each entry; the
/// sums.
static Results embedLayerNormalization(NodeContext &n) {
  Value ids = n.in(0), words = n.in(2), places = n.in(3), scale = n.in(5), bias = n.in(6);
  if (!ids || !words || !places || !scale || !bias || n.b.rankOf(ids) != 2)
    return {n.fail("needs input_ids B x S, tables, gamma and beta")};
  if (n.has(1) != n.has(4))
    return {n.fail("segment_ids and segment_embedding must be given together")};
  for (unsigned matrix : {2, 3, 4, 7})
    if (n.has(matrix) && n.b.rankOf(n.in(matrix)) != 2)
      return {n.fail("input " + llvm::Twine(matrix) +
                     " must be a matrix: tables are entries x hidden, the mask is B x S")};
  auto look = [&](Value table, Value indices) {
    return n.b.take(table, n.b.wrapIndices(indices, n.b.shapeOf(table)[0]), 0);
  };
  NnBuilder::Shape shape = n.b.shapeOf(ids);
  Value position = n.has(8) ? look(places, n.in(8)) : n.b.sliceDim(places, 0, 0, shape[1]);
  Value sum = n.b.add(look(words, ids), position);
  if (n.has(1))
    sum = n.b.add(sum, look(n.in(4), n.in(1)));
  Value counts = n.b.full({shape[0]}, n.b.builder.getI32Type(), 0);
  if (n.has(7))
    counts = n.b.reduce(
        ReduceKind::Sum,
        n.b.cast(n.b.compare(nn::CompareKind::Eq, n.in(7), 1.0), n.b.builder.getI32Type()), {1},
        false);
  return {n.b.layerNorm(sum, scale, bias, 2, n.real("epsilon", 1e-12)), counts, sum};
}

/// The activation that a fused operator names, with its numbers.
static Value activate(NodeContext &n, Value x, std::optional<double> alpha,
                      std::optional<double> beta) {
  llvm::StringRef name = n.text("activation", "");
  if (name.empty())
    return x;
  const NamedActivation *known = findActivation(name);
  if (!known)
    return n.fail("activation '" + name + "' is not known");
  alpha = alpha ? alpha : known->alpha;
  beta = beta ? beta : known->beta;
  if ((known->numbers > 0 && !alpha) || (known->numbers > 1 && !beta))
    return n.fail("activation '" + name + "' needs " + llvm::Twine(known->numbers) + " numbers");
  return known->apply(n.b, x, alpha.value_or(0), beta.value_or(0));
}

static Results fusedConv(NodeContext &n) {
  Value y = conv(n).front();
  if (n.has(3))
    y = n.b.add(y, n.in(3));
  SmallVector<double> numbers = n.reals("activation_params").value_or(SmallVector<double>());
  auto number = [&](size_t index) {
    return index < numbers.size() ? std::optional<double>(numbers[index]) : std::nullopt;
  };
  return {activate(n, y, number(0), number(1))};
}

static Results fusedGemm(NodeContext &n) {
  auto number = [&](llvm::StringRef name) {
    return n.attribute(name) ? std::optional<double>(n.real(name, 0)) : std::nullopt;
  };
  return {activate(n, gemm(n).front(), number("activation_alpha"), number("activation_beta"))};
}

void weft::onnx::registerContrib(Registry &r) {
  r.add("Gelu", 1, 1, gelu<false>, kDomain);
  r.add("BiasGelu", 1, 1, gelu<false>, kDomain);
  r.add("FastGelu", 1, 1, gelu<true>, kDomain);
  r.add("QuickGelu", 1, 1, quickGelu, kDomain);
  r.add("FusedMatMul", 1, 1, fusedMatMul, kDomain);
  r.add("SkipLayerNormalization", 1, 1, skipNormalization<false>, kDomain);
  r.add("SkipSimplifiedLayerNormalization", 1, 1, skipNormalization<true>, kDomain);
  r.add("EmbedLayerNormalization", 1, 1, embedLayerNormalization, kDomain);
  r.add("FusedConv", 1, 1, fusedConv, kDomain);
  r.add("FusedGemm", 1, 1, fusedGemm, kDomain);
  // Written without a domain of its own by ONNX Runtime's optimiser.
  r.add("SimplifiedLayerNormalization", simplifiedNormalization);
}
