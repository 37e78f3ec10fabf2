// Attributes of the `onnx` dialect to the messages they mirror.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_EXPORTER_ATTRIBUTEEXPORTER_H
#define WEFT_PYTHON_FREE_FRONTEND_EXPORTER_ATTRIBUTEEXPORTER_H

#include "dialects/onnx/IR/Onnx.h"
#include "onnx.pb.h"

namespace weft::onnx {

/// Each function writes one attribute and reports, at `loc`, what it cannot.
mlir::LogicalResult exportTensor(TensorAttr tensor, Tensor &message, mlir::Location loc);
mlir::LogicalResult exportSparseTensor(SparseTensorAttr tensor, SparseTensor &message,
                                       mlir::Location loc);
mlir::LogicalResult exportValueInfos(mlir::ArrayAttr infos,
                                     google::protobuf::RepeatedPtrField<ValueInfo> &messages,
                                     mlir::Location loc);
/// The value of an attribute of any kind but GRAPH and GRAPHS.
mlir::LogicalResult exportPlainValue(AttributeAttr attribute, Attribute &message,
                                     mlir::Location loc);

void exportTexts(mlir::ArrayAttr texts, google::protobuf::RepeatedPtrField<std::string> &values);
void exportEntries(mlir::ArrayAttr entries,
                   google::protobuf::RepeatedPtrField<StringStringEntry> &messages);
void exportOpsets(mlir::ArrayAttr opsets,
                  google::protobuf::RepeatedPtrField<OperatorSetId> &messages);
void exportQuantization(mlir::ArrayAttr annotations,
                        google::protobuf::RepeatedPtrField<TensorAnnotation> &messages);
void exportConfigurations(mlir::ArrayAttr configurations,
                          google::protobuf::RepeatedPtrField<DeviceConfiguration> &messages);
void exportNodeDevices(mlir::ArrayAttr devices,
                       google::protobuf::RepeatedPtrField<NodeDeviceConfiguration> &messages);

} // namespace weft::onnx

#endif // WEFT_PYTHON_FREE_FRONTEND_EXPORTER_ATTRIBUTEEXPORTER_H
