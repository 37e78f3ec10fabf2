// The `onnx` dialect: types, attributes and ops that hold a model file as it is.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_ONNX_IR_ONNX_H
#define WEFT_DIALECTS_ONNX_IR_ONNX_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <optional>

namespace weft::onnx {

/// The field of a tensor message that holds its elements.
enum class DataField { Raw, Float, Int32, Int64, Double, Uint64 };

/// The kinds of attributes, numbered as in the file format.
enum class AttributeKind {
  Undefined = 0,
  Float = 1,
  Int = 2,
  String = 3,
  Tensor = 4,
  Graph = 5,
  Floats = 6,
  Ints = 7,
  Strings = 8,
  Tensors = 9,
  Graphs = 10,
  SparseTensor = 11,
  SparseTensors = 12,
  TypeProto = 13,
  TypeProtos = 14,
};

/// The name in the dialect's text, and back.
llvm::StringRef stringify(DataField field);
llvm::StringRef stringify(AttributeKind kind);
std::optional<DataField> parseDataField(llvm::StringRef text);
std::optional<AttributeKind> parseAttributeKind(llvm::StringRef text);

/// "" for the default domain, which files also write as "ai.onnx".
llvm::StringRef canonicalDomain(llvm::StringRef domain);

} // namespace weft::onnx

#include "dialects/onnx/IR/OnnxDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "dialects/onnx/IR/OnnxTypes.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/onnx/IR/OnnxAttrs.h.inc"

#define GET_OP_CLASSES
#include "dialects/onnx/IR/OnnxOps.h.inc"

namespace weft::onnx {

/// The fields of the model message; null if `module` is not an ONNX model.
ModelAttr getModel(mlir::ModuleOp module);

/// The main graph, or null.
GraphOp getMainGraph(mlir::ModuleOp module);

} // namespace weft::onnx

#endif // WEFT_DIALECTS_ONNX_IR_ONNX_H
