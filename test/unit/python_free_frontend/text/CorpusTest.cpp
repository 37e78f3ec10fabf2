// Every model of Debian's ONNX test data survives the way through text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/text/Omissions.h"
#include "python_free_frontend/text/TextReader.h"
#include "python_free_frontend/text/TextWriter.h"

#include "gtest/gtest.h"
#include <cstring>
#include <filesystem>
#include <fstream>
#include <google/protobuf/util/message_differencer.h>
#include <sstream>

using namespace weft;
using weft::text::writeText;
namespace fs = std::filesystem;

namespace {

constexpr const char *kCorpus = "/usr/share/libonnx-testdata/data";
constexpr int kModels = 1072;

std::vector<fs::path> corpus() {
  std::vector<fs::path> paths;
  std::error_code code;
  for (const auto &entry : fs::recursive_directory_iterator(kCorpus, code))
    if (entry.path().filename() == "model.onnx")
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string slurp(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

template <typename To, typename Field> std::string packed(const Field &field) {
  std::string bytes;
  for (auto value : field) {
    To narrow = To(value);
    bytes.append(reinterpret_cast<const char *>(&narrow), sizeof(narrow));
  }
  return bytes;
}

/// The bytes of a tensor in raw_data's layout, by the standard's description of
/// each field and not by the writer's tables.
std::string bytesOf(const onnx::Tensor &t) {
  if (t.has_raw_data())
    return t.raw_data();
  switch (t.data_type()) {
  case onnx::Tensor::FLOAT:
  case onnx::Tensor::COMPLEX64:
    return packed<float>(t.float_data());
  case onnx::Tensor::DOUBLE:
  case onnx::Tensor::COMPLEX128:
    return packed<double>(t.double_data());
  case onnx::Tensor::INT64:
    return packed<int64_t>(t.int64_data());
  case onnx::Tensor::INT32:
    return packed<int32_t>(t.int32_data());
  case onnx::Tensor::UINT32:
    return packed<uint32_t>(t.uint64_data());
  case onnx::Tensor::UINT64:
    return packed<uint64_t>(t.uint64_data());
  case onnx::Tensor::INT16:
  case onnx::Tensor::UINT16:
  case onnx::Tensor::FLOAT16:
  case onnx::Tensor::BFLOAT16:
    return packed<uint16_t>(t.int32_data());
  default:
    return packed<uint8_t>(t.int32_data());
  }
}

void normalise(onnx::Tensor &t) {
  t.clear_doc_string();
  if (t.data_type() == onnx::Tensor::STRING)
    return;
  std::string bytes = bytesOf(t);
  t.clear_float_data();
  t.clear_double_data();
  t.clear_int32_data();
  t.clear_int64_data();
  t.clear_uint64_data();
  t.set_raw_data(bytes);
  if (t.name().empty())
    t.clear_name();
}

/// Clears what the syntax cannot say and what it spells in one way only, field
/// by field as the README lists them.
void normalise(onnx::Graph &graph);

void normalise(onnx::ValueInfo &info) { info.clear_doc_string(); }

void normalise(onnx::Node &node) {
  node.clear_doc_string();
  if (node.domain().empty())
    node.clear_domain();
  for (onnx::Attribute &attr : *node.mutable_attribute()) {
    attr.clear_doc_string();
    if (attr.has_t())
      normalise(*attr.mutable_t());
    if (attr.has_g())
      normalise(*attr.mutable_g());
    for (onnx::Graph &graph : *attr.mutable_graphs())
      normalise(graph);
    for (onnx::Tensor &tensor : *attr.mutable_tensors())
      normalise(tensor);
  }
}

void normalise(onnx::Graph &graph) {
  graph.clear_doc_string();
  graph.clear_quantization_annotation();
  graph.clear_sparse_initializer();
  graph.mutable_name();
  for (auto &value : *graph.mutable_input())
    normalise(value);
  for (auto &value : *graph.mutable_output())
    normalise(value);
  for (auto &value : *graph.mutable_value_info())
    normalise(value);
  for (auto &tensor : *graph.mutable_initializer())
    normalise(tensor);
  for (auto &node : *graph.mutable_node())
    normalise(node);
}

void normalise(onnx::Model &model) {
  for (auto &import : *model.mutable_opset_import())
    import.mutable_domain();
  normalise(*model.mutable_graph());
  for (auto &function : *model.mutable_functions())
    for (auto &node : *function.mutable_node())
      normalise(node);
}

std::string textOf(const onnx::Model &model) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (llvm::Error error = writeText(model, os))
    ADD_FAILURE() << llvm::toString(std::move(error));
  return text;
}

TEST(Corpus, SurvivesTheWayThroughText) {
  std::vector<fs::path> paths = corpus();
  ASSERT_GE(int(paths.size()), kModels) << "libonnx-testdata is not installed below " << kCorpus;
  int failures = 0;
  for (const fs::path &path : paths) {
    onnx::Model model;
    ASSERT_TRUE(model.ParseFromString(slurp(path))) << path;
    std::string text = textOf(model);
    llvm::Expected<onnx::Model> read = text::readText(text, path.string());
    std::string difference;
    if (!read) {
      difference = llvm::toString(read.takeError());
    } else if (textOf(*read) != text) {
      difference = "the text of the text differs";
    } else {
      normalise(model);
      normalise(*read);
      google::protobuf::util::MessageDifferencer differ;
      differ.ReportDifferencesToString(&difference);
      if (differ.Compare(model, *read))
        difference.clear();
    }
    if (!difference.empty() && ++failures <= 10)
      ADD_FAILURE() << path << "\n" << difference.substr(0, 2000);
  }
  EXPECT_EQ(failures, 0) << "of " << paths.size();
  std::printf("%zu models\n", paths.size());
}

} // namespace
