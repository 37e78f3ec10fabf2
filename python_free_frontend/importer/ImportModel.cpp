// Graphs, functions and the model: what becomes ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "python_free_frontend/importer/AttributeImporter.h"
#include "python_free_frontend/importer/NodeOrder.h"
#include "python_free_frontend/wire/MappedFile.h"
#include "llvm/ADT/StringMap.h"
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>

using namespace weft::onnx;
using google::protobuf::RepeatedPtrField;
using mlir::ArrayAttr;
using mlir::failure;
using mlir::FailureOr;
using mlir::Location;
using mlir::LogicalResult;
using mlir::StringAttr;
using mlir::success;
using mlir::Value;

namespace {

/// The names that a graph defines, and those of the graphs around it.
struct Scope {
  llvm::StringMap<Value> values;
  const Scope *outer = nullptr;

  Value find(llvm::StringRef name) const {
    for (const Scope *scope = this; scope; scope = scope->outer)
      if (Value value = scope->values.lookup(name))
        return value;
    return Value();
  }
};

std::string describeNode(const Node &node) {
  return "'" + (node.name().empty() && node.output_size() ? node.output(0) : node.name()) + "' (" +
         node.op_type() + ")";
}

/// The types that a graph or function declares for its values.
using DeclaredTypes = llvm::StringMap<mlir::Type>;

class ModelImporter {
public:
  ModelImporter(mlir::MLIRContext *context, llvm::StringRef path,
                llvm::ArrayRef<PayloadPlace> places, const ImportOptions &options)
      : context(context), builder(context), file(builder.getStringAttr(path)),
        attributes(context, path, places, options) {}

  mlir::OwningOpRef<mlir::ModuleOp> import(const Model &model);

private:
  Location fileLoc(unsigned line = 0) { return mlir::FileLineColLoc::get(file, line, 0); }
  Location nodeLoc(const Node &node, unsigned index);

  FailureOr<GraphAttr> importGraph(const Graph &graph, mlir::Region &region, const Scope *outer,
                                   mlir::IntegerAttr index, Location loc,
                                   const Model *model = nullptr);
  LogicalResult importInitializers(const Graph &graph, Scope &scope, Location loc);
  LogicalResult importNodes(const RepeatedPtrField<Node> &nodes, Scope &scope,
                            const DeclaredTypes &declared);
  LogicalResult importNode(const Node &node, unsigned index, Scope &scope,
                           const DeclaredTypes &declared);
  FailureOr<AttributeAttr> importAttribute(const Attribute &message, Location loc,
                                           llvm::SmallVectorImpl<const Graph *> &graphs);
  LogicalResult importGraphs(llvm::ArrayRef<const Graph *> graphs,
                             llvm::MutableArrayRef<mlir::Region> regions,
                             llvm::MutableArrayRef<mlir::Attribute> attributes, const Scope &scope,
                             Location loc);
  LogicalResult importTraining(const TrainingInfo &message, Scope &scope);
  LogicalResult importFunction(const Function &function);
  template <typename Names>
  LogicalResult importYield(const Names &names, const Scope &scope, Location loc);
  Value absent();

  mlir::MLIRContext *context;
  mlir::OpBuilder builder;
  StringAttr file;
  AttributeImporter attributes;
  /// The block of the current graph or function that holds its `onnx.none`.
  mlir::Block *isolatedBlock = nullptr;
  Value none;
};

} // namespace

#define OPTIONAL_TEXT(message, field)                                                              \
  ((message).has_##field() ? attributes.text((message).field()) : StringAttr())

static const std::string &nameOf(const ValueInfo &info) { return info.name(); }
static const std::string &nameOf(const std::string &name) { return name; }

Location ModelImporter::nodeLoc(const Node &node, unsigned index) {
  llvm::StringRef name = node.name();
  for (const std::string &output : node.output())
    if (name.empty())
      name = output;
  Location inner = mlir::NameLoc::get(builder.getStringAttr(node.op_type()), fileLoc(index));
  return mlir::NameLoc::get(builder.getStringAttr(name.empty() ? node.op_type() : name), inner);
}

Value ModelImporter::absent() {
  if (!none) {
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(isolatedBlock);
    none = NoneOp::create(builder, fileLoc(), NoneType::get(context));
  }
  return none;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

FailureOr<AttributeAttr>
ModelImporter::importAttribute(const Attribute &message, Location loc,
                               llvm::SmallVectorImpl<const Graph *> &graphs) {
  if (failed(attributes.checkValue(message, loc)))
    return failure();
  AttributeKind kind = AttributeImporter::kindOf(message);
  // Graphs are named by the index of their region; their fields follow when
  // the regions exist.
  auto placeholder = [&](const Graph &graph) -> mlir::Attribute {
    graphs.push_back(&graph);
    return builder.getI64IntegerAttr(graphs.size() - 1);
  };
  mlir::Attribute value;
  if (kind == AttributeKind::Graph && message.has_g()) {
    value = placeholder(message.g());
  } else if (kind == AttributeKind::Graphs && message.graphs_size()) {
    llvm::SmallVector<mlir::Attribute> list;
    for (const Graph &graph : message.graphs())
      list.push_back(placeholder(graph));
    value = builder.getArrayAttr(list);
  } else {
    FailureOr<mlir::Attribute> plain = attributes.importPlainValue(message, loc);
    if (failed(plain))
      return failure();
    value = *plain;
  }
  return AttributeAttr::get(context, OPTIONAL_TEXT(message, name), kind, message.has_type(), value,
                            OPTIONAL_TEXT(message, ref_attr_name),
                            OPTIONAL_TEXT(message, doc_string));
}

LogicalResult ModelImporter::importGraphs(llvm::ArrayRef<const Graph *> graphs,
                                          llvm::MutableArrayRef<mlir::Region> regions,
                                          llvm::MutableArrayRef<mlir::Attribute> list,
                                          const Scope &scope, Location loc) {
  llvm::SmallVector<GraphAttr> infos;
  for (auto [index, graph] : llvm::enumerate(graphs)) {
    FailureOr<GraphAttr> info =
        importGraph(*graph, regions[index], &scope, builder.getI64IntegerAttr(index), loc);
    if (failed(info))
      return failure();
    infos.push_back(*info);
  }
  auto resolve = [&](mlir::Attribute placeholder) -> mlir::Attribute {
    return infos[mlir::cast<mlir::IntegerAttr>(placeholder).getInt()];
  };
  for (mlir::Attribute &entry : list) {
    auto attribute = mlir::cast<AttributeAttr>(entry);
    mlir::Attribute value = attribute.getValue();
    if (value && attribute.getKind() == AttributeKind::Graph)
      value = resolve(value);
    else if (value && attribute.getKind() == AttributeKind::Graphs)
      value = builder.getArrayAttr(
          llvm::map_to_vector(mlir::cast<ArrayAttr>(value).getValue(), resolve));
    entry =
        AttributeAttr::get(context, attribute.getName(), attribute.getKind(), attribute.getTyped(),
                           value, attribute.getRef(), attribute.getDocString());
  }
  return success();
}

LogicalResult ModelImporter::importNode(const Node &node, unsigned index, Scope &scope,
                                        const DeclaredTypes &declared) {
  Location loc = nodeLoc(node, index);
  llvm::SmallVector<Value> operands;
  for (const std::string &name : node.input()) {
    Value value = name.empty() ? absent() : scope.find(name);
    if (!value)
      return mlir::emitError(loc) << "reads '" << name
                                  << "', which no node, input or initializer defines";
    operands.push_back(value);
  }
  llvm::SmallVector<mlir::Type> results;
  llvm::SmallVector<mlir::Attribute> names, list;
  for (const std::string &name : node.output()) {
    mlir::Type type = declared.lookup(name);
    if (name.empty())
      type = NoneType::get(context);
    results.push_back(type ? type : UnknownType::get(context));
    names.push_back(attributes.text(name));
  }
  llvm::SmallVector<const Graph *> graphs;
  for (const Attribute &message : node.attribute()) {
    FailureOr<AttributeAttr> attribute = importAttribute(message, loc, graphs);
    if (failed(attribute))
      return failure();
    list.push_back(*attribute);
  }
  auto op = NodeOp::create(
      builder, loc, results, attributes.text(node.op_type()), OPTIONAL_TEXT(node, domain),
      OPTIONAL_TEXT(node, overload), operands, builder.getArrayAttr(names),
      OPTIONAL_TEXT(node, name), attributes.array(list), OPTIONAL_TEXT(node, doc_string),
      attributes.importEntries(node.metadata_props()),
      attributes.importNodeDevices(node.device_configurations()), graphs.size());
  if (!graphs.empty()) {
    if (failed(importGraphs(graphs, op.getGraphs(), list, scope, loc)))
      return failure();
    op.setOnnxAttributesAttr(builder.getArrayAttr(list));
  }
  for (auto [name, result] : llvm::zip_equal(node.output(), op.getResults()))
    if (!name.empty() && !scope.values.try_emplace(name, result).second)
      return mlir::emitError(loc) << "defines '" << name << "', which is already defined";
  return success();
}

LogicalResult ModelImporter::importNodes(const RepeatedPtrField<Node> &nodes, Scope &scope,
                                         const DeclaredTypes &declared) {
  NodeOrder order = orderNodes(nodes);
  if (!order.cycle.empty()) {
    auto error = mlir::emitError(nodeLoc(nodes[order.cycle.front()], order.cycle.front()))
                 << "reads what is computed from its own output";
    for (auto [i, index] : llvm::enumerate(order.cycle))
      error.attachNote(nodeLoc(nodes[index], index))
          << "reads an output of "
          << describeNode(nodes[order.cycle[(i + 1) % order.cycle.size()]]);
    return error;
  }
  if (order.firstMoved)
    mlir::emitRemark(nodeLoc(nodes[*order.firstMoved], *order.firstMoved))
        << "stands before a node whose output it reads; the nodes of this "
           "graph are put into an order in which they can be computed";
  for (unsigned index : order.indices)
    if (failed(importNode(nodes[index], index, scope, declared)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

static LogicalResult declareTypes(ArrayAttr infos, DeclaredTypes &declared) {
  if (infos)
    for (auto info : infos.getAsRange<ValueInfoAttr>())
      if (info.getName() && info.getType())
        declared.try_emplace(info.getName().getValue(), info.getType());
  return success();
}

LogicalResult ModelImporter::importInitializers(const Graph &graph, Scope &scope, Location loc) {
  llvm::StringMap<bool> seen;
  auto define = [&](const std::string &name, Value value) -> LogicalResult {
    if (!seen.try_emplace(name, true).second)
      return mlir::emitError(loc) << "initializer '" << name << "' is defined twice";
    // An input of the same name has this as its default.
    scope.values[name] = value;
    return success();
  };
  for (const Tensor &tensor : graph.initializer()) {
    FailureOr<TensorAttr> value = attributes.importTensor(tensor, loc);
    if (failed(value))
      return failure();
    Location name = mlir::NameLoc::get(builder.getStringAttr(tensor.name()), fileLoc());
    auto op = InitializerOp::create(builder, name, value->getType(), *value);
    if (failed(define(tensor.name(), op)))
      return failure();
  }
  for (const SparseTensor &tensor : graph.sparse_initializer()) {
    FailureOr<SparseTensorAttr> value = attributes.importSparseTensor(tensor, loc);
    if (failed(value))
      return failure();
    Location name = mlir::NameLoc::get(builder.getStringAttr(tensor.values().name()), fileLoc());
    auto op = SparseInitializerOp::create(builder, name, UnknownType::get(context), *value);
    if (failed(define(tensor.values().name(), op)))
      return failure();
  }
  return success();
}

template <typename Names>
LogicalResult ModelImporter::importYield(const Names &names, const Scope &scope, Location loc) {
  llvm::SmallVector<Value> results;
  for (const auto &entry : names) {
    const std::string &name = nameOf(entry);
    Value value = name.empty() ? absent() : scope.find(name);
    if (!value)
      return mlir::emitError(loc) << "output '" << name
                                  << "' is defined by no node, input or "
                                     "initializer";
    results.push_back(value);
  }
  YieldOp::create(builder, loc, results);
  return success();
}

FailureOr<GraphAttr> ModelImporter::importGraph(const Graph &graph, mlir::Region &region,
                                                const Scope *outer, mlir::IntegerAttr index,
                                                Location loc, const Model *model) {
  FailureOr<ArrayAttr> inputs = attributes.importValueInfos(graph.input(), loc);
  FailureOr<ArrayAttr> outputs = attributes.importValueInfos(graph.output(), loc);
  FailureOr<ArrayAttr> infos = attributes.importValueInfos(graph.value_info(), loc);
  if (failed(inputs) || failed(outputs) || failed(infos))
    return failure();
  DeclaredTypes declared;
  if (failed(declareTypes(*infos, declared)) || failed(declareTypes(*outputs, declared)))
    return failure();

  mlir::OpBuilder::InsertionGuard guard(builder);
  mlir::Block *block = builder.createBlock(&region);
  if (!outer) {
    isolatedBlock = block;
    none = Value();
  }
  Scope scope;
  scope.outer = outer;
  if (*inputs)
    for (auto info : inputs->getAsRange<ValueInfoAttr>()) {
      StringAttr name = info.getName() ? info.getName() : attributes.text("");
      mlir::Type type = info.getType();
      Value argument = block->addArgument(type ? type : UnknownType::get(context),
                                          mlir::NameLoc::get(name, fileLoc()));
      if (!scope.values.try_emplace(name.getValue(), argument).second) {
        mlir::emitError(loc) << "input '" << name.getValue() << "' is declared twice";
        return failure();
      }
    }
  if (failed(importInitializers(graph, scope, loc)) ||
      failed(importNodes(graph.node(), scope, declared)))
    return failure();
  if (model)
    for (const TrainingInfo &training : model->training_info())
      if (failed(importTraining(training, scope)))
        return failure();
  if (failed(importYield(graph.output(), scope, loc)))
    return failure();
  return GraphAttr::get(context, index, OPTIONAL_TEXT(graph, name), *inputs, *outputs, *infos,
                        OPTIONAL_TEXT(graph, doc_string),
                        attributes.importQuantization(graph.quantization_annotation()),
                        attributes.importEntries(graph.metadata_props()));
}

LogicalResult ModelImporter::importTraining(const TrainingInfo &message, Scope &scope) {
  auto op = TrainingInfoOp::create(builder, fileLoc(), GraphAttr(), GraphAttr(),
                                   attributes.importEntries(message.initialization_binding()),
                                   attributes.importEntries(message.update_binding()),
                                   message.has_initialization() + message.has_algorithm());
  unsigned region = 0;
  auto add = [&](const Graph &graph) {
    mlir::IntegerAttr index = builder.getI64IntegerAttr(region);
    return importGraph(graph, op.getGraphs()[region++], &scope, index, fileLoc());
  };
  if (message.has_initialization()) {
    FailureOr<GraphAttr> info = add(message.initialization());
    if (failed(info))
      return failure();
    op.setInitializationAttr(*info);
  }
  if (message.has_algorithm()) {
    FailureOr<GraphAttr> info = add(message.algorithm());
    if (failed(info))
      return failure();
    op.setAlgorithmAttr(*info);
  }
  return success();
}

LogicalResult ModelImporter::importFunction(const Function &function) {
  Location loc = mlir::NameLoc::get(builder.getStringAttr(function.name()), fileLoc());
  FailureOr<ArrayAttr> infos = attributes.importValueInfos(function.value_info(), loc);
  if (failed(infos))
    return failure();
  DeclaredTypes declared;
  if (failed(declareTypes(*infos, declared)))
    return failure();
  llvm::SmallVector<mlir::Attribute> list;
  llvm::SmallVector<const Graph *> graphs;
  for (const Attribute &message : function.attribute_proto()) {
    FailureOr<AttributeAttr> attribute = importAttribute(message, loc, graphs);
    if (failed(attribute))
      return failure();
    list.push_back(*attribute);
  }
  auto strings = [&](const RepeatedPtrField<std::string> &values) {
    ArrayAttr array = attributes.texts(values);
    return array ? array : builder.getArrayAttr({});
  };
  auto op = FunctionOp::create(
      builder, loc, OPTIONAL_TEXT(function, name), OPTIONAL_TEXT(function, domain),
      OPTIONAL_TEXT(function, overload), strings(function.input()), strings(function.output()),
      attributes.texts(function.attribute()), attributes.array(list),
      attributes.importOpsets(function.opset_import()), OPTIONAL_TEXT(function, doc_string), *infos,
      attributes.importEntries(function.metadata_props()), graphs.size());
  Scope scope;
  mlir::OpBuilder::InsertionGuard guard(builder);
  mlir::Block *block = builder.createBlock(&op.getBody());
  isolatedBlock = block;
  none = Value();
  for (const std::string &name : function.input()) {
    mlir::Type type = declared.lookup(name);
    Value argument = block->addArgument(type ? type : UnknownType::get(context), loc);
    if (!scope.values.try_emplace(name, argument).second)
      return mlir::emitError(loc) << "function input '" << name << "' is declared twice";
  }
  if (!graphs.empty()) {
    if (failed(importGraphs(graphs, op.getGraphs(), list, Scope(), loc)))
      return failure();
    op.setOnnxAttributesAttr(builder.getArrayAttr(list));
  }
  if (failed(importNodes(function.node(), scope, declared)))
    return failure();
  return importYield(function.output(), scope, loc);
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

mlir::OwningOpRef<mlir::ModuleOp> ModelImporter::import(const Model &model) {
  constexpr int64_t oldest = 3, newest = 14;
  if (model.ir_version() < oldest || model.ir_version() > newest) {
    mlir::emitError(fileLoc()) << "has IR version " << model.ir_version() << "; versions " << oldest
                               << " to " << newest << " are known";
    return {};
  }
  if (!model.has_graph()) {
    mlir::emitError(fileLoc()) << "has no graph";
    return {};
  }
  mlir::OwningOpRef<mlir::ModuleOp> module(mlir::ModuleOp::create(fileLoc()));
  auto optional = [&](bool present, int64_t value) {
    return present ? builder.getI64IntegerAttr(value) : mlir::IntegerAttr();
  };
  (*module)->setAttr(
      OnnxDialect::kModelAttrName,
      ModelAttr::get(
          context, optional(model.has_ir_version(), model.ir_version()),
          OPTIONAL_TEXT(model, producer_name), OPTIONAL_TEXT(model, producer_version),
          OPTIONAL_TEXT(model, domain), optional(model.has_model_version(), model.model_version()),
          OPTIONAL_TEXT(model, doc_string), attributes.importOpsets(model.opset_import()),
          attributes.importEntries(model.metadata_props()),
          attributes.importConfigurations(model.configuration())));
  builder.setInsertionPointToStart(module->getBody());
  auto graph =
      GraphOp::create(builder, fileLoc(), GraphAttr::get(context, {}, {}, {}, {}, {}, {}, {}, {}));
  FailureOr<GraphAttr> info =
      importGraph(model.graph(), graph.getBody(), nullptr, {}, fileLoc(), &model);
  if (failed(info))
    return {};
  graph.setInfoAttr(*info);
  for (const Function &function : model.functions())
    if (failed(importFunction(function)))
      return {};
  if (failed(mlir::verify(*module)))
    return {};
  if (attributes.getNumMissing())
    mlir::emitWarning(fileLoc()) << "has " << attributes.getNumMissing()
                                 << " tensors whose external data file does not exist";
  return module;
}

mlir::OwningOpRef<mlir::ModuleOp> weft::onnx::importModel(const Model &model, llvm::StringRef path,
                                                          mlir::MLIRContext *context,
                                                          const ImportOptions &options) {
  context->loadDialect<OnnxDialect>();
  return ModelImporter(context, path, {}, options).import(model);
}

mlir::OwningOpRef<mlir::ModuleOp> weft::onnx::importModel(llvm::StringRef path,
                                                          mlir::MLIRContext *context,
                                                          const ImportOptions &options) {
  context->loadDialect<OnnxDialect>();
  Location loc = mlir::FileLineColLoc::get(context, path, 0, 0);
  MappedFile file;
  if (llvm::Error wrong = file.open(path)) {
    mlir::emitError(loc) << "cannot be read: " << llvm::toString(std::move(wrong));
    return {};
  }
  ScanLimits limits;
  if (options.inlineData)
    limits.inlineBytes = UINT64_MAX;
  Skeleton skeleton;
  if (llvm::Error wrong = prescanModel(file.getBytes(), limits, skeleton)) {
    mlir::emitError(loc) << "is not a valid model: " << llvm::toString(std::move(wrong));
    return {};
  }
  if (skeleton.numUnknownFields)
    mlir::emitWarning(loc) << "has " << skeleton.numUnknownFields
                           << " fields that are not known and are left out; the "
                              "first is "
                           << skeleton.firstUnknownField;
  // Whatever protobuf has to say, we say it ourselves.
  google::protobuf::LogSilencer silence;
  Model model;
  google::protobuf::io::CodedInputStream stream(
      reinterpret_cast<const uint8_t *>(skeleton.bytes.data()), skeleton.bytes.size());
  stream.SetRecursionLimit(limits.maxDepth + 8);
  if (!model.MergePartialFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    mlir::emitError(loc) << "is not a valid model: protobuf rejects it";
    return {};
  }
  skeleton.bytes = std::string();
  return ModelImporter(context, path, skeleton.places, options).import(model);
}
