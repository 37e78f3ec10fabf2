// Graphs, nodes, attributes and functions from text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/text/TextReader.h"

#include "python_free_frontend/text/TypeReader.h"
#include "python_free_frontend/text/Words.h"

using namespace llvm;
using weft::onnx::Attribute;

namespace weft::text {
namespace {

template <typename T> using Repeated = google::protobuf::RepeatedPtrField<T>;

class Reader {
public:
  Reader(StringRef text, StringRef fileName) : cursor(text, fileName) {}

  bool model(onnx::Model &model);
  const std::string &fault() const { return cursor.fault(); }

private:
  bool keys(function_ref<bool(StringRef key, size_t where)> read);
  bool opsets(Repeated<onnx::OperatorSetId> &imports);
  bool valueInfo(onnx::ValueInfo &info, onnx::Type &type, size_t &where);
  bool valueList(Repeated<onnx::ValueInfo> &values, onnx::Graph *graph, char close);
  bool names(Repeated<std::string> &names, char close);
  bool functionNames(Repeated<std::string> &names, Repeated<onnx::ValueInfo> &infos);
  bool graph(onnx::Graph &graph, unsigned depth);
  bool nodes(Repeated<onnx::Node> &nodes, unsigned depth);
  bool node(onnx::Node &node, unsigned depth);
  bool attributes(Repeated<Attribute> &attrs, unsigned depth);
  bool attribute(Attribute &attr, unsigned depth);
  bool attributeValue(Attribute &attr, Attribute::Kind wanted, unsigned depth);
  bool function(onnx::Function &function);
  bool training(onnx::TrainingInfo &training);

  TextCursor cursor;
};

bool Reader::keys(function_ref<bool(StringRef, size_t)> read) {
  if (!cursor.take('<'))
    return true;
  do {
    size_t where = cursor.place();
    std::string key;
    if (!cursor.word(key, "a key") || !cursor.expect(':', "after the key") || !read(key, where))
      return false;
  } while (cursor.take(','));
  return cursor.expect('>', "after the keys");
}

bool Reader::opsets(Repeated<onnx::OperatorSetId> &imports) {
  if (!cursor.expect('[', "before the operator sets"))
    return false;
  if (cursor.take(']'))
    return true;
  do {
    onnx::OperatorSetId &import = *imports.Add();
    int64_t version;
    if (!cursor.quoted(*import.mutable_domain(), "a domain") ||
        !cursor.expect(':', "after the domain") || !cursor.integer(version, "a version"))
      return false;
    import.set_version(version);
  } while (cursor.take(','));
  return cursor.expect(']', "after the operator sets");
}

/// A name with an optional type before it.
bool Reader::valueInfo(onnx::ValueInfo &info, onnx::Type &type, size_t &where) {
  where = cursor.place();
  if (typeFollows(cursor)) {
    if (!readType(cursor, type, 0))
      return false;
    *info.mutable_type() = type;
  }
  return cursor.name(*info.mutable_name(), "a type or the name of a value");
}

/// Values up to `close`. With a graph, a value may have data: in the list of
/// inputs it is an input with a default, in that of values an initializer.
bool Reader::valueList(Repeated<onnx::ValueInfo> &values, onnx::Graph *graph, char close) {
  if (cursor.take(close))
    return true;
  do {
    onnx::ValueInfo info;
    onnx::Type type;
    size_t where;
    if (!valueInfo(info, type, where))
      return false;
    bool initialised = graph && cursor.take('=');
    if (initialised) {
      onnx::Tensor &tensor = *graph->add_initializer();
      tensor.set_name(info.name());
      if (!readTensorData(cursor, type, where, tensor))
        return false;
    }
    if (!initialised || close == ')')
      *values.Add() = std::move(info);
  } while (cursor.take(','));
  return cursor.expect(close, "after the list of values");
}

/// Operands or results: an absent one is "" or nothing before a comma.
bool Reader::names(Repeated<std::string> &names, char close) {
  while (cursor.peek() != close) {
    if (cursor.peek() == ',')
      names.Add();
    else if (!cursor.name(*names.Add(), "the name of a value"))
      return false;
    if (!cursor.take(','))
      break;
  }
  return true;
}

bool Reader::functionNames(Repeated<std::string> &names, Repeated<onnx::ValueInfo> &infos) {
  if (!cursor.expect('(', "before the parameters of a function"))
    return false;
  if (cursor.take(')'))
    return true;
  do {
    onnx::ValueInfo info;
    onnx::Type type;
    size_t where;
    if (!valueInfo(info, type, where))
      return false;
    *names.Add() = info.name();
    if (info.has_type())
      *infos.Add() = std::move(info);
  } while (cursor.take(','));
  return cursor.expect(')', "after the parameters of a function");
}

bool Reader::graph(onnx::Graph &graph, unsigned depth) {
  if (depth > kDeepest)
    return cursor.fail("graphs nest deeper than " + Twine(kDeepest) + " levels");
  if (!cursor.name(*graph.mutable_name(), "the name of a graph") ||
      !cursor.expect('(', "before the inputs of graph '" + graph.name() + "'"))
    return false;
  if (!valueList(*graph.mutable_input(), &graph, ')') || !cursor.expectArrow() ||
      !cursor.expect('(', "before the outputs of graph '" + graph.name() + "'") ||
      !valueList(*graph.mutable_output(), nullptr, ')'))
    return false;
  if (cursor.take('<') && !valueList(*graph.mutable_value_info(), &graph, '>'))
    return false;
  return nodes(*graph.mutable_node(), depth);
}

bool Reader::nodes(Repeated<onnx::Node> &nodes, unsigned depth) {
  if (!cursor.expect('{', "before the nodes"))
    return false;
  while (!cursor.take('}')) {
    if (cursor.atEnd())
      return cursor.fail("expected a node or '}' after the nodes, found the "
                         "end of the text");
    if (!node(*nodes.Add(), depth))
      return false;
  }
  return true;
}

bool Reader::node(onnx::Node &node, unsigned depth) {
  if (cursor.take('[') && (!cursor.name(*node.mutable_name(), "the name of a node") ||
                           !cursor.expect(']', "after the name of a node")))
    return false;
  if (!names(*node.mutable_output(), '=') || !cursor.expect('=', "after the results of a node"))
    return false;
  std::string part, domain;
  if (!cursor.name(part, "an operator"))
    return false;
  while (cursor.take('.')) {
    domain += (domain.empty() ? "" : ".") + part;
    if (!cursor.name(part, "an operator after '.'"))
      return false;
  }
  if (!domain.empty())
    node.set_domain(domain);
  node.set_op_type(part);
  if (cursor.take(':') && !cursor.name(*node.mutable_overload(), "an overload after ':'"))
    return false;
  if (!attributes(*node.mutable_attribute(), depth) ||
      !cursor.expect('(', "before the operands of '" + part + "'") ||
      !names(*node.mutable_input(), ')') ||
      !cursor.expect(')', "after the operands of '" + part + "'"))
    return false;
  if (node.attribute_size())
    return true;
  return attributes(*node.mutable_attribute(), depth);
}

bool Reader::attributes(Repeated<Attribute> &attrs, unsigned depth) {
  if (!cursor.take('<'))
    return true;
  do {
    if (!attribute(*attrs.Add(), depth))
      return false;
  } while (cursor.take(','));
  return cursor.expect('>', "after the attributes");
}

/// Moves the value of `from` behind those of `to`, as its element.
void appendElement(Attribute &to, Attribute &from) {
  switch (from.type()) {
  case Attribute::FLOAT:
    to.set_type(Attribute::FLOATS);
    to.add_floats(from.f());
    return;
  case Attribute::INT:
    to.set_type(Attribute::INTS);
    to.add_ints(from.i());
    return;
  case Attribute::STRING:
    to.set_type(Attribute::STRINGS);
    to.add_strings(from.s());
    return;
  case Attribute::TENSOR:
    to.set_type(Attribute::TENSORS);
    to.add_tensors()->Swap(from.mutable_t());
    return;
  case Attribute::GRAPH:
    to.set_type(Attribute::GRAPHS);
    to.add_graphs()->Swap(from.mutable_g());
    return;
  case Attribute::TYPE_PROTO:
    to.set_type(Attribute::TYPE_PROTOS);
    to.add_type_protos()->Swap(from.mutable_tp());
    return;
  default:
    llvm_unreachable("a value has one of the kinds above");
  }
}

bool Reader::attribute(Attribute &attr, unsigned depth) {
  if (!cursor.name(*attr.mutable_name(), "the name of an attribute"))
    return false;
  auto declared = Attribute::UNDEFINED;
  if (cursor.take(':')) {
    size_t where = cursor.place();
    std::string word;
    if (!cursor.word(word, "the type of attribute '" + attr.name() + "'"))
      return false;
    auto kind = attributeKindOf(word);
    if (!kind)
      return cursor.fail(
          "'" + word + "' is not an attribute type; types are " + attributeKindNames(), where);
    declared = *kind;
    attr.set_type(declared);
  }
  if (!cursor.expect('=', "after attribute '" + attr.name() + "'"))
    return false;
  if (cursor.take('@'))
    return cursor.name(*attr.mutable_ref_attr_name(), "a name after '@'");
  size_t where = cursor.place();
  if (!cursor.take('[')) {
    if (declared != Attribute::UNDEFINED && isListKind(declared))
      return cursor.fail("attribute '" + attr.name() + "' of type " + attributeKindName(declared) +
                         " needs a list, [...]");
    return attributeValue(attr, declared, depth);
  }
  if (declared != Attribute::UNDEFINED && !isListKind(declared))
    return cursor.fail("attribute '" + attr.name() + "' of type " + attributeKindName(declared) +
                           " is not a list",
                       where);
  if (cursor.take(']'))
    return declared != Attribute::UNDEFINED ||
           cursor.fail("an empty list needs the type of its attribute, as in " + attr.name() +
                           ": ints = []",
                       where);
  auto wanted = elementKind(declared);
  do {
    Attribute element;
    if (!attributeValue(element, wanted, depth))
      return false;
    // The first element tells the kind of the others.
    wanted = element.type();
    appendElement(attr, element);
  } while (cursor.take(','));
  return cursor.expect(']', "after the list of attribute '" + attr.name() + "'");
}

/// One value of kind `wanted`, or of the kind it looks like.
bool Reader::attributeValue(Attribute &attr, Attribute::Kind wanted, unsigned depth) {
  size_t where = cursor.place();
  auto settle = [&](Attribute::Kind found) {
    attr.set_type(found);
    if (wanted == Attribute::UNDEFINED || wanted == found)
      return true;
    return cursor.fail("expected a value of type " + attributeKindName(wanted) +
                           ", found one of type " + attributeKindName(found),
                       where);
  };
  StringRef word = cursor.peekWord();
  bool isName = !word.empty() && !isFloatWord(word);
  if (wanted == Attribute::GRAPH || (isName && !isTypeWord(word))) {
    attr.set_type(Attribute::GRAPH);
    return settle(Attribute::GRAPH) && graph(*attr.mutable_g(), depth + 1);
  }
  if (isName) {
    onnx::Type type;
    if (!readType(cursor, type, 0))
      return false;
    char next = cursor.peek();
    bool hasData =
        next == '{' || next == '=' || next == '"' || next == '[' || !cursor.peekWord().empty();
    if (!hasData) {
      *attr.mutable_tp() = std::move(type);
      return settle(Attribute::TYPE_PROTO);
    }
    onnx::Tensor &tensor = *attr.mutable_t();
    if ((next == '"' || !cursor.peekWord().empty()) &&
        !cursor.name(*tensor.mutable_name(), "the name of a tensor"))
      return false;
    cursor.take('=');
    return settle(Attribute::TENSOR) && readTensorData(cursor, type, where, tensor);
  }
  if (cursor.peek() == '"')
    return cursor.quoted(*attr.mutable_s(), "a string") && settle(Attribute::STRING);
  StringRef digits;
  bool isFloat;
  if (!cursor.number(digits, isFloat, "the value of an attribute"))
    return false;
  cursor.moveTo(where);
  if (isFloat || wanted == Attribute::FLOAT) {
    float value;
    if (!cursor.real(value, "a number"))
      return false;
    attr.set_f(value);
    return settle(Attribute::FLOAT);
  }
  int64_t value;
  if (!cursor.integer(value, "a whole number"))
    return false;
  attr.set_i(value);
  return settle(Attribute::INT);
}

bool Reader::function(onnx::Function &function) {
  bool read = keys([&](StringRef key, size_t where) {
    if (key == "opset_import")
      return opsets(*function.mutable_opset_import());
    if (key == "doc_string")
      return cursor.quoted(*function.mutable_doc_string(), "documentation");
    if (key == "domain")
      return cursor.quoted(*function.mutable_domain(), "a domain");
    if (key == "overload")
      return cursor.quoted(*function.mutable_overload(), "an overload");
    return cursor.fail("unknown key '" + key +
                           "' of a function; keys are domain, overload, "
                           "opset_import, doc_string",
                       where);
  });
  if (!read || !cursor.name(*function.mutable_name(), "a function's name"))
    return false;
  if (cursor.take('<')) {
    do {
      size_t where = cursor.place();
      std::string name;
      if (!cursor.name(name, "the name of an attribute"))
        return false;
      char next = cursor.peek();
      if (next != ':' && next != '=') {
        function.add_attribute(name);
        continue;
      }
      cursor.moveTo(where);
      if (!attribute(*function.add_attribute_proto(), 0))
        return false;
    } while (cursor.take(','));
    if (!cursor.expect('>', "after the attributes of a function"))
      return false;
  }
  auto &infos = *function.mutable_value_info();
  if (!functionNames(*function.mutable_input(), infos) || !cursor.expectArrow() ||
      !functionNames(*function.mutable_output(), infos))
    return false;
  if (cursor.take('<') && !valueList(infos, nullptr, '>'))
    return false;
  return nodes(*function.mutable_node(), 0);
}

/// The part of the file format that the standard's syntax leaves out:
/// `@training_info <bindings> @initialization GRAPH @algorithm GRAPH`, either
/// graph optional.
bool Reader::training(onnx::TrainingInfo &training) {
  bool read = keys([&](StringRef key, size_t where) {
    bool initializes = key == "initialization_binding";
    if (!initializes && key != "update_binding")
      return cursor.fail("unknown key '" + key +
                             "' of @training_info; keys are "
                             "initialization_binding, update_binding",
                         where);
    return cursor.expect('[', "before the bindings") &&
           readEntries(cursor, initializes ? *training.mutable_initialization_binding()
                                           : *training.mutable_update_binding());
  });
  while (read && cursor.peek() == '@') {
    size_t where = cursor.place();
    cursor.take('@');
    std::string part;
    if (!cursor.word(part, "a part of @training_info"))
      return false;
    if (part == "initialization" && !training.has_initialization() && !training.has_algorithm()) {
      read = graph(*training.mutable_initialization(), 0);
    } else if (part == "algorithm" && !training.has_algorithm()) {
      read = graph(*training.mutable_algorithm(), 0);
    } else {
      cursor.moveTo(where);
      return true; // what follows is not a part of this one
    }
  }
  return read;
}

bool Reader::model(onnx::Model &model) {
  bool read = keys([&](StringRef key, size_t where) {
    int64_t number;
    auto set = [&](void (onnx::Model::*setter)(int64_t)) {
      if (!cursor.integer(number, "a version"))
        return false;
      (model.*setter)(number);
      return true;
    };
    if (key == "ir_version")
      return set(&onnx::Model::set_ir_version);
    if (key == "model_version")
      return set(&onnx::Model::set_model_version);
    if (key == "opset_import")
      return opsets(*model.mutable_opset_import());
    if (key == "producer_name")
      return cursor.quoted(*model.mutable_producer_name(), "a name");
    if (key == "producer_version")
      return cursor.quoted(*model.mutable_producer_version(), "a version");
    if (key == "domain")
      return cursor.quoted(*model.mutable_domain(), "a domain");
    if (key == "doc_string")
      return cursor.quoted(*model.mutable_doc_string(), "documentation");
    if (key == "metadata_props")
      return cursor.expect('[', "before the metadata") &&
             readEntries(cursor, *model.mutable_metadata_props());
    return cursor.fail("unknown key '" + key +
                           "' of a model; keys are ir_version, opset_import, producer_name, "
                           "producer_version, domain, model_version, doc_string, "
                           "metadata_props",
                       where);
  });
  if (!read || !graph(*model.mutable_graph(), 0))
    return false;
  while (!cursor.atEnd()) {
    if (!cursor.take('@')) {
      if (!function(*model.add_functions()))
        return false;
      continue;
    }
    size_t where = cursor.place();
    std::string part;
    if (!cursor.word(part, "training_info after '@'"))
      return false;
    if (part != "training_info")
      return cursor.fail("'@" + part +
                             "' is not a part of a model; '@training_info' is, "
                             "with '@initialization' and '@algorithm', in "
                             "this order",
                         where);
    if (!training(*model.add_training_info()))
      return false;
  }
  return true;
}

} // namespace

Expected<onnx::Model> readText(StringRef text, StringRef fileName) {
  Reader reader(text, fileName);
  onnx::Model model;
  if (reader.model(model))
    return std::move(model);
  return createStringError(inconvertibleErrorCode(), reader.fault());
}

} // namespace weft::text
