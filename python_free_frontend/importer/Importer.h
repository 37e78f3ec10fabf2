// From a model file to the `onnx` dialect.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_IMPORTER_IMPORTER_H
#define WEFT_PYTHON_FREE_FRONTEND_IMPORTER_IMPORTER_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringRef.h"

namespace weft::onnx {

class Model;

struct ImportOptions {
  /// Hold every payload of the model file itself in the IR, so that the printed
  /// text is the whole model. Costs the size of the weights, twice in text.
  bool inlineData = false;
  /// Accept external data whose file does not exist, with one warning: reading
  /// such a tensor fails later. For looking at models, and for planning, where
  /// the weights are elsewhere.
  bool allowMissingData = false;
  /// What the user of the tool can do where that is not accepted.
  std::string hintAtMissingData;
};

/// Imports the model file `path`, which may come from anyone: whatever is wrong
/// with it is reported through the context's diagnostics, naming what and
/// where, and null is returned. Payloads of more than 1 KiB are referred to in
/// their files, so a model's weights cost neither time nor memory.
mlir::OwningOpRef<mlir::ModuleOp> importModel(llvm::StringRef path, mlir::MLIRContext *context,
                                              const ImportOptions &options = {});

/// Imports a model that was made in memory. `path` names it in locations;
/// external data is looked for beside it.
mlir::OwningOpRef<mlir::ModuleOp> importModel(const Model &model, llvm::StringRef path,
                                              mlir::MLIRContext *context,
                                              const ImportOptions &options = {});

} // namespace weft::onnx

#endif // WEFT_PYTHON_FREE_FRONTEND_IMPORTER_IMPORTER_H
