// The parts of a model that become attributes: tensors, values, devices.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_IMPORTER_ATTRIBUTEIMPORTER_H
#define WEFT_PYTHON_FREE_FRONTEND_IMPORTER_ATTRIBUTEIMPORTER_H

#include "dialects/onnx/IR/Onnx.h"
#include "mlir/IR/Builders.h"
#include "onnx.pb.h"
#include "python_free_frontend/importer/Importer.h"
#include "python_free_frontend/types/TypeCodec.h"
#include "python_free_frontend/wire/Prescan.h"

namespace weft::onnx {

/// Turns messages into the attributes that mirror them. Methods that can meet
/// invalid input take the location to report it at.
class AttributeImporter {
public:
  AttributeImporter(mlir::MLIRContext *context, llvm::StringRef path,
                    llvm::ArrayRef<PayloadPlace> places, const ImportOptions &options)
      : context(context), builder(context), types(context), path(path), places(places),
        options(options) {}

  mlir::FailureOr<TensorAttr> importTensor(const Tensor &message, mlir::Location loc);
  mlir::FailureOr<SparseTensorAttr> importSparseTensor(const SparseTensor &message,
                                                       mlir::Location loc);
  mlir::FailureOr<ValueInfoAttr> importValueInfo(const ValueInfo &message, mlir::Location loc);
  mlir::FailureOr<mlir::ArrayAttr>
  importValueInfos(const google::protobuf::RepeatedPtrField<ValueInfo> &messages,
                   mlir::Location loc);
  mlir::ArrayAttr
  importEntries(const google::protobuf::RepeatedPtrField<StringStringEntry> &messages);
  mlir::ArrayAttr importOpsets(const google::protobuf::RepeatedPtrField<OperatorSetId> &messages);
  mlir::ArrayAttr
  importQuantization(const google::protobuf::RepeatedPtrField<TensorAnnotation> &messages);
  mlir::ArrayAttr
  importConfigurations(const google::protobuf::RepeatedPtrField<DeviceConfiguration> &messages);
  mlir::ArrayAttr
  importNodeDevices(const google::protobuf::RepeatedPtrField<NodeDeviceConfiguration> &messages);

  /// The kind that `message` declares, else the one its value shows.
  static AttributeKind kindOf(const Attribute &message);
  /// Checks that there is one value, of the declared kind, or none.
  mlir::LogicalResult checkValue(const Attribute &message, mlir::Location loc);
  /// Imports a checked value of any kind but GRAPH and GRAPHS; null if there
  /// is none.
  mlir::FailureOr<mlir::Attribute> importPlainValue(const Attribute &message, mlir::Location loc);

  mlir::StringAttr text(llvm::StringRef value) { return builder.getStringAttr(value); }
  /// An array of strings, or null for none.
  mlir::ArrayAttr texts(const google::protobuf::RepeatedPtrField<std::string> &values);
  /// An array, or null for none.
  mlir::ArrayAttr array(llvm::ArrayRef<mlir::Attribute> values) {
    return values.empty() ? mlir::ArrayAttr() : builder.getArrayAttr(values);
  }
  /// Tensors whose external file does not exist, where that is allowed.
  unsigned getNumMissing() const { return numMissing; }

private:
  mlir::FailureOr<mlir::Type> importType(const weft::onnx::Type &message, llvm::StringRef name,
                                         mlir::Location loc);
  mlir::FailureOr<mlir::Attribute> importPayload(const Tensor &message, mlir::RankedTensorType type,
                                                 mlir::Location loc);
  mlir::FailureOr<mlir::Attribute>
  importExternalData(const Tensor &message, mlir::RankedTensorType type, mlir::Location loc);

  mlir::MLIRContext *context;
  mlir::Builder builder;
  TypeDecoder types;
  std::string path;
  llvm::ArrayRef<PayloadPlace> places;
  ImportOptions options;
  unsigned numMissing = 0;
};

} // namespace weft::onnx

#endif // WEFT_PYTHON_FREE_FRONTEND_IMPORTER_ATTRIBUTEIMPORTER_H
