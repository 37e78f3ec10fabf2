// Types of the `onnx` dialect.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/onnx/IR/Onnx.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft::onnx;

#define GET_TYPEDEF_CLASSES
#include "dialects/onnx/IR/OnnxTypes.cpp.inc"

void OnnxDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/onnx/IR/OnnxTypes.cpp.inc"
      >();
}
