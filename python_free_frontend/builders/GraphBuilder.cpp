// Nodes, constants, parameters and shape arithmetic of built graphs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/GraphBuilder.h"

#include <cassert>

using namespace llvm;

namespace weft::builders {
namespace {

int64_t irVersionFor(int64_t opset) {
  // The IR version that was current when the opset appeared.
  if (opset <= 14)
    return 7;
  if (opset <= 18)
    return 8;
  if (opset <= 20)
    return 9;
  if (opset <= 22)
    return 10;
  if (opset == 23)
    return 11;
  return opset == 24 ? 12 : 13;
}

struct SetAttr {
  onnx::Attribute &attr;
  void operator()(int64_t i) const {
    attr.set_type(onnx::Attribute::INT);
    attr.set_i(i);
  }
  void operator()(float f) const {
    attr.set_type(onnx::Attribute::FLOAT);
    attr.set_f(f);
  }
  void operator()(const std::string &s) const {
    attr.set_type(onnx::Attribute::STRING);
    attr.set_s(s);
  }
  void operator()(const Attr::Ints &ints) const {
    attr.set_type(onnx::Attribute::INTS);
    for (int64_t i : ints)
      attr.add_ints(i);
  }
  void operator()(const onnx::Tensor &t) const {
    attr.set_type(onnx::Attribute::TENSOR);
    *attr.mutable_t() = t;
  }
};

onnx::Tensor intTensor(ArrayRef<int64_t> dims, ArrayRef<int64_t> values) {
  onnx::Tensor tensor;
  for (int64_t dim : dims)
    tensor.add_dims(dim);
  tensor.set_data_type(onnx::Tensor::INT64);
  tensor.set_raw_data(values.data(), values.size() * sizeof(int64_t));
  return tensor;
}

} // namespace

void setValueInfo(onnx::ValueInfo &info, StringRef name, int32_t type, ArrayRef<Dim> dims) {
  info.set_name(name.str());
  auto *tensor = info.mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  auto *shape = tensor->mutable_shape();
  for (const Dim &dim : dims) {
    if (const auto *fixed = std::get_if<int64_t>(&dim))
      shape->add_dim()->set_dim_value(*fixed);
    else
      shape->add_dim()->set_dim_param(std::get<std::string>(dim));
  }
}

GraphBuilder::GraphBuilder(const ModelSpec &spec)
    : options(spec), weightType(onnxType(spec.dtype)) {
  proto.set_ir_version(irVersionFor(spec.opset));
  proto.set_producer_name("weft");
  proto.add_opset_import()->set_domain("");
  proto.mutable_opset_import(0)->set_version(spec.opset);
  auto *note = proto.add_metadata_props();
  note->set_key("weft.build");
  note->set_value(spec.text);
  proto.mutable_graph()->set_name(StringRef(spec.text).split(':').first.str());
}

GraphBuilder::Scope::Scope(GraphBuilder &g, StringRef name) : g(g), depth(g.scopes.size()) {
  g.scopes.push_back(name.str());
}

std::string GraphBuilder::path(StringRef separator, StringRef last) const {
  std::string text;
  for (const std::string &scope : scopes)
    text += scope + separator.str();
  return text + last.str();
}

std::string GraphBuilder::parameterName(StringRef name) const { return path(".", name); }

Value GraphBuilder::input(StringRef name, int32_t type, ArrayRef<Dim> dims) {
  setValueInfo(*proto.mutable_graph()->add_input(), name, type, dims);
  return name.str();
}

void GraphBuilder::output(const Value &value, StringRef name, int32_t type, ArrayRef<Dim> dims) {
  onnx::Graph &graph = *proto.mutable_graph();
  setValueInfo(*graph.add_output(), name, type, dims);
  for (onnx::Node &node : *graph.mutable_node()) {
    for (std::string &result : *node.mutable_output())
      if (result == value)
        result = name.str();
    for (std::string &operand : *node.mutable_input())
      if (operand == value)
        operand = name.str();
  }
}

Value GraphBuilder::uniqueNode(StringRef type, onnx::Node &node) {
  std::string name = "/" + path("/", type);
  if (unsigned count = nodeNames[name]++)
    name += "_" + std::to_string(count);
  node.set_name(name);
  node.set_op_type(type.str());
  return name;
}

std::vector<Value> GraphBuilder::ops(StringRef type, ArrayRef<Value> inputs, unsigned results,
                                     std::initializer_list<Attr> attrs) {
  onnx::Node &node = *proto.mutable_graph()->add_node();
  std::string name = uniqueNode(type, node);
  for (const Value &input : inputs)
    node.add_input(input);
  for (const Attr &attr : attrs) {
    onnx::Attribute &out = *node.add_attribute();
    out.set_name(attr.name);
    std::visit(SetAttr{out}, attr.value);
  }
  std::vector<Value> values;
  for (unsigned i = 0; i < results; ++i) {
    values.push_back(name + "_output_" + std::to_string(i));
    node.add_output(values.back());
  }
  return values;
}

Value GraphBuilder::op(StringRef type, ArrayRef<Value> inputs, std::initializer_list<Attr> attrs) {
  return ops(type, inputs, 1, attrs).front();
}

Value GraphBuilder::weight(StringRef name, ArrayRef<int64_t> dims, Init init, bool transposed) {
  std::string full = parameterName(name);
  [[maybe_unused]] bool fresh = weightNames.try_emplace(full, 0).second;
  assert(fresh && "a parameter is declared once");
  parameters.push_back({full, std::vector<int64_t>(dims.begin(), dims.end()), init, transposed});
  return full;
}

Value GraphBuilder::constant(onnx::Tensor tensor) {
  if (exporter())
    return op("Constant", {}, {Attr("value", std::move(tensor))});
  std::string key = tensor.SerializeAsString();
  auto [it, fresh] = sharedConstants.try_emplace(key);
  if (fresh) {
    it->second = "constant_" + std::to_string(sharedConstants.size() - 1);
    tensor.set_name(it->second);
    *proto.mutable_graph()->add_initializer() = std::move(tensor);
  }
  return it->second;
}

Value GraphBuilder::buffer(StringRef name, onnx::Tensor tensor) {
  std::string full = parameterName(name);
  onnx::Node &node = *proto.mutable_graph()->add_node();
  uniqueNode("Constant", node);
  node.add_output(full);
  onnx::Attribute &value = *node.add_attribute();
  value.set_name("value");
  SetAttr{value}(tensor);
  return full;
}

Value GraphBuilder::ints(ArrayRef<int64_t> values) {
  return constant(intTensor({int64_t(values.size())}, values));
}

Value GraphBuilder::scalarInt(int64_t value) { return constant(intTensor({}, {value})); }

onnx::Tensor GraphBuilder::realTensor(ArrayRef<int64_t> dims, ArrayRef<double> values,
                                      int32_t type) {
  onnx::Tensor tensor;
  for (int64_t dim : dims)
    tensor.add_dims(dim);
  tensor.set_data_type(type ? type : weightType);
  std::string bytes;
  appendEncoded(values, tensor.data_type(), bytes);
  tensor.set_raw_data(std::move(bytes));
  return tensor;
}

Value GraphBuilder::real(double value, int32_t type) {
  return constant(realTensor({}, {value}, type));
}

Value GraphBuilder::dimOf(const Value &value, int64_t axis) {
  Value shape = op("Shape", {value});
  return op("Gather", {shape, scalarInt(axis)}, {Attr("axis", 0)});
}

Value GraphBuilder::shapeOf(ArrayRef<Extent> extents) {
  if (all_of(extents, [](const Extent &e) { return e.value.empty(); })) {
    std::vector<int64_t> fixed;
    for (const Extent &extent : extents)
      fixed.push_back(extent.fixed);
    return ints(fixed);
  }
  std::vector<Value> parts;
  for (const Extent &extent : extents)
    parts.push_back(extent.value.empty() ? ints({extent.fixed}) : unsqueeze(extent.value, {0}));
  return op("Concat", parts, {Attr("axis", 0)});
}

Value GraphBuilder::reshape(const Value &value, ArrayRef<Extent> extents) {
  return op("Reshape", {value, shapeOf(extents)});
}

Value GraphBuilder::unsqueeze(const Value &value, ArrayRef<int64_t> axes) {
  return op("Unsqueeze", {value, ints(axes)});
}

Value GraphBuilder::transpose(const Value &value, ArrayRef<int64_t> perm) {
  return op("Transpose", {value}, {Attr("perm", Attr::Ints(perm.begin(), perm.end()))});
}

Value GraphBuilder::cast(const Value &value, int32_t type) {
  return op("Cast", {value}, {Attr("to", int64_t(type))});
}

Value GraphBuilder::slice(const Value &value, const Value &start, const Value &end, int64_t axis) {
  return op("Slice", {value, start, end, ints({axis}), ints({1})});
}

Value GraphBuilder::reduce(StringRef type, const Value &value, int64_t axis, bool keepDims) {
  bool asInput = opset() >= (type == "ReduceSum" ? 13 : 18);
  if (asInput)
    return op(type, {value, ints({axis})}, {Attr("keepdims", int(keepDims))});
  return op(type, {value}, {Attr("axes", Attr::Ints{axis}), Attr("keepdims", int(keepDims))});
}

} // namespace weft::builders
