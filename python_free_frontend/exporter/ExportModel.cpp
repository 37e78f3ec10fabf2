// Nodes, graphs, functions and the model as messages.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/IR/Diagnostics.h"
#include "python_free_frontend/exporter/AttributeExporter.h"
#include "python_free_frontend/exporter/Exporter.h"
#include "llvm/ADT/DenseMap.h"
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

using namespace weft::onnx;
using google::protobuf::RepeatedPtrField;
using mlir::ArrayAttr;
using mlir::failure;
using mlir::LogicalResult;
using mlir::StringAttr;
using mlir::success;
using mlir::Value;

#define EXPORT_TEXT(value, message, field)                                                         \
  if (StringAttr present = (value))                                                                \
  (message).set_##field(present.str())

namespace {

class ModelExporter {
public:
  LogicalResult exportModel(mlir::ModuleOp module, Model &model);

private:
  LogicalResult exportNode(NodeOp op, Node &message);
  LogicalResult exportAttributes(ArrayAttr attributes, llvm::MutableArrayRef<mlir::Region> regions,
                                 RepeatedPtrField<Attribute> &messages, mlir::Location loc);
  LogicalResult exportGraph(GraphAttr info, mlir::Region &region, Graph &message,
                            mlir::Location loc, Model *model = nullptr);
  LogicalResult exportFunction(FunctionOp op, Function &message);
  LogicalResult exportTraining(TrainingInfoOp op, TrainingInfo &message);

  /// The names under which values are read.
  llvm::DenseMap<Value, llvm::StringRef> names;
};

} // namespace

static llvm::StringRef textOf(StringAttr text) {
  return text ? text.getValue() : llvm::StringRef();
}

LogicalResult ModelExporter::exportAttributes(ArrayAttr attributes,
                                              llvm::MutableArrayRef<mlir::Region> regions,
                                              RepeatedPtrField<Attribute> &messages,
                                              mlir::Location loc) {
  if (!attributes)
    return success();
  auto exportRegion = [&](mlir::Attribute value, Graph &graph) {
    auto info = mlir::cast<GraphAttr>(value);
    return exportGraph(info, regions[info.getRegion().getInt()], graph, loc);
  };
  for (auto attribute : attributes.getAsRange<AttributeAttr>()) {
    Attribute &message = *messages.Add();
    EXPORT_TEXT(attribute.getName(), message, name);
    EXPORT_TEXT(attribute.getRef(), message, ref_attr_name);
    EXPORT_TEXT(attribute.getDocString(), message, doc_string);
    if (attribute.getTyped())
      message.set_type(static_cast<Attribute::Kind>(attribute.getKind()));
    if (!attribute.getValue())
      continue;
    if (attribute.getKind() == AttributeKind::Graph) {
      if (failed(exportRegion(attribute.getValue(), *message.mutable_g())))
        return failure();
    } else if (attribute.getKind() == AttributeKind::Graphs) {
      for (mlir::Attribute value : mlir::cast<ArrayAttr>(attribute.getValue()))
        if (failed(exportRegion(value, *message.add_graphs())))
          return failure();
    } else if (failed(exportPlainValue(attribute, message, loc))) {
      return failure();
    }
  }
  return success();
}

LogicalResult ModelExporter::exportNode(NodeOp op, Node &message) {
  for (Value operand : op.getInputs())
    *message.add_input() = names.lookup(operand).str();
  for (auto [index, result] : llvm::enumerate(op.getResults())) {
    llvm::StringRef name = op.getOutputName(index);
    names[result] = name;
    *message.add_output() = name.str();
  }
  message.set_op_type(op.getOpType().str());
  EXPORT_TEXT(op.getDomainAttr(), message, domain);
  EXPORT_TEXT(op.getOverloadAttr(), message, overload);
  EXPORT_TEXT(op.getNodeNameAttr(), message, name);
  EXPORT_TEXT(op.getDocStringAttr(), message, doc_string);
  exportEntries(op.getMetadataAttr(), *message.mutable_metadata_props());
  exportNodeDevices(op.getDeviceConfigurationsAttr(), *message.mutable_device_configurations());
  return exportAttributes(op.getOnnxAttributesAttr(), op.getGraphs(), *message.mutable_attribute(),
                          op.getLoc());
}

LogicalResult ModelExporter::exportGraph(GraphAttr info, mlir::Region &region, Graph &message,
                                         mlir::Location loc, Model *model) {
  EXPORT_TEXT(info.getName(), message, name);
  EXPORT_TEXT(info.getDocString(), message, doc_string);
  if (failed(exportValueInfos(info.getInputs(), *message.mutable_input(), loc)) ||
      failed(exportValueInfos(info.getOutputs(), *message.mutable_output(), loc)) ||
      failed(exportValueInfos(info.getValueInfo(), *message.mutable_value_info(), loc)))
    return failure();
  exportQuantization(info.getQuantizationAnnotation(), *message.mutable_quantization_annotation());
  exportEntries(info.getMetadata(), *message.mutable_metadata_props());
  for (mlir::BlockArgument argument : region.getArguments())
    names[argument] =
        textOf(mlir::cast<ValueInfoAttr>(info.getInputs()[argument.getArgNumber()]).getName());
  for (mlir::Operation &op : region.front()) {
    LogicalResult result = success();
    if (auto node = mlir::dyn_cast<NodeOp>(op)) {
      result = exportNode(node, *message.add_node());
    } else if (auto tensor = mlir::dyn_cast<InitializerOp>(op)) {
      names[tensor] = textOf(tensor.getValue().getName());
      result = exportTensor(tensor.getValue(), *message.add_initializer(), op.getLoc());
    } else if (auto sparse = mlir::dyn_cast<SparseInitializerOp>(op)) {
      if (auto values = mlir::dyn_cast_or_null<TensorAttr>(sparse.getValue().getValues()))
        names[sparse] = textOf(values.getName());
      result =
          exportSparseTensor(sparse.getValue(), *message.add_sparse_initializer(), op.getLoc());
    } else if (auto training = mlir::dyn_cast<TrainingInfoOp>(op)) {
      if (!model)
        return op.emitOpError() << "belongs into the main graph";
      result = exportTraining(training, *model->add_training_info());
    } else if (!mlir::isa<NoneOp, YieldOp>(op)) {
      return op.emitOpError() << "is not part of a model file";
    }
    if (failed(result))
      return failure();
  }
  return success();
}

LogicalResult ModelExporter::exportTraining(TrainingInfoOp op, TrainingInfo &message) {
  auto add = [&](GraphAttr info, Graph &graph) {
    return exportGraph(info, op.getGraphs()[info.getRegion().getInt()], graph, op.getLoc());
  };
  if (GraphAttr info = op.getInitializationAttr())
    if (failed(add(info, *message.mutable_initialization())))
      return failure();
  if (GraphAttr info = op.getAlgorithmAttr())
    if (failed(add(info, *message.mutable_algorithm())))
      return failure();
  exportEntries(op.getInitializationBindingAttr(), *message.mutable_initialization_binding());
  exportEntries(op.getUpdateBindingAttr(), *message.mutable_update_binding());
  return success();
}

LogicalResult ModelExporter::exportFunction(FunctionOp op, Function &message) {
  EXPORT_TEXT(op.getFunctionNameAttr(), message, name);
  EXPORT_TEXT(op.getDomainAttr(), message, domain);
  EXPORT_TEXT(op.getOverloadAttr(), message, overload);
  EXPORT_TEXT(op.getDocStringAttr(), message, doc_string);
  exportTexts(op.getInputNames(), *message.mutable_input());
  exportTexts(op.getOutputNames(), *message.mutable_output());
  exportTexts(op.getPlainAttributesAttr(), *message.mutable_attribute());
  exportOpsets(op.getOpsetImportAttr(), *message.mutable_opset_import());
  exportEntries(op.getMetadataAttr(), *message.mutable_metadata_props());
  if (failed(exportValueInfos(op.getValueInfoAttr(), *message.mutable_value_info(), op.getLoc())) ||
      failed(exportAttributes(op.getOnnxAttributesAttr(), op.getGraphs(),
                              *message.mutable_attribute_proto(), op.getLoc())))
    return failure();
  for (auto [argument, name] :
       llvm::zip_equal(op.getBody().getArguments(), op.getInputNames().getAsRange<StringAttr>()))
    names[argument] = name.getValue();
  for (mlir::Operation &nested : op.getBody().front()) {
    if (auto node = mlir::dyn_cast<NodeOp>(nested)) {
      if (failed(exportNode(node, *message.add_node())))
        return failure();
    } else if (!mlir::isa<NoneOp, YieldOp>(nested)) {
      return nested.emitOpError() << "is not part of a function";
    }
  }
  return success();
}

LogicalResult ModelExporter::exportModel(mlir::ModuleOp module, Model &model) {
  ModelAttr info = getModel(module);
  GraphOp graph = getMainGraph(module);
  if (!info || !graph)
    return module.emitError() << "is not a model: it needs '" << OnnxDialect::kModelAttrName
                              << "' and an 'onnx.graph'";
  if (info.getIrVersion())
    model.set_ir_version(info.getIrVersion().getInt());
  if (info.getModelVersion())
    model.set_model_version(info.getModelVersion().getInt());
  EXPORT_TEXT(info.getProducerName(), model, producer_name);
  EXPORT_TEXT(info.getProducerVersion(), model, producer_version);
  EXPORT_TEXT(info.getDomain(), model, domain);
  EXPORT_TEXT(info.getDocString(), model, doc_string);
  exportOpsets(info.getOpsetImport(), *model.mutable_opset_import());
  exportEntries(info.getMetadata(), *model.mutable_metadata_props());
  exportConfigurations(info.getConfiguration(), *model.mutable_configuration());
  if (failed(exportGraph(graph.getInfo(), graph.getBody(), *model.mutable_graph(), graph.getLoc(),
                         &model)))
    return failure();
  for (FunctionOp function : module.getOps<FunctionOp>())
    if (failed(exportFunction(function, *model.add_functions())))
      return failure();
  return success();
}

LogicalResult weft::onnx::exportModel(mlir::ModuleOp module, Model &model) {
  return ModelExporter().exportModel(module, model);
}

namespace {
/// Lets protobuf write to one of LLVM's streams.
class StreamAdaptor : public google::protobuf::io::CopyingOutputStream {
public:
  explicit StreamAdaptor(llvm::raw_ostream &out) : out(out) {}
  bool Write(const void *data, int size) override {
    out.write(static_cast<const char *>(data), size);
    return true;
  }

private:
  llvm::raw_ostream &out;
};
} // namespace

/// Bytes of the payloads that an export would read from files.
static uint64_t countPayload(mlir::ModuleOp module) {
  uint64_t bytes = 0;
  module.walk([&](InitializerOp op) {
    auto data = mlir::dyn_cast_or_null<DataAttr>(op.getValue().getData());
    if (data && !op.getValue().getExternal())
      bytes += data.getLength();
  });
  return bytes;
}

LogicalResult weft::onnx::exportModel(mlir::ModuleOp module, llvm::raw_ostream &out) {
  auto tooLarge = [&](uint64_t bytes) {
    return module.emitError() << "needs " << bytes
                              << " bytes, but a model file holds less than 2 GiB; store the "
                                 "weights as external data";
  };
  // Before they are read: they may not fit into memory either.
  if (uint64_t payload = countPayload(module); payload > INT32_MAX)
    return tooLarge(payload);
  // Names need not be UTF-8; protobuf would complain on stderr.
  google::protobuf::LogSilencer silence;
  Model model;
  if (failed(exportModel(module, model)))
    return failure();
  if (size_t size = model.ByteSizeLong(); size > INT32_MAX)
    return tooLarge(size);
  StreamAdaptor adaptor(out);
  google::protobuf::io::CopyingOutputStreamAdaptor stream(&adaptor);
  bool written = model.SerializeToZeroCopyStream(&stream) && stream.Flush();
  assert(written && "no field is required, and a stream of LLVM takes everything");
  (void)written;
  return success();
}
