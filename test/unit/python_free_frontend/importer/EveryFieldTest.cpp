// One model that uses every field of the schema survives import and export.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ImportFixture.h"
#include "mlir/Parser/Parser.h"
#include "python_free_frontend/exporter/Exporter.h"
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <set>

using namespace weft::onnx;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// A model in protobuf's text form. What it says is nonsense; that each field
/// occurs is checked below.
static const char *kModel = R"pb(
  ir_version: 11 producer_name: "p" producer_version: "" domain: "d"
  model_version: -3 doc_string: "a\nb\377"
  opset_import { domain: "" version: 17 } opset_import { version: 2 }
  metadata_props { key: "k" value: "v" } metadata_props { key: "k" }
  metadata_props { value: "" }
  configuration { name: "two" num_devices: 2 device: "a" device: "b" }
  graph {
    name: "main" doc_string: "g"
    metadata_props { key: "gm" value: "1" }
    input { name: "x" doc_string: "in" metadata_props { key: "m" value: "n" }
      type { tensor_type { elem_type: 1 shape {
        dim { dim_param: "batch" denotation: "DATA_BATCH" } dim { dim_value: 4 }
        dim { } dim { dim_value: -1 } dim { dim_param: "" } } } denotation: "IMAGE" } }
    input { name: "s" type { sequence_type { elem_type { tensor_type { elem_type: 8 } } } } }
    input { name: "m" type { map_type { key_type: 7 value_type { tensor_type { elem_type: 11 shape { } } } } } }
    input { name: "o" type { optional_type { elem_type { sequence_type { elem_type { tensor_type { elem_type: 9 } } } } } } }
    input { name: "q" type { opaque_type { domain: "od" name: "on" } } }
    input { name: "sp" type { sparse_tensor_type { elem_type: 1 shape { dim { dim_value: 3 } } } } }
    input { name: "untyped" }
    input { name: "empty type" type { } }
    input { name: "odd" type { tensor_type { elem_type: 77 } denotation: "" } }
    input { name: "img" type { tensor_type { elem_type: 1 shape { } } denotation: "IMAGE" } }
    output { name: "y" type { tensor_type { elem_type: 10 } } }
    output { name: "x" }
    value_info { name: "h" type { tensor_type { elem_type: 16 shape { dim { dim_value: 2 } } } } }
    value_info { name: "nobody" doc_string: "" }
    quantization_annotation { tensor_name: "h" quant_parameter_tensor_names { key: "SCALE_TENSOR" value: "w" } }
    initializer { name: "w" dims: 2 data_type: 1 float_data: 1.5 float_data: -0 doc_string: "weights"
      data_location: DEFAULT metadata_props { key: "wm" value: "" } }
    initializer { name: "x" dims: 1 data_type: 1 raw_data: "\000\000\300\177" }
    initializer { name: "i" dims: 3 data_type: 3 int32_data: 1 int32_data: -2 int32_data: 300 }
    initializer { name: "l" dims: 1 data_type: 7 int64_data: -9223372036854775808 }
    initializer { name: "f64" data_type: 11 double_data: 1e300 }
    initializer { name: "u" dims: 1 dims: 2 data_type: 12 uint64_data: 1 uint64_data: 4294967295 }
    initializer { name: "str" dims: 2 data_type: 8 string_data: "" string_data: "\377\"\\" }
    initializer { name: "c" dims: 1 data_type: 14 float_data: 1 float_data: 2 }
    initializer { name: "none" dims: 0 data_type: 1 }
    initializer { dims: 0 data_type: 2 raw_data: "" }
    initializer { name: "ext" dims: 2 data_type: 1 data_location: EXTERNAL
      external_data { key: "location" value: "w.bin" } external_data { key: "offset" value: "4" } }
    sparse_initializer { values { name: "spi" dims: 1 data_type: 1 float_data: 1 }
      indices { dims: 1 data_type: 7 int64_data: 5 } dims: 10 }
    node { input: "x" input: "" input: "w" output: "h" output: "" name: "n0" op_type: "Op" domain: "d"
      overload: "ov" doc_string: "" metadata_props { key: "nm" value: "v" }
      attribute { name: "f" f: 0.1 type: FLOAT doc_string: "doc" }
      attribute { name: "i" i: -5 type: INT } attribute { name: "s" s: "\000\377" type: STRING }
      attribute { name: "t" type: TENSOR t { dims: 1 data_type: 9 raw_data: "\001" } }
      attribute { name: "floats" type: FLOATS floats: 1 floats: nan floats: -inf floats: 1e-45 }
      attribute { name: "ints" type: INTS ints: 1 ints: -1 } attribute { name: "no ints" type: INTS }
      attribute { name: "strings" type: STRINGS strings: "" strings: "b" }
      attribute { name: "tensors" type: TENSORS tensors { data_type: 1 float_data: 2 } tensors { data_type: 7 int64_data: 2 } }
      attribute { name: "st" type: SPARSE_TENSOR sparse_tensor { dims: 4 } }
      attribute { name: "sts" type: SPARSE_TENSORS sparse_tensors { dims: 4 } sparse_tensors { } }
      attribute { name: "tp" type: TYPE_PROTO tp { tensor_type { elem_type: 1 } } }
      attribute { name: "tps" type: TYPE_PROTOS type_protos { tensor_type { elem_type: 1 } } type_protos { } }
      attribute { name: "untyped" i: 3 } attribute { name: "implicit" type: INT } attribute { } 
      attribute { name: "undefined" type: UNDEFINED }
      device_configurations { configuration_id: "two" pipeline_stage: 1
        sharding_spec { tensor_name: "x" device: 0 device: -1 index_to_device_group_map { key: -1 value: 1 value: 2 }
          sharded_dim { axis: -1 simple_sharding { dim_value: 8 num_shards: 2 } simple_sharding { dim_param: "batch" num_shards: 4 } simple_sharding { } } }
        sharding_spec { } }
      device_configurations { } }
    node { input: "h" output: "y" op_type: "If"
      attribute { name: "then_branch" type: GRAPH g { name: "then" output { name: "t" }
        node { input: "h" input: "x" output: "t" op_type: "Add" domain: "ai.onnx" } } }
      attribute { name: "bodies" type: GRAPHS graphs { name: "a" input { name: "k" } output { name: "k" } } graphs { } } }
  }
  training_info {
    initialization { name: "init" node { output: "w0" op_type: "RandomNormal" } output { name: "w0" } }
    algorithm { name: "step" node { input: "w" input: "y" output: "w1" op_type: "Sub" } output { name: "w1" } }
    initialization_binding { key: "w" value: "w0" } update_binding { key: "w" value: "w1" }
  }
  training_info { }
  functions { name: "F" domain: "d" overload: "ov" doc_string: "fd" input: "a" input: "b" output: "c" attribute: "alpha"
    attribute_proto { name: "beta" type: FLOAT f: 2 }
    attribute_proto { name: "body" type: GRAPH g { output { name: "r" } node { op_type: "C" output: "r" } } }
    opset_import { domain: "" version: 17 } metadata_props { key: "fm" value: "" }
    value_info { name: "a" type { tensor_type { elem_type: 1 } } }
    node { input: "a" input: "" output: "c" op_type: "Elu" attribute { name: "alpha" type: FLOAT ref_attr_name: "alpha" } } }
)pb";

/// Collects the names of all fields that occur somewhere in `message`.
static void collect(const Message &message, std::set<std::string> &seen) {
  std::vector<const FieldDescriptor *> fields;
  const auto *reflection = message.GetReflection();
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor *field : fields) {
    seen.insert(field->full_name());
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
      continue;
    if (!field->is_repeated())
      collect(reflection->GetMessage(message, field), seen);
    else
      for (int i = 0, e = reflection->FieldSize(message, field); i < e; ++i)
        collect(reflection->GetRepeatedMessage(message, field, i), seen);
  }
}

/// The names of all fields that the schema has from `type` on.
static void declare(const Descriptor *type, std::set<std::string> &fields,
                    std::set<const Descriptor *> &visited) {
  if (!visited.insert(type).second)
    return;
  for (int i = 0; i < type->field_count(); ++i) {
    fields.insert(type->field(i)->full_name());
    if (type->field(i)->message_type())
      declare(type->field(i)->message_type(), fields, visited);
  }
}

namespace {
class EveryFieldTest : public ImportTest {
protected:
  void SetUp() override {
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(kModel, &model));
    write("w.bin", std::string(16, 'w'));
  }
  void expectSame(mlir::ModuleOp module) {
    Model exported;
    ASSERT_TRUE(succeeded(exportModel(module, exported)));
    EXPECT_EQ(model.DebugString(), exported.DebugString());
    EXPECT_EQ(model.SerializeAsString(), exported.SerializeAsString());
  }
  Model model;
};
} // namespace

TEST_F(EveryFieldTest, TheModelUsesEveryFieldOfTheSchema) {
  std::set<std::string> seen, declared;
  std::set<const Descriptor *> visited;
  collect(model, seen);
  declare(Model::descriptor(), declared, visited);
  for (const std::string &field : declared)
    // Segments are refused: no known writer makes them.
    if (field.find("egment") == std::string::npos)
      EXPECT_TRUE(seen.count(field)) << field;
}

TEST_F(EveryFieldTest, ThroughTheDialect) {
  auto module = import(write("m.onnx", model.SerializeAsString()));
  ASSERT_TRUE(module) << log;
  expectSame(*module);
}

TEST_F(EveryFieldTest, ThroughTheText) {
  auto module = import(write("m.onnx", model.SerializeAsString()));
  ASSERT_TRUE(module) << log;
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  auto parsed = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  ASSERT_TRUE(parsed) << text;
  expectSame(*parsed);
}

TEST_F(EveryFieldTest, FromMemory) {
  llvm::raw_string_ostream stream(log);
  weft::DiagnosticHandler handler(&context, stream);
  auto module = importModel(model, folder + "/m.onnx", &context);
  ASSERT_TRUE(module) << log;
  expectSame(*module);
}
