//===- NnElementwise.td - ops on elements at the same index -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------===//
#ifndef WEFT_DIALECTS_NN_NNELEMENTWISE_TD
#define WEFT_DIALECTS_NN_NNELEMENTWISE_TD

include "dialects/nn/IR/NnDialect.td"

class Nn_ElementwiseOp<string mnemonic, string text, list<Trait> traits = []>
    : Nn_Op<mnemonic, !listconcat([SameOperandsAndResultShape,
        DeclareOpInterfaceMethods<ElementwiseOpInterface>], traits)> {
  let summary = text;
}

class Nn_UnaryOp<string mnemonic, string text> : Nn_ElementwiseOp<mnemonic, text> {
  let arguments = (ins Nn_Tensor:$operand);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$operand), [{
    build($_builder, $_state, operand.getType(), operand);
  }]>];
}

class Nn_BinaryOp<string mnemonic, string text> : Nn_ElementwiseOp<mnemonic, text> {
  let arguments = (ins Nn_Tensor:$lhs, Nn_Tensor:$rhs);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs), [{
    build($_builder, $_state, lhs.getType(), lhs, rhs);
  }]>];
}

class Nn_PredicateOp<string mnemonic, string text> : Nn_ElementwiseOp<mnemonic, text> {
  let arguments = (ins Nn_Tensor:$operand);
  let results = (outs Nn_BoolTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$operand), [{
    auto type = ::llvm::cast<::mlir::RankedTensorType>(operand.getType());
    build($_builder, $_state, type.clone($_builder.getI1Type()), operand);
  }]>];
}

def Nn_NegateOp : Nn_UnaryOp<"negate", "minus the operand">;
def Nn_AbsOp : Nn_UnaryOp<"abs", "the absolute value">;
def Nn_SignOp : Nn_UnaryOp<"sign", "-1, 0 or 1 by the operand's sign; NaN stays NaN">;
def Nn_ExpOp : Nn_UnaryOp<"exp", "e to the power of the operand">;
def Nn_LogOp : Nn_UnaryOp<"log", "the natural logarithm">;
def Nn_SqrtOp : Nn_UnaryOp<"sqrt", "the square root">;
def Nn_RsqrtOp : Nn_UnaryOp<"rsqrt", "one over the square root">;
def Nn_ReciprocalOp : Nn_UnaryOp<"reciprocal", "one over the operand">;
def Nn_SinOp : Nn_UnaryOp<"sin", "the sine">;
def Nn_CosOp : Nn_UnaryOp<"cos", "the cosine">;
def Nn_TanOp : Nn_UnaryOp<"tan", "the tangent">;
def Nn_AsinOp : Nn_UnaryOp<"asin", "the inverse sine">;
def Nn_AcosOp : Nn_UnaryOp<"acos", "the inverse cosine">;
def Nn_AtanOp : Nn_UnaryOp<"atan", "the inverse tangent">;
def Nn_SinhOp : Nn_UnaryOp<"sinh", "the hyperbolic sine">;
def Nn_CoshOp : Nn_UnaryOp<"cosh", "the hyperbolic cosine">;
def Nn_TanhOp : Nn_UnaryOp<"tanh", "the hyperbolic tangent">;
def Nn_AsinhOp : Nn_UnaryOp<"asinh", "the inverse hyperbolic sine">;
def Nn_AcoshOp : Nn_UnaryOp<"acosh", "the inverse hyperbolic cosine">;
def Nn_AtanhOp : Nn_UnaryOp<"atanh", "the inverse hyperbolic tangent">;
def Nn_ErfOp : Nn_UnaryOp<"erf", "the error function">;
def Nn_SigmoidOp : Nn_UnaryOp<"sigmoid", "1 / (1 + exp(-x))">;
def Nn_SiluOp : Nn_UnaryOp<"silu", "x * sigmoid(x)">;
def Nn_Log1pOp : Nn_UnaryOp<"log1p", "log(1 + x)">;
def Nn_Expm1Op : Nn_UnaryOp<"expm1", "exp(x) - 1">;
def Nn_CeilOp : Nn_UnaryOp<"ceil", "the least integer not below">;
def Nn_FloorOp : Nn_UnaryOp<"floor", "the greatest integer not above">;
def Nn_RoundOp : Nn_UnaryOp<"round", "the nearest integer, ties to even">;
def Nn_NotOp : Nn_UnaryOp<"not", "logical negation of a bool, bitwise of other integers">;
def Nn_IsNanOp : Nn_PredicateOp<"is_nan", "true where the operand is NaN">;

def Nn_AddOp : Nn_BinaryOp<"add", "the sum">;
def Nn_SubOp : Nn_BinaryOp<"sub", "the difference">;
def Nn_MulOp : Nn_BinaryOp<"mul", "the product">;
def Nn_DivOp : Nn_BinaryOp<"div", "the quotient; integers truncate toward zero, division by zero gives 0">;
def Nn_PowOp : Nn_BinaryOp<"pow", "lhs to the power of rhs">;
def Nn_RemOp : Nn_BinaryOp<"rem", "the remainder with the sign of lhs (C fmod)">;
def Nn_MaxOp : Nn_BinaryOp<"max", "the greater; NaN if either is NaN">;
def Nn_MinOp : Nn_BinaryOp<"min", "the lesser; NaN if either is NaN">;
def Nn_AndOp : Nn_BinaryOp<"and", "logical or bitwise and">;
def Nn_OrOp : Nn_BinaryOp<"or", "logical or bitwise or">;
def Nn_XorOp : Nn_BinaryOp<"xor", "logical or bitwise exclusive or">;
def Nn_ShiftLeftOp : Nn_BinaryOp<"shift_left", "bits shifted up; zero when the amount is the width or more">;
def Nn_ShiftRightOp : Nn_BinaryOp<"shift_right", "bits shifted down, logical for unsigned and arithmetic for signed">;
def Nn_Atan2Op : Nn_BinaryOp<"atan2", "the angle of the point (rhs, lhs)">;

def Nn_GeluOp : Nn_ElementwiseOp<"gelu", "x times the normal distribution function of x"> {
  let description = [{
    Exact: `x/2 (1 + erf(x / sqrt 2))`; with `tanh`:
    `x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))` (Hendrycks and Gimpel, 2016).
  }];
  let arguments = (ins Nn_FloatTensor:$operand, UnitAttr:$tanh);
  let results = (outs Nn_FloatTensor:$result);
  let assemblyFormat = "$operand attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "bool":$tanh), [{
    build($_builder, $_state, operand.getType(), operand, tanh);
  }]>];
}

def Nn_CompareOp : Nn_ElementwiseOp<"compare", "true where the comparison holds"> {
  let description = [{ Any comparison with NaN but `ne` is false. }];
  let arguments = (ins Nn_CompareKindAttr:$kind, Nn_Tensor:$lhs, Nn_Tensor:$rhs);
  let results = (outs Nn_BoolTensor:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::weft::nn::CompareKind":$kind, "::mlir::Value":$lhs, "::mlir::Value":$rhs), [{
    auto type = ::llvm::cast<::mlir::RankedTensorType>(lhs.getType());
    build($_builder, $_state, type.clone($_builder.getI1Type()), kind, lhs, rhs);
  }]>];
}

def Nn_SelectOp : Nn_ElementwiseOp<"select", "on_true where the condition holds, else on_false"> {
  let arguments = (ins Nn_BoolTensor:$condition, Nn_Tensor:$on_true, Nn_Tensor:$on_false);
  let results = (outs Nn_Tensor:$result);
  let assemblyFormat = "$condition `,` $on_true `,` $on_false attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$condition, "::mlir::Value":$onTrue, "::mlir::Value":$onFalse), [{
    build($_builder, $_state, onTrue.getType(), condition, onTrue, onFalse);
  }]>];
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
}

#endif // WEFT_DIALECTS_NN_NNELEMENTWISE_TD
