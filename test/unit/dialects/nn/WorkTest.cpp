// Work of ops: held to points that are counted one by one, and to the work of pieces.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomOps.h"

#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Interfaces/OpWork.h"
#include "weft/Interfaces/TensorTypes.h"

#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace weft;
using namespace weft::nn;
using namespace weft::nn::test;

namespace {

constexpr uint64_t kSeed = 20261123;

std::string textOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream(text) << *op;
  return text;
}

ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

int64_t bytesPerElement(Value value) { return elementBytes(value.getType()); }

struct WorkTest : ::testing::Test {
  WorkTest() { context.loadDialect<NnDialect>(); }

  void forEach(const std::string &name,
               llvm::function_ref<void(Operation *, const OpWork &)> check) {
    Random random(kSeed ^ llvm::xxh3_64bits(name));
    for (int64_t i = 0, count = volume(200, 2000); i < count && !HasFailure(); ++i) {
      OpFactory factory(&context, random);
      Operation *op = structuredGenerators().at(name)(factory);
      if (!op)
        continue;
      SCOPED_TRACE(textOf(op));
      check(op, workOf(op));
    }
  }

  MLIRContext context;
};

TEST_F(WorkTest, ProductsCountEachProduct) {
  forEach("nn.contract", [](Operation *op, const OpWork &work) {
    auto contract = cast<ContractOp>(op);
    // Each label is a loop.
    std::map<int64_t, int64_t> loops;
    for (auto [label, size] : llvm::zip_equal(contract.getLhsLabels(), shapeOf(contract.getLhs())))
      loops[label] = size;
    for (auto [label, size] : llvm::zip_equal(contract.getRhsLabels(), shapeOf(contract.getRhs())))
      loops[label] = size;
    int64_t products = 1;
    for (auto [label, size] : loops)
      products *= size;
    EXPECT_EQ(work.flops, 2.0 * double(products));
    if (work.shape.kind == WorkShape::Kind::Gemm) {
      const WorkShape &s = work.shape;
      EXPECT_EQ(s.batch * s.m * s.n * s.k, products);
      EXPECT_EQ(s.batch * s.m * s.k, contract.getLhs().getType().getNumElements());
      EXPECT_EQ(s.batch * s.k * s.n, contract.getRhs().getType().getNumElements());
      EXPECT_EQ(s.batch * s.m * s.n, contract.getType().getNumElements());
    } else {
      EXPECT_EQ(contract.getComputeClass(), ComputeClass::Elementwise);
    }
  });
}

TEST_F(WorkTest, ConvolutionsCountEachTap) {
  forEach("nn.conv", [](Operation *op, const OpWork &work) {
    auto conv = cast<ConvOp>(op);
    int64_t taps = 0, perResult = 1;
    for (int64_t size : shapeOf(conv.getFilter()).drop_front())
      perResult *= size;
    for (int64_t i = 0; i < conv.getType().getNumElements(); ++i)
      taps += perResult;
    EXPECT_EQ(work.flops, 2.0 * double(taps));
    const WorkShape &s = work.shape;
    EXPECT_EQ(s.kind, WorkShape::Kind::Conv);
    EXPECT_EQ(s.batch, int64_t(conv.getGroups()));
    EXPECT_EQ(s.batch * s.m * s.n * s.k, taps);
  });
}

/// Pairs that causal rows see, one by one, as the op's description says.
int64_t countPairs(int64_t queries, int64_t keys, bool isCausal) {
  int64_t pairs = 0;
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t j = 0; j < keys; ++j)
      pairs += !isCausal || j <= i + keys - queries;
  return pairs;
}

TEST_F(WorkTest, AttentionCountsThePairsThatAreSeen) {
  int causal = 0;
  forEach("nn.attention", [&](Operation *op, const OpWork &work) {
    auto attention = cast<AttentionOp>(op);
    auto q = shapeOf(attention.getQuery()), v = shapeOf(attention.getValue());
    int64_t pairs = q[0] * q[1] * countPairs(q[2], v[2], attention.getCausal());
    EXPECT_EQ(work.flops, double(pairs) * double(2 * q[3] + 2 * v[3] + 12));
    EXPECT_EQ(work.shape.kind, WorkShape::Kind::Attention);
    EXPECT_EQ(work.shape.isCausal, attention.getCausal());
    if (attention.getMask())
      EXPECT_EQ(work.read[3], pairs * bytesPerElement(attention.getMask()));
    causal += attention.getCausal();
  });
  EXPECT_GT(causal, 10);
  forEach("nn.attention_grad", [&](Operation *op, const OpWork &work) {
    auto attention = cast<AttentionGradOp>(op);
    auto q = shapeOf(attention.getQuery()), v = shapeOf(attention.getValue());
    int64_t pairs = q[0] * q[1] * countPairs(q[2], v[2], attention.getCausal());
    EXPECT_EQ(work.flops, double(pairs) * double(6 * q[3] + 4 * v[3] + 16));
  });
}

TEST_F(WorkTest, LookUpsTouchRowsAndNotTheTable) {
  forEach("nn.gather", [](Operation *op, const OpWork &work) {
    auto gather = cast<GatherOp>(op);
    int64_t bytes = bytesOf(gather.getResult());
    EXPECT_EQ(work.bytesRead(), bytes + bytesOf(gather.getIndices()));
    EXPECT_EQ(work.bytesWritten(), bytes);
    EXPECT_EQ(work.flops, 0);
  });
  int fresh = 0;
  forEach("nn.scatter", [&](Operation *op, const OpWork &work) {
    auto scatter = cast<ScatterOp>(op);
    int64_t rows = bytesOf(scatter.getUpdates());
    bool isFresh = scatter.getOperand().getDefiningOp<ConstantOp>();
    bool assigns = scatter.getKind() == ScatterKind::Assign;
    EXPECT_EQ(work.bytesRead(), (assigns ? 1 : 2) * rows + bytesOf(scatter.getIndices()));
    EXPECT_EQ(work.bytesWritten(), rows + (isFresh ? bytesOf(scatter.getResult()) : 0));
    fresh += isFresh;
  });
  EXPECT_GT(fresh, 10);
}

TEST_F(WorkTest, ViewsAndConstantsAreNoWork) {
  for (const char *name : {"nn.constant", "nn.broadcast", "nn.reshape", "nn.transpose"})
    forEach(name, [](Operation *op, const OpWork &work) {
      if (!isViewOrConstant(op))
        return;
      EXPECT_EQ(work.launches, 0);
      EXPECT_EQ(work.bytesRead() + work.bytesWritten(), 0);
      EXPECT_EQ(work.flops, 0);
    });
}

TEST_F(WorkTest, SlicesReadWhatTheyKeep) {
  forEach("nn.slice", [](Operation *op, const OpWork &work) {
    int64_t bytes = isViewOrConstant(op) ? 0 : bytesOf(op->getResult(0));
    EXPECT_EQ(work.bytesRead(), bytes);
    EXPECT_EQ(work.bytesWritten(), bytes);
  });
}

/// The types of one of `count` equal pieces of factor `f`.
SmallVector<Type> localTypes(const FactorRule &rule, int f, int64_t count, TypeRange types,
                             ArrayRef<TensorFactors> factors) {
  SmallVector<Type> local;
  for (auto [type, dims] : llvm::zip_equal(types, factors)) {
    auto tensor = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape(tensor.getShape());
    for (auto [size, dim] : llvm::zip_equal(shape, dims))
      if (llvm::is_contained(dim, f))
        size /= count;
    local.push_back(tensor.clone(shape));
  }
  return local;
}

/// Where each operand or result is split the pieces are its bytes; else each piece has them all.
void expectShared(ArrayRef<int64_t> whole, ArrayRef<int64_t> piece, ArrayRef<TensorFactors> factors,
                  int f, int64_t count) {
  for (auto [all, part, dims] : llvm::zip_equal(whole, piece, factors))
    EXPECT_EQ(part, FactorRule::contains(dims, f) ? all / count : all);
}

TEST_F(WorkTest, PiecesShareTheWork) {
  int64_t splits = 0;
  for (const auto &[name, generator] : structuredGenerators()) {
    // What a look-up touches follows its indices and not the table; see above.
    bool isLookUp = name == "nn.gather" || name == "nn.scatter" || name == "nn.slice";
    forEach(name, [&](Operation *op, const OpWork &whole) {
      FactorRule rule = cast<ShardableOpInterface>(op).getOwnFactorRule();
      for (int f = 0, e = rule.factors.size(); f < e; ++f)
        for (int64_t count : {2, 3}) {
          const Factor &factor = rule.factors[f];
          if (factor.kind == Factor::Kind::Whole || factor.size % count != 0)
            continue;
          auto operands = localTypes(rule, f, count, op->getOperandTypes(), rule.operands);
          auto results = localTypes(rule, f, count, op->getResultTypes(), rule.results);
          OpWork piece = workOf(op, operands, results);
          EXPECT_EQ(piece.launches, whole.launches);
          EXPECT_EQ(piece.shape.kind, whole.shape.kind);
          if (!isLookUp) {
            // Devices that share out the value's size repeat each other's scores.
            bool repeats = whole.shape.kind == WorkShape::Kind::Attention &&
                           !FactorRule::contains(rule.operands[0], f);
            if (repeats)
              EXPECT_GT(piece.flops * double(count), whole.flops);
            else
              EXPECT_NEAR(piece.flops * double(count), whole.flops, 1e-9 * whole.flops);
            expectShared(whole.read, piece.read, rule.operands, f, count);
            expectShared(whole.written, piece.written, rule.results, f, count);
          } else if (!isViewOrConstant(op)) {
            EXPECT_LE(piece.bytesWritten(), whole.bytesWritten());
          }
          ++splits;
        }
    });
  }
  EXPECT_GT(splits, 2000);
}

} // namespace
