// From a model as in the file to nn ops with static shapes: conversion, simplification and the
// raising of idioms.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Compiler/Pipelines.h"

#include "passes/nn/Passes.h"
#include "passes/onnx/Passes.h"
#include "weft/Target/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace weft;

static void addSimplification(OpPassManager &passes) {
  passes.addPass(nn::createNnSimplify());
  passes.addPass(createCSEPass());
}

/// Processes that compile no kernels, such as the oracle's, know no targets.
static bool raisesAttention(const PhaseOptions &options) {
  const Target *target = lookupTarget(options.target);
  return options.raiseAttention.value_or(!target || target->traits().hasAttention);
}

std::string weft::attentionChoice(const PhaseOptions &options) {
  if (options.raiseAttention || raisesAttention(options))
    return "";
  return "attention stays the products and the softmax that the model says, as target '" +
         options.target + "' has no library for it; --attention whole makes it a kernel";
}

/// Simplifies, and raises idioms.
static void raiseIdioms(OpPassManager &passes, const PhaseOptions &options) {
  // Only those that are what they are taken for in f64 too.
  bool exact = options.precision == Precision::F64;
  // Exporters compute statistics and rotated halves twice: what is equal must
  // be one value before it can match.
  addSimplification(passes);
  auto &functions = passes.nest<func::FuncOp>();
  // Small idioms first: attention looks through none of them, but its operands
  // are often rotated and its scores never are.
  functions.addPass(nn::createNnRaiseActivations({exact}));
  functions.addPass(nn::createNnRaiseNorms({exact}));
  functions.addPass(nn::createNnRaiseRope());
  if (raisesAttention(options))
    functions.addPass(nn::createNnRaiseAttention());
  addSimplification(passes);
}

void weft::buildImportToGraph(OpPassManager &pm, const PhaseOptions &options) {
  onnx::ConvertOnnxToNnOptions convert;
  convert.training = options.train;
  convert.seed = options.seed;
  convert.modelStep = options.usesModelStep();
  convert.batchParts = options.batchParts();
  convert.keepWeights = options.keepWeights;
  pm.addPass(onnx::createConvertOnnxToNn(options.bindings, std::move(convert)));
  if (options.raise)
    raiseIdioms(pm, options);
}

LogicalResult weft::lowerToGraph(ModuleOp module, const PhaseOptions &options) {
  PassManager pm(module.getContext(), ModuleOp::getOperationName());
  buildImportToGraph(pm, options);
  return pm.run(module);
}
