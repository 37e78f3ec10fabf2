// Mutations of the numbers that say how large tensors are.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "onnx.pb.h"
#include "test/faults/mutations/Mutations.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <cstring>

using weft::onnx::Attribute;
using weft::onnx::Graph;
using weft::onnx::Model;
using weft::onnx::Node;
using weft::onnx::Tensor;
using weft::test::pick;
using weft::test::Random;

//===----------------------------------------------------------------------===//
// Models whose shape operands are known
//===----------------------------------------------------------------------===//

static bool isShapeOperand(const Tensor &tensor) {
  int64_t count = 1;
  for (int64_t extent : tensor.dims())
    count *= extent;
  return (tensor.data_type() == Tensor::INT64 || tensor.data_type() == Tensor::INT32) &&
         tensor.dims_size() <= 2 && count <= 16;
}

/// Small integers that come with the model as data become its initializers: shapes and axes, and
/// the indices of a matrix.
static std::string withKnownShapes(const std::string &path) {
  auto read = [](const llvm::Twine &from, google::protobuf::Message &into) {
    auto buffer = llvm::MemoryBuffer::getFile(from);
    return buffer && into.ParseFromArray((*buffer)->getBufferStart(), (*buffer)->getBufferSize());
  };
  Model model;
  if (!read(path, model))
    return "";
  for (int i = 0; i < model.graph().input_size(); ++i) {
    llvm::SmallString<128> data(llvm::sys::path::parent_path(path));
    llvm::sys::path::append(data, "test_data_set_0", "input_" + std::to_string(i) + ".pb");
    Tensor value;
    if (!read(data, value) || !isShapeOperand(value))
      continue;
    value.set_name(model.graph().input(i).name());
    *model.mutable_graph()->add_initializer() = value;
  }
  // What outputs become is not what the file says of them.
  for (auto &output : *model.mutable_graph()->mutable_output())
    output.clear_type();
  return model.SerializeAsString();
}

std::vector<std::string> weft::test::loadShapeCorpus(const std::string &folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (llvm::sys::fs::recursive_directory_iterator it(folder, error), end; it != end && !error;
       it.increment(error))
    if (llvm::StringRef(it->path()).ends_with(".onnx"))
      paths.push_back(it->path());
  llvm::sort(paths);
  std::vector<std::string> corpus;
  for (const std::string &path : paths)
    if (std::string bytes = withKnownShapes(path); !bytes.empty() && bytes.size() < (1 << 20))
      corpus.push_back(std::move(bytes));
  return corpus;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Where products and sums wrap, limits lie, or nothing divides.
static int64_t boundary(Random &random) {
  static const int64_t numbers[] = {0,
                                    -1,
                                    1,
                                    2,
                                    3,
                                    97,
                                    255,
                                    65537,
                                    1000003,
                                    4194304,
                                    4194305,
                                    1000000000,
                                    INT32_MAX,
                                    int64_t(1) << 31,
                                    INT32_MIN,
                                    (int64_t(1) << 32) + 1,
                                    (int64_t(1) << 32) - 1,
                                    3037000500,
                                    int64_t(1) << 40,
                                    (int64_t(1) << 40) + 1,
                                    (int64_t(1) << 61) + 1,
                                    (int64_t(1) << 62) + 1,
                                    int64_t(1) << 62,
                                    2305843009213693951,
                                    INT64_MAX,
                                    INT64_MAX - 1,
                                    INT64_MIN,
                                    INT64_MIN + 1};
  int64_t number = numbers[pick(random, std::size(numbers))];
  return pick(random, 4) ? number : int64_t(uint64_t(number) + pick(random, 9) - 4);
}

static void mutateTensor(Tensor &tensor, Random &random) {
  if (int size = tensor.int64_data_size())
    tensor.set_int64_data(pick(random, size), boundary(random));
  if (int size = tensor.int32_data_size())
    tensor.set_int32_data(pick(random, size), static_cast<int32_t>(boundary(random)));
  std::string &raw = *tensor.mutable_raw_data();
  size_t width = tensor.data_type() == Tensor::INT64 ? 8 : 4;
  if (raw.size() >= width) {
    int64_t number = boundary(random);
    std::memcpy(raw.data() + pick(random, raw.size() / width) * width, &number, width);
  } else {
    tensor.clear_raw_data();
  }
}

static void mutateAttribute(Attribute &attribute, Random &random) {
  if (attribute.ints_size())
    attribute.set_ints(pick(random, attribute.ints_size()), boundary(random));
  else if (attribute.has_i())
    attribute.set_i(boundary(random));
}

/// One number somewhere; false if that place has none.
static bool mutateNumber(Graph &graph, Random &random) {
  switch (pick(random, 3)) {
  case 0: {
    std::vector<Tensor *> operands;
    for (Tensor &tensor : *graph.mutable_initializer())
      if (isShapeOperand(tensor))
        operands.push_back(&tensor);
    if (operands.empty())
      return false;
    mutateTensor(*operands[pick(random, operands.size())], random);
    return true;
  }
  case 1: {
    Node *node = graph.node_size() ? graph.mutable_node(pick(random, graph.node_size())) : nullptr;
    if (!node || !node->attribute_size())
      return false;
    mutateAttribute(*node->mutable_attribute(pick(random, node->attribute_size())), random);
    return true;
  }
  default: {
    if (!graph.input_size())
      return false;
    auto &type = *graph.mutable_input(pick(random, graph.input_size()))->mutable_type();
    if (!type.has_tensor_type() || !type.tensor_type().shape().dim_size())
      return false;
    auto &shape = *type.mutable_tensor_type()->mutable_shape();
    // One time in four it has a dim more or less.
    if (uint64_t way = pick(random, 8); way == 0)
      shape.mutable_dim()->RemoveLast();
    else if (way == 1)
      shape.add_dim()->set_dim_value(1);
    else
      shape.mutable_dim(pick(random, shape.dim_size()))->set_dim_value(boundary(random));
    return true;
  }
  }
}

/// A node that reads the first output and becomes it: what is made of a shape
/// is folded, moved and counted.
static void appendReader(Graph &graph, Random &random) {
  if (!graph.output_size())
    return;
  static const char *const readers[] = {"Size",   "Shape",   "Transpose", "Identity",
                                        "Concat", "Flatten", "Sigmoid",   "Add"};
  std::string op = readers[pick(random, std::size(readers))], from = graph.output(0).name();
  Node &node = *graph.add_node();
  node.set_op_type(op);
  node.add_input(from);
  if (op == "Concat" || op == "Add")
    node.add_input(from);
  if (op == "Concat") {
    Attribute &axis = *node.add_attribute();
    axis.set_name("axis");
    axis.set_type(Attribute::INT);
    axis.set_i(0);
  }
  node.add_output(from + ".read");
  graph.mutable_output(0)->set_name(from + ".read");
}

std::string weft::test::mutatedNumbers(const std::vector<std::string> &corpus, Random &random) {
  Model model;
  if (!model.ParseFromString(corpus[pick(random, corpus.size())]))
    return "";
  Graph &graph = *model.mutable_graph();
  for (uint64_t i = 0, wanted = 1 + pick(random, 3), tries = 0; i < wanted && tries < 64; ++tries)
    i += mutateNumber(graph, random);
  for (uint64_t i = 0, e = pick(random, 3); i < e; ++i)
    appendReader(graph, random);
  return model.SerializePartialAsString();
}
