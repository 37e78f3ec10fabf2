// Walks a model by reflection and counts fields that have no textual form.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/text/Omissions.h"

#include "python_free_frontend/text/Words.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <map>

using namespace llvm;
namespace pb = google::protobuf;

namespace weft::text {
namespace {

/// The fields of each message that the writer writes. A message that is not
/// listed has no form at all.
const std::map<std::string, std::vector<StringRef>> &expressible() {
  static const std::map<std::string, std::vector<StringRef>> table = {
      {"Model",
       {"ir_version", "producer_name", "producer_version", "domain", "model_version", "doc_string",
        "graph", "opset_import", "metadata_props", "functions", "training_info"}},
      {"TrainingInfo", {"initialization", "algorithm", "initialization_binding", "update_binding"}},
      {"OperatorSetId", {"domain", "version"}},
      {"StringStringEntry", {"key", "value"}},
      {"Graph", {"node", "name", "initializer", "input", "output", "value_info"}},
      {"Node", {"input", "output", "name", "op_type", "attribute", "domain", "overload"}},
      {"Attribute",
       {"name", "f", "i", "s", "t", "g", "floats", "ints", "strings", "tensors", "graphs", "tp",
        "type_protos", "type", "ref_attr_name"}},
      {"ValueInfo", {"name", "type"}},
      {"Tensor",
       {"dims", "data_type", "float_data", "int32_data", "string_data", "int64_data", "name",
        "raw_data", "double_data", "uint64_data", "external_data", "data_location"}},
      {"TensorShape", {"dim"}},
      {"Dimension", {"dim_value", "dim_param"}},
      {"Type",
       {"tensor_type", "sequence_type", "map_type", "opaque_type", "sparse_tensor_type",
        "optional_type"}},
      {"TensorType", {"elem_type", "shape"}},
      {"SequenceType", {"elem_type"}},
      {"MapType", {"key_type", "value_type"}},
      {"OptionalType", {"elem_type"}},
      {"SparseTensorType", {"elem_type", "shape"}},
      {"OpaqueType", {"domain", "name"}},
      {"Function",
       {"name", "input", "output", "attribute", "node", "doc_string", "opset_import", "domain",
        "attribute_proto", "value_info", "overload"}},
  };
  return table;
}

class Walker {
public:
  void walk(const pb::Message &message, const std::string &place) {
    const pb::Reflection &look = *message.GetReflection();
    const std::string &kind = message.GetDescriptor()->name();
    if (!look.GetUnknownFields(message).empty())
      note("fields that are newer than our schema", kind, place);
    std::vector<const pb::FieldDescriptor *> fields;
    look.ListFields(message, &fields);
    auto known = expressible().find(kind);
    if (const auto *attr = dynamic_cast<const onnx::Attribute *>(&message))
      stray(*attr, fields, place);
    for (const pb::FieldDescriptor *field : fields) {
      bool written = known != expressible().end() && is_contained(known->second, field->name());
      if (!written) {
        note("'" + field->name() + "'", kind, place);
        continue;
      }
      if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE)
        continue;
      int count = field->is_repeated() ? look.FieldSize(message, field) : 1;
      for (int i = 0; i < count; ++i) {
        const pb::Message &part = field->is_repeated() ? look.GetRepeatedMessage(message, field, i)
                                                       : look.GetMessage(message, field);
        walk(part, nameOf(part, place));
      }
    }
  }

  std::vector<std::string> take() const {
    std::vector<std::string> sentences;
    for (const auto &[what, tally] : omissions)
      sentences.push_back(what + ": not expressible in the text syntax, left out of " +
                          std::to_string(tally.count) + " place" + (tally.count == 1 ? "" : "s") +
                          ", first at " + tally.first);
    return sentences;
  }

private:
  struct Tally {
    int64_t count = 0;
    std::string first;
  };

  void note(const std::string &what, const std::string &kind, const std::string &place) {
    Tally &tally = omissions[what + " of " + kind];
    if (!tally.count++)
      tally.first = place;
  }

  /// An attribute is written by its kind; whatever else it holds is not.
  void stray(const onnx::Attribute &attr, const std::vector<const pb::FieldDescriptor *> &fields,
             const std::string &place) {
    static const std::map<onnx::Attribute::Kind, StringRef> payloads = {
        {onnx::Attribute::FLOAT, "f"},         {onnx::Attribute::INT, "i"},
        {onnx::Attribute::STRING, "s"},        {onnx::Attribute::TENSOR, "t"},
        {onnx::Attribute::GRAPH, "g"},         {onnx::Attribute::FLOATS, "floats"},
        {onnx::Attribute::INTS, "ints"},       {onnx::Attribute::STRINGS, "strings"},
        {onnx::Attribute::TENSORS, "tensors"}, {onnx::Attribute::GRAPHS, "graphs"},
        {onnx::Attribute::TYPE_PROTO, "tp"},   {onnx::Attribute::TYPE_PROTOS, "type_protos"}};
    auto kind = effectiveKind(attr);
    bool reference = !attr.ref_attr_name().empty();
    if (kind == onnx::Attribute::UNDEFINED && !reference)
      note("a value that is missing", "Attribute", place);
    for (const pb::FieldDescriptor *field : fields)
      for (const auto &[owner, payload] : payloads)
        if (payload == field->name() && (owner != kind || reference))
          note("'" + field->name() + "' beside the value", "Attribute", place);
  }

  /// The name by which a user finds a part: its own, else that around it.
  static std::string nameOf(const pb::Message &part, const std::string &place) {
    const std::string &kind = part.GetDescriptor()->name();
    if (const auto *node = dynamic_cast<const onnx::Node *>(&part))
      return "node '" +
             (node->name().empty() && node->output_size() ? node->output(0) : node->name()) + "'";
    const pb::FieldDescriptor *name = part.GetDescriptor()->FindFieldByName("name");
    if (!name || !part.GetReflection()->HasField(part, name))
      return place;
    return StringRef(kind).lower() + " '" + part.GetReflection()->GetString(part, name) + "'";
  }

  // Ordered, so that the same model gives the same warnings.
  std::map<std::string, Tally> omissions;
};

} // namespace

std::vector<std::string> findOmissions(const onnx::Model &model) {
  Walker walker;
  walker.walk(model, "the model");
  return walker.take();
}

} // namespace weft::text
