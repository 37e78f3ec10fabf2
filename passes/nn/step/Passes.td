//===- Passes.td - passes of the phase step -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------===//
#ifndef WEFT_PASSES_NN_STEP_PASSES_TD
#define WEFT_PASSES_NN_STEP_PASSES_TD

include "mlir/Pass/PassBase.td"

def StepDifferentiate : Pass<"step-differentiate", "::mlir::func::FuncOp"> {
  let summary = "Return the gradients of a result with respect to all state";
  let description = [{
    **Requires** `nn` ops and a float result. **Ensures** that the program also returns,
    for each float state (argument with `nn.source` or `nn.initial`), the gradient of the sum of the
    result's elements, named after the state. New ops carry `nn.role`. To look at
    gradients: a training step builds its loss and updates around the same algorithm
    (`differentiate` in Autodiff.h). An op without a gradient between a state and the result is
    an error at that op; all of them are named at once, and the program stays.

    **Example**: test/passes/nn/step/differentiate.mlir.
  }];
  let options = [Option<"result", "result", "unsigned", "0", "which result, from 0">];
  let dependentDialects = ["::weft::nn::NnDialect"];
}

def StepFillGradients : Pass<"step-fill-gradients", "::mlir::func::FuncOp"> {
  let summary = "Compute the gradients that a model itself asks for";
  let description = [{
    **Requires** `nn` ops in the precision that is computed in. **Ensures** that no argument is marked
    `nn.gradient`: ops that compute the gradient replace it, and the results that only named
    the values to differentiate are gone. `convert-onnx-to-nn` makes such arguments of the results of
    ONNX's `Gradient`, because idioms are raised and precision is set in between. `@training.step` stays
    as it is: `step-make-training` fills it and uses the gradients' norm.

    **Example**: test/passes/onnx/model-step.test.
  }];
  let dependentDialects = ["::weft::nn::NnDialect"];
}

def StepKeepBlocks : Pass<"step-keep-blocks", "::mlir::func::FuncOp"> {
  let summary = "Leave a few of the blocks that repeat";
  let description = [{
    **Requires** the forward pass of a model on `nn` ops. **Ensures** that of the equal blocks that stand
    in a line (a transformer's layers) the first `keep` are left, and no state of the others. A program without such
    blocks, or with no more of them, stays as it is. What a model of many layers costs is that of one of a few, and
    so many times what one layer more costs: planners look at a few.

    **Example**: test/passes/nn/step/keep-blocks.mlir.
  }];
  let options = [Option<"keep", "keep", "unsigned", "2", "how many blocks, from 1">];
}

def StepSetPrecision : Pass<"step-set-precision", "::mlir::func::FuncOp"> {
  let summary = "Compute f32 values in another floating-point type";
  let description = [{
    **Requires** `nn` ops. **Ensures** that every f32 tensor computed inside of a
    program has element type `type`; inputs and results keep their types and are cast at the
    border; state is stored in `type` and converted when it is loaded, but for running statistics
    (`nn.statistic`), which no type smaller than f32 could keep. Sums inside of ops
    (`accumulate`, norms, softmax) stay in f32 for smaller types, and become f64 for f64.
    For smaller types these stay in f32 until they meet other numbers: what is computed from integers and constants alone, which are
    places and counts; `nn.reduce` and `nn.reduce_window` of sums and products with what divides them; what only new values of state need.
    A state marked `nn.kept` keeps its type, and in `@training.step` all that losses do not need stays in f32 for
    smaller types: the model's own formulas update state. Values that the model itself has in another type stay. A finite constant beyond
    the type's range becomes its largest number, one below it zero, with a remark.

    **Example**: test/passes/nn/step/set-precision.mlir.
  }];
  let options = [Option<"type", "type", "std::string", "\"f32\"", "f32 (nothing to do), bf16, f16 or f64">];
  let dependentDialects = ["::weft::nn::NnDialect"];
}

def StepMakeTraining : Pass<"step-make-training", "::mlir::ModuleOp"> {
  let summary = "Make the programs step and eval from the forward pass";
  let description = [{
    **Requires** a program `@forward` on `nn` ops whose weights are state, in the precision
    that is computed in. A private function `@forward.training`, if there, is what the
    training step computes instead, with updates of running statistics as further results.

    **Ensures** beside `@forward` the programs
    - `@step(inputs, weights, states) -> (loss, grad_norm, lr, new states)`: each updated
      state is a result marked `nn.updates`. `grad_norm` is global and before clipping.
      Everything that changes from step to step (learning rate, bias corrections, loss
      scale) is computed from the state `weft.step` and others, so that resuming needs state only.
    - `@eval(inputs, weights) -> (loss)`.

    A module that has the model's step (`@training.step` and `@training.eval`, from the model's TrainingInfo) needs
    neither loss nor optimizer: its gradients are filled in, and it gets the same results.

    States that the optimizer keeps are further arguments with `nn.initial` (their value at the
    start), `nn.of` (their parameter) and `nn.class = "optimizer"`. A parameter of less than 32 bits
    has a copy `NAME#master` in f32 that is updated. With fp16 the loss is scaled dynamically,
    and a step with a gradient that is not finite leaves all states as they are, by `nn.select`.
    The module's `weft.metadata` tells the runtime what to feed.

    Ops have the attribute `nn.role`: absent (forward), `input_gradient`, `weight_gradient`, `optimizer`.
    Ops without the gradient interface are errors if the loss depends on weights through them.

    **Example**: test/passes/nn/step/make-training.mlir.
  }];
  let options = [
    Option<"loss", "loss", "std::string", "\"\"",
           "softmax_cross_entropy:LOGITS,LABELS[,ignore=K][,dim=D][,smoothing=E], mse:PRED,TARGET or a "
           "scalar output">,
    Option<"optimizer", "optimizer", "std::string", "\"\"", "NAME:key=value,... as weft-compile --optimizer">,
    Option<"paramGroups", "param-groups", "std::string", "\"\"", "REGEX:key=value,..., separated by ;">,
    Option<"freeze", "freeze", "std::string", "\"\"", "Patterns of weights not to train, separated by ;">,
    Option<"gradDtype", "grad-dtype", "std::string", "\"\"",
           "Type of weights' gradients: fp32, bf16, fp16, fp64; empty: fp32, or the weight's type if wider">,
    Option<"seed", "seed", "uint64_t", "0", "Of random numbers">
  ];
  let dependentDialects = ["::weft::nn::NnDialect"];
}

def StepWidenGradients : Pass<"step-widen-gradients", "::mlir::func::FuncOp"> {
  let summary = "Let ops make gradients of weights in the wider type that they are cast to";
  let description = [{
    **Requires** `nn` ops with `nn.role`. **Ensures** that casts of weights' gradients to a wider float
    stand as early as they can: a matrix product of bf16 operands has an f32 result at once, a sum over the
    batch adds in f32. So nothing is rounded to the small type before it is added up over processes
    and microbatches. Ops that are linear (by their rule for partial sums) move the cast to their
    operands; others keep it behind them.

    **Example**: test/passes/nn/step/widen-gradients.mlir.
  }];
  let dependentDialects = ["::weft::nn::NnDialect"];
}

def StepKeepLogSums : Pass<"step-keep-log-sums", "::mlir::func::FuncOp"> {
  let summary = "Let attention tell its gradient the logarithms of the sums of rows";
  let description = [{
    **Requires** `nn` ops with their gradients. **Ensures** that an `nn.attention_grad` reads `log_sum_exp` of the
    `nn.attention` whose output it reads, where the target's gradient is faster with it (`readsLogSums`) and its
    library does the two in these types and sizes. Else the gradient makes the sums again.

    It stands behind what reasons about the forward pass as a line of ops: the sums lead past it.

    **Example**: test/passes/nn/step/keep-log-sums.mlir.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "The name of the target">
  ];
  let dependentDialects = ["::weft::nn::NnDialect"];
}

def StepMarkRecompute : Pass<"step-mark-recompute", "::mlir::func::FuncOp"> {
  let summary = "Mark ops of the forward pass whose results are not kept for the backward pass";
  let description = [{
    **Requires** a training step whose ops have `nn.role`. **Ensures** that ops to be recomputed carry
    `nn.recompute`; `step-clone-recomputed` does it, once collectives are explicit.

    What is kept is found from the dataflow, not from names. A *cut* is a value that alone leads from the ops before
    to those behind (values that do not depend on both weights and inputs, as masks, are free), if it joins
    activations (a residual stream) or is a product's result.
    - `selective`: cuts and results of products and convolutions are kept, all else is recomputed: norms,
      activations, attention. Costs about as many flops as these ops have.
    - `full`: one cut a repeated block is kept, blocks being found as the period that the ops between
      cuts have; all else is recomputed. Costs one forward pass.
    - `best`: parts of these, what is cheap between two cuts and whole blocks, in the order of bytes that they save
      a flop, until `share` of what `full` saves is saved. Bytes are those of values that the backward pass
      reads, on one device; the driver, which knows the planned memory, chooses the share.

    A remark tells the flops and bytes.

    Nothing behind the last cut is marked: the backward pass reads it at once.

    **Example**: test/passes/nn/step/mark-recompute.mlir.
  }];
  let options = [
    Option<"mode", "mode", "std::string", "\"none\"", "none, selective, full or best">,
    Option<"share", "share", "double", "1.0", "With `best`, of the bytes that full recomputation saves">
  ];
}

def StepCloneRecomputed : Pass<"step-clone-recomputed", "::mlir::func::FuncOp"> {
  let summary = "Clone marked ops in front of the first op of the backward pass that reads them";
  let description = [{
    **Requires** ops marked with `nn.recompute`, before fusion, which would otherwise mix forward and backward.
    **Ensures** that no op of the backward pass reads a marked one: it reads a clone, made with clones of the
    marked ops that it needs in turn. Ops without mark (collectives, too) are not repeated, their results
    are kept; but a weight that the backward pass gathers for itself is read from there. On CPU a clone gives the same bits. Clones have the role `input_gradient`,
    so that they differ from their originals for CSE.

    **Example**: test/passes/nn/step/mark-recompute.mlir.
  }];
}

#endif // WEFT_PASSES_NN_STEP_PASSES_TD
