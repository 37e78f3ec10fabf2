// Generates random programs, op by op from what is there.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomProgram.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/Nn.h"
#include "passes/dist/OpQueries.h"

#include <numeric>

using namespace mlir;

namespace weft::test {

namespace {

class Generator {
public:
  Generator(MLIRContext &context, Random &random, bool single)
      : builder(&context), loc(builder.getUnknownLoc()), random(random),
        real(single ? FloatType(builder.getF32Type()) : FloatType(builder.getF64Type())),
        index(builder.getI64Type()) {}

  RandomProgram run(int length) {
    RandomProgram program;
    program.mesh = randomMesh(random);
    program.module = ModuleOp::create(loc);
    program.module.get()->setAttr(dist::kMeshAttr,
                                  dist::MeshAttr::get(builder.getContext(), program.mesh));
    builder.setInsertionPointToEnd(program.module->getBody());
    function = func::FuncOp::create(builder, loc, "forward", builder.getFunctionType({}, {}));
    body = function.addEntryBlock();
    builder.setInsertionPointToEnd(body);
    pool.push_back(argument(randomShape()));
    for (int made = 0; made < length;)
      made += addOp();
    finish();
    program.function = function;
    program.inputs = std::move(inputs);
    return program;
  }

private:
  SmallVector<int64_t> randomShape() {
    SmallVector<int64_t> shape;
    for (int64_t n = random.between(1, 3); n > 0; --n)
      shape.push_back(random.between(2, 8));
    return shape;
  }

  RankedTensorType type(ArrayRef<int64_t> shape) { return RankedTensorType::get(shape, real); }
  static ArrayRef<int64_t> shapeOf(Value value) {
    return cast<RankedTensorType>(value.getType()).getShape();
  }

  Value argument(ArrayRef<int64_t> shape) {
    HostTensor data(type(shape));
    for (double &element : data.reals)
      element = random.real();
    roundToOwnType(data);
    inputs.push_back(std::move(data));
    return body->addArgument(type(shape), loc);
  }

  /// Positions below `size`, a few of them outside.
  Value indexArgument(ArrayRef<int64_t> shape, int64_t size) {
    auto indexType = RankedTensorType::get(shape, index);
    HostTensor data(indexType);
    for (int64_t &element : data.integers)
      element = random.chance(5) ? (random.chance(50) ? -1 : size) : random.below(size);
    inputs.push_back(std::move(data));
    return body->addArgument(indexType, loc);
  }

  Value pick() {
    // Recent values more often, so that programs are deep.
    size_t back = std::min<size_t>(random.below(3), random.below(pool.size()));
    return random.chance(70) ? pool[pool.size() - 1 - back] : pool[random.below(pool.size())];
  }

  /// Another value of the shape, or the value itself.
  Value partner(Value value) {
    SmallVector<Value> same;
    for (Value other : pool)
      if (other.getType() == value.getType())
        same.push_back(other);
    if (random.chance(25))
      return argument(shapeOf(value));
    return same[random.below(same.size())];
  }

  int push(Value value) {
    if (cast<RankedTensorType>(value.getType()).getNumElements() > 3000)
      return 0;
    pool.push_back(value);
    return 1;
  }

  int addOp() {
    Value value = pick();
    switch (random.below(21)) {
    case 0:
      return push(nn::TanhOp::create(builder, loc, value));
    case 1:
      return random.chance(50) ? push(nn::GeluOp::create(builder, loc, value, random.chance(50)))
                               : push(nn::NegateOp::create(builder, loc, value));
    case 2:
      return push(nn::AddOp::create(builder, loc, value, partner(value)));
    case 3:
      return push(nn::MulOp::create(builder, loc, value, partner(value)));
    case 4:
      return push(random.chance(50)
                      ? nn::MaxOp::create(builder, loc, value, partner(value)).getResult()
                      : nn::SubOp::create(builder, loc, value, partner(value)).getResult());
    case 5:
    case 6:
      return addProduct(value);
    case 7:
      return addReduce(value);
    case 8:
      return addBroadcast(value);
    case 9:
      return addReshape(value);
    case 10:
      return addTranspose(value);
    case 11:
      return addSlice(value);
    case 12:
      return addConcatOrPad(value);
    case 13:
      return shapeOf(value).empty()
                 ? 0
                 : push(nn::SoftmaxOp::create(builder, loc, value,
                                              random.below(shapeOf(value).size())));
    case 14:
      return addNorm(value);
    case 15:
      return addLookup();
    case 16:
      return addSelect(value);
    case 17:
      return addScatterOrConstant(value);
    case 18:
      return random.chance(50) ? addAttention() : addConvolution();
    case 19:
      return addInteger(value);
    case 20:
      return addOrdered(value);
    }
    return 0;
  }

  int addProduct(Value value) {
    ArrayRef<int64_t> shape = shapeOf(value);
    int64_t tensorRank = shape.size();
    if (tensorRank == 0)
      return 0;
    // Free dims of the left, one contracted, maybe a batch dim.
    SmallVector<int64_t> left(tensorRank), right, result;
    std::iota(left.begin(), left.end(), 0);
    int64_t contracted = random.below(tensorRank);
    bool batched = tensorRank > 1 && random.chance(30);
    int64_t batch = (contracted + 1) % tensorRank;
    SmallVector<int64_t> weightShape;
    if (batched) {
      right.push_back(batch);
      weightShape.push_back(shape[batch]);
    }
    right.push_back(contracted);
    weightShape.push_back(shape[contracted]);
    right.push_back(tensorRank);
    weightShape.push_back(random.between(2, 8));
    for (int64_t label : left)
      if (label != contracted)
        result.push_back(label);
    result.push_back(tensorRank);
    return push(
        nn::ContractOp::create(builder, loc, value, argument(weightShape), left, right, result));
  }

  int addReduce(Value value) {
    int64_t tensorRank = shapeOf(value).size();
    SmallVector<int64_t> dims;
    for (int64_t d = 0; d < tensorRank; ++d)
      if (random.chance(50))
        dims.push_back(d);
    if (dims.empty())
      return 0;
    static const ReduceKind kinds[] = {ReduceKind::Sum, ReduceKind::Sum, ReduceKind::Max,
                                       ReduceKind::Min, ReduceKind::Prod};
    return push(nn::ReduceOp::create(builder, loc, kinds[random.below(5)], value, dims));
  }

  int addBroadcast(Value value) {
    SmallVector<int64_t> shape(shapeOf(value)), dims;
    if (shape.size() > 3)
      return 0;
    int64_t at = random.below(shape.size() + 1);
    for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d)
      dims.push_back(d < at ? d : d + 1);
    shape.insert(shape.begin() + at, random.between(2, 6));
    return push(nn::BroadcastOp::create(builder, loc, type(shape), value,
                                        builder.getDenseI64ArrayAttr(dims)));
  }

  int addReshape(Value value) {
    SmallVector<int64_t> shape(shapeOf(value));
    if (shape.size() > 1 && random.chance(50)) {
      int64_t d = random.below(shape.size() - 1);
      shape[d] *= shape[d + 1];
      shape.erase(shape.begin() + d + 1);
    } else {
      SmallVector<std::pair<size_t, int64_t>> splits;
      for (auto [d, size] : llvm::enumerate(shape))
        for (int64_t divisor = 2; divisor < size; ++divisor)
          if (size % divisor == 0)
            splits.push_back({d, divisor});
      if (splits.empty() || shape.size() > 3)
        return 0;
      auto [d, divisor] = splits[random.below(splits.size())];
      shape[d] /= divisor;
      shape.insert(shape.begin() + d, divisor);
    }
    return push(nn::ReshapeOp::create(builder, loc, type(shape), value));
  }

  int addTranspose(Value value) {
    SmallVector<int64_t> permutation(shapeOf(value).size());
    std::iota(permutation.begin(), permutation.end(), 0);
    for (size_t i = permutation.size(); i > 1; --i)
      std::swap(permutation[i - 1], permutation[random.below(i)]);
    return push(nn::TransposeOp::create(builder, loc, value, permutation));
  }

  int addSlice(Value value) {
    SmallVector<int64_t> shape(shapeOf(value)), starts(shape.size(), 0), strides(shape.size(), 1);
    if (shape.empty())
      return 0;
    int64_t d = random.below(shape.size());
    int64_t size = shape[d];
    for (int64_t blocks : {2, 3})
      if (size % blocks == 0 && random.chance(60)) {
        shape[d] = size / blocks;
        starts[d] = random.below(blocks) * shape[d];
        return push(slice(value, shape, starts, strides));
      }
    shape[d] = random.between(1, size);
    starts[d] = random.below(size - shape[d] + 1);
    return push(slice(value, shape, starts, strides));
  }

  Value slice(Value value, ArrayRef<int64_t> shape, ArrayRef<int64_t> starts,
              ArrayRef<int64_t> strides) {
    return nn::SliceOp::create(builder, loc, type(shape), value,
                               builder.getDenseI64ArrayAttr(starts),
                               builder.getDenseI64ArrayAttr(strides));
  }

  int addConcatOrPad(Value value) {
    SmallVector<int64_t> shape(shapeOf(value));
    if (shape.empty())
      return 0;
    int64_t d = random.below(shape.size());
    if (random.chance(50))
      return push(nn::ConcatOp::create(builder, loc, ValueRange{value, partner(value)}, d));
    SmallVector<int64_t> low(shape.size(), 0), high(shape.size(), 0);
    low[d] = random.chance(50) ? shape[d] : random.below(3);
    high[d] = random.below(3);
    shape[d] += low[d] + high[d];
    return push(nn::PadOp::create(builder, loc, type(shape), value,
                                  builder.getDenseI64ArrayAttr(low),
                                  builder.getDenseI64ArrayAttr(high),
                                  builder.getFloatAttr(real, random.chance(50) ? 0.0 : 0.5)));
  }

  int addNorm(Value value) {
    ArrayRef<int64_t> shape = shapeOf(value);
    if (shape.empty())
      return 0;
    Value scale = argument(shape.back());
    auto dim = builder.getI64IntegerAttr(shape.size() - 1);
    auto epsilon = builder.getF64FloatAttr(1e-2);
    if (random.chance(50))
      return push(nn::RmsNormOp::create(builder, loc, value.getType(), value, scale, dim, epsilon));
    return push(nn::LayerNormOp::create(builder, loc, value.getType(), value, scale,
                                        argument(shape.back()), dim, epsilon));
  }

  int addLookup() {
    int64_t rows = random.between(3, 12);
    Value table = argument({rows, random.between(2, 6)});
    Value indices = indexArgument({random.between(2, 6), 1}, rows);
    return push(nn::GatherOp::create(builder, loc, table, indices, ArrayRef<int64_t>{0},
                                     ArrayRef<int64_t>{}, ArrayRef<int64_t>{}));
  }

  int addSelect(Value value) {
    Value other = partner(value);
    // Operands that no reduction has touched: rounding must not decide.
    Value a = argument(shapeOf(value)), b = argument(shapeOf(value));
    Value condition = nn::CompareOp::create(builder, loc, nn::CompareKind::Lt, a, b);
    return push(nn::SelectOp::create(builder, loc, condition, value, other));
  }

  int addScatterOrConstant(Value value) {
    if (random.chance(40)) {
      Value splat = nn::ConstantOp::create(
          builder, loc,
          DenseElementsAttr::get(type(shapeOf(value)), builder.getFloatAttr(real, random.real())));
      return push(nn::AddOp::create(builder, loc, value, splat));
    }
    int64_t rows = random.between(3, 8), width = random.between(2, 5), count = random.between(2, 7);
    Value base = nn::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type({rows, width}), builder.getFloatAttr(real, 0)));
    if (random.chance(50))
      base = argument({rows, width});
    Value indices = indexArgument({count, 1}, rows);
    Value updates = argument({count, width});
    return push(nn::ScatterOp::create(builder, loc, base.getType(), nn::ScatterKind::Add, base,
                                      indices, updates, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{},
                                      ArrayRef<int64_t>{}));
  }

  int addAttention() {
    int64_t batch = random.between(1, 3), groups = random.between(1, 3),
            heads = groups * random.between(1, 2);
    int64_t rows = random.between(2, 4), depth = 2 * random.between(1, 2);
    Value query = argument({batch, heads, rows, depth});
    Value key = argument({batch, groups, rows, depth}),
          value = argument({batch, groups, rows, depth});
    auto made = nn::AttentionOp::create(builder, loc, query.getType(), Type(), query, key, value,
                                        Value(), builder.getF64FloatAttr(0.5),
                                        random.chance(50) ? builder.getUnitAttr() : UnitAttr(),
                                        builder.getF64FloatAttr(0));
    return push(made.getResult());
  }

  int addConvolution() {
    int64_t groups = random.between(1, 2), channels = groups * random.between(1, 4);
    int64_t out = groups * random.between(1, 4), length = random.between(3, 6);
    Value input = argument({random.between(1, 4), channels, length});
    Value filter = argument({out, channels / groups, 3});
    auto one = builder.getDenseI64ArrayAttr({1});
    SmallVector<int64_t> shape = {shapeOf(input)[0], out, length};
    return push(nn::ConvOp::create(builder, loc, type(shape), input, filter, one, one, one, one,
                                   one, builder.getI64IntegerAttr(groups)));
  }

  /// Booleans and integers, reduced by their own kinds, and back to reals.
  int addInteger(Value value) {
    SmallVector<int64_t> shape(shapeOf(value));
    if (shape.empty())
      return 0;
    int64_t dim = random.below(shape.size());
    Value made;
    if (random.chance(50)) {
      made = nn::CompareOp::create(builder, loc, nn::CompareKind::Lt, argument(shape),
                                   argument(shape));
      made = nn::ReduceOp::create(builder, loc,
                                  random.chance(50) ? ReduceKind::And : ReduceKind::Or, made, dim);
    } else {
      static const ReduceKind kinds[] = {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min};
      made =
          nn::ReduceOp::create(builder, loc, kinds[random.below(3)], indexArgument(shape, 9), dim);
    }
    return push(nn::CastOp::create(builder, loc, made, real));
  }

  /// Ops that need a dim whole and in order, on values that rounding cannot reorder.
  int addOrdered(Value value) {
    SmallVector<int64_t> shape(shapeOf(value));
    if (shape.empty())
      return 0;
    int64_t dim = random.below(shape.size());
    auto dimAttr = builder.getI64IntegerAttr(dim);
    auto kind = [&](ReduceKind k) { return nn::ReduceKindAttr::get(builder.getContext(), k); };
    switch (random.below(4)) {
    case 0:
      return push(nn::ScanOp::create(builder, loc, value.getType(), kind(ReduceKind::Sum), value,
                                     dimAttr, UnitAttr(),
                                     random.chance(50) ? builder.getUnitAttr() : UnitAttr()));
    case 1:
      return push(nn::ReverseOp::create(builder, loc, value.getType(), value,
                                        builder.getDenseI64ArrayAttr(dim)));
    case 2: {
      SmallVector<int64_t> rest(shape);
      rest.erase(rest.begin() + dim);
      Value found =
          nn::ArgReduceOp::create(builder, loc, RankedTensorType::get(rest, index),
                                  kind(ReduceKind::Max), argument(shape), dimAttr, UnitAttr());
      return push(nn::CastOp::create(builder, loc, found, real));
    }
    default: {
      SmallVector<int64_t> best(shape);
      best[dim] = random.between(1, shape[dim]);
      auto sorted = nn::TopKOp::create(builder, loc, type(best), RankedTensorType::get(best, index),
                                       argument(shape), dimAttr, UnitAttr());
      push(sorted.getValues());
      return push(nn::CastOp::create(builder, loc, sorted.getIndices(), real));
    }
    }
  }

  void finish() {
    SmallVector<Value> results;
    for (Value value : llvm::reverse(pool))
      if ((value.use_empty() || results.empty()) && results.size() < 4)
        results.push_back(value);
    func::ReturnOp::create(builder, loc, results);
    function.setFunctionType(
        builder.getFunctionType(body->getArgumentTypes(),
                                llvm::map_to_vector(results, [](Value v) { return v.getType(); })));
  }

  OpBuilder builder;
  Location loc;
  Random &random;
  Type real, index;
  func::FuncOp function;
  Block *body = nullptr;
  SmallVector<Value> pool;
  std::vector<HostTensor> inputs;
};

} // namespace

RandomProgram randomProgram(MLIRContext &context, Random &random, int length, bool single) {
  return Generator(context, random, single).run(length);
}

/// Settles how one op is split, at random: any legal split of its factors.
static void settle(Operation *op, const Mesh &mesh, dist::MeshAttr meshAttr, Random &random) {
  FactorRule rule = dist::globalRuleOf(op);
  auto partialRules = [&](ReduceKind kind) { return dist::partialRulesOf(op, kind); };
  OpSharding sharding = OpSharding::replicated(rule);
  for (AxisId axis = 0; axis < static_cast<AxisId>(mesh.axes.size()); ++axis) {
    if (rule.factors.empty() || mesh.size(axis) == 1)
      continue;
    DimPlacement &parts = sharding.factors[random.below(rule.factors.size())];
    DimPlacement before = parts;
    parts.front().axes.push_back(axis);
    parts = canonicalize(mesh, parts);
    if (before.front().size < 2 || !isLegal(mesh, rule, partialRules, sharding))
      parts = before;
  }
  OpPlacements placements = placementsOf(mesh, rule, sharding, CheckLevel::Sharded);
  auto list = [&](ArrayRef<Placement> entries) {
    SmallVector<Attribute> attributes;
    for (const Placement &entry : entries)
      attributes.push_back(dist::PlacementAttr::get(op->getContext(), meshAttr, entry));
    return ArrayAttr::get(op->getContext(), attributes);
  };
  op->setAttr(dist::kOperandsAttr, list(placements.operands));
  op->setAttr(dist::kPlacementsAttr, list(placements.results));
}

void addMicrobatches(RandomProgram &program, int64_t count) {
  program.mesh.axes.push_back({"mb", count, AxisKind::Temporal});
  program.module.get()->setAttr(dist::kMeshAttr,
                                dist::MeshAttr::get(program.module->getContext(), program.mesh));
}

void annotate(RandomProgram &program, Random &random) {
  MLIRContext *context = program.module->getContext();
  auto mesh = dist::getMesh(program.function);
  auto attribute = [&](Type type) {
    return dist::PlacementAttr::get(
        context, mesh,
        randomPlacement(random, program.mesh, cast<RankedTensorType>(type).getShape(), false));
  };
  for (BlockArgument argument : program.function.getArguments())
    if (random.chance(60)) {
      dist::PlacementAttr used = attribute(argument.getType()),
                          stored = dist::PlacementAttr::get(
                              context, mesh, gatheredOverTime(program.mesh, used.getValue()));
      program.function.setArgAttr(argument.getArgNumber(), dist::kPlacementAttr, stored);
      if (used != stored)
        program.function.setArgAttr(argument.getArgNumber(), dist::kUsedAttr, used);
      if (random.chance(30))
        program.function.setArgAttr(argument.getArgNumber(), dist::kClosedAttr,
                                    UnitAttr::get(context));
    }
  for (Operation &op : program.function.getBody().front().without_terminator())
    if (random.chance(20)) {
      settle(&op, program.mesh, mesh, random);
    } else if (random.chance(30)) {
      SmallVector<Attribute> entries;
      for (Type type : op.getResultTypes())
        entries.push_back(attribute(type));
      op.setAttr(dist::kPlacementsAttr, ArrayAttr::get(context, entries));
      if (random.chance(30))
        op.setAttr(dist::kClosedAttr, UnitAttr::get(context));
    }
}

} // namespace weft::test
