// Elements of tensors in every field and type, held in the IR or left in the
// file. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/onnx/IR/TensorData.h"
#include "ImportFixture.h"
#include "mlir/IR/Diagnostics.h"

using namespace weft::onnx;

namespace {

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
  template <typename Add>
  void expectIntegers(int type, unsigned count, Add add) {
    Tensor tensor;
    tensor.set_data_type(type);
    tensor.add_dims(count);
    std::vector<int64_t> expected;
    for (unsigned i = 0; i < count; ++i)
      expected.push_back(add(tensor, i));
    TensorAttr attribute = throughFile(tensor);
    bool inFile = mlir::isa<DataAttr>(attribute.getData());
    EXPECT_EQ(inFile, count >= 1000) << type;
    auto values = readIntegers(attribute, [&] {
      return mlir::emitError(mlir::UnknownLoc::get(&context));
    });
    ASSERT_TRUE(succeeded(values)) << type;
    EXPECT_EQ(std::vector<int64_t>(values->begin(), values->end()), expected)
        << Tensor::DataType_Name(type);
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
    for (auto [type, bound] :
         {std::pair(Tensor::INT32, 1 << 30), std::pair(Tensor::INT16, 1 << 15),
          std::pair(Tensor::INT8, 1 << 7)})
      expectIntegers(type, count, [&, bound = bound](Tensor &t, unsigned i) {
        int64_t value = signedValue(i, bound);
        t.add_int32_data(value);
        return value;
      });
    for (auto [type, bound] :
         {std::pair(Tensor::UINT16, 1 << 16), std::pair(Tensor::UINT8, 1 << 8),
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

TEST_F(TensorDataTest, PackedSmallIntegers) {
  Tensor tensor;
  tensor.add_dims(3);
  auto values = [&](int type, const std::string &raw) {
    tensor.set_data_type(type);
    tensor.set_raw_data(raw);
    auto read = readIntegers(throughFile(tensor), [&] {
      return mlir::emitError(mlir::UnknownLoc::get(&context));
    });
    return succeeded(read) ? std::vector<int64_t>(read->begin(), read->end())
                           : std::vector<int64_t>();
  };
  EXPECT_EQ(values(Tensor::UINT4, "\x21\x0f"),
            (std::vector<int64_t>{1, 2, 15}));
  EXPECT_EQ(values(Tensor::INT4, "\x2f\x08"),
            (std::vector<int64_t>{-1, 2, -8}));
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
      auto read = readTensor(throughFile(tensor), [&] {
        return mlir::emitError(mlir::UnknownLoc::get(&context));
      });
      return succeeded(read) ? std::string(read->begin(), read->end()) : "";
    };
    EXPECT_EQ(bytes(raw), expected);
    EXPECT_EQ(bytes(floats), expected);
    EXPECT_EQ(bytes(doubles), wide);
    EXPECT_EQ(bytes(halves), narrow);
  }
}
