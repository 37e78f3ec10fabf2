// The files beside a model that hold elements of its tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_WIRE_EXTERNALFILES_H
#define WEFT_PYTHON_FREE_FRONTEND_WIRE_EXTERNALFILES_H

#include "onnx.pb.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace weft::onnx {

/// All tensors of a model: of graphs, of attributes of nodes, of bodies in those, and of functions.
std::vector<Tensor *> tensorsOf(Model &model);

/// An error if `output` is a file that holds data of `model`, which was read from `path`.
llvm::Error checkHoldsNoData(llvm::StringRef output, const Model &model, llvm::StringRef path);

} // namespace weft::onnx

#endif // WEFT_PYTHON_FREE_FRONTEND_WIRE_EXTERNALFILES_H
