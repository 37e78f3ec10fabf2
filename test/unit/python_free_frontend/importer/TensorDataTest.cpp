// Elements of tensors in every field and type, held in the IR or left in the file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/onnx/IR/TensorData.h"
#include "ImportFixture.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "python_free_frontend/exporter/Exporter.h"
#include "weft/Interfaces/TensorTypes.h"
#include "llvm/Support/MathExtras.h"
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace weft::onnx;

namespace {

/// The elements of a tensor of integers; none, with a failure, if it cannot be read.
std::vector<int64_t> integersOf(TensorAttr tensor) {
  auto bytes = readTensor(
      tensor, [&] { return mlir::emitError(mlir::UnknownLoc::get(tensor.getContext())); });
  EXPECT_TRUE(succeeded(bytes));
  if (failed(bytes))
    return {};
  auto element = mlir::cast<mlir::IntegerType>(tensor.getType().getElementType());
  unsigned bits = getStoredBits(element);
  std::vector<int64_t> values;
  for (int64_t i = 0, e = tensor.getType().getNumElements(); i < e; ++i) {
    uint64_t value = 0;
    std::memcpy(&value, bytes->data() + i * bits / 8, weft::elementBytes(element));
    if (bits < 8)
      value >>= i * bits % 8;
    value &= llvm::maskTrailingOnes<uint64_t>(bits);
    bool isSigned = !element.isUnsigned() && element.getWidth() > 1;
    values.push_back(isSigned ? llvm::SignExtend64(value, bits) : int64_t(value));
  }
  return values;
}

class TensorDataTest : public ImportTest {
protected:
  TensorAttr throughFile(const Tensor &tensor) {
    Model model = reluModel();
    Tensor &initializer = *model.mutable_graph()->add_initializer();
    initializer = tensor;
    initializer.set_name("w");
    module = import(write("m.onnx", model.SerializeAsString()));
    EXPECT_TRUE(module) << log;
    auto ops = getMainGraph(*module).getBody().getOps<InitializerOp>();
    return (*ops.begin()).getValue();
  }
  /// Writes `count` entries by `add`, reads them back as integers.
  template <typename Add> void expectIntegers(int type, unsigned count, Add add) {
    Tensor tensor;
    tensor.set_data_type(type);
    tensor.add_dims(count);
    std::vector<int64_t> expected;
    for (unsigned i = 0; i < count; ++i)
      expected.push_back(add(tensor, i));
    TensorAttr attribute = throughFile(tensor);
    bool inFile = mlir::isa<DataAttr>(attribute.getData());
    EXPECT_EQ(inFile, count >= 1000) << type;
    EXPECT_EQ(integersOf(attribute), expected) << Tensor::DataType_Name(type);
  }
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace

TEST_F(TensorDataTest, IntegersOfEveryTypeAndField) {
  for (unsigned count : {3u, 1500u}) {
    auto signedValue = [](unsigned i, int64_t bound) {
      int64_t value = (i * 37) % bound;
      return i % 2 ? -value : value;
    };
    expectIntegers(Tensor::INT64, count, [&](Tensor &t, unsigned i) {
      int64_t value = signedValue(i, 1000) * (int64_t(1) << 40);
      t.add_int64_data(value);
      return value;
    });
    for (auto [type, bound] : {std::pair(Tensor::INT32, 1 << 30), std::pair(Tensor::INT16, 1 << 15),
                               std::pair(Tensor::INT8, 1 << 7)})
      expectIntegers(type, count, [&, bound = bound](Tensor &t, unsigned i) {
        int64_t value = signedValue(i, bound);
        t.add_int32_data(value);
        return value;
      });
    for (auto [type, bound] : {std::pair(Tensor::UINT16, 1 << 16), std::pair(Tensor::UINT8, 1 << 8),
                               std::pair(Tensor::BOOL, 2)})
      expectIntegers(type, count, [&, bound = bound](Tensor &t, unsigned i) {
        int64_t value = (i * 37) % bound;
        t.add_int32_data(value);
        return value;
      });
    for (int type : {Tensor::UINT32, Tensor::UINT64})
      expectIntegers(type, count, [&](Tensor &t, unsigned i) {
        t.add_uint64_data(i * 2000000u);
        return int64_t(i * 2000000u);
      });
  }
}

TEST_F(TensorDataTest, WhatIsNoNumberIsTold) {
  auto told = [&](llvm::StringRef text) {
    auto tensor = mlir::cast<TensorAttr>(mlir::parseAttribute(text, &context));
    std::string said;
    mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) {
      said += diagnostic.str();
      return mlir::success();
    });
    auto error = [&] { return mlir::emitError(mlir::UnknownLoc::get(&context)); };
    EXPECT_TRUE(failed(readTensor(tensor, error)));
    return said;
  };
  context.loadDialect<OnnxDialect>();
  EXPECT_EQ(told("#onnx.tensor<type = tensor<1xf32>, data = [\"a\"]>"),
            "cannot read a tensor of strings as numbers");
  EXPECT_EQ(told("#onnx.tensor<type = tensor<1x!onnx.string>, data = [\"a\"]>"),
            "cannot read the elements of a constant of type 'tensor<1x!onnx.string>'");
  EXPECT_EQ(told("#onnx.tensor<type = tensor<2xf32>, data = #onnx.bytes<raw \"0000803F\">>"),
            "holds 4 bytes, but its type 'tensor<2xf32>' needs 8");
  std::string file = write("numbers", "\x80\x80\x80");
  EXPECT_EQ(told("#onnx.tensor<type = tensor<1xi64>, data = #onnx.data<int64 \"" + file +
                 "\" offset 0 length 3>>"),
            "holds a damaged varint in '" + file + "'");
}

TEST_F(TensorDataTest, WeightsAreNeitherReadNorCopied) {
  // Two weights of 1.5 GiB each, more than protobuf itself could parse, in a
  // file that is a hole but for the messages around them.
  auto varint = [](uint64_t value) {
    std::string out;
    for (; value >= 0x80; value >>= 7)
      out.push_back(static_cast<char>(value | 0x80));
    return out + static_cast<char>(value);
  };
  const uint64_t weight = uint64_t(3) << 29;
  std::string header[2];
  uint64_t graphSize = 0;
  for (int i = 0; i < 2; ++i) {
    Tensor tensor;
    tensor.set_name(i ? "b" : "a");
    tensor.set_data_type(Tensor::FLOAT);
    tensor.add_dims(weight / 4);
    header[i] = tensor.SerializeAsString() + "\x4a" + varint(weight);
    uint64_t size = header[i].size() + weight;
    header[i] = "\x2a" + varint(size) + header[i];
    graphSize += header[i].size() + weight;
  }
  std::string path = write("m.onnx", "");
  int fd = open(path.c_str(), O_WRONLY);
  ASSERT_GE(fd, 0);
  std::string start = "\x08\x08\x3a" + varint(graphSize) + header[0];
  uint64_t second = start.size() + weight;
  ASSERT_GT(pwrite(fd, start.data(), start.size(), 0), 0);
  ASSERT_GT(pwrite(fd, header[1].data(), header[1].size(), second), 0);
  ASSERT_EQ(ftruncate(fd, second + header[1].size() + weight), 0);
  close(fd);

  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  auto begin = std::chrono::steady_clock::now();
  module = import(path);
  std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  getrusage(RUSAGE_SELF, &after);
  ASSERT_TRUE(module) << log;
  EXPECT_LT(taken.count(), 0.5);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10);
  auto ops = getMainGraph(*module).getBody().getOps<InitializerOp>();
  auto last = mlir::cast<DataAttr>((*++ops.begin()).getValue().getData());
  EXPECT_EQ(uint64_t(last.getOffset()), second + header[1].size());
  EXPECT_EQ(uint64_t(last.getLength()), weight);

  // Such a model cannot be one file of protobuf's; that is said before 3 GiB
  // are read.
  log.clear();
  llvm::raw_string_ostream stream(log);
  weft::DiagnosticHandler handler(&context, stream);
  llvm::raw_null_ostream nowhere;
  EXPECT_TRUE(failed(exportModel(*module, nowhere)));
  EXPECT_NE(log.find("needs 3221225472 bytes, but a model file holds less"), std::string::npos)
      << log;
}

TEST_F(TensorDataTest, PackedSmallIntegers) {
  Tensor tensor;
  tensor.add_dims(3);
  auto values = [&](int type, const std::string &raw) {
    tensor.set_data_type(type);
    tensor.set_raw_data(raw);
    return integersOf(throughFile(tensor));
  };
  EXPECT_EQ(values(Tensor::UINT4, "\x21\x0f"), (std::vector<int64_t>{1, 2, 15}));
  EXPECT_EQ(values(Tensor::INT4, "\x2f\x08"), (std::vector<int64_t>{-1, 2, -8}));
  EXPECT_EQ(values(Tensor::UINT2, "\x39"), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(values(Tensor::INT2, "\x39"), (std::vector<int64_t>{1, -2, -1}));
}

TEST_F(TensorDataTest, FloatsAreTheSameBytesInEveryField) {
  for (unsigned count : {2u, 1500u}) {
    Tensor raw, floats, doubles, halves;
    for (Tensor *tensor : {&raw, &floats, &doubles, &halves}) {
      tensor->set_data_type(Tensor::FLOAT);
      tensor->add_dims(count);
    }
    std::string expected, wide, narrow;
    for (unsigned i = 0; i < count; ++i) {
      float value = i * 0.25f - 7;
      double twice = 2.0 * value;
      uint16_t half = i;
      expected.append(reinterpret_cast<char *>(&value), 4);
      wide.append(reinterpret_cast<char *>(&twice), 8);
      narrow.append(reinterpret_cast<char *>(&half), 2);
      floats.add_float_data(value);
      doubles.add_double_data(twice);
      halves.add_int32_data(half);
    }
    raw.set_raw_data(expected);
    doubles.set_data_type(Tensor::DOUBLE);
    halves.set_data_type(Tensor::BFLOAT16);
    auto bytes = [&](const Tensor &tensor) {
      auto read = readTensor(throughFile(tensor),
                             [&] { return mlir::emitError(mlir::UnknownLoc::get(&context)); });
      return succeeded(read) ? std::string(read->begin(), read->end()) : "";
    };
    EXPECT_EQ(bytes(raw), expected);
    EXPECT_EQ(bytes(floats), expected);
    EXPECT_EQ(bytes(doubles), wide);
    EXPECT_EQ(bytes(halves), narrow);
  }
}
