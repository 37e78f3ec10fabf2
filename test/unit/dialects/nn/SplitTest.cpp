// The referee of factor and partial rules: pieces evaluated apart make up the whole.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomOps.h"

#include "dialects/nn/IR/NnReference.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/xxhash.h"

#include <iostream>

using namespace mlir;
using namespace weft;
using namespace weft::nn;
using namespace weft::nn::test;

namespace {

constexpr uint64_t kSeed = 20260117;

/// Factor `f` of a rule is cut into `count` pieces, the last ones padded if the
/// factor's size is no multiple.
struct Split {
  const FactorRule &rule;
  int f;
  int64_t count;

  int64_t pieceSize() const { return llvm::divideCeil(rule.factors[f].size, count); }

  SmallVector<int64_t> localShape(const TensorFactors &dims, ArrayRef<int64_t> shape) const {
    SmallVector<int64_t> local(shape);
    for (auto [size, factors] : llvm::zip_equal(local, dims))
      if (llvm::is_contained(factors, f))
        size = size / rule.factors[f].size * pieceSize();
    return local;
  }

  /// Calls `visit(global, local)` with the linear index of each element of
  /// piece `piece`, in the whole tensor and in the piece; not of padding.
  void forEach(const TensorFactors &dims, ArrayRef<int64_t> shape, int64_t piece,
               llvm::function_ref<void(int64_t, int64_t)> visit) const {
    auto strides = rowMajorStrides(shape);
    auto local = localShape(dims, shape);
    int64_t linear = 0;
    forEachIndex(local, [&](ArrayRef<int64_t> index) {
      int64_t global = 0;
      bool inside = true;
      for (auto [dim, i] : llvm::enumerate(index)) {
        // Peel the factors from the minor end; ours is shifted by its piece.
        int64_t rest = i, weight = 1, position = 0;
        for (int factor : llvm::reverse(dims[dim])) {
          int64_t size = factor == f ? pieceSize() : rule.factors[factor].size;
          int64_t digit = rest % size;
          rest /= size;
          digit += factor == f ? piece * pieceSize() : 0;
          inside &= digit < rule.factors[factor].size;
          position += weight * digit;
          weight *= rule.factors[factor].size;
        }
        global += (dims[dim].empty() ? 0 : position) * strides[dim];
      }
      if (inside)
        visit(global, linear);
      ++linear;
    });
  }
};

HostTensor cut(const Split &split, const TensorFactors &dims, const HostTensor &whole,
               int64_t piece) {
  const Factor &factor = split.rule.factors[split.f];
  // Padding holds the neutral element where it is combined.
  Scalar padding = factor.kind == Factor::Kind::Reduction
                       ? neutralElement(factor.reduction, whole.elementType)
                       : Scalar();
  HostTensor local = filled(
      RankedTensorType::get(split.localShape(dims, whole.shape), whole.elementType), padding);
  split.forEach(dims, whole.shape, piece,
                [&](int64_t from, int64_t to) { local.set(to, whole.at(from)); });
  return local;
}

RankedTensorType localType(const Split &split, const TensorFactors &dims, Type type) {
  auto ranked = cast<RankedTensorType>(type);
  return RankedTensorType::get(split.localShape(dims, ranked.getShape()), ranked.getElementType());
}

/// A clone of `op` on local types, as the partitioner makes it.
Operation *makeLocal(OpFactory &factory, Operation *op, const Split &split) {
  SmallVector<Value> operands;
  for (auto [operand, dims] : llvm::zip_equal(op->getOperands(), split.rule.operands)) {
    auto type = localType(split, dims, operand.getType());
    if (auto constant = operand.getDefiningOp<ConstantOp>()) {
      auto splat = cast<SplatElementsAttr>(constant.getValue());
      operands.push_back(
          factory.make<ConstantOp>(ElementsAttr(splat.resizeSplat(type)))->getResult(0));
    } else {
      operands.push_back(factory.argument(type.getShape(), type.getElementType()));
    }
  }
  Operation *local = factory.builder.clone(*op);
  local->setOperands(operands);
  for (auto [result, dims] : llvm::zip_equal(local->getResults(), split.rule.results))
    result.setType(localType(split, dims, result.getType()));
  cast<ShardableOpInterface>(local).localizeAttributes(op->getOperandTypes(), op->getResultTypes());
  return local;
}

std::string textOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os, OpPrintingFlags().printGenericOpForm());
  return text;
}

std::string textOf(const FactorRule &rule) {
  std::string text;
  llvm::raw_string_ostream os(text);
  rule.print(os);
  return text;
}

/// Subtracts the piece's start from the index component that addresses factor
/// f.
void localizeIndices(const Split &split, int64_t piece, SmallVectorImpl<HostTensor> &operands) {
  const Factor &factor = split.rule.factors[split.f];
  if (factor.indexOperand < 0)
    return;
  HostTensor &indices = operands[factor.indexOperand];
  int64_t components = indices.shape.back();
  for (int64_t i = factor.indexComponent; i < indices.size(); i += components)
    indices.integers[i] -= piece * split.pieceSize();
}

/// Evaluates the pieces of `op` and puts them together.
SmallVector<HostTensor> evaluateInPieces(Operation *local, const Split &split,
                                         ArrayRef<HostTensor> operands,
                                         ArrayRef<HostTensor> expected) {
  SmallVector<HostTensor> whole;
  for (int64_t piece = 0; piece < split.count; ++piece) {
    SmallVector<HostTensor> pieces;
    for (auto [operand, dims] : llvm::zip_equal(operands, split.rule.operands))
      pieces.push_back(cut(split, dims, operand, piece));
    localizeIndices(split, piece, pieces);
    auto results = cast<ReferenceOpInterface>(local).evaluate(pieces);
    if (piece == 0)
      for (const HostTensor &tensor : expected)
        whole.push_back(HostTensor(RankedTensorType::get(tensor.shape, tensor.elementType)));
    const Factor &factor = split.rule.factors[split.f];
    bool reduces = factor.kind == Factor::Kind::Reduction && piece > 0;
    for (size_t i = 0; i < results.size(); ++i)
      split.forEach(split.rule.results[i], whole[i].shape, piece, [&](int64_t to, int64_t from) {
        Scalar value = results[i].at(from);
        if (reduces)
          value = combine(factor.reduction, whole[i].at(to), value, whole[i].elementType);
        whole[i].set(to, value);
      });
  }
  return whole;
}

/// Checks one factor of one op; returns the number of splits tried.
int checkFactor(OpFactory &factory, Operation *op, const FactorRule &rule, int f,
                ArrayRef<HostTensor> operands, ArrayRef<HostTensor> expected) {
  const Factor &factor = rule.factors[f];
  bool reduces = factor.kind == Factor::Kind::Reduction;
  if (factor.kind == Factor::Kind::Whole)
    return 0;
  for (const TensorFactors &result : rule.results)
    EXPECT_EQ(FactorRule::contains(result, f), !reduces)
        << "parallel factors are in all results, reductions in none";
  int splits = 0;
  for (int64_t count = 2; count <= factor.size; ++count) {
    Split split{rule, f, count};
    if (split.pieceSize() * (count - 1) >= factor.size)
      continue; // A piece would be all padding.
    SCOPED_TRACE("factor " + std::to_string(f) + " in " + std::to_string(count));
    Operation *local = makeLocal(factory, op, split);
    SCOPED_TRACE(textOf(local));
    if (failed(verify(local))) {
      ADD_FAILURE() << "the local op does not verify";
      continue;
    }
    FactorRule again = cast<ShardableOpInterface>(local).getFactorRule(op->getOperandTypes(),
                                                                       op->getResultTypes());
    EXPECT_EQ(textOf(again), textOf(rule)) << "the local op, asked at global types";
    auto found = evaluateInPieces(local, split, operands, expected);
    for (auto [a, b] : llvm::zip_equal(expected, found))
      EXPECT_TRUE(areClose(a, b, 1e-12));
    ++splits;
  }
  return splits;
}

/// The reference is exact to fp64, but casts round each part by itself.
double partialTolerance(Type element) {
  unsigned width = element.getIntOrFloatBitWidth();
  return width == 64 ? 1e-9 : width == 32 ? 1e-6 : 0x1p-6;
}

struct SplitTest : ::testing::Test {
  SplitTest() { context.loadDialect<NnDialect>(); }

  /// Makes `count` instances by `generator` and checks all their factors.
  int check(const std::string &name, const Generator &generator, int64_t count) {
    Random random(kSeed ^ llvm::xxh3_64bits(name));
    int splits = 0;
    for (int64_t i = 0; i < count && !HasFailure(); ++i) {
      OpFactory factory(&context, random);
      Operation *op = generator(factory);
      if (!op)
        continue;
      auto shardable = cast<ShardableOpInterface>(op);
      FactorRule rule = shardable.getOwnFactorRule();
      SCOPED_TRACE(textOf(op) + "\n" + textOf(rule));
      std::string why;
      EXPECT_TRUE(succeeded(verify(op)));
      EXPECT_TRUE(rule.verify(op->getOperandTypes(), op->getResultTypes(), &why)) << why;
      if (HasFailure())
        break;
      auto operands = randomOperands(factory, op);
      auto expected = cast<ReferenceOpInterface>(op).evaluate(operands);
      for (int f = 0, e = rule.factors.size(); f < e; ++f)
        splits += checkFactor(factory, op, rule, f, operands, expected);
    }
    return splits;
  }

  /// Splits one set of operands into parts, evaluates each, combines the
  /// results.
  void checkPartialRule(Random &random, Operation *op, ReduceKind kind, const PartialRule &rule,
                        SmallVector<HostTensor> operands) {
    auto reference = cast<ReferenceOpInterface>(op);
    constexpr int kParts = 3;
    SmallVector<SmallVector<HostTensor>> parts(kParts, operands);
    for (unsigned member : rule) {
      auto type = RankedTensorType::get(operands[member].shape, operands[member].elementType);
      for (int part = 0; part < kParts; ++part) {
        parts[part][member] = randomTensor(random, type);
        for (int64_t i = 0; part > 0 && i < operands[member].size(); ++i)
          operands[member].set(i, combine(kind, operands[member].at(i), parts[part][member].at(i),
                                          type.getElementType()));
        if (part == 0)
          operands[member] = parts[part][member];
      }
    }
    auto expected = reference.evaluate(operands);
    SmallVector<HostTensor> found = reference.evaluate(parts[0]);
    for (int part = 1; part < kParts; ++part)
      for (auto [sum, result] : llvm::zip_equal(found, reference.evaluate(parts[part])))
        for (int64_t i = 0; i < sum.size(); ++i)
          sum.set(i, combine(kind, sum.at(i), result.at(i), sum.elementType));
    for (auto [a, b] : llvm::zip_equal(expected, found))
      EXPECT_TRUE(areClose(a, b, partialTolerance(a.elementType)));
  }

  int checkPartial(const std::string &name, const Generator &generator, int64_t count) {
    Random random(kSeed ^ llvm::xxh3_64bits(name));
    int checks = 0;
    for (int64_t i = 0; i < count && !HasFailure(); ++i) {
      OpFactory factory(&context, random);
      Operation *op = generator(factory);
      if (!op)
        continue;
      for (ReduceKind kind : {ReduceKind::Sum, ReduceKind::Prod, ReduceKind::Max, ReduceKind::Min,
                              ReduceKind::And, ReduceKind::Or}) {
        bool logic = kind == ReduceKind::And || kind == ReduceKind::Or;
        bool sums = kind == ReduceKind::Sum || kind == ReduceKind::Prod;
        for (const PartialRule &rule : cast<ShardableOpInterface>(op).getPartialRules(kind)) {
          SCOPED_TRACE(textOf(op) + "\n" + std::string(stringifyReduceKind(kind)));
          EXPECT_FALSE(rule.empty());
          // A placement may only ask for kinds that its element type has.
          bool meaningful = true;
          for (unsigned member : rule) {
            Type element =
                cast<RankedTensorType>(op->getOperand(member).getType()).getElementType();
            meaningful &= isa<FloatType>(element) ? !logic : !(sums && element.isInteger(1));
            meaningful &= !op->getOperand(member).getDefiningOp<ConstantOp>();
          }
          if (!meaningful)
            continue;
          checkPartialRule(random, op, kind, rule, randomOperands(factory, op));
          ++checks;
        }
      }
    }
    return checks;
  }

  MLIRContext context;
};

TEST_F(SplitTest, EveryOpHasAGenerator) {
  auto elementwise = elementwiseGenerators(&context);
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    if (name.getDialectNamespace() != "nn")
      continue;
    bool found = structuredGenerators().count(name.getStringRef().str());
    for (const auto &[title, generator] : elementwise)
      found |= StringRef(title).starts_with((name.getStringRef() + "(").str());
    EXPECT_TRUE(found) << name.getStringRef().str();
  }
}

TEST_F(SplitTest, PiecesOfStructuredOpsMakeUpTheWhole) {
  int64_t total = 0, instances = volume(300, 3000);
  for (const auto &[name, generator] : structuredGenerators()) {
    int splits = check(name, generator, instances);
    std::cout << name << ": " << splits << " splits of " << instances << " instances\n";
    // Iota is whole by nature.
    EXPECT_GE(splits, name == "nn.iota" ? 0 : instances / 3) << name;
    total += splits;
  }
  std::cout << "seed " << kSeed << ", splits " << total << "\n";
}

TEST_F(SplitTest, PiecesOfElementwiseOpsMakeUpTheWhole) {
  int64_t total = 0, instances = volume(6, 60);
  for (const auto &[name, generator] : elementwiseGenerators(&context))
    total += check(name, generator, instances);
  std::cout << "seed " << kSeed << ", splits " << total << "\n";
  EXPECT_GE(total, 1000);
}

TEST_F(SplitTest, PartsCombineToTheWhole) {
  int64_t instances = volume(60, 600);
  std::map<std::string, int> checks;
  for (const auto &[name, generator] : structuredGenerators())
    checks[name] += checkPartial(name, generator, instances);
  for (const auto &[name, generator] : elementwiseGenerators(&context))
    checks[StringRef(name).split('(').first.str()] += checkPartial(name, generator, instances / 4);
  int64_t total = 0;
  for (const auto &[name, count] : checks)
    total += count;
  std::cout << "seed " << kSeed << ", partial rules checked " << total << "\n";
  for (StringRef name :
       {"nn.add",        "nn.sub",           "nn.mul",     "nn.div",       "nn.negate",
        "nn.max",        "nn.min",           "nn.and",     "nn.or",        "nn.select",
        "nn.cast",       "nn.broadcast",     "nn.reshape", "nn.transpose", "nn.reverse",
        "nn.slice",      "nn.concat",        "nn.pad",     "nn.contract",  "nn.conv",
        "nn.reduce",     "nn.reduce_window", "nn.scan",    "nn.gather",    "nn.scatter",
        "nn.layer_norm", "nn.rms_norm",      "nn.rope",    "nn.attention"})
    EXPECT_GE(checks[name.str()], 10) << name.str();
}

} // namespace
