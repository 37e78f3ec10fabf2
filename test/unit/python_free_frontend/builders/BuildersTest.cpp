// Specifications, weights and files of the model builders.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/Builders.h"

#include "gtest/gtest.h"
#include <cmath>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

using namespace weft;
using namespace weft::builders;

namespace {

std::string faultsOf(llvm::StringRef text) {
  llvm::Expected<ModelSpec> spec = parseModelSpec(text);
  return spec ? "" : llvm::toString(spec.takeError());
}

std::string slurp(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string temporary(const std::string &name) {
  return testing::TempDir() + "weft-builders-" + name;
}

WriteSummary mustBuild(const std::string &spec, const std::string &path, bool withWeights = true) {
  llvm::Expected<WriteSummary> summary = build(spec, {path, withWeights});
  if (!summary) {
    ADD_FAILURE() << llvm::toString(summary.takeError());
    return {};
  }
  return *summary;
}

onnx::Model mustParse(const std::string &path) {
  onnx::Model model;
  EXPECT_TRUE(model.ParseFromString(slurp(path))) << path;
  return model;
}

std::string entry(const onnx::Tensor &tensor, const std::string &key) {
  for (const auto &item : tensor.external_data())
    if (item.key() == key)
      return item.value();
  return "";
}

double decode16(uint16_t code, int exponentBits) {
  int mantissaBits = 15 - exponentBits;
  int bias = (1 << (exponentBits - 1)) - 1;
  int exponent = (code & 0x7fff) >> mantissaBits;
  double fraction = code & ((1 << mantissaBits) - 1);
  double value = exponent == 0
                     ? std::ldexp(fraction, 1 - bias - mantissaBits)
                     : std::ldexp(fraction + (1 << mantissaBits), exponent - bias - mantissaBits);
  return code & 0x8000 ? -value : value;
}

uint16_t encode16(double value, int32_t type) {
  std::string bytes;
  appendEncoded({value}, type, bytes);
  uint16_t code;
  EXPECT_EQ(bytes.size(), sizeof(code));
  std::memcpy(&code, bytes.data(), sizeof(code));
  return code;
}

TEST(ModelSpec, ListsEveryFaultAtOnce) {
  EXPECT_EQ(faultsOf("gpt2:foo=1,layers=0,heads=x"),
            "--build gpt2: unknown key 'foo'; valid keys are preset layers "
            "hidden heads ffn vocab seq std eps attention mask_input weights seed "
            "opset style dtype init external\n"
            "--build gpt2: layers=0 is outside [1, 65536]\n"
            "--build gpt2: heads=x is not a whole number in 64 bits");
}

TEST(ModelSpec, NamesTheNearestDivisors) {
  EXPECT_EQ(faultsOf("gpt2:hidden=100,heads=12"),
            "--build gpt2: heads=12 does not divide hidden=100 (remainder 4); "
            "choose heads=10 or 20, or another hidden");
  EXPECT_NE(faultsOf("llama:hidden=12,heads=4,kv_heads=2").find("even"), std::string::npos);
  EXPECT_NE(faultsOf("moe:preset=tiny,top_k=5").find("top_k=5 exceeds"), std::string::npos);
}

TEST(ModelSpec, SingleKeysOverrideThePreset) {
  llvm::Expected<ModelSpec> spec = parseModelSpec("llama:hidden=128,preset=tiny");
  ASSERT_TRUE(bool(spec));
  EXPECT_EQ(spec->hidden, 128);
  EXPECT_EQ(spec->kvHeads, 2);
  EXPECT_EQ(spec->vocab, 256);
}

TEST(Weights, SixteenBitCodesSurviveARoundTrip) {
  for (auto [type, exponentBits] : {std::pair(int32_t(onnx::Tensor::FLOAT16), 5),
                                    std::pair(int32_t(onnx::Tensor::BFLOAT16), 8)}) {
    int infinity = ((1 << exponentBits) - 1) << (15 - exponentBits);
    for (int code = 0; code + 1 < infinity; ++code) {
      double here = decode16(code, exponentBits);
      double next = decode16(code + 1, exponentBits);
      ASSERT_EQ(encode16(here, type), code);
      ASSERT_EQ(encode16(-here, type), code | 0x8000);
      // Halfway goes to the even code, anything beyond to the nearer one.
      double half = here + (next - here) / 2;
      ASSERT_EQ(encode16(half, type), code % 2 ? code + 1 : code);
      ASSERT_EQ(encode16(std::nextafter(half, next), type), code + 1);
      ASSERT_EQ(encode16(std::nextafter(half, here), type), code);
    }
    EXPECT_EQ(encode16(1e300, type), infinity);
  }
}

TEST(Weights, ElementsDependOnSeedNameAndIndexOnly) {
  Weight a{"a", {1000}, Init::normal(0.5), false};
  Weight b{"b", {1000}, Init::normal(0.5), false};
  RandomWeights source(7, false), other(8, false);
  std::vector<double> whole(1000), part(10), rest(1000);
  llvm::cantFail(source.read(a, 0, whole));
  llvm::cantFail(source.read(a, 500, part));
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 500));
  llvm::cantFail(source.read(b, 0, rest));
  EXPECT_NE(whole, rest);
  llvm::cantFail(other.read(a, 0, rest));
  EXPECT_NE(whole, rest);
}

TEST(Weights, FollowTheAskedDistribution) {
  Weight weight{"w", {100000}, Init::normal(0.5), false};
  RandomWeights source(1, false);
  std::vector<double> values(100000);
  llvm::cantFail(source.read(weight, 0, values));
  double mean = 0, square = 0;
  for (double value : values) {
    mean += value / double(values.size());
    square += value * value / double(values.size());
    ASSERT_LT(std::fabs(value), 0.5 * 3.4642);
  }
  // Four standard errors.
  EXPECT_LT(std::fabs(mean), 4 * 0.5 / std::sqrt(1e5));
  EXPECT_LT(std::fabs(square - 0.25), 4 * 0.25 * std::sqrt(2 / 1e5));
}

TEST(ModelWriter, StreamsExactlyWhatProtobufWouldWrite) {
  for (const char *spec :
       {"gpt2:preset=tiny", "llama:preset=tiny,style=compact", "bert:preset=tiny,external=1",
        "vit:preset=tiny,dtype=bf16", "moe:preset=tiny", "mlp:hidden=32", "resnet:preset=tiny"}) {
    std::string path = temporary("stream.onnx");
    mustBuild(spec, path);
    EXPECT_EQ(mustParse(path).SerializeAsString(), slurp(path)) << spec;
  }
}

TEST(ModelWriter, ExternalDataHoldsTheSameBytes) {
  std::string inside = temporary("in.onnx"), outside = temporary("out.onnx");
  EXPECT_FALSE(mustBuild("gpt2:preset=tiny,external=0", inside).external);
  EXPECT_TRUE(mustBuild("gpt2:preset=tiny,external=1", outside).external);
  onnx::Model a = mustParse(inside), b = mustParse(outside);
  std::string data = slurp(outside + ".data");
  ASSERT_EQ(a.graph().initializer_size(), b.graph().initializer_size());
  int external = 0;
  for (int i = 0; i < a.graph().initializer_size(); ++i) {
    const onnx::Tensor &one = a.graph().initializer(i);
    const onnx::Tensor &two = b.graph().initializer(i);
    ASSERT_EQ(one.name(), two.name());
    if (two.data_location() != onnx::Tensor::EXTERNAL)
      continue; // the causal table belongs to the graph
    ++external;
    EXPECT_EQ(entry(two, "location"), "weft-builders-out.onnx.data");
    size_t offset = std::stoull(entry(two, "offset"));
    size_t length = std::stoull(entry(two, "length"));
    EXPECT_EQ(offset % 4096, 0u);
    ASSERT_LE(offset + length, data.size());
    EXPECT_EQ(data.substr(offset, length), one.raw_data()) << one.name();
  }
  EXPECT_EQ(external, 2 + 2 * 12 + 2);
}

TEST(ModelWriter, DeclaresAbsentWeightsByShapeOnly) {
  std::string path = temporary("large.onnx");
  WriteSummary summary = mustBuild("gpt2:preset=175b", path, false);
  // 96 layers of 12 h^2 + 13 h, embeddings, and the last norm.
  int64_t h = 12288;
  EXPECT_EQ(summary.parameters, 96 * (12 * h * h + 13 * h) + (50257 + 2048) * h + 2 * h);
  EXPECT_FALSE(std::ifstream(path + ".data").good());
  onnx::Model model = mustParse(path);
  int64_t end = 0;
  for (const onnx::Tensor &tensor : model.graph().initializer())
    if (tensor.data_location() == onnx::Tensor::EXTERNAL) {
      EXPECT_GE(std::stoll(entry(tensor, "offset")), end);
      end = std::stoll(entry(tensor, "offset")) + std::stoll(entry(tensor, "length"));
    }
  EXPECT_GE(end, summary.parameters * 4);
}

TEST(ModelWriter, SameSpecificationSameFile) {
  std::string one = temporary("one.onnx"), two = temporary("two.onnx");
  mustBuild("moe:preset=tiny,seed=3", one);
  mustBuild("moe:preset=tiny,seed=3", two);
  EXPECT_EQ(slurp(one), slurp(two));
}

/// Every value that a node reads is made before it, and names are unique.
void expectOrdered(const onnx::Graph &graph, const std::string &spec) {
  std::set<std::string> known{""}, nodes;
  for (const auto &input : graph.input())
    EXPECT_TRUE(known.insert(input.name()).second) << spec;
  for (const auto &tensor : graph.initializer())
    EXPECT_TRUE(known.insert(tensor.name()).second) << spec << tensor.name();
  for (const auto &node : graph.node()) {
    EXPECT_TRUE(nodes.insert(node.name()).second) << spec << node.name();
    for (const auto &operand : node.input())
      EXPECT_TRUE(known.count(operand)) << spec << " reads " << operand;
    for (const auto &result : node.output())
      EXPECT_TRUE(known.insert(result).second) << spec << " makes " << result;
  }
  for (const auto &output : graph.output())
    EXPECT_TRUE(known.count(output.name())) << spec << output.name();
}

TEST(Graphs, AreOrderedInEveryStyleAndOpset) {
  int count = 0;
  for (const char *model :
       {"gpt2:preset=tiny", "llama:preset=tiny,mask_input=1",
        "bert:preset=tiny,pooling=mean,normalize=1,pooler=1,head=mlm", "vit:preset=tiny",
        "resnet:preset=tiny", "moe:preset=tiny", "mlp:activation=gelu"})
    for (const char *style : {"exporter", "compact"})
      for (int opset = 13; opset <= 26; ++opset) {
        std::string text =
            model + std::string(",style=") + style + ",opset=" + std::to_string(opset);
        llvm::Expected<ModelSpec> spec = parseModelSpec(text);
        ASSERT_TRUE(bool(spec)) << llvm::toString(spec.takeError());
        GraphBuilder g(*spec);
        buildGraph(g);
        onnx::Graph graph = g.model().graph();
        for (const Weight &weight : g.weights())
          graph.add_initializer()->set_name(weight.name);
        expectOrdered(graph, text);
        ++count;
      }
  EXPECT_EQ(count, 7 * 2 * 14);
}

} // namespace
