// Gradients of elementwise ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kinks: where an op has one-sided derivatives only, PyTorch's choice is taken
// (abs at 0: 0; max of two equal values: half each; max with a constant, which
// is how relu is written, at equality: 0).
#include "dialects/nn/IR/NnGradient.h"

#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;

namespace weft::nn {

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

namespace {
/// Operand, result and result's gradient of a unary op, in f32 at least.
struct Unary {
  Term x, y, g;
};
} // namespace

static LogicalResult unary(Gradient d, llvm::function_ref<Term(Unary)> formula) {
  d.set(0, [&] {
    // The result in a smaller type has lost digits that the formula is entitled
    // to, as it has in every framework.
    return formula({d.operand(0).wide(), d.result().wide(), d.upper().wide()});
  });
  return success();
}

#define WEFT_GRADIENT(OP)                                                                          \
  LogicalResult OP::buildGradient(OpBuilder &builder, ValueRange results, ArrayRef<bool> wanted,   \
                                  MutableArrayRef<Value> operands)
#define WEFT_UNARY_GRADIENT(OP, FORMULA)                                                           \
  WEFT_GRADIENT(OP) {                                                                              \
    return unary({getOperation(), builder, results, wanted, operands}, [&](Unary u) -> Term {      \
      [[maybe_unused]] auto [x, y, g] = u;                                                         \
      return FORMULA;                                                                              \
    });                                                                                            \
  }
/// Piecewise constant, or of integers: the gradient is zero.
#define WEFT_ZERO_GRADIENT(OP)                                                 \
  WEFT_GRADIENT(OP) { return success(); }

WEFT_UNARY_GRADIENT(AbsOp, g * x.unary<SignOp>())
WEFT_UNARY_GRADIENT(ExpOp, g * y)
WEFT_UNARY_GRADIENT(LogOp, g / x)
WEFT_UNARY_GRADIENT(SqrtOp, g * 0.5 / y)
WEFT_UNARY_GRADIENT(RsqrtOp, g * -0.5 * (y * y * y))
WEFT_UNARY_GRADIENT(ReciprocalOp, -(g * y * y))
WEFT_UNARY_GRADIENT(SinOp, g * x.unary<CosOp>())
WEFT_UNARY_GRADIENT(CosOp, -(g * x.unary<SinOp>()))
WEFT_UNARY_GRADIENT(TanOp, g * (y * y + 1))
WEFT_UNARY_GRADIENT(AsinOp, g * ((1 - x) * (x + 1)).unary<RsqrtOp>())
WEFT_UNARY_GRADIENT(AcosOp, -(g * ((1 - x) * (x + 1)).unary<RsqrtOp>()))
WEFT_UNARY_GRADIENT(AtanOp, g / (x * x + 1))
WEFT_UNARY_GRADIENT(SinhOp, g * x.unary<CoshOp>())
WEFT_UNARY_GRADIENT(CoshOp, g * x.unary<SinhOp>())
WEFT_UNARY_GRADIENT(TanhOp, g * (1 - y * y))
WEFT_UNARY_GRADIENT(AsinhOp, g * (x * x + 1).unary<RsqrtOp>())
WEFT_UNARY_GRADIENT(AcoshOp, g * ((x - 1) * (x + 1)).unary<RsqrtOp>())
WEFT_UNARY_GRADIENT(AtanhOp, g / ((1 - x) * (x + 1)))
WEFT_UNARY_GRADIENT(ErfOp, g * M_2_SQRTPI * (-(x * x)).unary<ExpOp>())
WEFT_UNARY_GRADIENT(SigmoidOp, g * (y * (1 - y)))
WEFT_UNARY_GRADIENT(Log1pOp, g / (x + 1))
WEFT_UNARY_GRADIENT(Expm1Op, g * x.unary<ExpOp>())
WEFT_ZERO_GRADIENT(SignOp)
WEFT_ZERO_GRADIENT(CeilOp)
WEFT_ZERO_GRADIENT(FloorOp)
WEFT_ZERO_GRADIENT(RoundOp)
WEFT_ZERO_GRADIENT(NotOp)
WEFT_ZERO_GRADIENT(IsNanOp)

WEFT_GRADIENT(NegateOp) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  d.set(0, [&] { return -d.upper(); });
  return success();
}

static Term siluGradient(Unary u) {
  Term s = u.x.unary<SigmoidOp>();
  return u.g * (s * (u.x * (1 - s) + 1));
}
WEFT_UNARY_GRADIENT(SiluOp, siluGradient(u))

static Term geluGradient(Unary u, bool tanh) {
  Term x = u.x;
  if (!tanh) {
    Term distribution = ((x * M_SQRT1_2).unary<ErfOp>() + 1) * 0.5;
    Term density = (x * x * -0.5).unary<ExpOp>() * (M_2_SQRTPI * M_SQRT1_2 / 2);
    return u.g * (distribution + x * density);
  }
  double c = M_2_SQRTPI * M_SQRT1_2;
  Term square = x * x;
  Term t = (x * (square * 0.044715 + 1) * c).unary<TanhOp>();
  Term inner = (square * (3 * 0.044715) + 1) * c;
  return u.g * ((t + 1) * 0.5 + x * 0.5 * (1 - t * t) * inner);
}
WEFT_UNARY_GRADIENT(GeluOp, geluGradient(u, getTanh()))

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

WEFT_GRADIENT(AddOp) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  d.set(0, [&] { return d.upper(); });
  d.set(1, [&] { return d.upper(); });
  return success();
}

WEFT_GRADIENT(SubOp) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  d.set(0, [&] { return d.upper(); });
  d.set(1, [&] { return -d.upper(); });
  return success();
}

WEFT_GRADIENT(MulOp) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  d.set(0, [&] { return d.upper() * d.operand(1); });
  d.set(1, [&] { return d.upper() * d.operand(0); });
  return success();
}

WEFT_GRADIENT(DivOp) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  d.set(0, [&] { return d.upper() / d.operand(1); });
  d.set(1, [&] { return -(d.upper().wide() / d.operand(1).wide() * d.result().wide()); });
  return success();
}

/// The number that every element of `value` is known to be.
static std::optional<double> splatOf(Value value) {
  while (auto broadcast = value.getDefiningOp<BroadcastOp>())
    value = broadcast.getOperand();
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat() ||
      !isa<FloatType>(elements.getElementType()))
    return std::nullopt;
  APFloat number = elements.getSplatValue<APFloat>();
  bool lost;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
  return number.convertToDouble();
}

static Term powBaseGradient(Term a, Term b, std::optional<double> power, Term g) {
  if (power == 2.0)
    return g * 2 * a;
  if (power)
    return *power == 0 ? g.splat(0) : g * *power * a.binary<PowOp>(a.splat(*power - 1));
  // x^0 is 1 for all x, whatever 0 * x^-1 says.
  return b.is(CompareKind::Eq, 0.0).choose(g.splat(0), g * b * a.binary<PowOp>(b - 1));
}

WEFT_GRADIENT(PowOp) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  Term a = d.operand(0).wide(), b = d.operand(1).wide(), g = d.upper().wide();
  d.set(0, [&] { return powBaseGradient(a, b, splatOf(getRhs()), g); });
  d.set(1, [&] {
    // 0^b is constant for positive b, whatever 0 * log 0 says.
    Term zero = a.is(CompareKind::Eq, 0.0).binary<AndOp>(b.is(CompareKind::Ge, 0.0));
    return zero.choose(g.splat(0),
                       g * d.result().wide() * zero.choose(a.splat(1), a).unary<LogOp>());
  });
  return success();
}

WEFT_GRADIENT(RemOp) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  d.set(0, [&] { return d.upper(); });
  d.set(1, [&] {
    // a - rem(a, b) is a multiple of b.
    Term a = d.operand(0).wide(), b = d.operand(1).wide();
    return -(d.upper().wide() * ((a - d.result().wide()) / b).unary<RoundOp>());
  });
  return success();
}

/// `kind` tells when an operand wins over the other.
static LogicalResult chooseGradient(Gradient d, CompareKind kind) {
  for (unsigned i : {0u, 1u})
    d.set(i, [&] {
      Term g = d.upper(), own = d.operand(i), other = d.operand(1 - i);
      // The result wins over a constant where the operand does; what comes
      // after a relu is kept anyway.
      if (splatOf(other.value))
        return d.result().is(kind, other).choose(g, 0.0);
      Term wins = own.is(kind, other);
      return wins.choose(g, own.is(CompareKind::Eq, other).choose(g * 0.5, 0.0));
    });
  return success();
}

WEFT_GRADIENT(MaxOp) {
  return chooseGradient({getOperation(), builder, results, wanted, operands}, CompareKind::Gt);
}
WEFT_GRADIENT(MinOp) {
  return chooseGradient({getOperation(), builder, results, wanted, operands}, CompareKind::Lt);
}

WEFT_GRADIENT(Atan2Op) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  Term a = d.operand(0).wide(), b = d.operand(1).wide(), g = d.upper().wide();
  Term square = a * a + b * b;
  d.set(0, [&] { return g * b / square; });
  d.set(1, [&] { return -(g * a / square); });
  return success();
}

WEFT_ZERO_GRADIENT(AndOp)
WEFT_ZERO_GRADIENT(OrOp)
WEFT_ZERO_GRADIENT(XorOp)
WEFT_ZERO_GRADIENT(ShiftLeftOp)
WEFT_ZERO_GRADIENT(ShiftRightOp)

//===----------------------------------------------------------------------===//
// Comparison, selection, conversion
//===----------------------------------------------------------------------===//

WEFT_ZERO_GRADIENT(CompareOp)

WEFT_GRADIENT(SelectOp) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  Term condition = d.operand(0), g = d.upper();
  d.set(1, [&] { return condition.choose(g, 0.0); });
  d.set(2, [&] { return condition.choose(g.splat(0), g); });
  return success();
}

WEFT_GRADIENT(CastOp) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  // Rounding to a float counts as the identity, to an integer as constant.
  if (isa<FloatType>(d.operand(0).element()) && isa<FloatType>(d.result().element()))
    d.set(0, [&] { return d.upper(); });
  return success();
}

#undef WEFT_ZERO_GRADIENT
#undef WEFT_UNARY_GRADIENT
#undef WEFT_GRADIENT

} // namespace weft::nn
