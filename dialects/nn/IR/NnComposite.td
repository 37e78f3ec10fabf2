//===- NnComposite.td - idioms that stay one op -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------===//
#ifndef WEFT_DIALECTS_NN_IR_NNCOMPOSITE_TD
#define WEFT_DIALECTS_NN_IR_NNCOMPOSITE_TD

include "dialects/nn/IR/NnDialect.td"

def Nn_SoftmaxOp : Nn_Op<"softmax", shardMethods = ["getFlopsPerPoint"]> {
  let summary = "exp(x - max) / sum exp(x - max) along a dim";
  let description = [{
    With `log`: its logarithm, computed without cancellation.

    Constraints: `dim` in [0, tensor rank); the result has the operand's element type
    and shape.

    Example: `%1 = nn.softmax %0 dim = 1 : (tensor<2x8xf32>) -> tensor<2x8xf32>`
  }];
  let arguments = (ins Nn_FloatTensor:$operand, I64Attr:$dim, UnitAttr:$log);
  let results = (outs Nn_FloatTensor:$result);
  let assemblyFormat = "$operand `dim` `=` $dim attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "int64_t":$dim, CArg<"bool", "false">:$log), [{
    build($_builder, $_state, operand.getType(), operand, dim, log);
  }]>];
  let hasVerifier = 1;
}

def Nn_LayerNormOp : Nn_Op<"layer_norm", shardMethods = ["getPartialRules", "getFlopsPerPoint"]> {
  let summary = "(x - mean) / sqrt(var + epsilon) * scale + bias over the trailing dims";
  let description = [{
    Mean and (biased) variance run over the dims from `dim` to the last; `scale` and
    the optional `bias` have the shape of those dims. Statistics are computed in f32
    for smaller floats (Ba, Kiros and Hinton, 2016).

    Constraints: `dim` in [0, tensor rank); element types and shapes of scale, bias
    and result.

    Example: `%3 = nn.layer_norm %0, %1, %2 dim = 1 epsilon = 1.0e-5
        : (tensor<2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8xf32>`
  }];
  let arguments = (ins Nn_FloatTensor:$operand, Nn_FloatTensor:$scale, Optional<Nn_FloatTensor>:$bias,
                       I64Attr:$dim, F64Attr:$epsilon);
  let results = (outs Nn_FloatTensor:$result);
  let assemblyFormat = [{ $operand `,` $scale (`,` $bias^)? `dim` `=` $dim `epsilon` `=` $epsilon attr-dict
      `:` functional-type(operands, results) }];
  let hasVerifier = 1;
}

def Nn_RmsNormOp : Nn_Op<"rms_norm", shardMethods = ["getPartialRules", "getFlopsPerPoint"]> {
  let summary = "x / sqrt(mean(x^2) + epsilon) * scale over the trailing dims";
  let description = [{
    As `nn.layer_norm` without mean and bias (Zhang and Sennrich, 2019).

    Example: `%2 = nn.rms_norm %0, %1 dim = 1 epsilon = 1.0e-5 : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>`
  }];
  let arguments = (ins Nn_FloatTensor:$operand, Nn_FloatTensor:$scale, I64Attr:$dim, F64Attr:$epsilon);
  let results = (outs Nn_FloatTensor:$result);
  let assemblyFormat = [{ $operand `,` $scale `dim` `=` $dim `epsilon` `=` $epsilon attr-dict
      `:` functional-type(operands, results) }];
  let hasVerifier = 1;
}

def Nn_RopeOp : Nn_Op<"rope", shardMethods = ["getPartialRules", "getFlopsPerPoint"]> {
  let summary = "rotate pairs of the innermost dim by position-dependent angles";
  let description = [{
    Operand `... x D` (D even), `cosine` and `sine` of the operand's shape with D/2
    innermost. Pair j is (x[j], x[j + D/2]), or (x[2j], x[2j+1]) with `interleaved`;
    it becomes (a cos - b sin, b cos + a sin) (Su et al., 2021).

    Constraints: at least one dim; D is even; element types and shapes as said.

    Example: `%3 = nn.rope %0, %1, %2 : (tensor<2x8xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>`
  }];
  let arguments = (ins Nn_FloatTensor:$operand, Nn_FloatTensor:$cosine, Nn_FloatTensor:$sine, UnitAttr:$interleaved);
  let results = (outs Nn_FloatTensor:$result);
  let assemblyFormat = "$operand `,` $cosine `,` $sine attr-dict `:` functional-type(operands, results)";
  let builders = [OpBuilder<(ins "::mlir::Value":$operand, "::mlir::Value":$cosine, "::mlir::Value":$sine,
      "bool":$interleaved), [{
    build($_builder, $_state, operand.getType(), operand, cosine, sine, interleaved);
  }]>];
  let hasVerifier = 1;
}

def Nn_AttentionOp : Nn_Op<"attention",
    shardMethods = ["getPartialRules", "getFlopsPerPoint", "getComputeClass"],
    kernelMethods = ["getLibraryCall", "getParallelDims"]> {
  let summary = "softmax(scale q k^T + mask) v per head";
  let description = [{
    q `B x H x S x D`, k `B x G x T x D`, v `B x G x T x E`, result `B x H x S x E`; H is
    a multiple of G, and query head h uses key/value head h / (H/G). The optional
    `mask` `B x H x S x T` is added to the scores (broadcast explicitly before).
    `causal`: row i sees columns j <= i + T - S. `softcap` c > 0: scores become
    c tanh(score / c) before the mask. A row that sees nothing gives zeros.
    Sums are in f32 for smaller floats.

    The optional `log_sum_exp` `B x H x S` is the logarithm of the sum of exp(score) over a row,
    with which a gradient makes the probabilities again in one pass; -inf where a row sees nothing.
    `step-keep-log-sums` adds it for targets whose gradient reads it.

    Constraints: four dims each; one element type; H a multiple of G; shapes of key,
    value and mask; `softcap` not negative; the results' shapes; `log_sum_exp` is f64 if the query is, else f32.

    Example: `%3 = nn.attention %0, %1, %2 scale = 0.125 {causal}
        : (tensor<1x4x6x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>) -> tensor<1x4x6x8xf32>`
  }];
  let arguments = (ins Nn_FloatTensor:$query, Nn_FloatTensor:$key, Nn_FloatTensor:$value,
      Optional<Nn_FloatTensor>:$mask, F64Attr:$scale, UnitAttr:$causal, DefaultValuedAttr<F64Attr, "0.0">:$softcap);
  let results = (outs Nn_FloatTensor:$result, Optional<Nn_FloatTensor>:$log_sum_exp);
  let extraClassDeclaration = [{
    /// The element type of `log_sum_exp` where that of the query is `element`.
    static ::mlir::Type getLogSumType(::mlir::Type element);
  }];
  let assemblyFormat = [{ $query `,` $key `,` $value (`mask` $mask^)? `scale` `=` $scale attr-dict
      `:` functional-type(operands, results) }];
  let hasVerifier = 1;
}

def Nn_AttentionGradOp : Nn_Op<"attention_grad", [AttrSizedOperandSegments],
    shardMethods = ["getPartialRules", "getFlopsPerPoint", "getComputeClass"],
    kernelMethods = ["getLibraryCall", "getParallelDims"], gradientMethods = []> {
  let summary = "the gradients of nn.attention with respect to query, key and value";
  let description = [{
    `query`, `key`, `value`, `mask`, `scale`, `causal` and `softcap` are those of the
    forward op, `output` is its result, `log_sum_exp` its second one if it is at hand, and
    `output_gradient` the gradient with respect to the output. With the forward's probabilities p,
    which are computed again:
    `value_gradient = p^T output_gradient`,
    `d = p (output_gradient value^T - rowsum(output_gradient output))`, times the softcap's
    derivative and the scale, `query_gradient = d key`, `key_gradient = d^T query`; key
    heads sum over the query heads that share them.

    It exists so that the score matrix need not: autodiff makes it where the mask's gradient
    is not asked for. It has no gradient of its own.

    Constraints: those of `nn.attention`; output and output_gradient have its result's
    type, the results those of query, key and value; `log_sum_exp` as `nn.attention` has it.

    Example: `%5:3 = nn.attention_grad %0, %1, %2, %3, %4 scale = 0.125 {causal}
        : (tensor<1x4x6x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>, tensor<1x4x6x8xf32>, tensor<1x4x6x8xf32>)
        -> (tensor<1x4x6x8xf32>, tensor<1x2x6x8xf32>, tensor<1x2x6x8xf32>)`
  }];
  let arguments = (ins Nn_FloatTensor:$query, Nn_FloatTensor:$key, Nn_FloatTensor:$value,
      Nn_FloatTensor:$output, Nn_FloatTensor:$output_gradient, Optional<Nn_FloatTensor>:$log_sum_exp,
      Optional<Nn_FloatTensor>:$mask,
      F64Attr:$scale, UnitAttr:$causal, DefaultValuedAttr<F64Attr, "0.0">:$softcap);
  let results = (outs Nn_FloatTensor:$query_gradient, Nn_FloatTensor:$key_gradient, Nn_FloatTensor:$value_gradient);
  let assemblyFormat = [{ $query `,` $key `,` $value `,` $output `,` $output_gradient
      (`log_sum_exp` $log_sum_exp^)? (`mask` $mask^)? `scale` `=` $scale attr-dict `:` functional-type(operands, results) }];
  let hasVerifier = 1;
}

#endif // WEFT_DIALECTS_NN_IR_NNCOMPOSITE_TD
