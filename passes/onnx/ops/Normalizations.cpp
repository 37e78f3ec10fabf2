// Normalisations: over the batch, layers, groups, instances, channels.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"

#include <array>
#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

/// A vector over channels, repeated to the shape of `like`.
static Value perChannel(NodeContext &n, Value vector, Value like) {
  return vector && like ? n.b.broadcastDims(vector, n.b.shapeOf(like), {1}) : Value();
}

static Value rsqrtPlus(NodeContext &n, Value variance, double epsilon) {
  return n.b.unary<nn::RsqrtOp>(n.b.add(variance, epsilon));
}

/// A running statistic after `now` [parts, channels] came in part by part:
/// old m^P + (1 - m) sum of now_p m^(P-1-p). In one sum, because the parts may
/// lie on an axis over which nothing but a sum can go; in f64, whose powers of
/// the momentum are as good as repeated multiplication.
static Value runningOverParts(NodeContext &n, Value old, Value now, double momentum) {
  Type wide = n.b.builder.getF64Type();
  int64_t parts = n.b.shapeOf(now)[0];
  SmallVector<double> weights(parts, 1 - momentum);
  for (int64_t p = parts - 1; p-- > 0;)
    weights[p] = weights[p + 1] * momentum;
  Value weight =
      n.b.constant(DenseElementsAttr::get(RankedTensorType::get({parts}, wide), ArrayRef(weights)));
  now = n.b.cast(now, wide);
  Value sum = n.b.reduce(ReduceKind::Sum,
                         n.b.mul(now, n.b.broadcastDims(weight, n.b.shapeOf(now), {0})), {0},
                         /*keep=*/false);
  Value kept = n.b.mul(n.b.cast(old, wide), std::pow(momentum, double(parts)));
  return n.b.cast(n.b.add(kept, sum), n.b.elementOf(old));
}

/// What a state is behind the nodes so far: a model may use a layer several times. Where its
/// training is not ours, a node reads what it names.
static Value latest(NodeContext &n, Value state) {
  if (!n.b.training.value_or(false))
    return state;
  for (auto [old, now] : n.b.updates)
    if (old == state)
      return now;
  return state;
}

static void update(NodeContext &n, Value state, Value now) {
  for (auto &entry : n.b.updates)
    if (entry.first == state) {
      entry.second = now;
      return;
    }
  n.b.updates.emplace_back(state, now);
}

/// Statistics are of f32 at least: squares are too large for smaller types.
static Value forStatistics(NodeContext &n, Value x) {
  bool isSmall = n.b.isFloat(x) && n.b.elementOf(x).getIntOrFloatBitWidth() < 32;
  return isSmall ? n.b.cast(x, n.b.f32()) : x;
}

/// Training with statistics of each of equal parts of the batch, which are a
/// dim of their own: x is [parts, rows, channels, spatial].
static Results normalizeParts(NodeContext &n, Value x, std::array<Value, 2> affine,
                              std::array<Value, 2> running, bool hasState) {
  SmallVector<int64_t> whole(n.b.shapeOf(x));
  int64_t parts = n.b.batchParts;
  if (whole[0] % parts)
    return {n.fail("takes statistics of each of " + Twine(parts) +
                   " microbatches, of which a batch of " + Twine(whole[0]) + " is no multiple")};
  SmallVector<int64_t> shape = {parts, whole[0] / parts};
  llvm::append_range(shape, ArrayRef(whole).drop_front());
  x = n.b.reshape(x, shape);
  SmallVector<int64_t> dims = n.b.range(3, shape.size());
  dims.insert(dims.begin(), 1);
  Type element = n.b.elementOf(x);
  Value wide = forStatistics(n, x);
  auto perPart = [&](Value statistic) {
    return n.b.broadcastDims(n.b.cast(statistic, n.b.elementOf(wide)), shape, {0, 2});
  };
  auto perChannel = [&](Value vector) {
    return n.b.broadcastDims(n.b.cast(vector, element), shape, {2});
  };

  Value mean = n.b.mean(wide, dims, false);
  Value centred = n.b.sub(wide, perPart(mean));
  Value variance = n.b.mean(n.b.mul(centred, centred), dims, false);
  if (!variance)
    return {};
  double momentum = n.real("momentum", 0.9);
  Results results{Value()};
  for (auto [old, now] : {std::pair(running[0], mean), std::pair(running[1], variance)}) {
    results.push_back(runningOverParts(n, latest(n, old), now, momentum));
    if (hasState)
      update(n, old, results.back());
  }
  Value root = rsqrtPlus(n, variance, n.real("epsilon", 1e-5));
  Value normal = n.b.cast(n.b.mul(centred, perPart(root)), element);
  results[0] =
      n.b.reshape(n.b.add(n.b.mul(normal, perChannel(affine[0])), perChannel(affine[1])), whole);
  return results;
}

/// Inference, and training with the running statistics as further outputs.
static Results batchNormalization(NodeContext &n) {
  Value x = n.in(0), scale = n.in(1), bias = n.in(2), mean = n.in(3), variance = n.in(4);
  if (!x || !scale || !bias || !mean || !variance || n.b.rankOf(x) < 2)
    return {n.fail("needs N x C x spatial")};
  for (Value vector : {scale, bias, mean, variance})
    if (n.b.rankOf(vector) != 1 || n.b.shapeOf(vector)[0] != n.b.shapeOf(x)[1])
      return {n.fail("scale, bias, mean and variance must have one element a channel")};
  double epsilon = n.real("epsilon", 1e-5);
  Results results{Value()};
  Type element = n.b.elementOf(x);
  // What another node computes is no running state.
  bool hasState = isa<BlockArgument>(mean) && isa<BlockArgument>(variance);
  if (hasState)
    n.b.statistics.append({mean, variance});
  bool asked = n.opset >= 14 && n.integer("training_mode", 0);
  if (hasState ? n.b.isTraining(asked) : asked) {
    if (n.b.batchParts > 1)
      return normalizeParts(n, x, {scale, bias}, {mean, variance}, hasState);
    SmallVector<int64_t> dims = n.b.range(0, n.b.rankOf(x));
    dims.erase(dims.begin() + 1);
    double momentum = n.real("momentum", 0.9);
    Value wide = forStatistics(n, x);
    Value batchMean = n.b.mean(wide, dims, false);
    Value centred = n.b.sub(wide, perChannel(n, batchMean, wide));
    Value batchVariance = n.b.mean(n.b.mul(centred, centred), dims, false);
    if (!batchVariance)
      return {};
    auto running = [&](Value old, Value now) {
      return n.b.add(n.b.mul(old, momentum),
                     n.b.mul(n.b.cast(now, n.b.elementOf(old)), 1 - momentum));
    };
    results.push_back(running(latest(n, mean), batchMean));
    results.push_back(running(latest(n, variance), batchVariance));
    if (hasState)
      for (auto [old, now] : {std::pair(mean, results[1]), std::pair(variance, results[2])})
        update(n, old, now);
    mean = batchMean;
    variance = batchVariance;
  } else if (asked) {
    // Of a model that is trained, when it is not: nothing changes.
    results.append({mean, variance});
  }
  Value factor = n.b.mul(n.b.cast(scale, n.b.elementOf(variance)), rsqrtPlus(n, variance, epsilon));
  Value centred = n.b.sub(x, perChannel(n, n.b.cast(mean, element), x));
  Value scaled = n.b.mul(centred, perChannel(n, n.b.cast(factor, element), x));
  results[0] = n.b.add(scaled, perChannel(n, n.b.cast(bias, element), x));
  return results;
}

/// (x - mean) / sqrt(variance + epsilon) over these dims.
/// Small types are too narrow for the squares.
static Value normalizeOver(NodeContext &n, Value x, NnBuilder::Shape dims, double epsilon) {
  return n.b.inFloat(x, [&](Value x) {
    Value centred = n.b.sub(x, n.b.mean(x, dims, true));
    Value factor = rsqrtPlus(n, n.b.mean(n.b.mul(centred, centred), dims, true), epsilon);
    return n.b.mul(centred, factor);
  });
}

static Results instanceNormalization(NodeContext &n) {
  Value x = n.in(0);
  if (!x || n.b.rankOf(x) < 3)
    return {n.fail("needs N x C x spatial")};
  Value normal = normalizeOver(n, x, n.b.range(2, n.b.rankOf(x)), n.real("epsilon", 1e-5));
  return {n.b.add(n.b.mul(normal, perChannel(n, n.in(1), x)), perChannel(n, n.in(2), x))};
}

/// Scale and bias are one number a group in opset 18, one a channel since 21.
static Results groupNormalization(NodeContext &n) {
  Value x = n.in(0), scale = n.in(1), bias = n.in(2);
  int64_t groups = n.integer("num_groups", 0);
  if (!x || !scale || !bias || n.b.rankOf(x) < 3 || groups <= 0 || n.b.shapeOf(x)[1] % groups)
    return {n.fail("needs N x C x spatial with C a multiple of 'num_groups'")};
  NnBuilder::Shape shape = n.b.shapeOf(x);
  SmallVector<int64_t> split{shape[0], groups, shape[1] / groups};
  llvm::append_range(split, shape.drop_front(2));
  Value normal =
      normalizeOver(n, n.b.reshape(x, split), n.b.range(2, split.size()), n.real("epsilon", 1e-5));
  if (n.opset < 21) {
    normal = n.b.add(n.b.mul(normal, perChannel(n, scale, normal)), perChannel(n, bias, normal));
    return {n.b.reshape(normal, shape)};
  }
  normal = n.b.reshape(normal, shape);
  return {n.b.add(n.b.mul(normal, perChannel(n, scale, x)), perChannel(n, bias, x))};
}

/// The one number that all elements are, as a scalar; null if that is not known.
static Value repeatedNumber(NodeContext &n, Value tensor) {
  auto broadcast = tensor.getDefiningOp<nn::BroadcastOp>();
  if (broadcast && cast<RankedTensorType>(broadcast.getOperand().getType()).getNumElements() == 1)
    return n.b.reshape(broadcast.getOperand(), {});
  DenseElementsAttr elements;
  if (!matchPattern(tensor, m_Constant(&elements)) || !elements.isSplat() ||
      !isa<FloatType>(elements.getElementType()))
    return {};
  return n.b.full({}, elements.getElementType(),
                  elements.getSplatValue<APFloat>().convertToDouble());
}

/// The operand repeated to the dims that are normalised; null if it has others.
static Value trailing(NodeContext &n, Value vector, NnBuilder::Shape dims) {
  if (!vector)
    return vector;
  // torch.rms_norm without a weight has ones of the whole shape.
  if (n.b.shapeOf(vector) == n.b.shapeOf(n.in(0)))
    if (Value number = repeatedNumber(n, vector))
      return n.b.broadcastTo(number, dims);
  SmallVector<int64_t> unit;
  int64_t more = n.b.rankOf(vector) - static_cast<int64_t>(dims.size());
  for (int64_t dim = 0; dim < more; ++dim) {
    if (n.b.shapeOf(vector)[dim] != 1)
      return n.fail("scale and bias may vary only along the normalised dims");
    unit.push_back(dim);
  }
  return n.b.broadcastTo(n.b.squeeze(vector, unit), dims);
}

static Results layerNormalization(NodeContext &n) {
  Value x = n.in(0);
  auto axis = x ? n.axis(-1) : std::nullopt;
  if (!axis)
    return {};
  NnBuilder::Shape dims = n.b.shapeOf(x).drop_front(*axis);
  double epsilon = n.real("epsilon", 1e-5);
  Value scale = trailing(n, n.in(1), dims), bias = n.has(2) ? trailing(n, n.in(2), dims) : Value();
  if (!scale || (n.has(2) && !bias))
    return {};
  Results results{n.b.layerNorm(x, scale, bias, *axis, epsilon)};
  if (!n.wants(1) && !n.wants(2))
    return results;
  SmallVector<int64_t> over = n.b.range(*axis, n.b.rankOf(x));
  Value wide =
      n.integer("stash_type", 1) == 1 && !n.b.elementOf(x).isF64() ? n.b.cast(x, n.b.f32()) : x;
  Value mean = n.b.mean(wide, over, true), centred = n.b.sub(wide, mean);
  results.push_back(mean);
  results.push_back(rsqrtPlus(n, n.b.mean(n.b.mul(centred, centred), over, true), epsilon));
  return results;
}

static Results rmsNormalization(NodeContext &n) {
  Value x = n.in(0);
  auto axis = x ? n.axis(-1) : std::nullopt;
  if (!axis)
    return {};
  Value scale = trailing(n, n.in(1), n.b.shapeOf(x).drop_front(*axis));
  return {n.b.rmsNorm(x, scale, *axis, n.real("epsilon", 1e-5))};
}

static Results meanVariance(NodeContext &n) {
  Value x = n.in(0);
  auto dims =
      x ? n.normalize(n.integers("axes").value_or(SmallVector<int64_t>{0, 2, 3}), n.b.rankOf(x))
        : std::nullopt;
  if (!dims)
    return {};
  return {n.b.inFloat(x, [&](Value x) {
    Value centred = n.b.sub(x, n.b.mean(x, *dims, true));
    Value deviation = n.b.rootOfSquares(n.b.mean(n.b.mul(centred, centred), *dims, true));
    return n.b.div(centred, n.b.add(deviation, 1e-9));
  })};
}

static Results lpNormalization(NodeContext &n) {
  Value x = n.in(0);
  auto axis = x ? n.axis(-1) : std::nullopt;
  int64_t p = n.integer("p", 2);
  if (!axis || (p != 1 && p != 2))
    return {n.fail("'p' must be 1 or 2")};
  return {n.b.inFloat(x, [&](Value x) {
    Value terms = p == 1 ? n.b.unary<nn::AbsOp>(x) : n.b.mul(x, x);
    Value norm = n.b.reduce(ReduceKind::Sum, terms, {*axis}, true);
    if (!norm)
      return norm;
    // Zeros stay zeros; said before the root, which has no slope there.
    norm = n.b.select(n.b.compare(nn::CompareKind::Eq, norm, 0.0), n.b.fullLike(norm, 1), norm);
    return n.b.div(x, p == 1 ? norm : n.b.unary<nn::SqrtOp>(norm));
  })};
}

/// x / (bias + alpha/size * sum of squares of neighbouring channels)^beta.
static Results localResponse(NodeContext &n) {
  Value x = n.in(0);
  int64_t size = n.integer("size", 0);
  if (!x || n.b.rankOf(x) < 3 || size <= 0)
    return {n.fail("needs N x C x spatial and 'size'")};
  int64_t rank = n.b.rankOf(x) - 1;
  SmallVector<int64_t> window(rank, 1), ones(rank, 1), low(rank, 0), high(rank, 0);
  window[0] = size;
  low[0] = (size - 1) / 2;
  high[0] = size - 1 - low[0];
  double alpha = n.real("alpha", 1e-4), beta = n.real("beta", 0.75), bias = n.real("bias", 1.0);
  return {n.b.inFloat(x, [&](Value x) {
    Value squares = n.b.make<nn::ReduceWindowOp>(x.getType(), ReduceKind::Sum, n.b.mul(x, x),
                                                 window, ones, low, high, ones);
    Value base = n.b.add(n.b.mul(squares, alpha / size), bias);
    return base ? n.b.div(x, n.b.binary<nn::PowOp>(base, n.b.fullLike(base, beta))) : base;
  })};
}

void weft::onnx::registerNormalizations(Registry &r) {
  r.add("BatchNormalization", batchNormalization);
  r.add("InstanceNormalization", instanceNormalization);
  r.addSince("GroupNormalization", 18, groupNormalization);
  // Of opset 17; ONNX Runtime's optimiser writes it into files of older ones.
  r.add("LayerNormalization", layerNormalization);
  r.addSince("RMSNormalization", 23, rmsNormalization);
  r.add("MeanVarianceNormalization", meanVariance);
  r.add("LpNormalization", lpNormalization);
  r.add("LRN", localResponse);
}
