// From a model as in the file to nn ops with static shapes: conversion, simplification and the
// raising of idioms.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Compiler/Pipelines.h"

#include "passes/nn/Passes.h"
#include "passes/nn/step/Precision.h"
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

/// Whether attention is raised where the target's library does it and nowhere else. Processes that
/// compile no kernels, such as the oracle's, know no targets.
static bool asksLibrary(const PhaseOptions &options) {
  const Target *target = lookupTarget(options.target);
  return !options.raiseAttention && target && !target->traits().hasAttention;
}

std::string weft::attentionChoice(const PhaseOptions &options) {
  if (!asksLibrary(options))
    return "";
  return "attention that the library of target '" + options.target + "' does not do in " +
         precisionName(options.precision).str() +
         " stays the products and the softmax that the model says; --attention whole makes it a "
         "kernel";
}

/// As MLIR spells it.
static std::string typeName(Precision precision) {
  switch (precision) {
  case Precision::F32:
    return "f32";
  case Precision::BF16:
    return "bf16";
  case Precision::F16:
    return "f16";
  case Precision::F64:
    return "f64";
  }
  llvm_unreachable("a precision that is none");
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
  nn::NnRaiseAttentionOptions attention;
  if (asksLibrary(options))
    attention = {options.target, typeName(options.precision)};
  if (options.raiseAttention.value_or(true))
    functions.addPass(nn::createNnRaiseAttention(attention));
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
