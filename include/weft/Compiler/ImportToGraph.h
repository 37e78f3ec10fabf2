// The pipeline from a model as in the file to the phase `graph`.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_COMPILER_IMPORTTOGRAPH_H
#define WEFT_COMPILER_IMPORTTOGRAPH_H

#include "passes/onnx/OnnxToNn.h"

#include "mlir/Pass/PassManager.h"

namespace weft {

struct GraphOptions {
  onnx::Bindings bindings;
  /// Off for the oracle, which runs the program before idioms are raised.
  bool raise = true;
  /// The model is to be trained; see `convert-onnx-to-nn`.
  bool training = false;
  /// For training, the step that the model describes, if it does.
  bool modelStep = false;
  /// Equal parts of the batch with statistics of their own in training.
  int64_t batchParts = 1;
};

/// Appends the passes that lead from `import` to `graph`.
void buildImportToGraphPipeline(mlir::OpPassManager &passes, const GraphOptions &options);

/// The part of it after the conversion: simplifies, and raises idioms. `exact`:
/// only those that are what they are taken for in f64 too.
void buildRaiseIdioms(mlir::OpPassManager &passes, bool exact = false);

/// Runs them. A module without a model passes through. What is wrong with the
/// model is reported through the context's diagnostics.
mlir::LogicalResult lowerToGraph(mlir::ModuleOp module, const GraphOptions &options);

/// Registers `--weft-import-to-graph-pipeline`.
void registerImportToGraphPipeline();

} // namespace weft

#endif // WEFT_COMPILER_IMPORTTOGRAPH_H
