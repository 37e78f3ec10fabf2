// From the `onnx` dialect to a model file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_EXPORTER_EXPORTER_H
#define WEFT_PYTHON_FREE_FRONTEND_EXPORTER_EXPORTER_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

namespace weft::onnx {

class Model;

/// Writes `module`, which holds an `onnx.graph`, into `model`. Payloads of the
/// model's own file are read and copied; external ones stay external. Reports
/// what has no place in the format.
mlir::LogicalResult exportModel(mlir::ModuleOp module, Model &model);

/// The same, serialised to `out`; the format allows less than 2 GiB.
mlir::LogicalResult exportModel(mlir::ModuleOp module, llvm::raw_ostream &out);

} // namespace weft::onnx

#endif // WEFT_PYTHON_FREE_FRONTEND_EXPORTER_EXPORTER_H
