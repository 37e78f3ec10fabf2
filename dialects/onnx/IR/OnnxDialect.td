// The `onnx` dialect: a model file as it stands, before anyone interprets it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_ONNX_IR_ONNXDIALECT_TD
#define WEFT_DIALECTS_ONNX_IR_ONNXDIALECT_TD

include "mlir/IR/OpBase.td"

def Onnx_Dialect : Dialect {
  let name = "onnx";
  let cppNamespace = "::weft::onnx";
  let summary = "an ONNX model as in the file";
  let description = [{
    One generic node op, and attributes that mirror the messages of the file format field by field, presence included. The
    importer creates it, `convert-onnx-to-nn` consumes it, the exporter writes it back; nothing in between knows an operator.

    A model is a `builtin.module` with the attribute `onnx.model` (an `#onnx.model`), one `onnx.graph` and any number of
    `onnx.function`. Large payloads are not in the IR: `#onnx.data` says in which file, where, and how they stand.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    /// The module attribute that holds the fields of the model message.
    static constexpr ::llvm::StringLiteral kModelAttrName = "onnx.model";
    void registerTypes();
    void registerAttributes();
  }];
}

#endif // WEFT_DIALECTS_ONNX_IR_ONNXDIALECT_TD
