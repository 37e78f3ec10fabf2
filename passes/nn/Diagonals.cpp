// What a cone of ops above a matrix makes of each of its diagonals.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/nn/Diagonals.h"

#include "dialects/nn/IR/Nn.h"

#include "weft/Interfaces/OpInterfaces.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/CheckedArithmetic.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace weft;

/// Masks are made by few ops; what needs more is none.
static constexpr unsigned kMaxOps = 32;
/// Whole numbers up to here are told as such: far from overflow, and f64 has all of them.
static constexpr double kMost = 1e15;
static constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

Scalar Diagonals::at(int64_t diagonal) const {
  auto next = llvm::upper_bound(stretches, diagonal, [](int64_t wanted, const Stretch &stretch) {
    return wanted < stretch.first;
  });
  return std::prev(next)->value;
}

namespace {

/// The element [i, j] is i * row + j * column + offset, exactly.
struct Line {
  int64_t row = 0, column = 0, offset = 0;
};

struct Known {
  std::optional<Line> line;
  std::optional<Diagonals> diagonals;
};

/// Which dims of a value are the rows and the columns of the matrix; -1: it is the same for all.
struct Dims {
  int64_t row, column;
};

using Number = std::optional<int64_t>;
Number plus(Number a, Number b) { return a && b ? llvm::checkedAdd(*a, *b) : std::nullopt; }
Number times(Number a, Number b) { return a && b ? llvm::checkedMul(*a, *b) : std::nullopt; }

/// Of numbers that may be negated, or be sums of two.
std::optional<Line> lineOf(Number row, Number column, Number offset) {
  for (Number number : {row, column, offset})
    if (!number || std::abs(static_cast<double>(*number)) > kMost)
      return std::nullopt;
  return Line{*row, *column, *offset};
}

int64_t extentOf(RankedTensorType type, int64_t dim) { return dim < 0 ? 1 : type.getDimSize(dim); }

/// Whether every number from `least` to `most` is one of `type`.
bool holds(Type type, int64_t least, int64_t most) {
  if (auto real = dyn_cast<FloatType>(type)) {
    int64_t exact = int64_t(1) << real.getFPMantissaWidth();
    return -exact <= least && most <= exact;
  }
  unsigned width = type.getIntOrFloatBitWidth();
  if (type.isUnsignedInteger())
    return least >= 0 && (width >= 63 || most < int64_t(1) << width);
  return width > 1 && (width == 64 ||
                       (-(int64_t(1) << (width - 1)) <= least && most < int64_t(1) << (width - 1)));
}

/// `known` with its line if no element overflows or is rounded in `type`.
Known exactIn(RankedTensorType type, Dims dims, std::optional<Line> line) {
  if (!line)
    return {};
  Number least = line->offset, most = line->offset;
  for (auto [step, dim] : {std::pair(line->row, dims.row), std::pair(line->column, dims.column)}) {
    Number last = times(step, extentOf(type, dim) - 1);
    (step < 0 ? least : most) = plus(step < 0 ? least : most, last);
  }
  if (!least || !most || !holds(type.getElementType(), *least, *most))
    return {};
  return {line, std::nullopt};
}

Known splatOf(Type type, Scalar value) {
  Known known;
  known.diagonals = Diagonals{{{kLeast, value}}};
  double number = isa<FloatType>(type)       ? value.real
                  : type.isUnsignedInteger() ? static_cast<double>(uint64_t(value.integer))
                                             : static_cast<double>(value.integer);
  if (std::abs(number) < kMost && number == std::trunc(number))
    known.line = Line{0, 0, static_cast<int64_t>(number)};
  return known;
}

/// Walks up a cone, in terms of the matrix at its root.
class Reader {
public:
  Known read(Value value, Dims dims) {
    Operation *op = value.getDefiningOp();
    if (!op || budget == 0)
      return {};
    --budget;
    return llvm::TypeSwitch<Operation *, Known>(op)
        .Case<nn::ConstantOp, nn::IotaOp, nn::BroadcastOp, nn::ReshapeOp, nn::TransposeOp,
              nn::SliceOp>([&](auto known) { return readOp(known, dims); })
        .Case<ElementwiseOpInterface>([&](auto elementwise) { return compute(elementwise, dims); })
        .Default(Known());
  }

private:
  /// start + step * k along the only dim that has more than one element.
  static Known range(RankedTensorType type, Dims dims, int64_t start, Number step) {
    for (auto [dim, extent] : llvm::enumerate(type.getShape()))
      if (extent != 1)
        return exactIn(type, dims,
                       lineOf(int64_t(dim) == dims.row ? step : Number(0),
                              int64_t(dim) == dims.column ? step : Number(0),
                              int64_t(dim) == dims.row || int64_t(dim) == dims.column
                                  ? Number(start)
                                  : std::nullopt));
    return exactIn(type, dims, Line{0, 0, start});
  }

  static Known readOp(nn::IotaOp op, Dims dims) { return range(op.getType(), dims, 0, 1); }

  static Known readOp(nn::ConstantOp op, Dims dims) {
    RankedTensorType type = typeOf(op);
    int64_t extent = 1, rank = 0;
    for (int64_t size : type.getShape())
      if (size != 1) {
        extent = size;
        ++rank;
      }
    if (op.getValue().isSplat()) {
      auto one = RankedTensorType::get({}, type.getElementType());
      return splatOf(
          type.getElementType(),
          toHostTensor(DenseElementsAttr::get(one, op.getValue().getSplatValue<Attribute>()))
              .at(0));
    }
    if (rank != 1)
      return {};
    HostTensor tensor = toHostTensor(op.getValue());
    auto number = [&](int64_t i) -> Number {
      Known known = splatOf(type.getElementType(), tensor.at(i));
      return known.line ? Number(known.line->offset) : std::nullopt;
    };
    Number start = number(0), step = plus(number(1), times(start, -1));
    for (int64_t i = 0; i < extent; ++i)
      if (Number here = number(i); !here || here != plus(start, times(step, i)))
        return {};
    return range(type, dims, *start, step);
  }

  Known readOp(nn::BroadcastOp op, Dims dims) {
    auto from = [&](int64_t dim) -> int64_t {
      const auto *found = llvm::find(op.getDims(), dim);
      return found == op.getDims().end() ? -1 : found - op.getDims().begin();
    };
    return read(op.getOperand(), {from(dims.row), from(dims.column)});
  }

  Known readOp(nn::TransposeOp op, Dims dims) {
    auto from = [&](int64_t dim) { return dim < 0 ? dim : op.getPermutation()[dim]; };
    return read(op.getOperand(), {from(dims.row), from(dims.column)});
  }

  /// One that adds or drops dims of extent 1.
  Known readOp(nn::ReshapeOp op, Dims dims) {
    auto wide = [](RankedTensorType type) {
      SmallVector<int64_t> dims;
      for (auto [dim, extent] : llvm::enumerate(type.getShape()))
        if (extent != 1)
          dims.push_back(dim);
      return dims;
    };
    RankedTensorType type = op.getType(), source = typeOf(op.getOperand());
    SmallVector<int64_t> to = wide(type), of = wide(source);
    if (to.size() != of.size() || !llvm::all_of(llvm::zip(to, of), [&](auto pair) {
          return type.getDimSize(std::get<0>(pair)) == source.getDimSize(std::get<1>(pair));
        }))
      return {};
    auto from = [&](int64_t dim) -> int64_t {
      auto *found = llvm::find(to, dim);
      return found == to.end() ? -1 : of[found - to.begin()];
    };
    return read(op.getOperand(), {from(dims.row), from(dims.column)});
  }

  Known readOp(nn::SliceOp op, Dims dims) {
    Known known = read(op.getOperand(), dims);
    auto start = [&](int64_t dim) -> int64_t { return dim < 0 ? 0 : op.getStarts()[dim]; };
    auto step = [&](int64_t dim) -> int64_t { return dim < 0 ? 1 : op.getStrides()[dim]; };
    if (known.line) {
      Line line = *known.line;
      known.line = lineOf(times(line.row, step(dims.row)), times(line.column, step(dims.column)),
                          plus(line.offset, plus(times(line.row, start(dims.row)),
                                                 times(line.column, start(dims.column)))));
    }
    if (known.diagonals && known.diagonals->stretches.size() > 1) {
      if (step(dims.row) != 1 || step(dims.column) != 1)
        known.diagonals.reset();
      else
        for (Diagonals::Stretch &stretch : llvm::drop_begin(known.diagonals->stretches))
          stretch.first -= start(dims.column) - start(dims.row);
    }
    return known;
  }

  Known compute(ElementwiseOpInterface op, Dims dims) {
    SmallVector<Known, 3> operands;
    for (Value operand : op->getOperands())
      operands.push_back(read(operand, dims));
    auto hasLine = [](const Known &known) { return known.line.has_value(); };
    auto hasDiagonals = [](const Known &known) { return known.diagonals.has_value(); };
    if (llvm::all_of(operands, hasDiagonals))
      return onDiagonals(op, operands);
    return llvm::all_of(operands, hasLine) ? onLines(op, operands, dims) : Known();
  }

  /// The op on each stretch of diagonals along which no operand changes.
  static Known onDiagonals(ElementwiseOpInterface op, ArrayRef<Known> operands) {
    SmallVector<int64_t> firsts;
    for (const Known &operand : operands)
      for (const Diagonals::Stretch &stretch : operand.diagonals->stretches)
        firsts.push_back(stretch.first);
    llvm::sort(firsts);
    firsts.erase(llvm::unique(firsts), firsts.end());
    Type element = getElementTypeOrSelf(op->getResult(0).getType());
    Diagonals result;
    for (int64_t first : firsts) {
      SmallVector<Scalar> scalars;
      for (const Known &operand : operands)
        scalars.push_back(operand.diagonals->at(first));
      result.stretches.push_back({first, roundToType(op.evaluateScalar(scalars), element)});
    }
    if (result.stretches.size() == 1)
      return splatOf(element, result.stretches.front().value);
    return {std::nullopt, result};
  }

  static Known onLines(ElementwiseOpInterface op, ArrayRef<Known> operands, Dims dims) {
    auto line = [&](unsigned i) { return *operands[i].line; };
    auto combine = [](Line a, int64_t factor, Line b) {
      return lineOf(plus(a.row, times(factor, b.row)), plus(a.column, times(factor, b.column)),
                    plus(a.offset, times(factor, b.offset)));
    };
    auto isSplat = [](Line line) { return line.row == 0 && line.column == 0; };
    RankedTensorType type = typeOf(op->getResult(0));
    return llvm::TypeSwitch<Operation *, Known>(op)
        .Case([&](nn::AddOp) { return exactIn(type, dims, combine(line(0), 1, line(1))); })
        .Case([&](nn::SubOp) { return exactIn(type, dims, combine(line(0), -1, line(1))); })
        .Case([&](nn::CastOp) { return exactIn(type, dims, line(0)); })
        .Case([&](nn::NegateOp) { return exactIn(type, dims, combine({}, -1, line(0))); })
        .Case([&](nn::MulOp) {
          for (unsigned factor : {0, 1})
            if (isSplat(line(factor)))
              return exactIn(type, dims, combine({}, line(factor).offset, line(1 - factor)));
          return Known();
        })
        .Case([&](nn::CompareOp compare) {
          std::optional<Line> difference = combine(line(0), -1, line(1));
          return difference ? signs(compare, *difference, typeOf(compare.getLhs()), dims) : Known();
        })
        .Default(Known());
  }

  /// Of a comparison whose left side is more than its right one by `difference`.
  static Known signs(nn::CompareOp op, Line difference, RankedTensorType type, Dims dims) {
    // An index that is always 0 may have any factor.
    int64_t &row = difference.row, &column = difference.column;
    if (dims.row >= 0 && extentOf(type, dims.row) == 1)
      row = -column;
    else if (dims.column >= 0 && extentOf(type, dims.column) == 1)
      column = -row;
    if (row != -column)
      return {};
    auto outcome = [&](int sign) {
      auto side = [](int64_t number) { return Scalar{static_cast<double>(number), number}; };
      Scalar operands[] = {side(sign > 0), side(sign < 0)};
      return cast<ElementwiseOpInterface>(op.getOperation()).evaluateScalar(operands);
    };
    auto signOf = [](int64_t number) { return number < 0 ? -1 : number > 0; };
    if (column == 0)
      return splatOf(op.getType().getElementType(), outcome(signOf(difference.offset)));
    // column * diagonal + offset changes its sign here.
    int64_t at = -difference.offset / column, before = -signOf(column);
    bool meets = at * column == -difference.offset;
    if (!meets && (difference.offset < 0) != (column < 0))
      ++at;
    Diagonals result;
    result.stretches.push_back({kLeast, outcome(before)});
    if (meets)
      result.stretches.push_back({at++, outcome(0)});
    result.stretches.push_back({at, outcome(-before)});
    return {std::nullopt, result};
  }

  unsigned budget = kMaxOps;
};

} // namespace

std::optional<Diagonals> weft::diagonalsOf(Value value) {
  RankedTensorType type = typeOf(value);
  if (type.getRank() < 2 || type.getNumElements() == 0)
    return std::nullopt;
  return Reader().read(value, {type.getRank() - 2, type.getRank() - 1}).diagonals;
}
