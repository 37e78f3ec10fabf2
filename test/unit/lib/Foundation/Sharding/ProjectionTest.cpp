// Splitting dims over factors, and the judge of an op's consistency.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Sharding/Projection.h"
#include "RandomPlacement.h"

#include <gtest/gtest.h>

using namespace weft;
using namespace weft::test;

namespace {

/// C[m,n] = sum_k A[m,k] B[k,n], linear in each operand.
struct Matmul {
  FactorRule rule;
  int m, k, n;
  Matmul(int64_t ms, int64_t ks, int64_t ns) {
    m = rule.add(ms);
    k = rule.add(ks, Factor::Kind::Reduction);
    n = rule.add(ns);
    rule.operands = {{{m}, {k}}, {{k}, {n}}};
    rule.results = {{{m}, {n}}};
  }
};

llvm::SmallVector<PartialRule> linear(ReduceKind kind) {
  if (kind != ReduceKind::Sum)
    return {};
  return {{0}, {1}};
}

Placement place(const Mesh &mesh, std::initializer_list<DimPlacement> dims,
                std::initializer_list<AxisId> partial = {}) {
  Placement placement;
  placement.dims.assign(dims.begin(), dims.end());
  for (AxisId axis : partial)
    placement.partial.push_back({axis, ReduceKind::Sum});
  return canonicalize(mesh, placement);
}

} // namespace

TEST(Projection, FusedQueryKeyValueSplitsOnHeads) {
  Mesh mesh = *Mesh::parse("tp=2");
  llvm::SmallVector<DimPlacement> split;
  // (3)(heads)(depth) of 3*768{"tp"}.
  ASSERT_TRUE(splitDim(mesh, {PlacedFactor{3, {}}, PlacedFactor{768, {0}}}, {3, 12, 64}, split));
  EXPECT_EQ(split[0], (DimPlacement{PlacedFactor{3, {}}}));
  EXPECT_EQ(split[1], (DimPlacement{PlacedFactor{12, {0}}}));
  EXPECT_EQ(split[2], (DimPlacement{PlacedFactor{64, {}}}));
  // 2304{"tp"} cuts the second of the three in half.
  EXPECT_FALSE(splitDim(mesh, {PlacedFactor{2304, {0}}}, {3, 12, 64}, split));
  // The axis passes a major factor that it uses up.
  Mesh four = *Mesh::parse("a=2,b=2");
  ASSERT_TRUE(splitDim(four, {PlacedFactor{8, {0, 1}}}, {2, 4}, split));
  EXPECT_EQ(split[1], (DimPlacement{PlacedFactor{4, {1}}}));
}

// Every placement that splits over factors joins to itself.
TEST(Projection, JoinInvertsSplit) {
  int splits = 0;
  for (int seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    Mesh mesh = randomMesh(random);
    llvm::SmallVector<int64_t> sizes;
    int64_t total = 1;
    DimFactors factors;
    for (int64_t n = random.between(1, 3); n > 0; --n) {
      sizes.push_back(random.between(1, 6));
      total *= sizes.back();
      factors.push_back(factors.size());
    }
    Placement placement = randomPlacement(random, mesh, {total}, false);
    llvm::SmallVector<DimPlacement> split;
    if (!splitDim(mesh, placement.dims[0], sizes, split))
      continue;
    ++splits;
    for (auto [sharding, size] : llvm::zip_equal(split, sizes))
      ASSERT_EQ(globalSize(sharding), size);
    ASSERT_EQ(joinDim(mesh, factors, split), placement.dims[0]) << "seed " << seed;
  }
  EXPECT_GE(splits, 800);
}

TEST(CheckOp, ColumnAndRowParallelMatmul) {
  Mesh mesh = *Mesh::parse("dp=2,tp=2");
  Matmul mm(8, 16, 32);
  DimPlacement m = {PlacedFactor{8, {}}}, k = {PlacedFactor{16, {}}}, n = {PlacedFactor{32, {}}};
  DimPlacement mDp = {PlacedFactor{8, {0}}}, kTp = {PlacedFactor{16, {1}}},
               nTp = {PlacedFactor{32, {1}}};
  auto check = [&](Placement a, Placement b, Placement c) {
    return checkOp(mesh, mm.rule, linear, {a, b}, {c}, CheckLevel::Local);
  };
  EXPECT_TRUE(check(place(mesh, {mDp, k}), place(mesh, {k, nTp}), place(mesh, {mDp, nTp})));
  EXPECT_TRUE(check(place(mesh, {m, kTp}), place(mesh, {kTp, n}), place(mesh, {m, n}, {1})));
  // A missing reduction, a doubled one, and operands that disagree.
  EXPECT_FALSE(check(place(mesh, {m, kTp}), place(mesh, {kTp, n}), place(mesh, {m, n})));
  EXPECT_FALSE(check(place(mesh, {m, k}), place(mesh, {k, n}), place(mesh, {m, n}, {1})));
  EXPECT_FALSE(check(place(mesh, {m, kTp}), place(mesh, {k, n}), place(mesh, {m, n}, {1})));
  // One axis on m and n would compute only the diagonal blocks.
  EXPECT_FALSE(check(place(mesh, {{PlacedFactor{8, {1}}}, k}), place(mesh, {k, nTp}),
                     place(mesh, {{PlacedFactor{8, {1}}}, n})));
  // Partial operands pass where the op is linear, and only one at a time.
  EXPECT_TRUE(check(place(mesh, {m, k}, {0}), place(mesh, {k, nTp}), place(mesh, {m, nTp}, {0})));
  EXPECT_FALSE(check(place(mesh, {m, k}, {0}), place(mesh, {k, n}, {0}), place(mesh, {m, n}, {0})));
  EXPECT_FALSE(check(place(mesh, {m, k}, {1}), place(mesh, {k, nTp}), place(mesh, {m, nTp})));
}

// An op runs where its result is held, and its operands must be there.
TEST(CheckOp, StagesHoldWhatTheyRead) {
  Mesh mesh = *Mesh::parse("pp=4,tp=2");
  mesh.axes[0].kind = AxisKind::Stages;
  Matmul mm(8, 16, 32);
  auto on = [&](llvm::ArrayRef<int64_t> shape, llvm::SmallVector<int64_t, 0> stages) {
    Placement placement = Placement::replicated(shape);
    if (!stages.empty())
      placement.held = Held{0, stages};
    return placement;
  };
  std::string why;
  auto check = [&](llvm::SmallVector<int64_t, 0> a, llvm::SmallVector<int64_t, 0> b,
                   llvm::SmallVector<int64_t, 0> c) {
    return checkOp(mesh, mm.rule, linear, {on({8, 16}, a), on({16, 32}, b)}, {on({8, 32}, c)},
                   CheckLevel::Local, &why);
  };
  EXPECT_TRUE(check({}, {}, {}));
  EXPECT_TRUE(check({}, {0, 3}, {3}));
  EXPECT_TRUE(check({0, 3}, {0, 2, 3}, {0, 3}));
  EXPECT_FALSE(check({0}, {1}, {1}));
  EXPECT_EQ(why, "operand 0 is not on every stage of the result: [8, 16], held = \"pp\"[0], "
                 "[8, 32], held = \"pp\"[1]");
  EXPECT_FALSE(check({}, {0, 1}, {}));
  EXPECT_FALSE(check({0, 1}, {1, 2}, {0, 1}));
}

TEST(CheckOp, UnevenReductionNeedsNeutralPadding) {
  Mesh mesh = *Mesh::parse("tp=4");
  Matmul mm(8, 10, 6);
  DimPlacement m = {PlacedFactor{8, {}}}, k = {PlacedFactor{10, {0}}}, n = {PlacedFactor{6, {}}};
  Placement a = place(mesh, {m, k}), b = place(mesh, {k, n}), c = place(mesh, {m, n}, {0});
  std::string why;
  EXPECT_TRUE(checkOp(mesh, mm.rule, linear, {a, b}, {c}, CheckLevel::Sharded));
  EXPECT_FALSE(checkOp(mesh, mm.rule, linear, {a, b}, {c}, CheckLevel::Local, &why));
  EXPECT_EQ(why, "operand 0 is placed as [8, 10{\"tp\"}], expected [8, 10{\"tp\"}], padding = sum");
  a.padding = ReduceKind::Sum;
  EXPECT_FALSE(checkOp(mesh, mm.rule, linear, {a, b}, {c}, CheckLevel::Local));
  b.padding = ReduceKind::Max;
  EXPECT_FALSE(checkOp(mesh, mm.rule, linear, {a, b}, {c}, CheckLevel::Local));
  b.padding = ReduceKind::Sum;
  EXPECT_TRUE(checkOp(mesh, mm.rule, linear, {a, b}, {c}, CheckLevel::Local));
}

TEST(CheckOp, VocabularyParallelLookupNeedsLocalIndices) {
  Mesh mesh = *Mesh::parse("tp=2");
  // table (v)(d), ids (t)(1) -> (t)(d); v is reduced, selected by operand 1.
  FactorRule rule;
  int v = rule.add(100, Factor::Kind::Reduction), d = rule.add(8), t = rule.add(4);
  rule.factors[v].indexOperand = 1;
  rule.operands = {{{v}, {d}}, {{t}, {}}};
  rule.results = {{{t}, {d}}};
  Placement table = place(mesh, {{PlacedFactor{100, {0}}}, {PlacedFactor{8, {}}}});
  Placement ids = place(mesh, {{PlacedFactor{4, {}}}, {PlacedFactor{1, {}}}});
  Placement result = place(mesh, {{PlacedFactor{4, {}}}, {PlacedFactor{8, {}}}}, {0});
  auto none = [](ReduceKind) { return llvm::SmallVector<PartialRule>(); };
  EXPECT_TRUE(checkOp(mesh, rule, none, {table, ids}, {result}, CheckLevel::Sharded));
  EXPECT_FALSE(checkOp(mesh, rule, none, {table, ids}, {result}, CheckLevel::Local));
  ids.localIndices.push_back({0, {PlacedFactor{100, {0}}}});
  EXPECT_TRUE(checkOp(mesh, rule, none, {table, ids}, {result}, CheckLevel::Local));
  ids.localIndices[0].component = 1;
  EXPECT_FALSE(checkOp(mesh, rule, none, {table, ids}, {result}, CheckLevel::Local));
}

TEST(CheckOp, SaysWhatIsWrong) {
  Mesh mesh = *Mesh::parse("a=2,b=2");
  std::string why;
  auto says = [&](const FactorRule &rule, llvm::ArrayRef<Placement> operands,
                  llvm::ArrayRef<Placement> results) {
    auto all = [](ReduceKind) { return llvm::SmallVector<PartialRule>{{0}}; };
    why.clear();
    EXPECT_FALSE(checkOp(mesh, rule, all, operands, results, CheckLevel::Sharded, &why));
    return why;
  };
  auto on = [](int64_t size, std::initializer_list<AxisId> axes) {
    return DimPlacement{PlacedFactor{size, AxisList(axes)}};
  };
  Matmul mm(4, 8, 4);
  Placement x, y, z;
  x.dims = {on(4, {0}), on(8, {})};
  y.dims = {on(8, {}), on(4, {0})};
  z.dims = {on(4, {0}), on(4, {0})};
  EXPECT_EQ(says(mm.rule, {x, y}, {z}), "axis \"a\" splits two factors of the op");
  EXPECT_EQ(says(mm.rule, {x}, {z}),
            "the op's rule does not have as many operands and results as the op");
  Placement vector;
  vector.dims = {on(8, {0})};
  EXPECT_EQ(says(mm.rule, {vector, y}, {z}), "operand 0: placement has 1 dims, the op's rule 2");

  // A reduced factor that a result keeps; one that a result lacks.
  FactorRule rule;
  int r = rule.add(8, Factor::Kind::Reduction);
  rule.operands = rule.results = {{{r}}};
  EXPECT_EQ(says(rule, {vector}, {vector}),
            "axis \"a\" splits a reduced factor that stands in a result");
  FactorRule two;
  int f = two.add(8), g = two.add(4);
  two.operands = {{{f}, {g}}};
  two.results = {{{f}}, {{g}}};
  Placement rows, rest;
  rows.dims = {on(8, {0}), on(4, {})};
  rest.dims = {on(4, {})};
  EXPECT_EQ(says(two, {rows}, {vector, rest}),
            "axis \"a\" splits a factor that is missing in a result");

  FactorRule one;
  int only = one.add(8);
  one.operands = one.results = {{{only}}};
  Placement partial;
  partial.dims = {on(8, {})};
  partial.partial = {{0, ReduceKind::Sum}, {1, ReduceKind::Max}};
  EXPECT_EQ(says(one, {partial}, {partial}),
            "axis \"b\" is partial by max while others are by sum");
}

TEST(CheckOp, WholeFactorsAndForeignSumsAreRefused) {
  Mesh mesh = *Mesh::parse("tp=2");
  FactorRule softmax;
  int row = softmax.add(4), column = softmax.add(8, Factor::Kind::Whole);
  softmax.operands = softmax.results = {{{row}, {column}}};
  auto none = [](ReduceKind) { return llvm::SmallVector<PartialRule>(); };
  auto check = [&](Placement p) {
    return checkOp(mesh, softmax, none, {p}, {p}, CheckLevel::Local);
  };
  EXPECT_TRUE(check(place(mesh, {{PlacedFactor{4, {0}}}, {PlacedFactor{8, {}}}})));
  EXPECT_FALSE(check(place(mesh, {{PlacedFactor{4, {}}}, {PlacedFactor{8, {0}}}})));
  EXPECT_FALSE(check(place(mesh, {{PlacedFactor{4, {}}}, {PlacedFactor{8, {}}}}, {0})));
}
