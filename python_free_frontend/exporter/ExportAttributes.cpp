// Values, metadata, tensors and device configurations as messages.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/onnx/IR/TensorData.h"
#include "mlir/IR/Diagnostics.h"
#include "python_free_frontend/exporter/AttributeExporter.h"
#include "python_free_frontend/types/TypeCodec.h"
#include <cstring>

using namespace weft::onnx;
using google::protobuf::RepeatedField;
using google::protobuf::RepeatedPtrField;
using mlir::ArrayAttr;
using mlir::failure;
using mlir::Location;
using mlir::LogicalResult;
using mlir::StringAttr;
using mlir::success;

// Sets an optional field if the attribute is there.
#define EXPORT_TEXT(value, message, field)                                                         \
  if (StringAttr present = (value))                                                                \
  (message).set_##field(present.str())
#define EXPORT_NUMBER(value, message, field)                                                       \
  if (mlir::IntegerAttr present = (value))                                                         \
  (message).set_##field(present.getInt())

/// The entries of an array of one kind of attribute; others are skipped, which
/// the verifier of the op that holds them excludes.
template <typename T> static llvm::SmallVector<T> entriesOf(ArrayAttr array) {
  llvm::SmallVector<T> result;
  if (array)
    for (mlir::Attribute entry : array)
      if (auto typed = mlir::dyn_cast<T>(entry))
        result.push_back(typed);
  return result;
}

void weft::onnx::exportTexts(ArrayAttr texts, RepeatedPtrField<std::string> &values) {
  for (StringAttr text : entriesOf<StringAttr>(texts))
    *values.Add() = text.str();
}

void weft::onnx::exportEntries(ArrayAttr entries, RepeatedPtrField<StringStringEntry> &messages) {
  for (EntryAttr entry : entriesOf<EntryAttr>(entries)) {
    StringStringEntry &message = *messages.Add();
    EXPORT_TEXT(entry.getKey(), message, key);
    EXPORT_TEXT(entry.getValue(), message, value);
  }
}

void weft::onnx::exportOpsets(ArrayAttr opsets, RepeatedPtrField<OperatorSetId> &messages) {
  for (OpsetAttr opset : entriesOf<OpsetAttr>(opsets)) {
    OperatorSetId &message = *messages.Add();
    EXPORT_TEXT(opset.getDomain(), message, domain);
    EXPORT_NUMBER(opset.getVersion(), message, version);
  }
}

void weft::onnx::exportQuantization(ArrayAttr annotations,
                                    RepeatedPtrField<TensorAnnotation> &messages) {
  for (QuantizationAttr annotation : entriesOf<QuantizationAttr>(annotations)) {
    TensorAnnotation &message = *messages.Add();
    EXPORT_TEXT(annotation.getTensorName(), message, tensor_name);
    exportEntries(annotation.getParameters(), *message.mutable_quant_parameter_tensor_names());
  }
}

LogicalResult weft::onnx::exportValueInfos(ArrayAttr infos, RepeatedPtrField<ValueInfo> &messages,
                                           Location loc) {
  for (ValueInfoAttr info : entriesOf<ValueInfoAttr>(infos)) {
    ValueInfo &message = *messages.Add();
    EXPORT_TEXT(info.getName(), message, name);
    if (info.getType() && !encodeType(info.getType(), *message.mutable_type()))
      return mlir::emitError(loc) << "value '" << message.name() << "' has type " << info.getType()
                                  << ", which the file format cannot say";
    EXPORT_TEXT(info.getDocString(), message, doc_string);
    exportEntries(info.getMetadata(), *message.mutable_metadata_props());
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

template <typename Element>
static void copyEntries(llvm::ArrayRef<char> bytes, RepeatedField<Element> &values) {
  values.Resize(bytes.size() / sizeof(Element), Element());
  std::memcpy(values.mutable_data(), bytes.data(), values.size() * sizeof(Element));
}

static LogicalResult exportPayload(TensorAttr tensor, Tensor &message, Location loc) {
  if (!tensor.getData() || message.data_location() == Tensor::EXTERNAL)
    return success();
  if (auto strings = mlir::dyn_cast<ArrayAttr>(tensor.getData())) {
    exportTexts(strings, *message.mutable_string_data());
    return success();
  }
  auto emitError = [&]() { return mlir::emitError(loc) << "tensor '" << message.name() << "' "; };
  mlir::FailureOr<Payload> payload = readPayload(tensor, emitError);
  if (failed(payload))
    return failure();
  switch (payload->field) {
  case DataField::Raw:
    message.set_raw_data(payload->bytes.data(), payload->bytes.size());
    break;
  case DataField::Float:
    copyEntries(payload->bytes, *message.mutable_float_data());
    break;
  case DataField::Int32:
    copyEntries(payload->bytes, *message.mutable_int32_data());
    break;
  case DataField::Int64:
    copyEntries(payload->bytes, *message.mutable_int64_data());
    break;
  case DataField::Double:
    copyEntries(payload->bytes, *message.mutable_double_data());
    break;
  case DataField::Uint64:
    copyEntries(payload->bytes, *message.mutable_uint64_data());
    break;
  }
  return success();
}

LogicalResult weft::onnx::exportTensor(TensorAttr tensor, Tensor &message, Location loc) {
  EXPORT_TEXT(tensor.getName(), message, name);
  Tensor::DataType element = encodeElementType(tensor.getType().getElementType());
  if (element == Tensor::UNDEFINED || !tensor.getType().hasStaticShape())
    return mlir::emitError(loc) << "tensor '" << message.name() << "' has type " << tensor.getType()
                                << ", which the file format cannot say";
  for (int64_t extent : tensor.getType().getShape())
    message.add_dims(extent);
  message.set_data_type(element);
  if (StringAttr location = tensor.getLocation()) {
    Tensor::DataLocation value;
    if (!Tensor::DataLocation_Parse(location.str(), &value))
      return mlir::emitError(loc) << "tensor '" << message.name() << "' has the unknown location "
                                  << location;
    message.set_data_location(value);
  }
  EXPORT_TEXT(tensor.getDocString(), message, doc_string);
  exportEntries(tensor.getExternal(), *message.mutable_external_data());
  exportEntries(tensor.getMetadata(), *message.mutable_metadata_props());
  return exportPayload(tensor, message, loc);
}

LogicalResult weft::onnx::exportSparseTensor(SparseTensorAttr tensor, SparseTensor &message,
                                             Location loc) {
  auto values = mlir::dyn_cast_or_null<TensorAttr>(tensor.getValues());
  auto indices = mlir::dyn_cast_or_null<TensorAttr>(tensor.getIndices());
  if (values && failed(exportTensor(values, *message.mutable_values(), loc)))
    return failure();
  if (indices && failed(exportTensor(indices, *message.mutable_indices(), loc)))
    return failure();
  if (tensor.getDims())
    for (int64_t extent : tensor.getDims().asArrayRef())
      message.add_dims(extent);
  return success();
}

//===----------------------------------------------------------------------===//
// Values of attributes
//===----------------------------------------------------------------------===//

LogicalResult weft::onnx::exportPlainValue(AttributeAttr attribute, Attribute &message,
                                           Location loc) {
  mlir::Attribute value = attribute.getValue();
  auto mismatch = [&]() {
    return mlir::emitError(loc) << "attribute '" << message.name()
                                << "' has a value that is not of kind "
                                << stringify(attribute.getKind());
  };
  auto exportType = [&](mlir::Attribute type, weft::onnx::Type &out) {
    auto typed = mlir::dyn_cast<mlir::TypeAttr>(type);
    return typed && encodeType(typed.getValue(), out) ? success() : LogicalResult(mismatch());
  };
  auto list = mlir::dyn_cast<ArrayAttr>(value);
  switch (attribute.getKind()) {
  case AttributeKind::Float:
    if (auto number = mlir::dyn_cast<mlir::FloatAttr>(value); number && number.getType().isF32())
      return message.set_f(number.getValue().convertToFloat()), success();
    break;
  case AttributeKind::Int:
    if (auto number = mlir::dyn_cast<mlir::IntegerAttr>(value))
      return message.set_i(number.getInt()), success();
    break;
  case AttributeKind::String:
    if (auto text = mlir::dyn_cast<StringAttr>(value))
      return message.set_s(text.str()), success();
    break;
  case AttributeKind::Floats:
    if (auto numbers = mlir::dyn_cast<mlir::DenseF32ArrayAttr>(value)) {
      message.mutable_floats()->Add(numbers.asArrayRef().begin(), numbers.asArrayRef().end());
      return success();
    }
    break;
  case AttributeKind::Ints:
    if (auto numbers = mlir::dyn_cast<mlir::DenseI64ArrayAttr>(value)) {
      message.mutable_ints()->Add(numbers.asArrayRef().begin(), numbers.asArrayRef().end());
      return success();
    }
    break;
  case AttributeKind::Strings:
    if (list)
      return exportTexts(list, *message.mutable_strings()), success();
    break;
  case AttributeKind::Tensor:
    if (auto tensor = mlir::dyn_cast<TensorAttr>(value))
      return exportTensor(tensor, *message.mutable_t(), loc);
    break;
  case AttributeKind::SparseTensor:
    if (auto tensor = mlir::dyn_cast<SparseTensorAttr>(value))
      return exportSparseTensor(tensor, *message.mutable_sparse_tensor(), loc);
    break;
  case AttributeKind::Tensors:
    for (TensorAttr tensor : entriesOf<TensorAttr>(list))
      if (failed(exportTensor(tensor, *message.add_tensors(), loc)))
        return failure();
    return success();
  case AttributeKind::SparseTensors:
    for (SparseTensorAttr tensor : entriesOf<SparseTensorAttr>(list))
      if (failed(exportSparseTensor(tensor, *message.add_sparse_tensors(), loc)))
        return failure();
    return success();
  case AttributeKind::TypeProto:
    return exportType(value, *message.mutable_tp());
  case AttributeKind::TypeProtos:
    for (mlir::TypeAttr type : entriesOf<mlir::TypeAttr>(list))
      if (failed(exportType(type, *message.add_type_protos())))
        return failure();
    return success();
  case AttributeKind::Undefined:
  case AttributeKind::Graph:
  case AttributeKind::Graphs:
    break;
  }
  return mismatch();
}

//===----------------------------------------------------------------------===//
// Device configurations (IR 11)
//===----------------------------------------------------------------------===//

void weft::onnx::exportConfigurations(ArrayAttr configurations,
                                      RepeatedPtrField<DeviceConfiguration> &messages) {
  for (DeviceConfigurationAttr configuration : entriesOf<DeviceConfigurationAttr>(configurations)) {
    DeviceConfiguration &message = *messages.Add();
    EXPORT_TEXT(configuration.getName(), message, name);
    EXPORT_NUMBER(configuration.getNumDevices(), message, num_devices);
    exportTexts(configuration.getDevice(), *message.mutable_device());
  }
}

static void exportNumbers(mlir::DenseI64ArrayAttr numbers, RepeatedField<int64_t> &values) {
  if (numbers)
    values.Add(numbers.asArrayRef().begin(), numbers.asArrayRef().end());
}

static void exportShardedDim(ShardedDimAttr dim, ShardedDim &message) {
  EXPORT_NUMBER(dim.getAxis(), message, axis);
  for (ShardedFactorAttr factor : entriesOf<ShardedFactorAttr>(dim.getFactors())) {
    SimpleShardedDim &simple = *message.add_simple_sharding();
    EXPORT_TEXT(mlir::dyn_cast_or_null<StringAttr>(factor.getDim()), simple, dim_param);
    EXPORT_NUMBER(mlir::dyn_cast_or_null<mlir::IntegerAttr>(factor.getDim()), simple, dim_value);
    EXPORT_NUMBER(factor.getNumShards(), simple, num_shards);
  }
}

static void exportSharding(ShardingSpecAttr spec, ShardingSpec &message) {
  EXPORT_TEXT(spec.getTensorName(), message, tensor_name);
  exportNumbers(spec.getDevice(), *message.mutable_device());
  for (DeviceGroupAttr group : entriesOf<DeviceGroupAttr>(spec.getDeviceGroups())) {
    IntIntListEntry &entry = *message.add_index_to_device_group_map();
    EXPORT_NUMBER(group.getKey(), entry, key);
    exportNumbers(group.getDevices(), *entry.mutable_value());
  }
  for (ShardedDimAttr dim : entriesOf<ShardedDimAttr>(spec.getShardedDim()))
    exportShardedDim(dim, *message.add_sharded_dim());
}

void weft::onnx::exportNodeDevices(ArrayAttr devices,
                                   RepeatedPtrField<NodeDeviceConfiguration> &messages) {
  for (NodeDeviceConfigurationAttr configuration :
       entriesOf<NodeDeviceConfigurationAttr>(devices)) {
    NodeDeviceConfiguration &message = *messages.Add();
    EXPORT_TEXT(configuration.getConfigurationId(), message, configuration_id);
    for (ShardingSpecAttr spec : entriesOf<ShardingSpecAttr>(configuration.getShardingSpec()))
      exportSharding(spec, *message.add_sharding_spec());
    EXPORT_NUMBER(configuration.getPipelineStage(), message, pipeline_stage);
  }
}
