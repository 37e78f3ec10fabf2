// Index expressions are right, and places that lie one after the other are seen to do so.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/kernels/IndexSpace.h"

#include "llvm/Support/MathExtras.h"

#include <functional>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace mlir;
using weft::kernels::IndexSpace;

namespace {

int64_t valueOf(AffineExpr expr, ArrayRef<int64_t> dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return number.getValue();
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t lhs = valueOf(binary.getLHS(), dims), rhs = valueOf(binary.getRHS(), dims);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return lhs + rhs;
  case AffineExprKind::Mul:
    return lhs * rhs;
  case AffineExprKind::FloorDiv:
    return llvm::divideFloorSigned(lhs, rhs);
  default:
    return llvm::mod(lhs, rhs);
  }
}

std::string text(AffineExpr expr) {
  std::string result;
  llvm::raw_string_ostream(result) << expr;
  return result;
}

/// Elements of a tensor, numbered in memory's order and dealt out in units of equal size: from its
/// number to its indices and back, each is where it was, and the expression says so. What it says
/// otherwise costs a division for each element, and no loop over them becomes one over vectors.
TEST(IndexSpace, UnitsOfATensorWalkMemoryAsItLies) {
  MLIRContext context;
  std::mt19937 random(7);
  const int64_t sizes[] = {2, 3, 4, 5, 7, 8, 12, 16, 25, 60, 65, 96, 128, 192, 200, 512, 768, 800};
  int64_t cases = 0;
  for (int round = 0; round < 4000; ++round) {
    SmallVector<int64_t> shape(2 + random() % 3);
    for (int64_t &size : shape)
      size = sizes[random() % std::size(sizes)];
    int64_t all = std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
    // What divides all, from powers of two, as tiles are, to any.
    int64_t unit = int64_t(1) << (1 + random() % 12);
    if (round % 2)
      unit *= sizes[random() % std::size(sizes)];
    if (all % unit != 0 || all == unit)
      continue;
    ++cases;
    IndexSpace space(&context);
    AffineExpr tile = space.addDim(all / unit, true), within = space.addDim(unit, false);
    AffineExpr number = space.add(space.multiply(tile, unit), within);
    SmallVector<AffineExpr> indices;
    space.delinearize(number, shape, indices);
    for (int probe = 0; probe < 8; ++probe) {
      int64_t dims[] = {int64_t(random() % (all / unit)), int64_t(random() % unit)};
      int64_t rest = dims[0] * unit + dims[1];
      for (size_t d = shape.size(); d-- > 0; rest /= shape[d])
        ASSERT_EQ(valueOf(indices[d], dims), rest % shape[d]) << text(indices[d]);
    }
    ASSERT_EQ(text(space.linearize(indices, shape)), text(number))
        << "of " << all / unit << " units of " << unit << ", last dims " << shape.back() << ", "
        << shape[shape.size() - 2];
  }
  EXPECT_GT(cases, 500);
}

/// Of sums of loops with any factors, divided in turn by any numbers.
TEST(IndexSpace, DivisionsAreRight) {
  MLIRContext context;
  std::mt19937 random(11);
  for (int round = 0; round < 20000; ++round) {
    IndexSpace space(&context);
    const int64_t factors[] = {1, 2, 3, 4, 6, 8, 12, 24, 32, 100};
    int64_t extents[3];
    AffineExpr sum = space.constant(random() % 3 ? 0 : int64_t(random() % 50));
    for (int64_t &extent : extents) {
      extent = 1 + random() % 40;
      sum = space.add(sum, space.multiply(space.addDim(extent, random() % 2),
                                          factors[random() % std::size(factors)]));
    }
    SmallVector<AffineExpr> made = {sum};
    SmallVector<std::function<int64_t(int64_t)>> meant = {[](int64_t x) { return x; }};
    for (int step = 0; step < 4; ++step) {
      size_t of = random() % made.size();
      int64_t by = 1 + random() % 30;
      auto before = meant[of];
      bool divides = random() % 2;
      made.push_back(divides ? space.floorDiv(made[of], by) : space.modulo(made[of], by));
      meant.push_back([=](int64_t x) { return divides ? before(x) / by : before(x) % by; });
    }
    for (int probe = 0; probe < 6; ++probe) {
      int64_t dims[3];
      for (int d = 0; d < 3; ++d)
        dims[d] = int64_t(random() % extents[d]);
      int64_t x = valueOf(sum, dims);
      for (auto [expr, mean] : llvm::zip_equal(made, meant))
        ASSERT_EQ(valueOf(expr, dims), mean(x)) << text(expr) << " of " << text(sum);
      // What is added up is joined where it can be.
      AffineExpr both = space.add(space.multiply(made[1], 3), made[2]);
      ASSERT_EQ(valueOf(both, dims), 3 * meant[1](x) + meant[2](x)) << text(both);
    }
  }
}

} // namespace
