// Attributes of nodes, value infos, metadata and device configurations.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/IR/Diagnostics.h"
#include "python_free_frontend/importer/AttributeImporter.h"
#include "weft/Interfaces/TensorSize.h"

using namespace weft::onnx;
using google::protobuf::RepeatedField;
using google::protobuf::RepeatedPtrField;
using mlir::ArrayAttr;
using mlir::failure;
using mlir::FailureOr;
using mlir::Location;
using mlir::StringAttr;

// The attribute of an optional field, null if the field is absent.
#define OPTIONAL_TEXT(message, field)                                                              \
  ((message).has_##field() ? text((message).field()) : StringAttr())
#define OPTIONAL_I64(message, field)                                                               \
  ((message).has_##field() ? builder.getI64IntegerAttr((message).field()) : mlir::IntegerAttr())
#define OPTIONAL_I32(message, field)                                                               \
  ((message).has_##field() ? builder.getI32IntegerAttr((message).field()) : mlir::IntegerAttr())

//===----------------------------------------------------------------------===//
// Strings, types, values
//===----------------------------------------------------------------------===//

ArrayAttr AttributeImporter::texts(const RepeatedPtrField<std::string> &values) {
  llvm::SmallVector<mlir::Attribute> result;
  for (const std::string &value : values)
    result.push_back(text(value));
  return array(result);
}

ArrayAttr AttributeImporter::importEntries(const RepeatedPtrField<StringStringEntry> &messages) {
  llvm::SmallVector<mlir::Attribute> result;
  for (const StringStringEntry &entry : messages)
    result.push_back(
        EntryAttr::get(context, OPTIONAL_TEXT(entry, key), OPTIONAL_TEXT(entry, value)));
  return array(result);
}

ArrayAttr AttributeImporter::importOpsets(const RepeatedPtrField<OperatorSetId> &messages) {
  llvm::SmallVector<mlir::Attribute> result;
  for (const OperatorSetId &opset : messages)
    result.push_back(
        OpsetAttr::get(context, OPTIONAL_TEXT(opset, domain), OPTIONAL_I64(opset, version)));
  return array(result);
}

ArrayAttr
AttributeImporter::importQuantization(const RepeatedPtrField<TensorAnnotation> &messages) {
  llvm::SmallVector<mlir::Attribute> result;
  for (const TensorAnnotation &annotation : messages)
    result.push_back(
        QuantizationAttr::get(context, OPTIONAL_TEXT(annotation, tensor_name),
                              importEntries(annotation.quant_parameter_tensor_names())));
  return array(result);
}

FailureOr<mlir::Type> AttributeImporter::importType(const weft::onnx::Type &message,
                                                    llvm::StringRef name, Location loc) {
  mlir::Type type = types.decode(message);
  if (!weft::hasBoundedSize(type)) {
    mlir::emitError(loc) << "value '" << name << "' "
                         << weft::describeExcess(mlir::cast<mlir::ShapedType>(type).getShape());
    return failure();
  }
  return type;
}

FailureOr<ValueInfoAttr> AttributeImporter::importValueInfo(const ValueInfo &message,
                                                            Location loc) {
  FailureOr<mlir::Type> type = mlir::Type();
  if (message.has_type())
    type = importType(message.type(), message.name(), loc);
  if (failed(type))
    return failure();
  return ValueInfoAttr::get(context, OPTIONAL_TEXT(message, name), *type,
                            OPTIONAL_TEXT(message, doc_string),
                            importEntries(message.metadata_props()));
}

FailureOr<ArrayAttr>
AttributeImporter::importValueInfos(const RepeatedPtrField<ValueInfo> &messages, Location loc) {
  llvm::SmallVector<mlir::Attribute> result;
  for (const ValueInfo &message : messages) {
    FailureOr<ValueInfoAttr> info = importValueInfo(message, loc);
    if (failed(info))
      return failure();
    result.push_back(*info);
  }
  return array(result);
}

//===----------------------------------------------------------------------===//
// Device configurations (IR 11)
//===----------------------------------------------------------------------===//

ArrayAttr
AttributeImporter::importConfigurations(const RepeatedPtrField<DeviceConfiguration> &messages) {
  llvm::SmallVector<mlir::Attribute> result;
  for (const DeviceConfiguration &message : messages)
    result.push_back(DeviceConfigurationAttr::get(context, OPTIONAL_TEXT(message, name),
                                                  OPTIONAL_I32(message, num_devices),
                                                  texts(message.device())));
  return array(result);
}

static mlir::DenseI64ArrayAttr numbers(mlir::Builder &builder,
                                       const RepeatedField<int64_t> &values) {
  if (values.empty())
    return mlir::DenseI64ArrayAttr();
  return builder.getDenseI64ArrayAttr(llvm::ArrayRef<int64_t>(values.data(), values.size()));
}

ArrayAttr
AttributeImporter::importNodeDevices(const RepeatedPtrField<NodeDeviceConfiguration> &messages) {
  auto importDim = [&](const ShardedDim &dim) -> mlir::Attribute {
    llvm::SmallVector<mlir::Attribute> factors;
    for (const SimpleShardedDim &factor : dim.simple_sharding()) {
      mlir::Attribute extent;
      if (factor.has_dim_value())
        extent = builder.getI64IntegerAttr(factor.dim_value());
      else if (factor.has_dim_param())
        extent = text(factor.dim_param());
      factors.push_back(ShardedFactorAttr::get(context, extent, OPTIONAL_I64(factor, num_shards)));
    }
    return ShardedDimAttr::get(context, OPTIONAL_I64(dim, axis), array(factors));
  };
  auto importSpec = [&](const ShardingSpec &spec) -> mlir::Attribute {
    llvm::SmallVector<mlir::Attribute> groups, dims;
    for (const IntIntListEntry &group : spec.index_to_device_group_map())
      groups.push_back(
          DeviceGroupAttr::get(context, OPTIONAL_I64(group, key), numbers(builder, group.value())));
    for (const ShardedDim &dim : spec.sharded_dim())
      dims.push_back(importDim(dim));
    return ShardingSpecAttr::get(context, OPTIONAL_TEXT(spec, tensor_name),
                                 numbers(builder, spec.device()), array(groups), array(dims));
  };
  llvm::SmallVector<mlir::Attribute> result;
  for (const NodeDeviceConfiguration &message : messages) {
    llvm::SmallVector<mlir::Attribute> specs;
    for (const ShardingSpec &spec : message.sharding_spec())
      specs.push_back(importSpec(spec));
    result.push_back(
        NodeDeviceConfigurationAttr::get(context, OPTIONAL_TEXT(message, configuration_id),
                                         array(specs), OPTIONAL_I32(message, pipeline_stage)));
  }
  return array(result);
}

//===----------------------------------------------------------------------===//
// Values of attributes
//===----------------------------------------------------------------------===//

/// The kind that the used field shows: before IR 2 there was nothing else.
static AttributeKind shownKind(const Attribute &message) {
  if (message.has_f())
    return AttributeKind::Float;
  if (message.has_i())
    return AttributeKind::Int;
  if (message.has_s())
    return AttributeKind::String;
  if (message.has_t())
    return AttributeKind::Tensor;
  if (message.has_g())
    return AttributeKind::Graph;
  if (message.floats_size())
    return AttributeKind::Floats;
  if (message.ints_size())
    return AttributeKind::Ints;
  if (message.strings_size())
    return AttributeKind::Strings;
  if (message.tensors_size())
    return AttributeKind::Tensors;
  if (message.graphs_size())
    return AttributeKind::Graphs;
  if (message.has_sparse_tensor())
    return AttributeKind::SparseTensor;
  if (message.sparse_tensors_size())
    return AttributeKind::SparseTensors;
  if (message.has_tp())
    return AttributeKind::TypeProto;
  if (message.type_protos_size())
    return AttributeKind::TypeProtos;
  return AttributeKind::Undefined;
}

AttributeKind AttributeImporter::kindOf(const Attribute &message) {
  return message.has_type() ? static_cast<AttributeKind>(message.type()) : shownKind(message);
}

/// How many of the fields that hold values are used.
static unsigned countValues(const Attribute &message) {
  return message.has_f() + message.has_i() + message.has_s() + message.has_t() + message.has_g() +
         message.has_sparse_tensor() + message.has_tp() + (message.floats_size() > 0) +
         (message.ints_size() > 0) + (message.strings_size() > 0) + (message.tensors_size() > 0) +
         (message.graphs_size() > 0) + (message.sparse_tensors_size() > 0) +
         (message.type_protos_size() > 0);
}

mlir::LogicalResult AttributeImporter::checkValue(const Attribute &message, Location loc) {
  AttributeKind kind = kindOf(message);
  unsigned values = countValues(message);
  // One value, of the declared kind; or none, where the kind's default holds.
  if (values > 1 || (values == 1 && shownKind(message) != kind))
    return mlir::emitError(loc)
           << "attribute '" << message.name() << "' has kind " << stringify(kind) << ", but "
           << (values > 1 ? std::string("several values")
                          : ("a value of kind " + stringify(shownKind(message))).str());
  if (message.has_ref_attr_name() && values != 0)
    return mlir::emitError(loc) << "attribute '" << message.name()
                                << "' has a value and also refers to attribute '"
                                << message.ref_attr_name() << "'";
  return mlir::success();
}

FailureOr<mlir::Attribute> AttributeImporter::importPlainValue(const Attribute &message,
                                                               Location loc) {
  if (countValues(message) == 0)
    return mlir::Attribute();
  llvm::SmallVector<mlir::Attribute> list;
  switch (kindOf(message)) {
  case AttributeKind::Float:
    return mlir::Attribute(builder.getF32FloatAttr(message.f()));
  case AttributeKind::Int:
    return mlir::Attribute(builder.getI64IntegerAttr(message.i()));
  case AttributeKind::String:
    return mlir::Attribute(text(message.s()));
  case AttributeKind::Floats:
    return mlir::Attribute(builder.getDenseF32ArrayAttr(
        llvm::ArrayRef<float>(message.floats().data(), message.floats_size())));
  case AttributeKind::Ints:
    return mlir::Attribute(numbers(builder, message.ints()));
  case AttributeKind::Strings:
    return mlir::Attribute(texts(message.strings()));
  case AttributeKind::Tensor:
    return FailureOr<mlir::Attribute>(importTensor(message.t(), loc));
  case AttributeKind::SparseTensor:
    return FailureOr<mlir::Attribute>(importSparseTensor(message.sparse_tensor(), loc));
  case AttributeKind::Tensors:
    for (const Tensor &tensor : message.tensors()) {
      FailureOr<TensorAttr> value = importTensor(tensor, loc);
      if (failed(value))
        return failure();
      list.push_back(*value);
    }
    return mlir::Attribute(array(list));
  case AttributeKind::SparseTensors:
    for (const SparseTensor &tensor : message.sparse_tensors()) {
      FailureOr<SparseTensorAttr> value = importSparseTensor(tensor, loc);
      if (failed(value))
        return failure();
      list.push_back(*value);
    }
    return mlir::Attribute(array(list));
  case AttributeKind::TypeProto: {
    FailureOr<mlir::Type> type = importType(message.tp(), message.name(), loc);
    if (failed(type))
      return failure();
    return mlir::Attribute(mlir::TypeAttr::get(*type));
  }
  case AttributeKind::TypeProtos:
    for (const weft::onnx::Type &type : message.type_protos()) {
      FailureOr<mlir::Type> value = importType(type, message.name(), loc);
      if (failed(value))
        return failure();
      list.push_back(mlir::TypeAttr::get(*value));
    }
    return mlir::Attribute(array(list));
  case AttributeKind::Undefined:
  case AttributeKind::Graph:
  case AttributeKind::Graphs:
    break;
  }
  llvm_unreachable("graphs have regions and undefined has no value");
}
