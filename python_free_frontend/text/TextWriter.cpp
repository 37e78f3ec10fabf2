// Printing of models, graphs, types and attributes as text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/text/TextWriter.h"

#include "python_free_frontend/text/TensorText.h"
#include "python_free_frontend/text/Words.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using weft::onnx::Attribute;

namespace weft::text {
namespace {

using EntryList = google::protobuf::RepeatedPtrField<onnx::StringStringEntry>;
using OpsetList = google::protobuf::RepeatedPtrField<onnx::OperatorSetId>;
using NodeList = google::protobuf::RepeatedPtrField<onnx::Node>;

class Writer {
public:
  explicit Writer(raw_ostream &os) : os(os) {}

  void model(const onnx::Model &model);
  std::string fault; // the first one

private:
  void refuse(const std::string &what) {
    if (fault.empty())
      fault = what;
  }
  void dataType(int32_t type) {
    StringRef name = dataTypeName(type);
    if (name.empty())
      refuse("data type " + std::to_string(type) + " is not known");
    os << name;
  }
  /// A name that may be quoted.
  void id(StringRef name) {
    if (isIdentifier(name))
      os << name;
    else
      writeQuoted(name, os);
  }
  /// The same where an unquoted type word would be read as a type.
  void guardedId(StringRef name) {
    if (isIdentifier(name) && !isTypeWord(name) && !isFloatWord(name))
      os << name;
    else
      writeQuoted(name, os);
  }
  template <typename Range, typename Each>
  void list(const char *open, const Range &range, const char *close, Each each) {
    os << open;
    interleave(range, os, each, ", ");
    os << close;
  }
  template <typename Range> void ids(const char *open, const Range &names, const char *close) {
    list(open, names, close, [&](const std::string &name) { id(name); });
  }
  void entries(const EntryList &pairs);
  void opsets(const OpsetList &imports);
  void key(StringRef name) {
    os << (firstKey ? "<\n  " : ",\n  ") << name << ": ";
    firstKey = false;
  }
  void text(StringRef name, bool present, StringRef value) {
    if (!present)
      return;
    key(name);
    writeQuoted(value, os);
  }
  void endKeys() {
    if (!firstKey)
      os << "\n>\n";
    firstKey = true;
  }

  void graph(const onnx::Graph &graph);
  void function(const onnx::Function &function);
  void training(const onnx::TrainingInfo &training);
  void nodes(const NodeList &nodes);
  void node(const onnx::Node &node);
  void attribute(const Attribute &attr);
  void attributeValue(const Attribute &attr, Attribute::Kind kind);
  void tensorType(int32_t type, bool ranked, const onnx::TensorShape &shape);
  void type(const onnx::Type &type);
  void valueInfo(const onnx::ValueInfo &info);
  void tensor(const onnx::Tensor &tensor, bool initializer);

  raw_ostream &os;
  unsigned indent = 0;
  bool firstKey = true;
};

/// Empty, or identifiers between dots.
bool isQualified(StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, '.');
  return text.empty() || all_of(parts, isIdentifier);
}

bool hasForm(Attribute::Kind kind) {
  return kind != Attribute::UNDEFINED && kind != Attribute::SPARSE_TENSOR &&
         kind != Attribute::SPARSE_TENSORS;
}

void Writer::entries(const EntryList &pairs) {
  list("[", pairs, "]", [&](const onnx::StringStringEntry &pair) {
    writeQuoted(pair.key(), os);
    os << ": ";
    writeQuoted(pair.value(), os);
  });
}

void Writer::opsets(const OpsetList &imports) {
  list("[", imports, "]", [&](const onnx::OperatorSetId &import) {
    writeQuoted(import.domain(), os);
    os << ": " << import.version();
  });
}

void Writer::model(const onnx::Model &model) {
  if (model.has_ir_version()) {
    key("ir_version");
    os << model.ir_version();
  }
  if (model.opset_import_size()) {
    key("opset_import");
    opsets(model.opset_import());
  }
  text("producer_name", model.has_producer_name(), model.producer_name());
  text("producer_version", model.has_producer_version(), model.producer_version());
  text("domain", model.has_domain(), model.domain());
  if (model.has_model_version()) {
    key("model_version");
    os << model.model_version();
  }
  text("doc_string", model.has_doc_string(), model.doc_string());
  if (model.metadata_props_size()) {
    key("metadata_props");
    entries(model.metadata_props());
  }
  endKeys();
  graph(model.graph());
  os << "\n";
  for (const onnx::Function &one : model.functions())
    function(one);
  for (const onnx::TrainingInfo &one : model.training_info())
    training(one);
}

void Writer::tensorType(int32_t type, bool ranked, const onnx::TensorShape &shape) {
  dataType(type);
  if (!ranked) {
    os << "[]";
    return;
  }
  if (!shape.dim_size())
    return;
  os << "[";
  interleave(
      shape.dim(), os,
      [&](const onnx::TensorShape::Dimension &dim) {
        if (dim.has_dim_value())
          os << dim.dim_value();
        else if (!dim.dim_param().empty())
          id(dim.dim_param());
        else
          os << "?";
      },
      ",");
  os << "]";
}

void Writer::type(const onnx::Type &message) {
  if (message.has_tensor_type()) {
    const auto &tensor = message.tensor_type();
    tensorType(tensor.elem_type(), tensor.has_shape(), tensor.shape());
  } else if (message.has_sequence_type()) {
    os << "seq(";
    type(message.sequence_type().elem_type());
    os << ")";
  } else if (message.has_map_type()) {
    os << "map(";
    dataType(message.map_type().key_type());
    os << ", ";
    type(message.map_type().value_type());
    os << ")";
  } else if (message.has_optional_type()) {
    os << "optional(";
    type(message.optional_type().elem_type());
    os << ")";
  } else if (message.has_sparse_tensor_type()) {
    const auto &sparse = message.sparse_tensor_type();
    os << "sparse_tensor(";
    tensorType(sparse.elem_type(), sparse.has_shape(), sparse.shape());
    os << ")";
  } else if (message.has_opaque_type()) {
    const auto &opaque = message.opaque_type();
    if (!isQualified(opaque.domain()) || !isQualified(opaque.name()))
      refuse("opaque type '" + opaque.domain() + "', '" + opaque.name() +
             "' is not made of identifiers");
    os << "opaque(" << opaque.domain() << (opaque.domain().empty() ? "" : ", ") << opaque.name()
       << ")";
  } else {
    refuse("a type says neither tensor nor sequence nor anything else");
  }
}

void Writer::valueInfo(const onnx::ValueInfo &info) {
  if (!info.has_type() || info.type().value_case() == onnx::Type::VALUE_NOT_SET)
    return guardedId(info.name());
  type(info.type());
  os << " ";
  id(info.name());
}

void Writer::tensor(const onnx::Tensor &tensor, bool initializer) {
  dataType(tensor.data_type());
  if (tensor.dims_size()) {
    os << "[";
    interleave(tensor.dims(), os, ",");
    os << "]";
  }
  if (initializer || !tensor.name().empty()) {
    os << " ";
    id(tensor.name());
  }
  os << (initializer ? " = " : " ");
  if (tensor.data_location() == onnx::Tensor::EXTERNAL)
    return entries(tensor.external_data());
  std::string problem = writeTensorData(tensor, os);
  if (!problem.empty())
    refuse(problem);
}

void Writer::attributeValue(const Attribute &attr, Attribute::Kind kind) {
  switch (kind) {
  case Attribute::FLOAT:
    return writeFloat(attr.f(), os);
  case Attribute::INT:
    os << attr.i();
    return;
  case Attribute::STRING:
    return writeQuoted(attr.s(), os);
  case Attribute::TENSOR:
    return tensor(attr.t(), /*initializer=*/false);
  case Attribute::GRAPH:
    return graph(attr.g());
  case Attribute::TYPE_PROTO:
    return type(attr.tp());
  case Attribute::FLOATS:
    return list("[", attr.floats(), "]", [&](float f) { writeFloat(f, os); });
  case Attribute::INTS:
    return list("[", attr.ints(), "]", [&](int64_t i) { os << i; });
  case Attribute::STRINGS:
    return list("[", attr.strings(), "]", [&](const std::string &s) { writeQuoted(s, os); });
  case Attribute::TENSORS:
    return list("[", attr.tensors(), "]", [&](const onnx::Tensor &t) { tensor(t, false); });
  case Attribute::GRAPHS:
    return list("[", attr.graphs(), "]", [&](const onnx::Graph &g) { graph(g); });
  case Attribute::TYPE_PROTOS:
    return list("[", attr.type_protos(), "]", [&](const onnx::Type &t) { type(t); });
  case Attribute::SPARSE_TENSOR:
  case Attribute::SPARSE_TENSORS:
  case Attribute::UNDEFINED:
    return;
  }
}

void Writer::attribute(const Attribute &attr) {
  Attribute::Kind kind = effectiveKind(attr);
  id(attr.name());
  if (StringRef name = attributeKindName(kind); !name.empty())
    os << ": " << name;
  os << " = ";
  if (!attr.ref_attr_name().empty()) {
    os << "@";
    id(attr.ref_attr_name());
    return;
  }
  attributeValue(attr, kind);
}

void Writer::node(const onnx::Node &node) {
  os.indent(indent);
  if (node.has_name()) {
    os << "[";
    id(node.name());
    os << "] ";
  }
  ids("", node.output(), "");
  os << (node.output_size() ? " = " : "= ");
  // A dot separates, so every part of a domain is an identifier of its own.
  if (!node.domain().empty()) {
    if (isQualified(node.domain()))
      os << node.domain();
    else
      writeQuoted(node.domain(), os);
    os << ".";
  }
  id(node.op_type());
  if (!node.overload().empty()) {
    os << ":";
    id(node.overload());
  }
  std::vector<const Attribute *> written;
  bool nested = false;
  for (const Attribute &attr : node.attribute())
    if (!attr.ref_attr_name().empty() || hasForm(effectiveKind(attr))) {
      written.push_back(&attr);
      nested |= attr.has_g() || attr.graphs_size();
    }
  auto attributes = [&] {
    if (!written.empty())
      list(" <", written, ">", [&](const Attribute *a) { attribute(*a); });
  };
  // Graphs read better behind the operands.
  if (!nested)
    attributes();
  ids(" (", node.input(), ")");
  if (nested)
    attributes();
  os << "\n";
}

void Writer::nodes(const NodeList &nodes) {
  os << "{\n";
  indent += 2;
  for (const onnx::Node &one : nodes)
    node(one);
  indent -= 2;
  os.indent(indent) << "}";
}

void Writer::graph(const onnx::Graph &graph) {
  guardedId(graph.name());
  auto infos = [&](const auto &values) {
    list("(", values, ")", [&](const onnx::ValueInfo &v) { valueInfo(v); });
  };
  os << " ";
  infos(graph.input());
  os << " => ";
  infos(graph.output());
  os << " ";
  if (graph.initializer_size() || graph.value_info_size()) {
    const char *separator = "<";
    for (const onnx::Tensor &one : graph.initializer()) {
      os << separator << "\n";
      os.indent(indent + 2);
      tensor(one, /*initializer=*/true);
      separator = ",";
    }
    for (const onnx::ValueInfo &one : graph.value_info()) {
      os << separator << "\n";
      os.indent(indent + 2);
      valueInfo(one);
      separator = ",";
    }
    os << "\n";
    os.indent(indent) << "> ";
  }
  nodes(graph.node());
}

void Writer::function(const onnx::Function &function) {
  text("domain", function.has_domain(), function.domain());
  text("overload", !function.overload().empty(), function.overload());
  if (function.opset_import_size()) {
    key("opset_import");
    opsets(function.opset_import());
  }
  text("doc_string", function.has_doc_string(), function.doc_string());
  endKeys();
  id(function.name());
  os << " ";
  if (function.attribute_size() || function.attribute_proto_size()) {
    ids("<", function.attribute(), "");
    const char *separator = function.attribute_size() ? ", " : "";
    for (const Attribute &attr : function.attribute_proto()) {
      if (!hasForm(effectiveKind(attr)))
        continue;
      os << separator;
      attribute(attr);
      separator = ", ";
    }
    os << "> ";
  }
  auto names = [&](const auto &range) {
    list("(", range, ")", [&](const std::string &name) { guardedId(name); });
  };
  names(function.input());
  os << " => ";
  names(function.output());
  os << " ";
  if (function.value_info_size())
    list("<", function.value_info(), "> ", [&](const onnx::ValueInfo &info) { valueInfo(info); });
  nodes(function.node());
  os << "\n";
}

void Writer::training(const onnx::TrainingInfo &training) {
  os << "@training_info\n";
  auto bindings = [&](StringRef name, const EntryList &pairs) {
    if (pairs.empty())
      return;
    key(name);
    entries(pairs);
  };
  bindings("initialization_binding", training.initialization_binding());
  bindings("update_binding", training.update_binding());
  endKeys();
  auto part = [&](StringRef name, bool present, const onnx::Graph &one) {
    if (!present)
      return;
    os << "@" << name << " ";
    graph(one);
    os << "\n";
  };
  part("initialization", training.has_initialization(), training.initialization());
  part("algorithm", training.has_algorithm(), training.algorithm());
}

} // namespace

Error writeText(const onnx::Model &model, raw_ostream &os) {
  Writer writer(os);
  writer.model(model);
  if (!writer.fault.empty())
    return createStringError(inconvertibleErrorCode(), writer.fault);
  return Error::success();
}

} // namespace weft::text
