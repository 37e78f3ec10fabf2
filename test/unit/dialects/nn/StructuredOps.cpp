// Random instances of the nn ops that are not elementwise.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomOps.h"

using namespace mlir;

namespace weft::nn::test {

static SmallVector<int64_t> erased(ArrayRef<int64_t> shape, int64_t dim) {
  SmallVector<int64_t> rest(shape);
  rest.erase(rest.begin() + dim);
  return rest;
}

static ReduceKind kindFor(OpFactory &f, bool logic) {
  if (logic)
    return f.random.pick({ReduceKind::Max, ReduceKind::Min, ReduceKind::And, ReduceKind::Or});
  return f.random.pick({ReduceKind::Sum, ReduceKind::Prod, ReduceKind::Max, ReduceKind::Min});
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

static Operation *makeConstant(OpFactory &f) {
  auto shape = f.random.shape(0, 3);
  HostTensor values = randomTensor(f.random, f.type(shape, f.number()));
  if (f.random.chance(0.5) && values.size() > 0)
    for (int64_t i = 0; i < values.size(); ++i)
      values.set(i, values.at(0));
  return f.make<ConstantOp>(ElementsAttr(toElementsAttr(values)));
}

static Operation *makeBroadcast(OpFactory &f) {
  auto shape = f.random.shape(0, 4);
  auto dims = f.random.subset(shape.size());
  SmallVector<int64_t> from;
  for (int64_t dim : dims)
    from.push_back(shape[dim]);
  Type element = f.number();
  return f.make<BroadcastOp>(f.type(shape, element), f.argument(from, element), dims);
}

/// Merges and splits dims at random, so that both sides have common factors.
static Operation *makeReshape(OpFactory &f) {
  SmallVector<int64_t> atoms = f.random.shape(1, 5), sides[2];
  for (auto &side : sides)
    for (int64_t atom : atoms) {
      if (!side.empty() && f.random.chance(0.5))
        side.back() *= atom;
      else
        side.push_back(atom);
      if (f.random.chance(0.15))
        side.push_back(1);
    }
  Type element = f.number();
  return f.make<ReshapeOp>(f.type(sides[1], element), f.argument(sides[0], element));
}

static Operation *makeTranspose(OpFactory &f) {
  auto shape = f.random.shape(0, 4);
  return f.make<TransposeOp>(f.argument(shape, f.number()), f.random.permutation(shape.size()));
}

static Operation *makeReverse(OpFactory &f) {
  auto shape = f.random.shape(0, 3);
  Type element = f.number();
  return f.make<ReverseOp>(f.type(shape, element), f.argument(shape, element),
                           f.random.subset(shape.size()));
}

static Operation *makeSlice(OpFactory &f) {
  SmallVector<int64_t> from, to, starts, strides;
  for (int64_t dim = 0, e = f.random.integer(0, 3); dim < e; ++dim) {
    int64_t unit = f.random.size(), count = f.random.integer(1, 4);
    int64_t begin = f.random.integer(0, count - 1), blocks = f.random.integer(1, count - begin);
    from.push_back(unit * count);
    if (f.random.chance(0.7)) { // Whole blocks.
      starts.push_back(begin * unit);
      to.push_back(blocks * unit);
      strides.push_back(1);
    } else {
      strides.push_back(f.random.integer(1, 3));
      starts.push_back(f.random.integer(0, from.back() - 1));
      int64_t most = (from.back() - starts.back() + strides.back() - 1) / strides.back();
      to.push_back(f.random.integer(0, most));
    }
  }
  Type element = f.number();
  return f.make<SliceOp>(f.type(to, element), f.argument(from, element), starts, strides);
}

static Operation *makeConcat(OpFactory &f) {
  auto shape = f.random.shape(1, 3);
  int64_t dim = f.random.integer(0, shape.size() - 1), unit = f.random.size();
  Type element = f.number();
  SmallVector<Value> inputs;
  for (int64_t i = 0, e = f.random.integer(1, 4); i < e; ++i) {
    shape[dim] = f.random.chance(0.6) ? unit : unit * f.random.integer(0, 3);
    inputs.push_back(f.argument(shape, element));
  }
  return f.make<ConcatOp>(ValueRange(inputs), dim);
}

static Operation *makePad(OpFactory &f) {
  SmallVector<int64_t> from, to, low, high;
  for (int64_t dim = 0, e = f.random.integer(0, 3); dim < e; ++dim) {
    int64_t unit = f.random.size(), odd = f.random.chance(0.3) ? f.random.integer(0, 2) : 0;
    from.push_back(unit);
    low.push_back(f.random.integer(0, 2) * unit + odd);
    high.push_back(f.random.integer(0, 2) * unit);
    to.push_back(low.back() + unit + high.back());
  }
  Type element = f.number();
  int64_t value = f.random.integer(0, 2);
  TypedAttr border = isa<FloatType>(element) ? TypedAttr(f.builder.getFloatAttr(element, value))
                                             : TypedAttr(f.builder.getIntegerAttr(element, value));
  return f.make<PadOp>(f.type(to, element), f.argument(from, element), low, high, border);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static Operation *makeContract(OpFactory &f) {
  SmallVector<int64_t> lists[3];
  SmallVector<int64_t> sizes;
  for (int64_t label = 0, e = f.random.integer(0, 5); label < e; ++label) {
    sizes.push_back(f.random.size());
    // Batch, summed, free on the left, free on the right.
    int64_t kind = f.random.integer(0, 3);
    bool isIn[] = {kind != 3, kind != 2, kind != 1};
    for (int tensor = 0; tensor < 3; ++tensor)
      if (isIn[tensor])
        lists[tensor].insert(lists[tensor].begin() + f.random.integer(0, lists[tensor].size()),
                             label);
  }
  auto shapeOf = [&](ArrayRef<int64_t> labels) {
    SmallVector<int64_t> shape;
    for (int64_t label : labels)
      shape.push_back(sizes[label]);
    return shape;
  };
  Type element = f.number();
  return f.make<ContractOp>(f.argument(shapeOf(lists[0]), element),
                            f.argument(shapeOf(lists[1]), element), lists[0], lists[1], lists[2]);
}

static Operation *makeConv(OpFactory &f) {
  int64_t spatial = f.random.integer(0, 2), groups = f.random.pick<int64_t>({1, 1, 2, 4, 6});
  int64_t perGroup = f.random.size(), out = groups * f.random.integer(1, 4);
  SmallVector<int64_t> input = {f.random.size(), perGroup * groups}, filter = {out, perGroup};
  SmallVector<int64_t> result = {input[0], out}, strides, low, high, inDilation, filterDilation;
  for (int64_t i = 0; i < spatial; ++i) {
    bool pointwise = f.random.chance(0.3);
    input.push_back(f.random.integer(1, 6));
    filter.push_back(pointwise ? 1 : f.random.integer(1, 3));
    strides.push_back(pointwise ? 1 : f.random.integer(1, 2));
    low.push_back(pointwise ? 0 : f.random.integer(-1, 2));
    high.push_back(pointwise ? 0 : f.random.integer(-1, 2));
    inDilation.push_back(pointwise ? 1 : f.random.integer(1, 2));
    filterDilation.push_back(f.random.integer(1, 2));
    int64_t room = (input.back() - 1) * inDilation[i] + 1 + low[i] + high[i] -
                   ((filter.back() - 1) * filterDilation[i] + 1);
    if (room < 0)
      return nullptr;
    result.push_back(room / strides[i] + 1);
  }
  Type element = f.number();
  return f.make<ConvOp>(f.type(result, element), f.argument(input, element),
                        f.argument(filter, element), strides, low, high, inDilation, filterDilation,
                        groups);
}

//===----------------------------------------------------------------------===//
// Reductions, windows, orders
//===----------------------------------------------------------------------===//

static Operation *makeReduce(OpFactory &f) {
  auto shape = f.random.shape(0, 3);
  bool logic = f.random.chance(0.2);
  Type element = logic ? f.builder.getI1Type() : f.number();
  return f.make<ReduceOp>(kindFor(f, logic), f.argument(shape, element),
                          f.random.subset(shape.size()));
}

static Operation *makeArgReduce(OpFactory &f) {
  auto shape = f.random.shape(1, 3);
  int64_t dim = f.random.integer(0, shape.size() - 1);
  return f.make<ArgReduceOp>(f.type(erased(shape, dim), f.builder.getI64Type()),
                             f.random.pick({ReduceKind::Max, ReduceKind::Min}),
                             f.argument(shape, f.number()), dim, f.random.chance(0.5));
}

namespace {
struct Window {
  SmallVector<int64_t> from, to, window, strides, low, high, dilations;
};
} // namespace

static std::optional<Window> randomWindow(OpFactory &f) {
  Window w;
  w.from = f.random.shape(0, 2);
  w.to = w.from;
  for (int64_t i = 0, e = f.random.integer(0, 2); i < e; ++i) {
    bool pointwise = f.random.chance(0.3);
    w.from.push_back(f.random.integer(1, 6));
    w.window.push_back(pointwise ? 1 : f.random.integer(1, 3));
    w.strides.push_back(pointwise ? 1 : f.random.integer(1, 2));
    w.low.push_back(pointwise ? 0 : f.random.integer(0, 1));
    w.high.push_back(pointwise ? 0 : f.random.integer(0, 1));
    w.dilations.push_back(f.random.integer(1, 2));
    int64_t room = w.from.back() + w.low[i] + w.high[i] - ((w.window[i] - 1) * w.dilations[i] + 1);
    if (room < 0)
      return std::nullopt;
    w.to.push_back(room / w.strides[i] + 1);
  }
  return w;
}

static Operation *makeReduceWindow(OpFactory &f) {
  auto w = randomWindow(f);
  if (!w)
    return nullptr;
  Type element = f.number();
  return f.make<ReduceWindowOp>(f.type(w->to, element), kindFor(f, false),
                                f.argument(w->from, element), w->window, w->strides, w->low,
                                w->high, w->dilations);
}

static Operation *makeArgWindow(OpFactory &f) {
  auto w = randomWindow(f);
  if (!w)
    return nullptr;
  return f.make<ArgWindowOp>(f.type(w->to, f.builder.getI64Type()), f.argument(w->from, f.number()),
                             w->window, w->strides, w->low, w->high, w->dilations,
                             f.random.chance(0.5));
}

static Operation *makeScan(OpFactory &f) {
  auto shape = f.random.shape(1, 3);
  Type element = f.number();
  return f.make<ScanOp>(f.type(shape, element), kindFor(f, false), f.argument(shape, element),
                        f.random.integer(0, shape.size() - 1), f.random.chance(0.5),
                        f.random.chance(0.5));
}

static Operation *makeTopK(OpFactory &f) {
  auto shape = f.random.shape(1, 3), result = shape;
  int64_t dim = f.random.integer(0, shape.size() - 1);
  result[dim] = f.random.integer(0, shape[dim]);
  Type element = f.number();
  return f.make<TopKOp>(f.type(result, element), f.type(result, f.builder.getI64Type()),
                        f.argument(shape, element), dim, f.random.chance(0.5));
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

namespace {
struct Indexing {
  SmallVector<int64_t> operand, indices, picked, indexed, operandBatch, indicesBatch;
  int64_t greatest = 0;
};
} // namespace

static Indexing randomIndexing(OpFactory &f) {
  Indexing x;
  x.operand = f.random.shape(1, 4);
  SmallVector<int64_t> window, batch;
  for (int64_t dim : f.random.permutation(x.operand.size())) {
    int64_t role = f.random.integer(0, 2);
    (role == 0 ? x.indexed : role == 1 ? batch : window).push_back(dim);
  }
  x.indices = f.random.shape(0, 2);
  for (int64_t dim : batch) {
    x.operandBatch.push_back(dim);
    x.indicesBatch.push_back(x.indices.size());
    x.indices.push_back(x.operand[dim]);
  }
  x.picked = x.indices;
  x.indices.push_back(x.indexed.size());
  llvm::sort(window);
  for (int64_t dim : window)
    x.picked.push_back(x.operand[dim]);
  for (int64_t dim : x.indexed)
    x.greatest = std::max(x.greatest, x.operand[dim]);
  return x;
}

static Operation *makeGather(OpFactory &f) {
  Indexing x = randomIndexing(f);
  Type element = f.random.chance(0.2) ? Type(f.builder.getI1Type()) : f.number();
  return f.make<GatherOp>(f.argument(x.operand, element), f.indices(x.indices, -1, x.greatest),
                          x.indexed, x.operandBatch, x.indicesBatch);
}

static Operation *makeScatter(OpFactory &f) {
  Indexing x = randomIndexing(f);
  Type element = f.number();
  auto kind = static_cast<ScatterKind>(f.random.integer(0, 4));
  bool zero = f.random.chance(0.4);
  if (zero && f.random.chance(0.7))
    kind = ScatterKind::Add;
  Value operand = zero ? f.zeros(x.operand, element) : f.argument(x.operand, element);
  return f.make<ScatterOp>(operand.getType(), kind, operand, f.indices(x.indices, -1, x.greatest),
                           f.argument(x.picked, element), x.indexed, x.operandBatch,
                           x.indicesBatch);
}

//===----------------------------------------------------------------------===//
// Composites
//===----------------------------------------------------------------------===//

static Operation *makeSoftmax(OpFactory &f) {
  auto shape = f.random.shape(1, 3);
  return f.make<SoftmaxOp>(f.argument(shape, f.real()), f.random.integer(0, shape.size() - 1),
                           f.random.chance(0.5));
}

static Operation *makeLayerNorm(OpFactory &f) {
  auto shape = f.random.shape(1, 3);
  int64_t dim = f.random.integer(0, shape.size() - 1);
  auto parameter = ArrayRef(shape).drop_front(dim);
  Value bias = f.random.chance(0.5) ? f.argument(parameter, f.real()) : Value();
  return f.make<LayerNormOp>(f.type(shape, f.real()), f.argument(shape, f.real()),
                             f.argument(parameter, f.real()), bias, static_cast<uint64_t>(dim),
                             APFloat(1e-3));
}

static Operation *makeRmsNorm(OpFactory &f) {
  auto shape = f.random.shape(1, 3);
  int64_t dim = f.random.integer(0, shape.size() - 1);
  return f.make<RmsNormOp>(f.type(shape, f.real()), f.argument(shape, f.real()),
                           f.argument(ArrayRef(shape).drop_front(dim), f.real()),
                           static_cast<uint64_t>(dim), APFloat(1e-3));
}

static Operation *makeRope(OpFactory &f) {
  auto angles = f.random.shape(1, 4), shape = angles;
  shape.back() *= 2;
  return f.make<RopeOp>(f.argument(shape, f.real()), f.argument(angles, f.real()),
                        f.argument(angles, f.real()), f.random.chance(0.5));
}

static Operation *makeAttention(OpFactory &f) {
  int64_t batch = f.random.size(), groups = f.random.size(),
          heads = groups * f.random.integer(1, 4);
  int64_t queries = f.random.size(), keys = f.random.size(), depth = f.random.size();
  int64_t out = f.random.size();
  Value mask = f.random.chance(0.5) ? f.argument({batch, heads, queries, keys}, f.real()) : Value();
  return f.make<AttentionOp>(f.type({batch, heads, queries, out}, f.real()), Type(),
                             f.argument({batch, heads, queries, depth}, f.real()),
                             f.argument({batch, groups, keys, depth}, f.real()),
                             f.argument({batch, groups, keys, out}, f.real()), mask, APFloat(0.5),
                             f.random.chance(0.3), APFloat(f.random.chance(0.3) ? 2.0 : 0.0));
}

static Operation *makeAttentionGrad(OpFactory &f) {
  Operation *forward = makeAttention(f);
  auto attention = cast<AttentionOp>(forward);
  auto shape = attention.getResult().getType().getShape();
  return f.make<AttentionGradOp>(
      attention.getQuery().getType(), attention.getKey().getType(), attention.getValue().getType(),
      attention.getQuery(), attention.getKey(), attention.getValue(), f.argument(shape, f.real()),
      f.argument(shape, f.real()), Value(), attention.getMask(), attention.getScaleAttr(),
      attention.getCausalAttr(), attention.getSoftcapAttr());
}

static Operation *makeIota(OpFactory &f) {
  return f.make<IotaOp>(f.type({f.random.size()}, f.number()));
}

const std::map<std::string, Generator> &structuredGenerators() {
  static const std::map<std::string, Generator> generators = {
      {"nn.constant", makeConstant},
      {"nn.iota", makeIota},
      {"nn.broadcast", makeBroadcast},
      {"nn.reshape", makeReshape},
      {"nn.transpose", makeTranspose},
      {"nn.reverse", makeReverse},
      {"nn.slice", makeSlice},
      {"nn.concat", makeConcat},
      {"nn.pad", makePad},
      {"nn.contract", makeContract},
      {"nn.conv", makeConv},
      {"nn.reduce", makeReduce},
      {"nn.arg_reduce", makeArgReduce},
      {"nn.reduce_window", makeReduceWindow},
      {"nn.arg_window", makeArgWindow},
      {"nn.scan", makeScan},
      {"nn.top_k", makeTopK},
      {"nn.gather", makeGather},
      {"nn.scatter", makeScatter},
      {"nn.softmax", makeSoftmax},
      {"nn.layer_norm", makeLayerNorm},
      {"nn.rms_norm", makeRmsNorm},
      {"nn.rope", makeRope},
      {"nn.attention", makeAttention},
      {"nn.attention_grad", makeAttentionGrad}};
  return generators;
}

} // namespace weft::nn::test
