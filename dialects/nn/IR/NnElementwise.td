//===- NnElementwise.td - ops on elements at the same index -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One op is one record. It carries the reference of one element as a C++ snippet;
// NnElementwise.h has what the snippets call. Its code is in NnKernelsElementwise.cpp,
// which shares nothing with the reference.
//===------------------------------------------------------------------------===//
#ifndef WEFT_DIALECTS_NN_IR_NNELEMENTWISE_TD
#define WEFT_DIALECTS_NN_IR_NNELEMENTWISE_TD

include "dialects/nn/IR/NnDialect.td"

/// All operands and the result have one shape (encodings aside).
def Nn_SameShape : NativeOpTrait<"SameShape"> { let cppNamespace = "::weft::nn"; }
/// All operands and the result have one element type.
def Nn_SameElementType : NativeOpTrait<"SameElementType"> { let cppNamespace = "::weft::nn"; }

class Nn_ElementwiseOp<string mnemonic, string text, list<Trait> traits = []>
    : Nn_Op<mnemonic, !listconcat([Nn_SameShape, DeclareOpInterfaceMethods<ElementwiseOpInterface>], traits),
            shardMethods = ["getPartialRules", "getFlopsPerPoint"]> {
  let summary = text;

  /// Statement that returns the Scalar made of `operands`.
  string reference = ?;
  /// Statement that returns the partial rules for `kind`.
  string partial = "return {};";
  /// Floating-point operations an element.
  string flops = "1.0";

  let extraClassDefinition = [{
    ::weft::Scalar $cppClass::evaluateScalar(::llvm::ArrayRef<::weft::Scalar> operands) {
      }] # reference # [{
    }
    ::llvm::SmallVector<::weft::PartialRule> $cppClass::getPartialRules(::weft::ReduceKind kind) {
      }] # partial # [{
    }
    double $cppClass::getFlopsPerPoint() { return }] # flops # [{; }
    ::weft::FactorRule $cppClass::getFactorRule(::mlir::TypeRange operandTypes, ::mlir::TypeRange resultTypes) {
      return elementwiseRule(operandTypes, resultTypes);
    }
    ::llvm::SmallVector<::weft::HostTensor> $cppClass::evaluate(::llvm::ArrayRef<::weft::HostTensor> operands) {
      return evaluateElementwise(*this, operands);
    }
  }];
}

//===----------------------------------------------------------------------===//
// Unary
//===----------------------------------------------------------------------===//

class Nn_UnaryOp<string mnemonic, string text, TypeConstraint type>
    : Nn_ElementwiseOp<mnemonic, text, [Nn_SameElementType]> {
  let arguments = (ins type:$operand);
  let results = (outs type:$result);
  let assemblyFormat = "$operand attr-dict `:` custom<OneType>(type($operand), type($result))";
  let builders = [OpBuilder<(ins "::mlir::Value":$operand), [{
    build($_builder, $_state, operand.getType(), operand);
  }]>];
}

/// `real` is an expression over the double `a`.
class Nn_FloatUnaryOp<string mnemonic, string text, string real, string cost = "8.0">
    : Nn_UnaryOp<mnemonic, text, Nn_FloatTensor> {
  let reference = "return evaluateReal(operands, [](double a) -> double { return " # real # "; });";
  let flops = cost;
}

/// `integer` is an expression over `a`, an int64_t or (of unsigned types) uint64_t.
class Nn_NumberUnaryOp<string mnemonic, string text, string real, string integer>
    : Nn_UnaryOp<mnemonic, text, Nn_NumberTensor> {
  let reference = "return evaluateNumber(getType(), operands, [](double a) -> double { return " # real
      # "; }, [](auto a) -> decltype(a) { return " # integer # "; });";
}

def Nn_NegateOp : Nn_NumberUnaryOp<"negate", "minus the operand", "-a", "wrapSub(decltype(a)(0), a)"> {
  let partial = "return sumRules(kind, {{0}});";
}
def Nn_AbsOp : Nn_NumberUnaryOp<"abs", "the absolute value", "std::fabs(a)", "a < 0 ? wrapSub(decltype(a)(0), a) : a">;
def Nn_SignOp : Nn_NumberUnaryOp<"sign", "-1, 0 or 1 by the operand's sign; NaN stays NaN",
    "a > 0 ? 1 : a < 0 ? -1 : a", "a > 0 ? 1 : a == 0 ? 0 : -1">;
def Nn_ExpOp : Nn_FloatUnaryOp<"exp", "e to the power of the operand", "std::exp(a)">;
def Nn_LogOp : Nn_FloatUnaryOp<"log", "the natural logarithm", "std::log(a)">;
def Nn_SqrtOp : Nn_FloatUnaryOp<"sqrt", "the square root", "std::sqrt(a)">;
def Nn_RsqrtOp : Nn_FloatUnaryOp<"rsqrt", "one over the square root", "1 / std::sqrt(a)">;
def Nn_ReciprocalOp : Nn_FloatUnaryOp<"reciprocal", "one over the operand", "1 / a", "1.0">;
def Nn_SinOp : Nn_FloatUnaryOp<"sin", "the sine", "std::sin(a)">;
def Nn_CosOp : Nn_FloatUnaryOp<"cos", "the cosine", "std::cos(a)">;
def Nn_TanOp : Nn_FloatUnaryOp<"tan", "the tangent", "std::tan(a)">;
def Nn_AsinOp : Nn_FloatUnaryOp<"asin", "the inverse sine", "std::asin(a)">;
def Nn_AcosOp : Nn_FloatUnaryOp<"acos", "the inverse cosine", "std::acos(a)">;
def Nn_AtanOp : Nn_FloatUnaryOp<"atan", "the inverse tangent", "std::atan(a)">;
def Nn_SinhOp : Nn_FloatUnaryOp<"sinh", "the hyperbolic sine", "std::sinh(a)">;
def Nn_CoshOp : Nn_FloatUnaryOp<"cosh", "the hyperbolic cosine", "std::cosh(a)">;
def Nn_TanhOp : Nn_FloatUnaryOp<"tanh", "the hyperbolic tangent", "std::tanh(a)">;
def Nn_AsinhOp : Nn_FloatUnaryOp<"asinh", "the inverse hyperbolic sine", "std::asinh(a)">;
def Nn_AcoshOp : Nn_FloatUnaryOp<"acosh", "the inverse hyperbolic cosine", "std::acosh(a)">;
def Nn_AtanhOp : Nn_FloatUnaryOp<"atanh", "the inverse hyperbolic tangent", "std::atanh(a)">;
def Nn_ErfOp : Nn_FloatUnaryOp<"erf", "the error function", "std::erf(a)">;
def Nn_SigmoidOp : Nn_FloatUnaryOp<"sigmoid", "1 / (1 + exp(-x))", "1 / (1 + std::exp(-a))">;
def Nn_SiluOp : Nn_FloatUnaryOp<"silu", "x * sigmoid(x)", "a / (1 + std::exp(-a))">;
def Nn_Log1pOp : Nn_FloatUnaryOp<"log1p", "log(1 + x)", "std::log1p(a)">;
def Nn_Expm1Op : Nn_FloatUnaryOp<"expm1", "exp(x) - 1", "std::expm1(a)">;
def Nn_CeilOp : Nn_FloatUnaryOp<"ceil", "the least integer not below", "std::ceil(a)", "1.0">;
def Nn_FloorOp : Nn_FloatUnaryOp<"floor", "the greatest integer not above", "std::floor(a)", "1.0">;
def Nn_RoundOp : Nn_FloatUnaryOp<"round", "the nearest integer, ties to even", "std::nearbyint(a)", "1.0">;

def Nn_NotOp : Nn_UnaryOp<"not", "logical negation of a bool, bitwise of other integers", Nn_IntegerTensor> {
  let reference = "return evaluateInteger(getType(), operands, [](auto a) -> decltype(a) { return ~a; });";
}

def Nn_IsNanOp : Nn_ElementwiseOp<"is_nan", "true where the operand is NaN"> {
  let arguments = (ins Nn_FloatTensor:$operand);
  let results = (outs Nn_BoolTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$operand), [{
    auto type = ::llvm::cast<::mlir::RankedTensorType>(operand.getType());
    build($_builder, $_state, type.clone($_builder.getI1Type()), operand);
  }]>];
  let reference = "return boolScalar(std::isnan(operands[0].real));";
}

def Nn_GeluOp : Nn_ElementwiseOp<"gelu", "x times the normal distribution function of x", [Nn_SameElementType]> {
  let description = [{
    Exact: `x/2 (1 + erf(x / sqrt 2))`; with `tanh`:
    `x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))` (Hendrycks and Gimpel, 2016).
  }];
  let arguments = (ins Nn_FloatTensor:$operand, UnitAttr:$tanh);
  let results = (outs Nn_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` custom<OneType>(type($operand), type($result))";
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "bool":$tanh), [{
    build($_builder, $_state, operand.getType(), operand, tanh);
  }]>];
  let reference = "return realScalar(gelu(operands[0].real, getTanh()));";
  let flops = "12.0";
}

//===----------------------------------------------------------------------===//
// Binary
//===----------------------------------------------------------------------===//

class Nn_BinaryOp<string mnemonic, string text, TypeConstraint type>
    : Nn_ElementwiseOp<mnemonic, text, [Nn_SameElementType]> {
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` custom<OneType>(type($lhs), type($rhs), type($result))";
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs), [{
    build($_builder, $_state, lhs.getType(), lhs, rhs);
  }]>];
}

/// `real` and `integer` are expressions over `a` and `b`, as in Nn_NumberUnaryOp.
class Nn_NumberBinaryOp<string mnemonic, string text, string real, string integer,
                        TypeConstraint type = Nn_NumberTensor>
    : Nn_BinaryOp<mnemonic, text, type> {
  let reference = "return evaluateNumber(getType(), operands, [](double a, double b) -> double { return " # real
      # "; }, [](auto a, auto b) -> decltype(a) { return " # integer # "; });";
}

class Nn_IntegerBinaryOp<string mnemonic, string text, string integer,
                         TypeConstraint type = Nn_IntegerTensor>
    : Nn_BinaryOp<mnemonic, text, type> {
  let reference = "return evaluateInteger(getType(), operands, [](auto a, auto b) -> decltype(a) { return " # integer # "; });";
}

def Nn_AddOp : Nn_NumberBinaryOp<"add", "the sum", "a + b", "wrapAdd(a, b)"> {
  let partial = "return sumRules(kind, {{0, 1}});";
}
def Nn_SubOp : Nn_NumberBinaryOp<"sub", "the difference", "a - b", "wrapSub(a, b)"> {
  let partial = "return sumRules(kind, {{0, 1}});";
}
def Nn_MulOp : Nn_NumberBinaryOp<"mul", "the product", "a * b", "wrapMul(a, b)"> {
  let partial = "return productRules(kind, {{0}, {1}}, {{0, 1}});";
}
def Nn_DivOp : Nn_NumberBinaryOp<"div", "the quotient; integers truncate toward zero, division by zero gives 0",
    "a / b", "wrapDiv(a, b)"> {
  // The quotients of integer parts lose their remainders.
  let partial = "if (!isFloat(getType())) return {}; return productRules(kind, {{0}}, {{0, 1}});";
}
def Nn_PowOp : Nn_NumberBinaryOp<"pow", "lhs to the power of rhs; negative powers of integers truncate, 0 to one gives 0",
    "std::pow(a, b)", "wrapPow(a, b)"> {
  let flops = "16.0";
}
def Nn_RemOp : Nn_NumberBinaryOp<"rem", "the remainder with the sign of lhs (C fmod); integer remainder by zero is 0",
    "std::fmod(a, b)", "wrapRem(a, b)">;
def Nn_MaxOp : Nn_NumberBinaryOp<"max", "the greater; NaN if either is NaN", "maxNan(a, b)", "a > b ? a : b", Nn_Tensor> {
  let partial = "return latticeRules(kind, ReduceKind::Max, ReduceKind::Min);";
}
def Nn_MinOp : Nn_NumberBinaryOp<"min", "the lesser; NaN if either is NaN", "minNan(a, b)", "a < b ? a : b", Nn_Tensor> {
  let partial = "return latticeRules(kind, ReduceKind::Min, ReduceKind::Max);";
}
def Nn_Atan2Op : Nn_BinaryOp<"atan2", "the angle of the point (rhs, lhs)", Nn_FloatTensor> {
  let reference = "return evaluateReal(operands, [](double a, double b) -> double { return std::atan2(a, b); });";
  let flops = "16.0";
}

def Nn_AndOp : Nn_IntegerBinaryOp<"and", "logical or bitwise and", "a & b"> {
  let partial = "return latticeRules(kind, ReduceKind::And, ReduceKind::Or);";
}
def Nn_OrOp : Nn_IntegerBinaryOp<"or", "logical or bitwise or", "a | b"> {
  let partial = "return latticeRules(kind, ReduceKind::Or, ReduceKind::And);";
}
def Nn_XorOp : Nn_IntegerBinaryOp<"xor", "logical or bitwise exclusive or", "a ^ b">;
def Nn_ShiftLeftOp : Nn_BinaryOp<"shift_left", "bits shifted up; zero when the amount is negative, the width or more",
    Nn_IntegerTensor> {
  let reference = "return evaluateShift(getType(), operands, /*left=*/true);";
}
def Nn_ShiftRightOp : Nn_BinaryOp<"shift_right",
    "bits shifted down, logical for unsigned and arithmetic for signed; all sign bits when the amount is negative, the width or more",
    Nn_IntegerTensor> {
  let reference = "return evaluateShift(getType(), operands, /*left=*/false);";
}

//===----------------------------------------------------------------------===//
// Comparison, selection, conversion
//===----------------------------------------------------------------------===//

def Nn_CompareOp : Nn_ElementwiseOp<"compare", "true where the comparison holds"> {
  let description = [{ Any comparison with NaN but `ne` is false. }];
  let arguments = (ins Nn_CompareKindAttr:$kind, Nn_Tensor:$lhs, Nn_Tensor:$rhs);
  let results = (outs Nn_BoolTensor:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::weft::nn::CompareKind":$kind, "::mlir::Value":$lhs, "::mlir::Value":$rhs), [{
    auto type = ::llvm::cast<::mlir::RankedTensorType>(lhs.getType());
    build($_builder, $_state, type.clone($_builder.getI1Type()), kind, lhs, rhs);
  }]>];
  let hasVerifier = 1;
  let reference = "return evaluateCompare(getKind(), getLhs().getType(), operands);";
}

def Nn_SelectOp : Nn_ElementwiseOp<"select", "on_true where the condition holds, else on_false"> {
  let arguments = (ins Nn_BoolTensor:$condition, Nn_Tensor:$on_true, Nn_Tensor:$on_false);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = "$condition `,` $on_true `,` $on_false attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$condition, "::mlir::Value":$onTrue, "::mlir::Value":$onFalse), [{
    build($_builder, $_state, onTrue.getType(), condition, onTrue, onFalse);
  }]>];
  let hasVerifier = 1;
  let reference = "return operands[0].integer ? operands[1] : operands[2];";
  // Each element comes from one of the two, whatever reduces them.
  let partial = "return {{1, 2}};";
}

def Nn_CastOp : Nn_ElementwiseOp<"cast", "the same value in another element type"> {
  let description = [{
    Float to float rounds to nearest even; float to integer truncates toward zero
    (NaN and out of range: unspecified); integer to integer wraps; to bool is `!= 0`.
  }];
  let arguments = (ins Nn_Tensor:$operand);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Type":$elementType), [{
    auto type = ::llvm::cast<::mlir::RankedTensorType>(operand.getType());
    build($_builder, $_state, type.clone(elementType), operand);
  }]>];
  let hasFolder = 1;
  let reference = "return evaluateCast(getOperand().getType(), getType(), operands[0]);";
  let partial = "return castRules(kind, getOperand().getType(), getType());";
  let flops = "0.0";
}

#endif // WEFT_DIALECTS_NN_IR_NNELEMENTWISE_TD
