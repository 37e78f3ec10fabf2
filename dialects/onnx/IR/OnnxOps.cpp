// Verifiers, printed names and attribute look-ups of the `onnx` ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/onnx/IR/Onnx.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

using namespace mlir;
using namespace weft::onnx;

#define GET_OP_CLASSES
#include "dialects/onnx/IR/OnnxOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Graphs: arguments are declared inputs, the terminator returns the outputs
//===----------------------------------------------------------------------===//

/// The entries of a repeated field; a null array has none.
static llvm::ArrayRef<Attribute> entriesOf(ArrayAttr array) {
  return array ? array.getValue() : llvm::ArrayRef<Attribute>();
}

static size_t sizeOf(ArrayAttr array) { return entriesOf(array).size(); }

static llvm::StringRef textOf(StringAttr text) {
  return text ? text.getValue() : llvm::StringRef();
}

static LogicalResult verifyYield(Operation *op, Region &region, size_t numOutputs) {
  auto yield = dyn_cast_or_null<YieldOp>(region.front().empty() ? nullptr : &region.front().back());
  if (!yield)
    return op->emitOpError() << "region must end in 'onnx.yield'";
  if (yield.getNumOperands() != numOutputs)
    return op->emitOpError() << "declares " << numOutputs << " outputs, but 'onnx.yield' returns "
                             << yield.getNumOperands();
  return success();
}

static LogicalResult verifyGraph(Operation *op, GraphAttr info, Region &region) {
  if (region.getNumArguments() != sizeOf(info.getInputs()))
    return op->emitOpError() << "declares " << sizeOf(info.getInputs())
                             << " inputs, but the block has " << region.getNumArguments()
                             << " arguments";
  for (unsigned i = 0, e = region.getNumArguments(); i < e; ++i) {
    auto input = dyn_cast<ValueInfoAttr>(info.getInputs()[i]);
    if (!input)
      return op->emitOpError() << "input " << i << " is not an #onnx.value_info";
    Type declared = input.getType() ? input.getType() : UnknownType::get(op->getContext());
    if (region.getArgument(i).getType() != declared)
      return op->emitOpError() << "input " << i << " ('" << textOf(input.getName())
                               << "') is declared " << declared
                               << ", but the block argument has type "
                               << region.getArgument(i).getType();
  }
  return verifyYield(op, region, sizeOf(info.getOutputs()));
}

/// Verifies that each region belongs to exactly one of the graphs, whose
/// declared inputs and outputs it has.
static LogicalResult verifyGraphs(Operation *op, llvm::ArrayRef<Attribute> graphs,
                                  MutableArrayRef<Region> regions) {
  SmallVector<GraphAttr> owners(regions.size());
  for (Attribute entry : graphs) {
    auto graph = dyn_cast_or_null<GraphAttr>(entry);
    int64_t index = graph && graph.getRegion() ? graph.getRegion().getInt() : -1;
    if (index < 0 || index >= static_cast<int64_t>(regions.size()))
      return op->emitOpError() << "a graph attribute refers to no region";
    if (owners[index])
      return op->emitOpError() << "region " << index << " belongs to two graphs";
    owners[index] = graph;
  }
  for (auto [index, graph] : llvm::enumerate(owners)) {
    if (!graph)
      return op->emitOpError() << "region " << index << " belongs to no graph";
    if (failed(verifyGraph(op, graph, regions[index])))
      return failure();
  }
  return success();
}

/// Verifies that `attributes` are #onnx.attr and the graphs among them.
static LogicalResult verifyAttributes(Operation *op, ArrayAttr attributes,
                                      MutableArrayRef<Region> regions) {
  SmallVector<Attribute> graphs;
  for (Attribute entry : entriesOf(attributes)) {
    auto attribute = dyn_cast<AttributeAttr>(entry);
    if (!attribute)
      return op->emitOpError() << "expected an #onnx.attr, found " << entry;
    if (!attribute.getValue())
      continue;
    if (attribute.getKind() == AttributeKind::Graph)
      graphs.push_back(attribute.getValue());
    else if (attribute.getKind() == AttributeKind::Graphs)
      llvm::append_range(graphs, entriesOf(dyn_cast<ArrayAttr>(attribute.getValue())));
  }
  return verifyGraphs(op, graphs, regions);
}

static void nameArguments(GraphAttr info, Region &region, OpAsmSetValueNameFn setName) {
  if (!info || sizeOf(info.getInputs()) != region.getNumArguments())
    return;
  for (auto [argument, input] : llvm::zip_equal(region.getArguments(), entriesOf(info.getInputs())))
    if (auto value = dyn_cast<ValueInfoAttr>(input))
      setName(argument, textOf(value.getName()));
}

//===----------------------------------------------------------------------===//
// NodeOp
//===----------------------------------------------------------------------===//

LogicalResult NodeOp::verify() {
  if (getOutputNames().size() != getNumResults())
    return emitOpError() << "has " << getNumResults() << " results, but " << getOutputNames().size()
                         << " output names";
  for (Attribute name : getOutputNames())
    if (!isa<StringAttr>(name))
      return emitOpError() << "expected an output name, found " << name;
  return verifyAttributes(*this, getOnnxAttributesAttr(), getGraphs());
}

void NodeOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (getOutputNames().size() != getNumResults())
    return;
  for (auto [index, result] : llvm::enumerate(getResults()))
    setName(result, getOutputName(index));
}

void NodeOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (Attribute entry : entriesOf(getOnnxAttributesAttr())) {
    auto attribute = dyn_cast<AttributeAttr>(entry);
    auto graph = attribute ? dyn_cast_or_null<GraphAttr>(attribute.getValue()) : GraphAttr();
    if (graph && graph.getRegion() && graph.getRegion().getInt() == region.getRegionNumber())
      nameArguments(graph, region, setName);
  }
}

llvm::StringRef NodeOp::getCanonicalDomain() { return canonicalDomain(getDomain().value_or("")); }

llvm::StringRef NodeOp::getOutputName(unsigned index) {
  auto name = dyn_cast<StringAttr>(getOutputNames()[index]);
  return textOf(name);
}

bool NodeOp::hasInput(unsigned index) {
  return index < getInputs().size() && !isa<NoneType>(getInputs()[index].getType());
}

AttributeAttr NodeOp::getAttribute(llvm::StringRef name) {
  for (Attribute entry : entriesOf(getOnnxAttributesAttr()))
    if (auto attribute = dyn_cast<AttributeAttr>(entry))
      if (textOf(attribute.getName()) == name)
        return attribute;
  return AttributeAttr();
}

/// The attribute of that name and kind, unless it refers to an attribute of the
/// enclosing function, whose value is not known here.
static AttributeAttr lookup(NodeOp node, llvm::StringRef name, AttributeKind kind) {
  AttributeAttr attribute = node.getAttribute(name);
  return attribute && attribute.getKind() == kind && !attribute.getRef() ? attribute
                                                                         : AttributeAttr();
}

std::optional<llvm::StringRef> NodeOp::getString(llvm::StringRef name) {
  AttributeAttr attribute = lookup(*this, name, AttributeKind::String);
  if (!attribute)
    return std::nullopt;
  return textOf(dyn_cast_or_null<StringAttr>(attribute.getValue()));
}

std::optional<llvm::SmallVector<llvm::StringRef>> NodeOp::getStrings(llvm::StringRef name) {
  AttributeAttr attribute = lookup(*this, name, AttributeKind::Strings);
  if (!attribute)
    return std::nullopt;
  llvm::SmallVector<llvm::StringRef> strings;
  if (auto value = dyn_cast_or_null<ArrayAttr>(attribute.getValue()))
    for (Attribute text : value)
      strings.push_back(textOf(dyn_cast<StringAttr>(text)));
  return strings;
}

GraphAttr NodeOp::getGraph(llvm::StringRef name) {
  AttributeAttr attribute = lookup(*this, name, AttributeKind::Graph);
  return attribute ? dyn_cast_or_null<GraphAttr>(attribute.getValue()) : GraphAttr();
}

Region *NodeOp::getGraphRegion(llvm::StringRef name) {
  GraphAttr graph = getGraph(name);
  return graph ? &getGraphs()[graph.getRegion().getInt()] : nullptr;
}

//===----------------------------------------------------------------------===//
// NoneOp, InitializerOp, SparseInitializerOp
//===----------------------------------------------------------------------===//

void NoneOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getResult(), "none"); }

LogicalResult InitializerOp::verify() {
  if (getType() != getValue().getType())
    return emitOpError() << "has type " << getType() << ", but its value has type "
                         << getValue().getType();
  return success();
}

void InitializerOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  setName(getResult(), textOf(getValue().getName()));
}

void SparseInitializerOp::getAsmResultNames(OpAsmSetValueNameFn setName) {
  if (auto values = dyn_cast_or_null<TensorAttr>(getValue().getValues()))
    setName(getResult(), textOf(values.getName()));
}

//===----------------------------------------------------------------------===//
// GraphOp, FunctionOp, TrainingInfoOp
//===----------------------------------------------------------------------===//

LogicalResult GraphOp::verify() { return verifyGraph(*this, getInfo(), getBody()); }

void GraphOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  nameArguments(getInfo(), region, setName);
}

LogicalResult FunctionOp::verify() {
  if (getBody().getNumArguments() != getInputNames().size())
    return emitOpError() << "declares " << getInputNames().size() << " inputs, but the block has "
                         << getBody().getNumArguments() << " arguments";
  if (failed(verifyYield(*this, getBody(), getOutputNames().size())))
    return failure();
  return verifyAttributes(*this, getOnnxAttributesAttr(), getGraphs());
}

void FunctionOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  if (&region != &getBody() || getInputNames().size() != region.getNumArguments())
    return;
  for (auto [argument, name] : llvm::zip_equal(region.getArguments(), getInputNames()))
    setName(argument, textOf(dyn_cast<StringAttr>(name)));
}

LogicalResult TrainingInfoOp::verify() {
  SmallVector<Attribute> graphs;
  for (GraphAttr graph : {getInitializationAttr(), getAlgorithmAttr()})
    if (graph)
      graphs.push_back(graph);
  return verifyGraphs(*this, graphs, getGraphs());
}

void TrainingInfoOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (GraphAttr graph : {getInitializationAttr(), getAlgorithmAttr()})
    if (graph && graph.getRegion() && graph.getRegion().getInt() == region.getRegionNumber())
      nameArguments(graph, region, setName);
}
