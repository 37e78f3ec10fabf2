// Files that lie on the level of the wire format: lengths, depth, amplification.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ImportFixture.h"
#include <chrono>
#include <sys/resource.h>
#include <sys/stat.h>

using namespace weft::onnx;

static std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7)
    out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
  return out;
}

/// A length-delimited field that claims `length` bytes and holds `content`.
static std::string field(int number, const std::string &content, uint64_t length) {
  return varint(number << 3 | 2) + varint(length) + content;
}
static std::string field(int number, const std::string &content) {
  return field(number, content, content.size());
}

/// Peak memory of this process so far.
static long peakKilobytes() {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

namespace {
class HostileWireTest : public ImportTest {};
} // namespace

TEST_F(HostileWireTest, EmptyAndMissingFiles) {
  expectRefused("", "cannot be read: the file is empty");
  EXPECT_FALSE(import(folder + "/absent.onnx"));
  EXPECT_NE(log.find("No such file"), std::string::npos) << log;
  EXPECT_FALSE(import(folder));
  EXPECT_NE(log.find("not a regular file"), std::string::npos) << log;
  std::string pipe = folder + "/pipe.onnx";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(import(pipe)); // and does not wait for a writer
  EXPECT_NE(log.find("not a regular file"), std::string::npos) << log;
}

TEST_F(HostileWireTest, EveryTruncationOfAModelIsRefusedOrAValidModel) {
  std::string bytes = reluModel().SerializeAsString();
  unsigned refused = 0;
  for (size_t size = 1; size < bytes.size(); ++size) {
    auto module = import(write("cut.onnx", bytes.substr(0, size)));
    refused += !module;
    EXPECT_EQ(!module, log.find("error: ") != std::string::npos) << log;
  }
  EXPECT_GE(refused, bytes.size() / 2);
}

TEST_F(HostileWireTest, LyingLengths) {
  expectRefused(field(7, "ab", 1000), "field 7 claims 1000 bytes, but only 2 are left (at byte 0)");
  expectRefused(field(7, field(1, "x", uint64_t(1) << 62)),
                "model.graph: field 1 claims 4611686018427387904 bytes");
  expectRefused("\x08", "the message ends inside a number");
  expectRefused(std::string("\x08") + std::string(11, '\xff'), "a number has more than 10 bytes");
  expectRefused("\x0b", "invalid wire type 3");
  expectRefused(std::string("\x02\x00", 2), "invalid field number 0");
  expectRefused(field(1, "x"), "field 'ir_version' has wire type 2");
  expectRefused(varint(7 << 3) + "\x01", "field 'graph' has wire type 0");
  auto tensor = [](const std::string &fields) { return "\x08\x08" + field(7, field(5, fields)); };
  expectRefused(tensor(varint(14 << 3) + "\x07"),
                "model.graph.initializer[0].data_location: field 'data_location' has the unknown "
                "value 7");
  expectRefused(tensor(field(9, "a") + field(9, "b")),
                "model.graph.initializer[0]: the tensor has raw_data twice");
  expectRefused(tensor(field(1, "\x80")), "is not a valid model: protobuf rejects it");
}

TEST_F(HostileWireTest, DeepNesting) {
  // Graph in attribute in node in graph ...
  std::string graph;
  for (int i = 0; i < 2000; ++i)
    graph = field(1, field(4, "If") + field(5, field(6, graph)));
  expectRefused("\x08\x08" + field(7, graph), "messages are nested more than 96 deep");
  // Sequence of sequence of ... in a type.
  std::string type;
  for (int i = 0; i < 5000; ++i)
    type = field(4, field(1, type));
  expectRefused("\x08\x08" + field(7, field(11, field(2, type))), "nested more than 96 deep");
}

TEST_F(HostileWireTest, NestingWithinTheLimitIsImported) {
  Model model = reluModel();
  Graph *graph = model.mutable_graph();
  for (int i = 0; i < 30; ++i) {
    Node &node = *graph->add_node();
    node.set_op_type("If");
    Attribute &branch = *node.add_attribute();
    branch.set_name("then_branch");
    branch.set_type(Attribute::GRAPH);
    graph = branch.mutable_g();
  }
  EXPECT_TRUE(import(write("deep.onnx", model.SerializeAsString()))) << log;
}

TEST_F(HostileWireTest, NodesWithoutOperator) {
  // 2 bytes each: 4 million of them would be a gigabyte once parsed.
  std::string nodes;
  for (int i = 0; i < 4000000; ++i)
    nodes += field(1, "");
  expectRefused("\x08\x08" + field(7, nodes), "model.graph.node[0]: the node has no op_type");
}

TEST_F(HostileWireTest, MillionsOfPartsStayWithinMemory) {
  long before = peakKilobytes();
  auto start = std::chrono::steady_clock::now();
  std::string node = field(1, field(4, "A")), empty = field(1, "");
  std::string parts;
  while (parts.size() < (40u << 20))
    parts += node;
  expectRefused("\x08\x08" + field(7, parts),
                "the model has more parts than 1024 MiB of memory can hold; the file has 4194");
  parts.clear();
  while (parts.size() < (40u << 20))
    parts += field(1, ""); // inputs of one node, all absent
  expectRefused("\x08\x08" + field(7, field(1, field(4, "A") + parts)),
                "has more parts than 1024 MiB");
  std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_LT(taken.count(), 10.0);
  EXPECT_LT(peakKilobytes() - before, 2 << 20);
}

TEST_F(HostileWireTest, AsManyPartsAsAllowedStayWithinMemory) {
  std::string node = field(1, field(4, "A"));
  std::string parts;
  for (int i = 0; i < 500000; ++i)
    parts += node;
  auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(import(write("many.onnx", "\x08\x08" + field(7, parts)))) << log;
  std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_LT(taken.count(), 10.0);
  EXPECT_LT(peakKilobytes(), 3 << 20);
}

TEST_F(HostileWireTest, UnknownFieldsAreLeftOutAndSaid) {
  std::string bytes = reluModel().SerializeAsString() + field(500, "future");
  EXPECT_TRUE(import(write("future.onnx", bytes)));
  EXPECT_NE(log.find("warning: has 1 fields that are not known"), std::string::npos) << log;
  // The number under which the importer itself keeps places of payloads must
  // not come from the file.
  Model model = reluModel();
  Tensor &tensor = *model.mutable_graph()->add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(Tensor::FLOAT);
  tensor.mutable_unknown_fields()->AddVarint(19000, 7);
  EXPECT_TRUE(import(write("forged.onnx", model.SerializeAsString()))) << log;
  EXPECT_NE(log.find("initializer[0], field 19000"), std::string::npos) << log;
}

TEST_F(HostileWireTest, ControlCharactersDoNotReachTheTerminal) {
  Model model = reluModel();
  // One of two bytes, which begins a sequence, too.
  model.mutable_graph()->mutable_node(0)->set_input(0, "a\xc2\x9b"
                                                       "2Jb");
  expectRefused(model.SerializeAsString(), "reads 'a\\xC2\\x9B2Jb'");
}

TEST_F(HostileWireTest, NamesAreOnOneLine) {
  auto refused = [&](const Model &model, const std::string &where) {
    expectRefused(model.SerializeAsString(), where + ": the name '");
    EXPECT_NE(log.find("holds a control character, an end of a line or the like; give it another"),
              log.npos)
        << log;
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
  };
  Model model = reluModel();
  model.mutable_graph()->mutable_node(0)->set_name("a\nmodel.onnx: fault: b");
  refused(model, "model.graph.node[0].name");
  model = reluModel();
  model.mutable_graph()->mutable_output(0)->set_name("a\x1b[2J");
  refused(model, "model.graph.output[0].name");
  model = reluModel();
  model.mutable_graph()->mutable_node(0)->add_attribute()->set_name("\x7f");
  refused(model, "model.graph.node[0].attribute[0].name");
  // Free text may have lines.
  model = reluModel();
  model.set_doc_string("two\nlines");
  model.mutable_graph()->mutable_node(0)->set_doc_string("two\nlines");
  StringStringEntry &entry = *model.add_metadata_props();
  entry.set_key("notes");
  entry.set_value("two\nlines");
  EXPECT_TRUE(import(write("lines.onnx", model.SerializeAsString()))) << log;
}
