// Types of the `onnx` dialect: all that a value can be besides a builtin tensor.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_ONNX_IR_ONNXTYPES_TD
#define WEFT_DIALECTS_ONNX_IR_ONNXTYPES_TD

include "dialects/onnx/IR/OnnxDialect.td"
include "mlir/IR/AttrTypeBase.td"

class Onnx_Type<string name, string typeMnemonic> : TypeDef<Onnx_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Onnx_NoneType : Onnx_Type<"None", "none"> {
  let summary = "an optional input or output that is absent";
}

def Onnx_UnknownType : Onnx_Type<"Unknown", "unknown"> {
  let summary = "a value whose type the file does not declare";
}

def Onnx_StringType : Onnx_Type<"String", "string"> {
  let summary = "element type of a tensor of strings";
}

def Onnx_SequenceType : Onnx_Type<"Sequence", "seq"> {
  let summary = "a sequence of values of one type";
  let parameters = (ins "::mlir::Type":$element);
  let assemblyFormat = "`<` $element `>`";
}

def Onnx_OptionalType : Onnx_Type<"Optional", "optional"> {
  let summary = "a value or its absence, known only when running";
  let parameters = (ins "::mlir::Type":$element);
  let assemblyFormat = "`<` $element `>`";
}

def Onnx_MapType : Onnx_Type<"Map", "map"> {
  let summary = "a map from scalars to values";
  let parameters = (ins "::mlir::Type":$key, "::mlir::Type":$value);
  let assemblyFormat = "`<` $key `,` $value `>`";
}

def Onnx_SparseType : Onnx_Type<"Sparse", "sparse"> {
  let summary = "a sparse tensor with the shape and elements of `dense`";
  let parameters = (ins "::mlir::Type":$dense);
  let assemblyFormat = "`<` $dense `>`";
}

def Onnx_WireType : Onnx_Type<"Wire", "wire"> {
  let summary = "any other type, as the bytes of its message";
  let description = [{
    Opaque types, types with a denotation where no tensor encoding can hold it, and types with missing or future parts. They are
    carried through and written back; no operator that we compile takes one.
  }];
  let parameters = (ins "::mlir::StringAttr":$bytes);
  let assemblyFormat = "`<` $bytes `>`";
}

#endif // WEFT_DIALECTS_ONNX_IR_ONNXTYPES_TD
