// Composes conversion, simplification and the raising of idioms.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Compiler/ImportToGraph.h"

#include "passes/nn/Passes.h"
#include "passes/onnx/Passes.h"
#include "weft/Compiler/Phases.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace weft;

static void addSimplification(OpPassManager &passes) {
  passes.addPass(createNnSimplify());
  passes.addPass(createCSEPass());
}

void weft::buildRaiseIdioms(OpPassManager &passes, bool exact) {
  // Exporters compute statistics and rotated halves twice: what is equal must
  // be one value before it can match.
  addSimplification(passes);
  auto &functions = passes.nest<func::FuncOp>();
  // Small idioms first: attention looks through none of them, but its operands
  // are often rotated and its scores never are.
  functions.addPass(createNnRaiseActivations({exact}));
  functions.addPass(createNnRaiseNorms({exact}));
  functions.addPass(createNnRaiseRope());
  functions.addPass(createNnRaiseAttention());
  addSimplification(passes);
}

void weft::buildImportToGraphPipeline(OpPassManager &passes, const GraphOptions &options) {
  passes.addPass(onnx::createConvertOnnxToNn(options.bindings, options.training, options.modelStep,
                                             options.batchParts));
  if (options.raise)
    buildRaiseIdioms(passes);
}

LogicalResult weft::lowerToGraph(ModuleOp module, const GraphOptions &options) {
  PassManager passes(module.getContext(), ModuleOp::getOperationName());
  buildImportToGraphPipeline(passes, options);
  return passes.run(module);
}

namespace {
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<std::string> bind{*this, "bind",
                           llvm::cl::desc("Extents of symbolic dims and inputs made constant, "
                                          "batch=8,INPUT=@FILE.npy")};
  Option<bool> raise{*this, "raise", llvm::cl::init(true),
                     llvm::cl::desc("Raise exporters' idioms to single ops (default true)")};
};
} // namespace

void weft::registerImportToGraphPipeline() {
  PassPipelineRegistration<PipelineOptions>(
      "weft-import-to-graph-pipeline",
      "From a model as in the file to nn ops with static shapes, idioms raised",
      [](OpPassManager &passes, const PipelineOptions &options) {
        onnx::ConvertOnnxToNnOptions convert;
        convert.bind = options.bind;
        passes.addPass(onnx::createConvertOnnxToNn(convert));
        if (options.raise)
          buildRaiseIdioms(passes);
        passes.addPass(createEndPhase(Phase::Graph));
      });
}
