// The .safetensors reader refuses what is unsound, and weights find their place.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/Checkpoint.h"
#include "python_free_frontend/builders/Builders.h"

#include "gtest/gtest.h"
#include <cstring>
#include <fstream>
#include <random>

using namespace weft;
using namespace weft::builders;

namespace {

std::string fileOf(const std::string &header, const std::string &data) {
  std::string bytes(8, '\0');
  uint64_t size = header.size();
  std::memcpy(bytes.data(), &size, 8);
  return bytes + header + data;
}

std::string faultOf(const std::string &bytes) {
  llvm::Expected<SafeTensors> file =
      SafeTensors::read(llvm::MemoryBuffer::getMemBufferCopy(bytes), "f");
  return file ? "" : llvm::toString(file.takeError());
}

std::string floats(std::initializer_list<float> values) {
  std::string bytes;
  for (float value : values)
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
  return bytes;
}

void expectFault(const std::string &header, size_t dataSize, const std::string &fault) {
  EXPECT_NE(faultOf(fileOf(header, std::string(dataSize, 0))).find(fault), std::string::npos)
      << faultOf(fileOf(header, std::string(dataSize, 0)));
}

TEST(SafeTensors, ReadsEveryFloatType) {
  uint16_t half = 0xc200, brain = 0xc040, tiny = 0x0001; // -3, -3, 2^-24
  double wide = -3;
  std::string data = floats({-3});
  data.append(reinterpret_cast<char *>(&wide), 8);
  data.append(reinterpret_cast<char *>(&half), 2);
  data.append(reinterpret_cast<char *>(&brain), 2);
  data.append(reinterpret_cast<char *>(&tiny), 2);
  std::string bytes = fileOf(
      R"({"__metadata__":{"format":"pt"},
          "a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
          "b":{"dtype":"F64","shape":[],"data_offsets":[4,12]},
          "c":{"dtype":"F16","shape":[1,1],"data_offsets":[12,14]},
          "d":{"dtype":"BF16","shape":[1],"data_offsets":[14,16]},
          "e":{"dtype":"F16","shape":[1],"data_offsets":[16,18]}})",
      data);
  llvm::Expected<SafeTensors> file =
      SafeTensors::read(llvm::MemoryBuffer::getMemBufferCopy(bytes), "f");
  ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
  ASSERT_EQ(file->tensors().size(), 5u);
  for (const char *name : {"a", "b", "c", "d"})
    EXPECT_EQ(elementOf(file->tensors().at(name), 0), -3) << name;
  EXPECT_EQ(elementOf(file->tensors().at("e"), 0), std::ldexp(1, -24));
}

TEST(SafeTensors, RefusesLyingRanges) {
  const std::string a = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":)";
  expectFault(a + "[0,8]}}", 4, "claims bytes 0 to 8 of 4");
  expectFault(a + "[8,0]}}", 8, "claims bytes 8 to 0 of 8");
  expectFault(a + "[0,4]}}", 4, "is not what its type and shape take");
  expectFault(a + "[0,8]}}", 12, "bytes from 8 to 12 belong to no tensor");
  expectFault(a + "[4,12]}}", 12, "bytes 0 to 4 belong to no tensor");
  expectFault(a + R"([0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8,
              "two tensors overlap at byte 4");
  expectFault(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0,
              "is not what its type and shape take");
}

TEST(SafeTensors, RefusesMalformedHeaders) {
  EXPECT_EQ(faultOf("").find("'f' is not a sound .safetensors file: "), 0u);
  EXPECT_NE(faultOf("").find("shorter than the 8 bytes"), std::string::npos);
  EXPECT_NE(faultOf(std::string(8, '\xff')).find("claims a header of"), std::string::npos);
  expectFault("{", 0, "the header is not JSON at byte");
  expectFault("[]", 0, "an array where none may be");
  expectFault("[[[[[[[[[[", 0, "an array where none may be");
  expectFault(R"({"a":{"b":{}}})", 0, "tensor 'a' has an unknown field 'b'");
  expectFault(R"({"a":{"dtype":{}}})", 0, "an object where none may be");
  expectFault(R"({"a":{"shape":[-1]}})", 0, "a negative number");
  expectFault(R"({"a":{"shape":[1.5]}})", 0, "a fraction");
  expectFault(R"({"a":{"shape":[18446744073709551615]}})", 0, "above 2^63");
  expectFault(R"({"a":{"dtype":"F32"}})", 0, "lacks dtype, shape or two");
  expectFault(R"({"a":{"dtype":"Q7","shape":[],"data_offsets":[0,0]}})", 0, "unknown type 'Q7'");
  expectFault(R"({"a":{"dtype":"F32","dtype":"F32"}})", 0, "tensor 'a' has two fields 'dtype'");
  expectFault(R"({"a":{},"a":{}})", 0, "listed twice");
  expectFault(R"({"a":5})", 0, "a number where none may be");
}

// Any damage ends in an error or in a file whose tensors are readable.
TEST(SafeTensors, SurvivesDamage) {
  const std::string sound = fileOf(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F16","shape":[2,2],"data_offsets":[8,16]}})",
      std::string(16, 1));
  ASSERT_EQ(faultOf(sound), "");
  std::mt19937 random(20261121);
  int refused = 0;
  const int cases = 20000;
  for (int i = 0; i < cases; ++i) {
    std::string bytes = sound;
    for (unsigned n = 1 + random() % 3; n; --n)
      bytes[random() % bytes.size()] = char(random());
    if (random() % 4 == 0)
      bytes.resize(random() % bytes.size());
    llvm::Expected<SafeTensors> file =
        SafeTensors::read(llvm::MemoryBuffer::getMemBufferCopy(bytes), "f");
    if (!file) {
      llvm::consumeError(file.takeError());
      ++refused;
      continue;
    }
    volatile double sum = 0;
    for (const auto &item : file->tensors())
      for (size_t k = 0; isFloat(item.second) && k < item.second.bytes.size() / 8; ++k)
        sum = sum + elementOf(item.second, int64_t(k));
  }
  // Damage in the numbers of a tensor is not visible; the header is most of it.
  EXPECT_GT(refused, cases / 2);
}

TEST(Checkpoint, TransposesAndFindsPrefixedNames) {
  std::string bytes = fileOf(
      R"({"bert.m.weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},
          "b":{"dtype":"F32","shape":[2],"data_offsets":[24,32]},
          "extra":{"dtype":"I64","shape":[1],"data_offsets":[32,40]}})",
      floats({1, 2, 3, 4, 5, 6, 7, 8}) + std::string(8, 0));
  llvm::Expected<SafeTensors> file =
      SafeTensors::read(llvm::MemoryBuffer::getMemBufferCopy(bytes), "f");
  ASSERT_TRUE(bool(file));
  std::vector<Weight> weights = {{"m.weight", {3, 2}, Init::zeros(), true},
                                 {"b", {2}, Init::zeros(), false}};
  llvm::Expected<CheckpointWeights> source = CheckpointWeights::match(std::move(*file), weights);
  ASSERT_TRUE(bool(source)) << llvm::toString(source.takeError());
  std::vector<double> values(6), part(2);
  llvm::cantFail(source->read(weights[0], 0, values));
  EXPECT_EQ(values, (std::vector<double>{1, 4, 2, 5, 3, 6}));
  llvm::cantFail(source->read(weights[0], 3, part));
  EXPECT_EQ(part, (std::vector<double>{5, 3}));
  EXPECT_EQ(source->unused(), std::vector<std::string>{"extra"});
}

TEST(Checkpoint, ListsEveryMisfit) {
  std::string bytes =
      fileOf(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", floats({1, 2}));
  llvm::Expected<SafeTensors> file =
      SafeTensors::read(llvm::MemoryBuffer::getMemBufferCopy(bytes), "f");
  ASSERT_TRUE(bool(file));
  std::vector<Weight> weights = {{"a", {3}, Init::zeros(), false},
                                 {"b", {2}, Init::zeros(), false}};
  llvm::Expected<CheckpointWeights> source = CheckpointWeights::match(std::move(*file), weights);
  ASSERT_FALSE(bool(source));
  std::string fault = llvm::toString(source.takeError());
  EXPECT_NE(fault.find("tensor 'a' has shape [2], the model needs [3]"), std::string::npos);
  EXPECT_NE(fault.find("parameter 'b' [2] is missing"), std::string::npos);
  EXPECT_NE(fault.find("choose layers, hidden, vocab, ... as in the checkpoint's config.json"),
            std::string::npos);
}

} // namespace
