// Normal form, simplification and code of index expressions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "IndexSpace.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace weft::kernels;

AffineExpr IndexSpace::addDim(int64_t extent, bool unit, Value iv) {
  dims.push_back({extent, iv, unit});
  return getAffineDimExpr(dims.size() - 1, context);
}

AffineExpr IndexSpace::addSymbol(Value value, std::optional<int64_t> bound) {
  Symbol symbol{value, bound};
  auto found = llvm::find(symbols, symbol);
  if (found != symbols.end())
    return getAffineSymbolExpr(found - symbols.begin(), context);
  symbols.push_back(symbol);
  return getAffineSymbolExpr(symbols.size() - 1, context);
}

AffineExpr IndexSpace::constant(int64_t value) const {
  return getAffineConstantExpr(value, context);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// A total order of atoms that does not depend on pointers.
static int compareAtoms(AffineExpr a, AffineExpr b) {
  if (a == b)
    return 0;
  auto rank = [](AffineExpr e) { return int(e.getKind()); };
  if (rank(a) != rank(b))
    return rank(a) < rank(b) ? -1 : 1;
  auto order = [](int64_t x, int64_t y) { return x < y ? -1 : x > y; };
  if (auto dim = dyn_cast<AffineDimExpr>(a))
    return order(dim.getPosition(), cast<AffineDimExpr>(b).getPosition());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(a))
    return order(symbol.getPosition(), cast<AffineSymbolExpr>(b).getPosition());
  if (auto number = dyn_cast<AffineConstantExpr>(a))
    return order(number.getValue(), cast<AffineConstantExpr>(b).getValue());
  auto binaryA = cast<AffineBinaryOpExpr>(a);
  auto binaryB = cast<AffineBinaryOpExpr>(b);
  if (int c = compareAtoms(binaryA.getLHS(), binaryB.getLHS()))
    return c;
  return compareAtoms(binaryA.getRHS(), binaryB.getRHS());
}

static void addTerm(IndexSpace::Sum &sum, AffineExpr atom, int64_t factor) {
  auto *at =
      llvm::find_if(sum.terms, [&](auto &term) { return compareAtoms(term.first, atom) >= 0; });
  if (at != sum.terms.end() && at->first == atom) {
    at->second += factor;
    if (at->second == 0)
      sum.terms.erase(at);
  } else if (factor != 0) {
    sum.terms.insert(at, {atom, factor});
  }
}

static void addTo(IndexSpace::Sum &sum, AffineExpr expr, int64_t factor) {
  switch (expr.getKind()) {
  case AffineExprKind::Constant:
    sum.constant += factor * cast<AffineConstantExpr>(expr).getValue();
    return;
  case AffineExprKind::Add: {
    auto binary = cast<AffineBinaryOpExpr>(expr);
    addTo(sum, binary.getLHS(), factor);
    addTo(sum, binary.getRHS(), factor);
    return;
  }
  case AffineExprKind::Mul: {
    auto binary = cast<AffineBinaryOpExpr>(expr);
    addTo(sum, binary.getLHS(), factor * cast<AffineConstantExpr>(binary.getRHS()).getValue());
    return;
  }
  default:
    addTerm(sum, expr, factor);
  }
}

/// `expr` is y floordiv divisor, or for y = x floordiv d what that is of x, however each of them is
/// simplified.
static bool isQuotient(const IndexSpace &space, AffineExpr expr, AffineExpr y, int64_t divisor) {
  IndexSpace probe(space); // which notes splits that are not wanted for this
  if (probe.floorDiv(y, divisor) == expr)
    return true;
  auto quotient = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!quotient || expr.getKind() != AffineExprKind::FloorDiv)
    return false;
  int64_t by = cast<AffineConstantExpr>(quotient.getRHS()).getValue();
  return by % divisor == 0 && probe.floorDiv(quotient.getLHS(), by / divisor) == y;
}

/// Joins c k (x floordiv c) + k (x mod c) into k x.
static bool joinDivisions(const IndexSpace &space, IndexSpace::Sum &sum) {
  for (auto &[atom, factor] : sum.terms) {
    if (atom.getKind() != AffineExprKind::Mod)
      continue;
    auto mod = cast<AffineBinaryOpExpr>(atom);
    int64_t divisor = cast<AffineConstantExpr>(mod.getRHS()).getValue();
    for (auto &[other, otherFactor] : sum.terms) {
      if (otherFactor != factor * divisor || !isQuotient(space, other, mod.getLHS(), divisor))
        continue;
      int64_t k = factor;
      AffineExpr whole = mod.getLHS(), quotient = other;
      addTerm(sum, AffineExpr(mod), -k);
      addTerm(sum, quotient, -k * divisor);
      addTo(sum, whole, k);
      return true;
    }
  }
  return false;
}

IndexSpace::Sum IndexSpace::sumOf(AffineExpr expr) const {
  Sum sum;
  addTo(sum, expr, 1);
  while (joinDivisions(*this, sum)) {
  }
  return sum;
}

AffineExpr IndexSpace::exprOf(const Sum &sum) const {
  AffineExpr expr = constant(0);
  for (auto &[atom, factor] : sum.terms)
    expr = expr + atom * factor;
  return expr + sum.constant;
}

AffineExpr IndexSpace::add(AffineExpr a, AffineExpr b) {
  Sum sum = sumOf(a);
  addTo(sum, b, 1);
  while (joinDivisions(*this, sum)) {
  }
  return exprOf(sum);
}

AffineExpr IndexSpace::multiply(AffineExpr a, int64_t factor) {
  Sum sum;
  addTo(sum, a, factor);
  return exprOf(sum);
}

std::optional<std::pair<int64_t, int64_t>> IndexSpace::range(AffineExpr expr) const {
  Sum sum = sumOf(expr);
  int64_t low = sum.constant, high = sum.constant;
  for (auto &[atom, factor] : sum.terms) {
    std::pair<int64_t, int64_t> part;
    if (auto dim = dyn_cast<AffineDimExpr>(atom)) {
      part = {0, std::max<int64_t>(0, dims[dim.getPosition()].extent - 1)};
    } else if (auto symbol = dyn_cast<AffineSymbolExpr>(atom)) {
      std::optional<int64_t> bound = symbols[symbol.getPosition()].bound;
      if (!bound)
        return std::nullopt;
      part = {0, std::max<int64_t>(0, *bound - 1)};
    } else {
      auto binary = cast<AffineBinaryOpExpr>(atom);
      int64_t divisor = cast<AffineConstantExpr>(binary.getRHS()).getValue();
      if (atom.getKind() == AffineExprKind::Mod) {
        part = {0, divisor - 1};
      } else {
        auto inner = range(binary.getLHS());
        if (!inner)
          return std::nullopt;
        part = {llvm::divideFloorSigned(inner->first, divisor),
                llvm::divideFloorSigned(inner->second, divisor)};
      }
    }
    low += factor * (factor > 0 ? part.first : part.second);
    high += factor * (factor > 0 ? part.second : part.first);
  }
  return std::pair(low, high);
}

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

namespace {
/// expr = quotient * divisor + rest, where `rest` has what could not be
/// divided; `exact` if 0 <= rest < divisor.
struct Division {
  IndexSpace::Sum quotient, rest;
  bool exact;
};
} // namespace

static Division divide(const IndexSpace &space, AffineExpr expr, int64_t divisor) {
  IndexSpace::Sum sum = space.sumOf(expr);
  Division result;
  for (auto &[atom, factor] : sum.terms) {
    // Part of a factor may divide: 12 d0 = 8 d0 + 4 d0 would not help, so only
    // whole multiples move to the quotient.
    if (factor % divisor == 0)
      result.quotient.terms.push_back({atom, factor / divisor});
    else
      result.rest.terms.push_back({atom, factor});
  }
  result.quotient.constant = llvm::divideFloorSigned(sum.constant, divisor);
  result.rest.constant = llvm::mod(sum.constant, divisor);
  auto range = space.range(space.exprOf(result.rest));
  result.exact = range && range->first >= 0 && range->second < divisor;
  return result;
}

/// Greatest common divisor of the rest's factors and the divisor.
static int64_t commonFactor(const IndexSpace::Sum &rest, int64_t divisor) {
  int64_t common = divisor;
  for (auto &[atom, factor] : rest.terms)
    common = std::gcd(common, factor);
  return common;
}

/// If one loop, cut in two, makes the division exact, notes it.
static void wantSplit(IndexSpace &space, const IndexSpace::Sum &rest, int64_t divisor) {
  std::optional<std::pair<unsigned, int64_t>> best;
  int64_t bestFactor = 0;
  for (auto &[atom, factor] : rest.terms) {
    auto dim = dyn_cast<AffineDimExpr>(atom);
    if (!dim || factor <= bestFactor || divisor % factor != 0)
      continue;
    int64_t inner = divisor / factor;
    int64_t extent = space.dims[dim.getPosition()].extent;
    if (inner <= 1 || inner >= extent || extent % inner != 0)
      continue;
    bestFactor = factor;
    best = {dim.getPosition(), inner};
  }
  if (best && !llvm::is_contained(space.wantedSplits, *best))
    space.wantedSplits.push_back(*best);
}

/// Cuts `rest` in multiples of a number that divides the divisor, and what is below that number:
/// (8 x + l) floordiv 64 is x floordiv 8 where l < 8. Returns the number; 1: there is none.
static int64_t separateBelow(const IndexSpace &space, const IndexSpace::Sum &rest, int64_t divisor,
                             IndexSpace::Sum &multiples, IndexSpace::Sum &below) {
  llvm::SmallVector<int64_t> factors;
  for (auto &[atom, factor] : rest.terms)
    factors.push_back(std::abs(factor));
  llvm::sort(factors, std::greater<int64_t>());
  for (int64_t least : factors) {
    int64_t unit = divisor;
    multiples = below = {};
    for (auto &term : rest.terms) {
      bool isMultiple = std::abs(term.second) >= least;
      (isMultiple ? multiples : below).terms.push_back(term);
      if (isMultiple)
        unit = std::gcd(unit, term.second);
    }
    multiples.constant = rest.constant - llvm::mod(rest.constant, unit);
    below.constant = llvm::mod(rest.constant, unit);
    auto range = space.range(space.exprOf(below));
    if (unit > 1 && range && range->first >= 0 && range->second < unit)
      return unit;
  }
  return 1;
}

/// `sum` divided by a number that divides all of it.
static IndexSpace::Sum dividedBy(const IndexSpace::Sum &sum, int64_t number) {
  IndexSpace::Sum result;
  for (auto &[atom, factor] : sum.terms)
    result.terms.push_back({atom, factor / number});
  result.constant = sum.constant / number;
  return result;
}

/// The one x floordiv d that is all of `sum`; null if it is anything else.
static AffineBinaryOpExpr quotientAlone(const IndexSpace::Sum &sum) {
  bool isOne = sum.terms.size() == 1 && sum.constant == 0 && sum.terms.front().second == 1 &&
               sum.terms.front().first.getKind() == AffineExprKind::FloorDiv;
  return isOne ? cast<AffineBinaryOpExpr>(sum.terms.front().first) : nullptr;
}

AffineExpr IndexSpace::floorDiv(AffineExpr a, int64_t divisor) {
  if (divisor == 1)
    return a;
  Division division = divide(*this, a, divisor);
  AffineExpr quotient = exprOf(division.quotient);
  if (division.exact)
    return quotient;
  wantSplit(*this, division.rest, divisor);
  Sum sum = sumOf(quotient);
  if (auto inner = quotientAlone(division.rest)) {
    int64_t by = cast<AffineConstantExpr>(inner.getRHS()).getValue();
    addTo(sum, floorDiv(inner.getLHS(), by * divisor), 1);
    return exprOf(sum);
  }
  Sum multiples, below;
  if (int64_t unit = separateBelow(*this, division.rest, divisor, multiples, below); unit > 1) {
    addTo(sum, floorDiv(exprOf(dividedBy(multiples, unit)), divisor / unit), 1);
    return exprOf(sum);
  }
  int64_t common = commonFactor(division.rest, divisor);
  Sum reduced = dividedBy(division.rest, common);
  addTo(sum, exprOf(reduced).floorDiv(divisor / common), 1);
  return exprOf(sum);
}

AffineExpr IndexSpace::modulo(AffineExpr a, int64_t divisor) {
  if (divisor == 1)
    return constant(0);
  Division division = divide(*this, a, divisor);
  if (division.exact)
    return exprOf(division.rest);
  wantSplit(*this, division.rest, divisor);
  Sum multiples, below;
  if (int64_t unit = separateBelow(*this, division.rest, divisor, multiples, below); unit > 1) {
    Sum sum = sumOf(modulo(exprOf(dividedBy(multiples, unit)), divisor / unit));
    return add(multiply(exprOf(sum), unit), exprOf(below));
  }
  int64_t common = commonFactor(division.rest, divisor);
  Sum reduced = dividedBy(division.rest, common);
  Sum sum;
  addTo(sum, exprOf(reduced) % (divisor / common), common);
  sum.constant += division.rest.constant % common;
  return exprOf(sum);
}

//===----------------------------------------------------------------------===//
// Composition
//===----------------------------------------------------------------------===//

AffineExpr IndexSpace::substitute(AffineExpr expr, ArrayRef<AffineExpr> dimValues) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dimValues[dim.getPosition()];
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return expr;
  AffineExpr lhs = substitute(binary.getLHS(), dimValues);
  AffineExpr rhs = substitute(binary.getRHS(), dimValues);
  if (expr.getKind() == AffineExprKind::Add)
    return add(lhs, rhs);
  int64_t number = cast<AffineConstantExpr>(rhs).getValue();
  switch (expr.getKind()) {
  case AffineExprKind::Mul:
    return multiply(lhs, number);
  case AffineExprKind::FloorDiv:
    return floorDiv(lhs, number);
  case AffineExprKind::CeilDiv:
    return floorDiv(add(lhs, constant(number - 1)), number);
  default:
    return modulo(lhs, number);
  }
}

SmallVector<AffineExpr> IndexSpace::compose(AffineMap map, ArrayRef<AffineExpr> dimValues) {
  SmallVector<AffineExpr> results;
  for (AffineExpr expr : map.getResults())
    results.push_back(substitute(expr, dimValues));
  return results;
}

AffineExpr IndexSpace::linearize(ArrayRef<AffineExpr> indices, ArrayRef<int64_t> shape) {
  AffineExpr number = constant(0);
  for (auto [index, size] : llvm::zip_equal(indices, shape))
    number = add(multiply(number, size), index);
  return number;
}

void IndexSpace::delinearize(AffineExpr number, ArrayRef<int64_t> shape,
                             SmallVectorImpl<AffineExpr> &indices) {
  int64_t stride = 1;
  SmallVector<AffineExpr> reversed;
  for (auto [position, size] : llvm::enumerate(llvm::reverse(shape))) {
    AffineExpr index = floorDiv(number, stride);
    // The outermost index needs no modulo: the number is in range.
    if (position + 1 < shape.size())
      index = modulo(index, std::max<int64_t>(size, 1));
    reversed.push_back(index);
    stride *= std::max<int64_t>(size, 1);
  }
  indices.append(reversed.rbegin(), reversed.rend());
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

bool IndexSpace::separate(AffineExpr expr, AffineExpr &unitPart, AffineExpr &rest) const {
  Sum sum = sumOf(expr), unitSum, restSum;
  restSum.constant = sum.constant;
  for (auto &[atom, factor] : sum.terms) {
    bool hasUnit = false, hasOther = false;
    atom.walk([&](AffineExpr part) {
      if (auto dim = dyn_cast<AffineDimExpr>(part))
        (dims[dim.getPosition()].unit ? hasUnit : hasOther) = true;
      else if (isa<AffineSymbolExpr>(part))
        hasOther = true;
    });
    if (hasUnit && hasOther)
      return false;
    (hasUnit ? unitSum : restSum).terms.push_back({atom, factor});
  }
  unitPart = exprOf(unitSum);
  rest = exprOf(restSum);
  return true;
}

std::optional<int64_t> IndexSpace::coefficient(AffineExpr expr, unsigned dim) const {
  Sum sum = sumOf(expr);
  AffineExpr wanted = getAffineDimExpr(dim, context);
  int64_t result = 0;
  for (auto &[atom, factor] : sum.terms) {
    if (atom == wanted)
      result = factor;
    else if (atom.isFunctionOfDim(dim))
      return std::nullopt;
  }
  return result;
}

Value IndexSpace::materialize(OpBuilder &builder, Location loc, AffineExpr expr) const {
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()].iv;
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()].value;
  if (auto value = dyn_cast<AffineConstantExpr>(expr))
    return number(value.getValue());
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Value lhs = materialize(builder, loc, binary.getLHS());
  Value rhs = materialize(builder, loc, binary.getRHS());
  auto known = range(binary.getLHS());
  bool positive = known && known->first >= 0;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return arith::AddIOp::create(builder, loc, lhs, rhs);
  case AffineExprKind::Mul:
    return arith::MulIOp::create(builder, loc, lhs, rhs);
  case AffineExprKind::FloorDiv:
    if (positive)
      return arith::DivUIOp::create(builder, loc, lhs, rhs);
    return arith::FloorDivSIOp::create(builder, loc, lhs, rhs);
  default: {
    if (positive)
      return arith::RemUIOp::create(builder, loc, lhs, rhs);
    Value quotient = arith::FloorDivSIOp::create(builder, loc, lhs, rhs);
    return arith::SubIOp::create(builder, loc, lhs,
                                 arith::MulIOp::create(builder, loc, quotient, rhs));
  }
  }
}
