//===- Passes.td - from the onnx dialect to nn ----------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------===//
#ifndef WEFT_PASSES_ONNX_PASSES_TD
#define WEFT_PASSES_ONNX_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertOnnxToNn : Pass<"convert-onnx-to-nn", "::mlir::ModuleOp"> {
  let summary = "turn a model as in the file into a program with static shapes";
  let description = [{
    **Requires** a module with an `onnx.graph`, as the importer makes it; other
    modules pass through unchanged.

    **Ensures** one `func.func @forward` on `nn` ops. Its arguments are the graph's
    inputs in order, with `nn.name` and, where the file names dims, `nn.dims`; then
    the weights in use, with `nn.name` and `nn.source`. Functions of the model are
    inlined. What is computed from constants and shapes is constant, so no shape
    arithmetic remains. Each op has the location of the node that it came from.

    Shapes are inferred by converting: each node sees operands of static type, and
    an `nn` op on constants is evaluated by its own reference method at once. This
    needs one set of rules where a shape-inference pass beside a folder needs two.

    Weights (floats of more than one element that lie in a file as plain bytes)
    become arguments; their bytes are read only if an operator needs them at
    compile time. Integers (indices, masks, shapes) become constants.

    With `training` every float initializer is state, whatever its size; floats of
    `Constant` nodes are state marked `nn.statistic`, as running statistics are, which
    no optimizer changes. If a node computes otherwise while the model is trained
    (BatchNormalization: statistics of the batch), a second, private function
    `@forward.training` does so; its further results, marked `nn.updates`, are what
    running statistics become: after each of `batch-parts` in turn, if there are several.

    With `model-step` the private functions `@training.step` and `@training.eval` hold the
    step that the file describes (TrainingInfo): its graph with the training graph behind
    it, once for each info. Initializers that a binding sets are state, of any type; others
    of the training graph are constants. A result of `Gradient` is an argument marked
    `nn.gradient`, which `step-fill-gradients` or `step-make-training` replaces.

    Every node that cannot be converted is reported, with the reason and the
    remedy; then the pass fails and leaves the module as it was.

    Example: a model that adds a bias of shape 4 to `x` of shape `batch x 4` becomes,
    with `bind=batch=2`:
    ```mlir
    func.func @forward(%x: tensor<2x4xf32> {nn.dims = ["batch", ""], nn.name = "x"},
        %b: tensor<4xf32> {nn.name = "b", nn.source = #nn.source<...>}) -> (tensor<2x4xf32> {nn.name = "y"}) {
      %0 = nn.broadcast %b dims = [1] : tensor<4xf32> -> tensor<2x4xf32>
      %1 = nn.add %x, %0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
      return %1 : tensor<2x4xf32>
    }
    ```
  }];
  let options = [
    Option<"bind", "bind", "std::string", /*default=*/"\"\"",
           "Extents of symbolic dims and inputs made constant, `batch=8,INPUT=@FILE.npy`; needed where the "
           "model leaves dims open. `INPUT[i]=N` binds a dim that has no name">,
    Option<"training", "training", "bool", /*default=*/"false",
           "Keep all float initializers as state, so that they can be trained">,
    Option<"seed", "seed", "uint64_t", /*default=*/"0",
           "Of the random numbers that training draws (Dropout)">,
    Option<"modelStep", "model-step", "bool", /*default=*/"false",
           "With `training`: make the step that the model's TrainingInfo describes, if it has one">,
    Option<"batchParts", "batch-parts", "int64_t", /*default=*/"1",
           "Equal parts of the batch, in order, each of which has statistics of its own in training; set it to the "
           "number of microbatches for statistics of each">,
    Option<"keepWeights", "keep-weights", "bool", /*default=*/"false",
           "Keep all float initializers as state without training, too, so that a checkpoint can replace them; "
           "otherwise small ones are constants that fold">
  ];
  let dependentDialects = ["::mlir::func::FuncDialect", "::weft::nn::NnDialect"];
}

#endif // WEFT_PASSES_ONNX_PASSES_TD
