// Element types and bytes of tensors, between ONNX and safetensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_WEIGHTS_TENSORBYTES_H
#define WEFT_PYTHON_FREE_FRONTEND_WEIGHTS_TENSORBYTES_H

#include "onnx.pb.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace weft::weights {

/// The safetensors name of an ONNX element type; "" if there is none.
llvm::StringRef storedTypeOf(int32_t onnxType);
bool isFloatType(llvm::StringRef storedType);

/// Bytes that the elements of a tensor take when stored raw; 0 for strings.
uint64_t bytesOf(const onnx::Tensor &tensor);

/// Converts between floating-point types, to nearest even.
std::string convertFloats(llvm::StringRef bytes, llvm::StringRef from, llvm::StringRef to);

std::string transposeMatrix(llvm::StringRef bytes, int64_t rows, int64_t columns);

} // namespace weft::weights

#endif // WEFT_PYTHON_FREE_FRONTEND_WEIGHTS_TENSORBYTES_H
