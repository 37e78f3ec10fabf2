// Forms, losses and faults of the ONNX text syntax.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/Builders.h"
#include "python_free_frontend/text/Omissions.h"
#include "python_free_frontend/text/TextReader.h"
#include "python_free_frontend/text/TextWriter.h"

#include "gtest/gtest.h"
#include <cstring>
#include <google/protobuf/util/message_differencer.h>
#include <random>

using namespace weft;
using namespace weft::text;

namespace {

std::string textOf(const onnx::Model &model) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (llvm::Error error = writeText(model, os))
    return llvm::toString(std::move(error));
  return text;
}

std::string faultOf(llvm::StringRef text) {
  llvm::Expected<onnx::Model> model = readText(text, "t");
  return model ? "" : llvm::toString(model.takeError());
}

onnx::Model mustRead(llvm::StringRef text) {
  llvm::Expected<onnx::Model> model = readText(text, "t");
  if (model)
    return *model;
  ADD_FAILURE() << llvm::toString(model.takeError()) << "\nin\n" << text.str();
  return {};
}

/// Text that the writer writes exactly so.
void expectFixed(const std::string &text) { EXPECT_EQ(textOf(mustRead(text)), text); }

TEST(Text, WritesEveryForm) {
  expectFixed(R"(<
  ir_version: 10,
  opset_import: ["": 21, "d": 1],
  producer_name: "p \"q\" \\",
  doc_string: "two
lines",
  metadata_props: ["k": "v", "l": ""]
>
g (float[batch,"a b",3,?] x, float s, float[] u, seq(int64[]) q, map(string, float) m, optional(sparse_tensor(float[2])) o, opaque(d, t) z) => (double "y/0:1") <
  float[2,2] w = {1, -0, 0.1, 1e-45},
  float n = {inf},
  double[3] d = {-inf, nan, 1e+300},
  int8[2] i = {-128, 127},
  bool[2] b = {0, 1},
  float16[1] h = {15360},
  uint64[1] big = {18446744073709551615},
  int4[3] four = {33, 1},
  complex64[1] c = {1, 2},
  string[2] t = {"a", ""},
  float[1000000] e = ["location": "w.bin", "offset": "4096"],
  float[0] none = {},
  float[batch] value
> {
  ["node 1"] a, "" = d.e.Op:over <f: float = 1, i: int = 1, s: string = "x", t: tensor = float[1] name {2}, fs: floats = [1, 2.5], is: ints = [], ss: strings = ["a"], tp: type_proto = seq(float), ts: tensors = [float {1}, int64[1] {2}], r: int = @outer> (x, "", s)
  "y/0:1" = If (a) <then_branch: graph = then () => (float t) {
    t = Id (a)
  }, gs: graphs = [one () => () {
  }]>
  = Nothing ()
}
<
  domain: "d",
  overload: "o",
  opset_import: ["": 21]
>
f <a, b: int = 5> (x, y) => (z) <float[2] x, int64[] z> {
  z = Add (x, y)
}
@training_info
<
  initialization_binding: ["w": "w0"],
  update_binding: ["w": "w1", "t": "t1"]
>
@initialization start () => (float[2] w0) {
  w0 = ConstantOfShape (two)
}
@algorithm step (float[2] target) => (float[2] w1, int64 t1) <
  int64 t = {0}
> {
  t1 = Inc (t)
}
@training_info
@algorithm "" () => () {
}
@training_info
)");
}

TEST(Text, ReadsWhatTheStandardWritesOtherwise) {
  onnx::Model model = mustRead(R"(
    # a comment
    <ir_version: 7, opset_import: ["" : 10]>
    agraph (float[N, 128] X, float[2] bias = {1.0, 2}) => (float[N,10] C)
    {
      T = MatMul(X, W)   # another
      C, = Foo(,T,) <alpha = 1.5, axes = [1, 2], name = "n", k = 3>
      D = Constant <value = float[2] {1, 2}> ()
    })");
  const onnx::Graph &graph = model.graph();
  EXPECT_EQ(graph.input_size(), 2);
  ASSERT_EQ(graph.initializer_size(), 1);
  EXPECT_EQ(graph.initializer(0).name(), "bias");
  const onnx::Node &foo = graph.node(1);
  EXPECT_EQ(foo.output_size(), 1);
  ASSERT_EQ(foo.input_size(), 2);
  EXPECT_EQ(foo.input(0), "");
  EXPECT_EQ(foo.attribute(0).type(), onnx::Attribute::FLOAT);
  EXPECT_EQ(foo.attribute(1).type(), onnx::Attribute::INTS);
  EXPECT_EQ(foo.attribute(3).type(), onnx::Attribute::INT);
  EXPECT_EQ(graph.node(2).attribute(0).type(), onnx::Attribute::TENSOR);
}

TEST(Text, QuotesWhatWouldReadAsAType) {
  onnx::Model model;
  model.mutable_graph()->set_name("float");
  model.mutable_graph()->add_input()->set_name("seq");
  auto *function = model.add_functions();
  function->set_name("f");
  function->add_input("int64");
  onnx::Model back = mustRead(textOf(model));
  EXPECT_EQ(back.graph().name(), "float");
  EXPECT_EQ(back.graph().input(0).name(), "seq");
  EXPECT_EQ(back.functions(0).input(0), "int64");
}

TEST(Text, KeepsEveryFloatBit) {
  std::mt19937_64 random(7);
  onnx::Model model;
  model.mutable_graph()->set_name("g");
  auto *floats = model.mutable_graph()->add_initializer();
  auto *doubles = model.mutable_graph()->add_initializer();
  floats->set_name("f");
  floats->set_data_type(onnx::Tensor::FLOAT);
  doubles->set_name("d");
  doubles->set_data_type(onnx::Tensor::DOUBLE);
  int count = 0;
  for (int i = 0; i < 20000; ++i) {
    uint64_t bits = random();
    float f;
    double d;
    std::memcpy(&f, &bits, sizeof(f));
    std::memcpy(&d, &bits, sizeof(d));
    if (f != f || d != d)
      continue; // payloads of NaN are not kept
    ++count;
    floats->add_float_data(f);
    doubles->add_double_data(d);
  }
  floats->add_dims(count);
  doubles->add_dims(count);
  onnx::Model back = mustRead(textOf(model));
  EXPECT_EQ(back.SerializeAsString(), model.SerializeAsString());
}

TEST(Text, ReportsWhatItCannotSay) {
  onnx::Model model;
  onnx::Graph &graph = *model.mutable_graph();
  graph.set_name("g");
  for (const char *name : {"a", "b"}) {
    onnx::Node &node = *graph.add_node();
    node.set_name(name);
    node.set_op_type("Relu");
    node.set_doc_string("words");
  }
  graph.mutable_node(1)->add_device_configurations()->set_pipeline_stage(1);
  graph.add_sparse_initializer();
  model.GetReflection()->MutableUnknownFields(&model)->AddVarint(1000, 1);
  EXPECT_EQ(findOmissions(model),
            (std::vector<std::string>{
                "'device_configurations' of Node: not expressible in the text "
                "syntax, left out of 1 place, first at node 'b'",
                "'doc_string' of Node: not expressible in the text syntax, left out "
                "of 2 places, first at node 'a'",
                "'sparse_initializer' of Graph: not expressible in the text syntax, "
                "left out of 1 place, first at graph 'g'",
                "fields that are newer than our schema of Model: not expressible in "
                "the text syntax, left out of 1 place, first at the model"}));
  EXPECT_TRUE(findOmissions(mustRead(textOf(model))).empty());
}

TEST(Text, ReportsValuesBesideTheKind) {
  onnx::Model model;
  onnx::Node &node = *model.mutable_graph()->add_node();
  node.set_name("n");
  onnx::Attribute &attr = *node.add_attribute();
  attr.set_name("a");
  attr.set_type(onnx::Attribute::INT);
  attr.set_i(1);
  attr.set_f(2);
  node.add_attribute()->set_name("b");
  EXPECT_EQ(
      findOmissions(model),
      (std::vector<std::string>{"'f' beside the value of Attribute: not expressible in the "
                                "text syntax, left out of 1 place, first at attribute 'a'",
                                "a value that is missing of Attribute: not expressible in the "
                                "text syntax, left out of 1 place, first at attribute 'b'"}));
}

TEST(Text, RefusesTypesThatSayNothing) {
  onnx::Model model;
  onnx::ValueInfo &input = *model.mutable_graph()->add_input();
  input.mutable_type()->mutable_sequence_type();
  EXPECT_NE(textOf(model).find("a type says neither"), std::string::npos);
  input.mutable_type()->mutable_tensor_type()->set_elem_type(99);
  EXPECT_NE(textOf(model).find("data type 99 is not known"), std::string::npos);
  input.mutable_type()->mutable_opaque_type()->set_name("a b");
  EXPECT_NE(textOf(model).find("is not made of identifiers"), std::string::npos);
}

TEST(Text, RefusesDamagedTensors) {
  onnx::Model model;
  auto *tensor = model.mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(onnx::Tensor::FLOAT);
  tensor->add_dims(2);
  tensor->set_raw_data("1234567");
  EXPECT_EQ(textOf(model), "tensor 'w' has raw_data of 7 bytes, which does not fit its "
                           "dimensions (2 are needed); the model is damaged");
}

TEST(Text, NamesPlaceAndRemedy) {
  const std::pair<const char *, const char *> cases[] = {
      {"", "t:1:1: expected the name of a graph, found the end of the "
           "text"},
      {"g (x) => (y) {\n  y = Add(x,\n}", "t:3:1: expected the name of a value, found '}'"},
      {"g () () {}", "t:1:6: expected '=>' between inputs and outputs, found '('"},
      {"<ir_verson: 3> g () => () {}",
       "t:1:2: unknown key 'ir_verson' of a model; keys are ir_version, "
       "opset_import, producer_name, producer_version, domain, model_version, "
       "doc_string, metadata_props"},
      {"g () => () <float[2] w = {1}> {}", "t:1:13: the dimensions ask for 2 values, found 1"},
      {"g () => () <float[N] w = {1}> {}",
       "t:1:13: a value needs dimensions that are numbers from 0 on"},
      {"g () => () <float[] w = {1}> {}",
       "t:1:13: a value needs its dimensions, as in float[2, 3]; a "
       "scalar has none, as in float"},
      {"g () => () <uint8[1] w = {256}> {}", "t:1:27: 256 does not fit in uint8, [0, 255]"},
      {"g () => () <float w = {1e50}> {}", "t:1:24: 1e50 is out of the range of float"},
      {"g () => () {a = B<c = []>()}",
       "t:1:23: an empty list needs the type of its attribute, as in c: "
       "ints = []"},
      {"g () => () {a = B<c = [1, \"x\"]>()}",
       "t:1:27: expected a value of type int, found one of type string"},
      {"g () => () {a = B<c: ints = 1>()}",
       "t:1:29: attribute 'c' of type ints needs a list, [...]"},
      {"g () => () {a = B<c: nits = 1>()}",
       "t:1:22: 'nits' is not an attribute type; types are float, int, "
       "string, tensor, graph, sparse_tensor, type_proto, floats, ints, "
       "strings, tensors, graphs, sparse_tensors, type_protos"},
      {"g () => () {\"a = B()}", "t:1:13: this string has no closing quote"},
      {"g (flaot[2] x) => () {}", "t:1:9: expected ')' after the list of values, found '['"},
      {"g () => () {a = B<c = 99999999999999999999>()}",
       "t:1:23: 99999999999999999999 does not fit in a signed 64-bit "
       "integer"},
  };
  for (auto [text, fault] : cases)
    EXPECT_EQ(faultOf(text), fault) << text;
}

TEST(Text, BoundsNesting) {
  std::string types = "g (", graphs;
  for (int i = 0; i < 100000; ++i)
    types += "seq(";
  EXPECT_NE(faultOf(types).find("types nest deeper than 64 levels"), std::string::npos);
  for (int i = 0; i < 100000; ++i)
    graphs += "g () => () {a = B<c = ";
  EXPECT_NE(faultOf(graphs).find("graphs nest deeper than 64 levels"), std::string::npos);
}

TEST(Text, KeepsTheOrderOfTrainingInformation) {
  const std::string graph = "g () => () {\n}\n";
  EXPECT_EQ(faultOf(graph + "@training_info <update: [\"w\": \"v\"]>"),
            "t:3:17: unknown key 'update' of @training_info; keys are "
            "initialization_binding, update_binding");
  EXPECT_EQ(faultOf(graph + "@training_info @algorithm " + graph + "@initialization " + graph),
            "t:5:2: '@initialization' is not a part of a model; "
            "'@training_info' is, with '@initialization' and '@algorithm', in "
            "this order");
}

// Random damage gives an error or a model that can be written again.
TEST(Text, SurvivesDamage) {
  llvm::Expected<builders::ModelSpec> spec =
      builders::parseModelSpec("bert:layers=1,hidden=8,heads=2,vocab=8,seq=4,pooling=mean");
  ASSERT_TRUE(bool(spec));
  builders::GraphBuilder g(*spec);
  buildGraph(g);
  onnx::TrainingInfo &training = *g.model().add_training_info();
  *training.mutable_algorithm() = g.model().graph();
  training.add_update_binding()->set_key("w");
  const std::string sound = textOf(g.model());
  ASSERT_EQ(faultOf(sound), "");
  const char alphabet[] = "(){}[]<>=,:.\"\\@#?-10e \nfloat";
  std::mt19937 random(20261121);
  int refused = 0;
  const int cases = 2000;
  for (int i = 0; i < cases; ++i) {
    std::string text = sound;
    for (unsigned n = 1 + random() % 4; n; --n) {
      size_t at = random() % text.size();
      if (random() % 3 == 0)
        text.erase(at, 1 + random() % 20);
      else
        text[at] = alphabet[random() % (sizeof(alphabet) - 1)];
    }
    llvm::Expected<onnx::Model> model = readText(text, "t");
    if (!model) {
      std::string fault = llvm::toString(model.takeError());
      EXPECT_EQ(fault.rfind("t:", 0), 0u) << fault;
      ++refused;
      continue;
    }
    std::string again = textOf(*model);
    EXPECT_EQ(textOf(mustRead(again)), again);
  }
  EXPECT_GT(refused, cases / 2);
}

} // namespace
