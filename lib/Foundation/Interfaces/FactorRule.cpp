// Construction, checking and printing of factor rules.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Interfaces/FactorRule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <numeric>
#include <optional>

using namespace mlir;

namespace weft {

int FactorRule::add(int64_t size, Factor::Kind kind, ReduceKind reduction) {
  Factor factor;
  factor.size = size;
  factor.kind = kind;
  factor.reduction = reduction;
  factors.push_back(factor);
  return factors.size() - 1;
}

double FactorRule::points() const {
  double points = 1;
  for (const Factor &factor : factors)
    points *= factor.size;
  return points;
}

bool FactorRule::contains(const TensorFactors &t, int f) {
  return llvm::any_of(t, [&](const DimFactors &d) { return llvm::is_contained(d, f); });
}

static bool verifyTensors(const FactorRule &rule, ArrayRef<TensorFactors> tensors, TypeRange types,
                          StringRef what, std::string *why) {
  auto fail = [&](const Twine &text) {
    if (why)
      *why = text.str();
    return false;
  };
  if (tensors.size() != types.size())
    return fail(what + "s: " + Twine(tensors.size()) + " in the rule, " + Twine(types.size()) +
                " in the op");
  for (auto [index, tensor, type] : llvm::enumerate(tensors, types)) {
    auto shaped = dyn_cast<RankedTensorType>(type);
    int64_t tensorRank = shaped ? shaped.getRank() : 0;
    if (static_cast<int64_t>(tensor.size()) != tensorRank)
      return fail(what + " " + Twine(index) + ": " + Twine(tensor.size()) +
                  " dims in the rule, tensor rank " + Twine(tensorRank));
    for (auto [dim, factors] : llvm::enumerate(tensor)) {
      int64_t product = 1;
      for (int f : factors)
        product *= rule.factors[f].size;
      if (product != shaped.getDimSize(dim))
        return fail(what + " " + Twine(index) + " dim " + Twine(dim) + ": factors multiply to " +
                    Twine(product) + ", size is " + Twine(shaped.getDimSize(dim)));
    }
  }
  return true;
}

bool FactorRule::verify(TypeRange operandTypes, TypeRange resultTypes, std::string *why) const {
  return verifyTensors(*this, operands, operandTypes, "operand", why) &&
         verifyTensors(*this, results, resultTypes, "result", why);
}

/// a, b, ..., z, a1, b1, ...
static std::string factorName(int f) {
  std::string name(1, static_cast<char>('a' + f % 26));
  return f < 26 ? name : name + std::to_string(f / 26);
}

void FactorRule::print(llvm::raw_ostream &os) const {
  auto printTensor = [&](const TensorFactors &tensor) {
    if (tensor.empty())
      os << "()";
    for (const DimFactors &dim : tensor) {
      os << '(';
      llvm::interleave(dim, os, [&](int f) { os << factorName(f); }, " ");
      os << ')';
    }
  };
  llvm::interleaveComma(operands, os, printTensor);
  os << " -> ";
  llvm::interleaveComma(results, os, printTensor);
  os << " {";
  llvm::interleaveComma(llvm::seq<int>(0, factors.size()), os, [&](int f) {
    const Factor &factor = factors[f];
    os << factorName(f) << '=' << factor.size;
    if (factor.kind == Factor::Kind::Reduction)
      os << ":" << stringifyReduceKind(factor.reduction);
    if (factor.kind == Factor::Kind::Whole)
      os << ":whole";
    if (factor.indexOperand >= 0)
      os << ":index(" << factor.indexOperand << "," << factor.indexComponent << ")";
  });
  os << '}';
}

FactorRule elementwiseRule(TypeRange operandTypes, TypeRange resultTypes) {
  FactorRule rule;
  auto type = cast<RankedTensorType>(resultTypes.front());
  TensorFactors dims;
  for (int64_t size : type.getShape())
    dims.push_back({rule.add(size)});
  rule.operands.assign(operandTypes.size(), dims);
  rule.results.assign(resultTypes.size(), dims);
  return rule;
}

namespace {
/// A run of dims, as what is left of each after factors were peeled off.
class DimRun {
public:
  struct Range {
    ArrayRef<int64_t> shape;
    size_t begin, end;
  };
  explicit DimRun(Range range)
      : first(range.begin), rest(range.shape.slice(range.begin, range.end - range.begin)) {}

  /// The outermost (or innermost) dim that is not used up, or none.
  std::optional<size_t> edge(bool major) const {
    for (size_t k = 0, e = rest.size(); k < e; ++k)
      if (size_t dim = major ? k : e - 1 - k; rest[dim] != 1)
        return dim;
    return std::nullopt;
  }

  size_t first;
  SmallVector<int64_t> rest;
};

/// A factor that one dim of either run has in common.
struct Peeled {
  int64_t size;
  size_t fromDim, toDim;
};
} // namespace

/// Peels common divisors off one end of both runs, as far as they go.
static SmallVector<Peeled> peel(DimRun &from, DimRun &to, bool major) {
  SmallVector<Peeled> peeled;
  while (true) {
    auto a = from.edge(major), b = to.edge(major);
    if (!a || !b)
      return peeled;
    int64_t common = std::gcd(from.rest[*a], to.rest[*b]);
    if (common == 1)
      return peeled;
    from.rest[*a] /= common;
    to.rest[*b] /= common;
    peeled.push_back({common, from.first + *a, to.first + *b});
  }
}

/// Factors of two runs of dims with equal products. What remains between the
/// ends of sizes that interleave (3x2 -> 2x3) is kept whole on either side.
static void refineGroup(DimRun::Range fromRange, DimRun::Range toRange, FactorRule &rule,
                        TensorFactors &fromFactors, TensorFactors &toFactors) {
  DimRun from(fromRange), to(toRange);
  SmallVector<Peeled> minor = peel(from, to, /*major=*/false);
  SmallVector<Peeled> major = peel(from, to, /*major=*/true);
  auto add = [&](const Peeled &peeled) {
    int f = rule.add(peeled.size);
    fromFactors[peeled.fromDim].push_back(f);
    toFactors[peeled.toDim].push_back(f);
  };
  auto keepWhole = [&](const DimRun &run, TensorFactors &factors) {
    for (auto [k, size] : llvm::enumerate(run.rest))
      if (size != 1)
        factors[run.first + k].push_back(rule.add(size, Factor::Kind::Whole));
  };
  llvm::for_each(major, add);
  keepWhole(from, fromFactors);
  keepWhole(to, toFactors);
  llvm::for_each(llvm::reverse(minor), add);
}

void refineShapes(ArrayRef<int64_t> from, ArrayRef<int64_t> to, FactorRule &rule,
                  TensorFactors &fromFactors, TensorFactors &toFactors) {
  fromFactors.assign(from.size(), {});
  toFactors.assign(to.size(), {});
  size_t i = 0, j = 0;
  // A group is the least run of dims on either side with equal products.
  while (i < from.size() || j < to.size()) {
    if (i < from.size() && from[i] == 1) {
      ++i;
      continue;
    }
    if (j < to.size() && to[j] == 1) {
      ++j;
      continue;
    }
    if (i == from.size() || j == to.size()) {
      // Only possible with a zero-sized tensor: nothing relates these dims.
      if (i < from.size())
        fromFactors[i] = {rule.add(from[i], Factor::Kind::Whole)}, ++i;
      else
        toFactors[j] = {rule.add(to[j], Factor::Kind::Whole)}, ++j;
      continue;
    }
    size_t fromEnd = i + 1, toEnd = j + 1;
    int64_t fromProduct = from[i], toProduct = to[j];
    while (fromProduct != toProduct) {
      if (fromProduct < toProduct && fromEnd < from.size())
        fromProduct *= from[fromEnd++];
      else if (toProduct < fromProduct && toEnd < to.size())
        toProduct *= to[toEnd++];
      else
        break;
    }
    if (fromProduct != toProduct || fromProduct == 0) {
      for (; i < fromEnd; ++i)
        fromFactors[i] = {rule.add(from[i], Factor::Kind::Whole)};
      for (; j < toEnd; ++j)
        toFactors[j] = {rule.add(to[j], Factor::Kind::Whole)};
      continue;
    }
    refineGroup({from, i, fromEnd}, {to, j, toEnd}, rule, fromFactors, toFactors);
    i = fromEnd;
    j = toEnd;
  }
}

} // namespace weft
