// Weights go from safetensors and checkpoints into models, or are refused.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/weights/ReplaceWeights.h"

#include "CheckpointModel.h"
#include "CheckpointStore.h"
#include "files/Safetensors.h"
#include "python_free_frontend/builders/Builders.h"
#include "python_free_frontend/weights/Command.h"
#include "python_free_frontend/weights/ModelFile.h"
#include "python_free_frontend/weights/TensorBytes.h"

#include "gtest/gtest.h"
#include <filesystem>
#include <fstream>

using namespace weft;
using namespace weft::weights;
namespace fs = std::filesystem;
using runtime::DType;
using runtime::SafetensorsEntry;

namespace {

using Bytes = std::map<std::string, std::string>; // of initializers

class Weights : public ::testing::Test {
protected:
  Weights() {
    folder = (fs::temp_directory_path() / "weft-weights-XXXXXX").string();
    if (!mkdtemp(folder.data()))
      folder.clear();
    build("a", "hidden=6,seed=1");
    build("b", "hidden=6,seed=2");
    options.model = path("a");
    options.output = path("out");
  }
  ~Weights() override { fs::remove_all(folder); }

  std::string path(const std::string &name) const { return folder + "/" + name + ".onnx"; }
  void build(const std::string &name, const std::string &keys) {
    builders::BuildOptions options;
    options.output = path(name);
    auto built = builders::build("mlp:layers=2,inputs=5,classes=3," + keys, options);
    ASSERT_TRUE(bool(built)) << llvm::toString(built.takeError());
  }
  static Bytes bytesIn(const std::string &file) {
    ModelFile model;
    if (llvm::Error error = model.open(file)) {
      ADD_FAILURE() << llvm::toString(std::move(error));
      return {};
    }
    Bytes result;
    for (const onnx::Tensor &tensor : model.initializers()) {
      std::string &bytes = result[tensor.name()];
      if (tensor.data_location() != onnx::Tensor::EXTERNAL)
        bytes = tensor.raw_data();
      else if (llvm::Error error = model.readExternal(tensor, bytes))
        ADD_FAILURE() << llvm::toString(std::move(error));
    }
    return result;
  }
  /// A .safetensors file of a model's initializers under other names.
  std::string store(const std::string &name, const std::string &prefix, bool transposed = false) {
    ModelFile model;
    EXPECT_FALSE(bool(model.open(path(name))));
    std::vector<SafetensorsEntry> entries;
    std::string data;
    for (const onnx::Tensor &tensor : model.initializers()) {
      std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
      std::string bytes = tensor.raw_data();
      if (transposed && dims.size() == 2) {
        bytes = transposeMatrix(bytes, dims[0], dims[1]);
        std::swap(dims[0], dims[1]);
      }
      entries.push_back(
          {prefix + tensor.name(), DType::F32, dims, data.size(), data.size() + bytes.size()});
      data += bytes;
    }
    std::string file = folder + "/" + name + ".safetensors";
    std::ofstream(file, std::ios::binary) << runtime::safetensorsHeader(entries, {}) << data;
    return file;
  }
  std::string replace(const std::string &file) {
    auto opened = openSafetensors({file});
    if (!opened)
      return llvm::toString(opened.takeError());
    auto result = replaceWeights(**opened, options);
    if (!result)
      return llvm::toString(result.takeError());
    summary = *result;
    return "";
  }

  std::string folder;
  ReplaceOptions options;
  ReplaceSummary summary;
};

TEST_F(Weights, MapsNamesByRules) {
  options.rules = {{"^model\\.(.*)$", "\\1"}};
  EXPECT_EQ(replace(store("b", "model.")), "");
  EXPECT_EQ(bytesIn(path("out")), bytesIn(path("b")));
  EXPECT_NE(bytesIn(path("a")), bytesIn(path("b")));
  EXPECT_EQ(summary.replaced, bytesIn(path("b")).size());
}

TEST_F(Weights, ListsAllThatDoesNotFitAndWritesNothing) {
  std::string file = store("b", "model.");
  options.rules = {{"^model\\.layers\\.0\\.weight$", "layers.1.weight"},
                   {"^model\\.layers\\.1\\.bias$", ""},
                   {"^model\\.(layers\\.1\\.weight)$", "\\1"}};
  std::string text = replace(file);
  for (const char *part : {"tensors 'model.layers.0.weight' and 'model.layers.1.weight' both go "
                           "to 'layers.1.weight'",
                           "initializer 'layers.0.weight' (6x5 F32) gets no tensor",
                           "initializer 'layers.1.bias' (3 F32) gets no tensor",
                           "tensor 'model.layers.0.bias' has no initializer",
                           "initializer 'layers.1.weight' is 3x6 F32, tensor "
                           "'model.layers.0.weight' is 6x5 F32: shapes differ"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin " << text;
  EXPECT_FALSE(fs::exists(path("out")));
  options.rules = {{"(", ""}};
  EXPECT_NE(replace(file).find("'(' is not a regular expression"), std::string::npos);
}

TEST_F(Weights, TransposesOnlyWhenTold) {
  std::string file = store("b", "", true);
  std::string text = replace(file);
  EXPECT_NE(text.find("add --transpose '^layers.0.weight$'"), std::string::npos) << text;
  options.transposed = {"weight$"};
  EXPECT_EQ(replace(file), "");
  EXPECT_EQ(bytesIn(path("out")), bytesIn(path("b")));
}

TEST_F(Weights, LargeModelsKeepTheirDataOutside) {
  std::string file = store("b", "");
  build("large", "seed=3,hidden=64"); // of more than 1 KiB a weight
  options.model = options.output = path("large");
  std::string own = store("large", "");
  options.external = true;
  EXPECT_EQ(replace(own), "");
  EXPECT_TRUE(summary.external);
  EXPECT_TRUE(fs::exists(path("large") + ".data"));
  EXPECT_FALSE(fs::exists(path("large") + ".tmp"));
  build("same", "seed=3,hidden=64");
  EXPECT_EQ(bytesIn(path("large")), bytesIn(path("same")));
  // What keeps its values comes along, also when the file replaces itself.
  options.allowMissing = options.allowExtra = true;
  options.rules = {{"^.*weight$", "nothing"}};
  build("other", "seed=4,hidden=64");
  std::string others = store("other", "");
  EXPECT_NE(replace(others).find("both go to"), std::string::npos);
  options.rules = {{"^.*weight$", ""}};
  EXPECT_EQ(replace(others), "");
  EXPECT_EQ(summary.kept.size(), 2u);
  Bytes expected = bytesIn(path("same"));
  for (auto &[name, bytes] : bytesIn(path("other")))
    if (name.find("weight") == std::string::npos)
      expected[name] = bytes;
  EXPECT_EQ(bytesIn(path("large")), expected);
  // And back into one file.
  options.output = path("inside");
  options.external = false;
  EXPECT_EQ(replace(others), "");
  EXPECT_FALSE(fs::exists(path("inside") + ".data"));
  EXPECT_EQ(bytesIn(path("inside")), expected);
}

TEST_F(Weights, ConvertsFloatsToTheInitializersType) {
  build("half", "hidden=6,seed=2,dtype=bf16");
  options.model = path("half");
  EXPECT_EQ(replace(store("b", "")), "");
  // The builder rounds the same numbers.
  EXPECT_EQ(bytesIn(path("out")), bytesIn(path("half")));
}

/// What training leaves: parameters, slots, a counter, cut over ranks.
TEST_F(Weights, CheckpointsGoBackIntoTheModel) {
  ModelFile model;
  ASSERT_FALSE(bool(model.open(path("a"))));
  std::vector<runtime::test::Tensor> tensors{{"weft.step", DType::I64, {}}};
  bool rounded = true;
  for (const onnx::Tensor &tensor : model.initializers()) {
    std::vector<std::vector<int64_t>> factors;
    for (int64_t dim : tensor.dims())
      factors.push_back({dim});
    tensors.push_back({tensor.name(), rounded ? DType::BF16 : DType::F32, factors});
    if (rounded)
      tensors.push_back({tensor.name() + "#master", DType::F32, factors});
    tensors.push_back({tensor.name() + "#exp_avg", DType::F32, factors});
    rounded = !rounded;
  }
  runtime::test::ModelSession session({"dp=3, sharded", {3}, runtime::test::Style::Sharded, 0},
                                      tensors);
  ASSERT_EQ(session.error, "");
  std::string directory = folder + "/checkpoint";
  std::unique_ptr<runtime::CheckpointWriter> writer;
  runtime::Status status = runtime::CheckpointWriter::open(session.session, directory, {}, writer);
  ASSERT_TRUE(status.ok()) << status.text();
  for (int64_t step : {1, 2}) {
    session.fill(uint64_t(step));
    runtime::CheckpointInfo info;
    info.step = step;
    ASSERT_TRUE(writer->save(info).ok());
  }
  ASSERT_TRUE(writer->finish().ok());
  auto values = [&](uint64_t version) {
    Bytes expected;
    for (const onnx::Tensor &tensor : model.initializers())
      for (size_t i = 0; i < bytesOf(tensor) / 4; ++i) {
        uint64_t bits = runtime::test::elementBits(tensor.name(), DType::F32, int64_t(i), version);
        expected[tensor.name()].append(reinterpret_cast<char *>(&bits), 4);
      }
    return expected;
  };
  auto run = [&](int64_t step) {
    ReplaceOptions options;
    options.model = path("a");
    options.output = path("out");
    options.allowMissing = true;
    return llvm::toString(
        runReplace({{directory}, step}, options, openCheckpointStore).takeError());
  };
  EXPECT_EQ(run(-1), "");
  EXPECT_EQ(bytesIn(path("out")), values(2));
  EXPECT_EQ(run(1), "");
  EXPECT_EQ(bytesIn(path("out")), values(1));
  // Rank files are ordinary safetensors.
  auto opened = openSafetensors({directory + "/step-00000002"});
  EXPECT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
  // The newest that is sound is the one that goes back.
  std::ofstream(directory + "/step-00000002/rank-00001.safetensors",
                std::ios::binary | std::ios::in)
      .seekp(400)
      .put('\x5a');
  EXPECT_EQ(run(-1), "");
  EXPECT_EQ(bytesIn(path("out")), values(1));
  EXPECT_NE(run(2).find("damaged"), std::string::npos) << run(2);
}

/// Puts a tensor of 300 floats into a Constant node of `model`, held in `file` from `offset` on.
void addConstant(onnx::Model &model, const std::string &file, uint64_t offset) {
  onnx::Node &node = *model.mutable_graph()->add_node();
  node.set_op_type("Constant");
  node.add_output("table");
  onnx::Attribute &value = *node.add_attribute();
  value.set_name("value");
  value.set_type(onnx::Attribute::TENSOR);
  onnx::Tensor *tensor = value.mutable_t();
  tensor->set_name("table");
  tensor->set_data_type(onnx::Tensor::FLOAT);
  tensor->add_dims(300);
  tensor->set_data_location(onnx::Tensor::EXTERNAL);
  for (const auto &[key, text] :
       {std::pair("location", file), std::pair("offset", std::to_string(offset))}) {
    onnx::StringStringEntry &entry = *tensor->add_external_data();
    entry.set_key(key);
    entry.set_value(text);
  }
}

// A model that is replaced in its place loses its data, and one elsewhere has none: tables of nodes
// must be in the new one.
TEST_F(Weights, WhatNodesHoldOutsideComesAlong) {
  build("large", "seed=3,hidden=64"); // of more than 1 KiB a weight
  std::string own = store("large", "");
  ModelFile read;
  ASSERT_FALSE(bool(read.open(path("large"))));
  onnx::Model model = read.message();
  addConstant(model, "large.onnx.data", 64);
  std::string table(1200, 'x');
  for (const std::string &to : {path("large"), folder + "/elsewhere.onnx"}) {
    std::ofstream(path("large"), std::ios::binary) << model.SerializeAsString();
    std::ofstream(path("large") + ".data", std::ios::binary) << std::string(64, 'y') << table;
    options.model = path("large");
    options.output = to;
    options.external = true;
    ASSERT_EQ(replace(own), "");
    ModelFile written;
    ASSERT_FALSE(bool(written.open(to)));
    std::string bytes;
    const onnx::Graph &graph = written.message().graph();
    const onnx::Tensor &kept = graph.node(graph.node_size() - 1).attribute(0).t();
    ASSERT_FALSE(bool(written.readExternal(kept, bytes)));
    EXPECT_EQ(bytes, table);
    EXPECT_EQ(kept.external_data(0).value(), fs::path(to).filename().string() + ".data");
  }
}

// Checkpoints have the large tables of Constant nodes as states.
TEST_F(Weights, TablesOfNodesNeedNoInitializer) {
  ModelFile read;
  ASSERT_FALSE(bool(read.open(path("a"))));
  onnx::Model model = read.message();
  std::ofstream(folder + "/tables", std::ios::binary) << std::string(1200, 'x');
  addConstant(model, "tables", 0);
  std::ofstream(path("a"), std::ios::binary) << model.SerializeAsString();
  std::vector<SafetensorsEntry> entries = {{"table", DType::F32, {300}, 0, 1200}};
  std::string file = folder + "/table.safetensors";
  std::ofstream(file, std::ios::binary)
      << runtime::safetensorsHeader(entries, {}) << std::string(1200, 'z');
  options.allowMissing = true;
  EXPECT_EQ(replace(file), "");
  entries[0].name = "tables";
  std::ofstream(file, std::ios::binary)
      << runtime::safetensorsHeader(entries, {}) << std::string(1200, 'z');
  EXPECT_NE(replace(file).find("tensor 'tables' has no initializer"), std::string::npos);
}

TEST_F(Weights, ATensorsBytesAreWhatItsShapeTakes) {
  ModelFile model;
  ASSERT_FALSE(bool(model.open(path("a"))));
  std::ofstream(folder + "/data") << "1234";
  onnx::Tensor tensor;
  tensor.set_name("w");
  tensor.set_data_type(onnx::Tensor::FLOAT);
  tensor.add_dims(2);
  auto add = [&](const char *key, const char *value) {
    onnx::StringStringEntry &entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  std::string bytes;
  add("location", "data");
  EXPECT_EQ(llvm::toString(model.readExternal(tensor, bytes)),
            "external data 'data' ends before tensor 'w' does");
  add("length", "4");
  EXPECT_EQ(llvm::toString(model.readExternal(tensor, bytes)),
            "tensor 'w' declares 4 bytes of external data, its shape takes 8");
  tensor.clear_external_data();
  add("location", "data");
  add("offset", "-8");
  EXPECT_EQ(llvm::toString(model.readExternal(tensor, bytes)),
            "offset '-8' of the external data of tensor 'w' is no number of bytes");
  ModelWriter writer(path("out"), /*external=*/false);
  EXPECT_EQ(llvm::toString(writer.place(tensor, "123", /*outside=*/false)),
            "tensor 'w' has 3 bytes, its shape takes 8");
}

} // namespace
