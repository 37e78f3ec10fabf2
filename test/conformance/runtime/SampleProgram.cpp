// Writes a small program's blob, weights and data: the material of CliTest.sh.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: weft_sample_program BLOB DIRECTORY
//
// The program: y = relu(x W + b) V on mesh dp=2, tp=2, as weft-compile would
// emit it. x is split over dp, W by columns and V by rows over tp, so that y is
// reduced over tp, on stream 1. W is stored transposed and as float16.
#include "weft/runtime/Npy.h"
#include "weft/runtime/ProgramBuilder.h"

#include "base/Convert.h"

#include <cstdio>
#include <fstream>

using namespace weft::runtime;

namespace {

constexpr int64_t kRows = 5, kIn = 6, kHidden = 7, kOut = 3;

double valueOf(int64_t i, int64_t seed) {
  return double((i * 37 + seed * 11) % 17) / 8 - 1; // exact in float16
}

void writeFile(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

template <typename T> std::string bytesOf(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)};
}

/// A routine that sums a block over ranks, in place and on stream 1.
Id addSum(ProgramBuilder &b, Id communicator, int64_t elements) {
  auto block = [&](const char *name, Id number) {
    return b.view(b.addBuffer(name, BufferClass::Activation, DType::F32, 0, uint64_t(elements) * 4,
                              {elements}, number));
  };
  Id routine = b.beginRoutine("sum", {elements * 4, elements * 4}, 1, 2, 2);
  b.add({0}, EventRecord{0}, {});
  b.add({1}, EventWait{0}, {});
  Collective sum{};
  sum.kind = CollectiveKind::AllReduce;
  sum.dtype = sum.accumulator = DType::F32;
  sum.communicator = communicator;
  sum.outer = 1, sum.extent = elements, sum.inner = 1;
  sum.middle = sum.otherExtent = 1;
  b.add({1, "{}/down"}, sum, {block("part", 0), block("whole", 1)});
  b.add({1}, EventRecord{1}, {});
  b.add({0, "{}/down"}, EventWait{1}, {});
  b.endRoutine();
  return routine;
}

std::vector<uint8_t> makeProgram(uint64_t hash) {
  ProgramBuilder b;
  b.info().weftVersion = b.string("test");
  b.info().modelName = b.string("sample");
  b.info().target = b.string("cpu");
  Id dp = b.addMeshAxis("dp", 2), tp = b.addMeshAxis("tp", 2);
  const int64_t rows = 3, hidden = 4; // local, both padded
  uint64_t end = 0;
  auto buffer = [&](const char *name, BufferClass kind, ProgramBuilder::Ints shape) {
    uint64_t bytes = 4;
    for (int64_t size : shape)
      bytes *= uint64_t(size);
    Id id = b.addBuffer(name, kind, DType::F32, end, bytes, shape);
    end += (bytes + 63) / 64 * 64;
    return id;
  };
  Id x = buffer("x", BufferClass::Input, {rows, kIn});
  Id w = buffer("w", BufferClass::Parameter, {kIn, hidden});
  Id bias = buffer("b", BufferClass::Parameter, {hidden});
  Id v = buffer("v", BufferClass::Parameter, {hidden, kOut});
  Id h = buffer("h", BufferClass::Activation, {rows, hidden});
  Id y = buffer("y", BufferClass::Output, {rows, kOut});
  Id rowsOverDp = b.addPlacement({{{kRows, {dp}}}, {{kIn, {}}}});
  Id outOverDp = b.addPlacement({{{kRows, {dp}}}, {{kOut, {}}}});
  ProgramBuilder::PieceDesc wFile;
  wFile.dtype = DType::F16;
  wFile.sourceShape = {kHidden, kIn};
  wFile.path = "weights.bin";
  wFile.confined = true; // as the data that an .onnx names
  wFile.byteOffset = 8;
  wFile.hashes = {hash};
  wFile.transforms = {{TransformKind::Transpose, DType::F32, {1, 0}},
                      {TransformKind::Cast, DType::F32, {}}};
  b.addState("w", DType::F32, {kIn, kHidden}, b.addPlacement({{{kIn, {}}}, {{kHidden, {tp}}}}), w,
             {wFile});
  std::vector<float> small;
  for (int64_t i = 0; i < kHidden; ++i)
    small.push_back(float(valueOf(i, 3)));
  ProgramBuilder::PieceDesc embedded;
  embedded.kind = SourceKind::Embedded;
  embedded.sourceShape = {kHidden};
  embedded.byteOffset = b.addData(small.data(), small.size() * 4);
  b.addState("b", DType::F32, {kHidden}, b.addPlacement({{{kHidden, {tp}}}}), bias, {embedded});
  small.clear();
  for (int64_t i = 0; i < kHidden * kOut; ++i)
    small.push_back(float(valueOf(i, 4)));
  embedded.sourceShape = {kHidden, kOut};
  embedded.byteOffset = b.addData(small.data(), small.size() * 4);
  b.addState("v", DType::F32, {kHidden, kOut}, b.addPlacement({{{kHidden, {tp}}}, {{kOut, {}}}}), v,
             {embedded});
  Id in = b.addPort("x", DType::F32, {kRows, kIn}, rowsOverDp, x);
  Id out = b.addPort("y", DType::F32, {kRows, kOut}, outOverDp, y);
  Id sum = addSum(b, b.addCommunicator({tp}), rows * kOut);
  b.beginProgram("forward", {in}, {out});
  b.beginBody(2, 0);
  Gemm gemm{};
  gemm.accumulator = DType::F32;
  b.add({0, "layer/up"}, gemm, {b.view(x), b.view(w), b.view(h)});
  b.launch({0, "layer/relu"}, b.addKernel("bias_relu"), rows, 1, {b.view(h), b.view(bias)},
           {b.constant(hidden)});
  b.add({0, "layer/down"}, gemm, {b.view(h), b.view(v), b.view(y)});
  b.invoke({}, sum, {b.view(y), b.view(y)}, "layer", 0);
  b.endBody();
  b.endProgram();
  b.addStage({end, {}});
  return b.finish();
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s BLOB DIRECTORY\n", argv[0]);
    return 2;
  }
  std::string folder = argv[2];
  std::vector<Float16> w; // transposed: [hidden, in]
  for (int64_t i = 0; i < kHidden * kIn; ++i)
    w.push_back(Float16(float(valueOf(i, 2))));
  writeFile(folder + "/weights.bin", "headers:" + bytesOf(w));
  std::vector<uint8_t> blob = makeProgram(hashBytes(w.data(), w.size() * sizeof(Float16)));
  writeFile(argv[1], {blob.begin(), blob.end()});

  std::vector<float> x, wide(kRows * kIn * 2);
  std::vector<double> y;
  for (int64_t i = 0; i < kRows * kIn; ++i)
    x.push_back(float(valueOf(i, 1)));
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t o = 0; o < kOut; ++o) {
      double total = 0;
      for (int64_t j = 0; j < kHidden; ++j) {
        double sum = valueOf(j, 3);
        for (int64_t i = 0; i < kIn; ++i)
          sum += double(x[r * kIn + i]) * valueOf(j * kIn + i, 2);
        total += (sum > 0 ? sum : 0) * valueOf(j * kOut + o, 4);
      }
      y.push_back(total);
    }
  auto npy = [&](const char *name, DType type, std::vector<int64_t> shape,
                 const std::string &bytes) {
    writeFile(folder + "/" + name, npyHeader(type, shape) + bytes);
  };
  npy("x.npy", DType::F32, {kRows, kIn}, bytesOf(x));
  npy("wide.npy", DType::F32, {kRows, kIn * 2}, bytesOf(wide));
  npy("half.npy", DType::F16, {kRows, kIn}, std::string(kRows * kIn * 2, '\0'));
  npy("y.npy", DType::F64, {kRows, kOut}, bytesOf(y));
  y[4] += 1;
  npy("wrong.npy", DType::F64, {kRows, kOut}, bytesOf(y));
  npy("infinite.npy", DType::F64, {kRows, kOut}, bytesOf(std::vector<double>(y.size(), HUGE_VAL)));
  npy("integers.npy", DType::I64, {kRows, kOut}, bytesOf(std::vector<int64_t>(y.size())));
  npy("narrow.npy", DType::F16, {kRows, kOut}, bytesOf(std::vector<uint16_t>(y.size())));
  // Sums of these leave the range: outputs are infinities and NaN.
  npy("huge.npy", DType::F32, {kRows, kIn}, bytesOf(std::vector<float>(x.size(), 3e38f)));
  return 0;
}
