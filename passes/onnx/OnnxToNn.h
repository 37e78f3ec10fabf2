// From the `onnx` dialect to `nn`: bindings, and the walk over the graph.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_ONNX_ONNXTONN_H
#define WEFT_PASSES_ONNX_ONNXTONN_H

#include "weft/Interfaces/HostTensor.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <string>

namespace weft::onnx {

/// What `--bind` says: extents of symbolic dims, and inputs made constants.
struct Bindings {
  /// By the name of the dim, or `INPUT[i]` for dim i of an input.
  std::map<std::string, int64_t> dims;
  /// By the name of the input, .npy files that are read when the graph is made.
  std::map<std::string, std::string> files;
  /// By the name of the input; `readFiles` adds those of files.
  llvm::StringMap<HostTensor> inputs;

  /// Adds `batch=8,seq=128,INPUT=@FILE.npy`; names end at the first `=`; a comma, `=` or `\` in
  /// a name or file has a `\` before it. Returns all that is wrong, or nothing.
  std::string add(llvm::StringRef text);
  /// `dims` and `files` as `add` reads them.
  std::string text() const;
  mlir::LogicalResult readFiles(mlir::MLIRContext *context,
                                llvm::function_ref<mlir::InFlightDiagnostic()> emitError);
};

/// The name of the forward pass of a training step.
inline constexpr llvm::StringLiteral kTrainingForward = "forward.training";
/// Of the operators Gradient, Adam, Adagrad and Momentum.
inline constexpr llvm::StringLiteral kTrainingDomain = "ai.onnx.preview.training";

/// Replaces the model in `module` by `func.func @forward` on `nn` ops. Reports
/// every node that cannot be converted, then fails, leaving the model as it
/// was. For `training` all float initializers are state; a model that computes
/// otherwise while it is trained gives a private function kTrainingForward, too.
/// With `modelStep` the training step is the one that the model's TrainingInfo
/// describes: private functions nn::kModelStep and nn::kModelEvaluation. In a
/// training step each of `batchParts` equal parts of the batch has statistics of
/// its own.
mlir::LogicalResult convertOnnxToNn(mlir::ModuleOp module, const Bindings &bindings,
                                    bool training = false, uint64_t seed = 0,
                                    bool modelStep = false, int64_t batchParts = 1,
                                    bool keepWeights = false);

/// Whether the model has a training step of its own.
bool hasModelStep(mlir::ModuleOp module);

} // namespace weft::onnx

#endif // WEFT_PASSES_ONNX_ONNXTONN_H
