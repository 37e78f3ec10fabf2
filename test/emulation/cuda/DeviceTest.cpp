// The CUDA device on an emulated driver: what only it has. What all devices do is tested by the
// runtime's tests, which run on it, too.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Harness.h"
#include "Restart.h"

#include "device/cuda/libraries/Library.h"
#include "weft/runtime/HostImage.h"

#include <cstdlib>
#include <set>

using namespace weft::runtime;
using weft::emulated::restart;

namespace {

std::string seen; // names of kernels as they ran

void addOne(int64_t begin, int64_t end, void *const *pointers, const int64_t *scalars) {
  auto *from = static_cast<const float *>(pointers[0]);
  auto *to = static_cast<float *>(pointers[1]);
  for (int64_t i = begin; i < end; ++i)
    to[i] = from[i] + 1;
  if (begin == 0)
    seen += char(scalars[0]);
}

struct CudaDevice : testing::Test, Harness {
  Id kernel = 0;
  weft_kernel_entry entry{"add one"};
  void SetUp() override { restart(1); }

  Id vector(const char *name, bool isInput = false) {
    return isInput ? input(name, DType::F32, {64}) : output(name, DType::F32, {64});
  }
  void begin(uint32_t streams, uint32_t events) {
    kernels = {{"add one", entry.image ? nullptr : addOne, entry.image}};
    kernel = builder.addKernel("add one");
    Harness::begin(streams, events);
  }
  /// to = from + 1; told by `letter` when it runs.
  void add(uint32_t stream, Id from, Id to, char letter) {
    builder.launch({stream}, kernel, 64, 4, {builder.view(from), builder.view(to)},
                   {builder.constant(letter)}, 1);
  }
};

TEST_F(CudaDevice, RunsStreamsInTheOrderOfEvents) {
  Id x = vector("x", true), y = vector("y"), z = vector("z");
  begin(2, 1);
  add(0, x, y, 'a');
  builder.add({0}, EventRecord{0}, {});
  builder.add({1}, EventWait{0}, {});
  add(1, y, z, 'b');
  ASSERT_OK(open());
  set("x", std::vector<float>(64, 1));
  for (uint64_t seed = 0; seed < 20; ++seed) {
    restart(seed);
    ASSERT_OK(run());
    EXPECT_EQ(get<float>("z", 64), std::vector<float>(64, 3));
  }
}

TEST_F(CudaDevice, DoesWhatIsNotOrderedInManyOrders) {
  Id x = vector("x", true), y = vector("y"), z = vector("z");
  begin(2, 0);
  add(0, x, y, 'a');
  add(1, x, z, 'b');
  ASSERT_OK(open());
  set("x", std::vector<float>(64, 1));
  std::set<std::string> orders;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    restart(seed);
    seen.clear();
    ASSERT_OK(run());
    orders.insert(seen);
  }
  EXPECT_EQ(orders, (std::set<std::string>{"ab", "ba"}));
}

TEST_F(CudaDevice, StreamsThatMeetUnorderedEndTheRun) {
  Id x = vector("x", true), y = vector("y"), z = vector("z");
  begin(2, 0);
  add(0, x, y, 'a');
  add(1, y, z, 'b');
  ASSERT_OK(open());
  set("x", std::vector<float>(64, 1));
  weft_status status = run();
  EXPECT_NE(status.code, 0);
  EXPECT_NE(std::string(status.text).find("and nothing orders the two"), std::string::npos)
      << status.text;
}

TEST_F(CudaDevice, TellsWhatTheDriverRefuses) {
  Id x = vector("x", true), y = vector("y");
  begin(1, 0);
  add(0, x, y, 'a');
  restart(1, "cuLaunchKernel", 1, 719);
  ASSERT_OK(open());
  weft_status status = run();
  EXPECT_EQ(status.code, int(StatusCode::DeviceFailed));
  std::string text = status.text;
  EXPECT_NE(text.find("command 0 (launch)"), std::string::npos) << text;
  EXPECT_NE(text.find("launching a kernel: CUDA_ERROR_LAUNCH_FAILED (719)"), std::string::npos)
      << text;
}

/// The same kernel as an image: 4 blocks of 64 threads.
struct CudaImage : CudaDevice {
  HostImage binary, text;
  weft_device_image image{&binary, nullptr, "sm_90", 64, 16, 0};

  void SetUp() override {
    restart(1);
    binary.function = text.function = addOne;
    binary.name = text.name = "add one";
    binary.extent = text.extent = 64;
    binary.grain = text.grain = 16;
    binary.blocks = text.blocks = 4;
    binary.threads = text.threads = 64;
    binary.pointers = text.pointers = 2;
    binary.scalars = text.scalars = 1;
    entry.image = &image;
  }
  /// z = x + 2 from byte `offset` of y on.
  weft_status openTwice(int64_t extent, int64_t offset = 0) {
    Id x = vector("x", true), y = buffer("y", DType::F32, {128}), z = vector("z");
    begin(1, 0);
    View middle = builder.view(y, DType::F32, offset, {64}, {1});
    builder.launch({0}, kernel, extent, 1, {builder.view(x), middle}, {builder.constant('a')}, 1);
    builder.launch({0}, kernel, extent, 1, {middle, builder.view(z)}, {builder.constant('a')}, 1);
    return open();
  }
  void expectThree() {
    set("x", std::vector<float>(64, 1));
    ASSERT_OK(run());
    EXPECT_EQ(get<float>("z", 64), std::vector<float>(64, 3));
  }
};

TEST_F(CudaImage, IsLoadedOnceAndLaunchedByItsShape) {
  restart(1, "cuModuleLoadData", 2, 200);
  ASSERT_OK(openTwice(4, 32));
  expectThree();
}

TEST_F(CudaImage, MayTakeItsAddressesAsATable) {
  binary.table = image.table = 1;
  ASSERT_OK(openTwice(4, 32));
  expectThree();
}

TEST_F(CudaImage, ALaunchOfAnotherShapeIsNone) {
  ASSERT_OK(openTwice(3));
  weft_status status = run();
  EXPECT_NE(std::string(status.text).find("launching a kernel: CUDA_ERROR_INVALID_VALUE"),
            std::string::npos)
      << status.text;
}

TEST_F(CudaImage, OtherChipsTakeTheText) {
  binary.chip = 80;
  image.text = reinterpret_cast<const char *>(&text);
  ASSERT_OK(openTwice(4));
  expectThree();
}

/// An older driver says so of what a newer assembler made.
TEST_F(CudaImage, ABinaryThatTheDriverCannotReadLeavesTheText) {
  static constexpr char unknown[64] = "of a later assembler";
  image.binary = unknown;
  image.text = reinterpret_cast<const char *>(&text);
  ASSERT_OK(openTwice(4));
  expectThree();
}

TEST_F(CudaImage, BothRefusalsAreTold) {
  static constexpr char unknown[64] = "of a later assembler";
  image.binary = image.text = unknown;
  weft_status status = openTwice(4);
  EXPECT_EQ(status.code, int(StatusCode::UserError));
  EXPECT_NE(std::string(status.text).find("loading a kernel: CUDA_ERROR_INVALID_IMAGE (200)"),
            std::string::npos)
      << status.text;
  EXPECT_NE(
      std::string(status.text).find("before that, the CUDA driver failed at loading its binary"),
      std::string::npos)
      << status.text;
}

TEST_F(CudaImage, TextAloneIsEnough) {
  image.binary = nullptr;
  image.text = reinterpret_cast<const char *>(&text);
  ASSERT_OK(openTwice(4));
  expectThree();
}

TEST_F(CudaImage, AChipThatItIsNotForIsNamed) {
  binary.chip = 80;
  image.chip = "sm_80";
  weft_status status = openTwice(4);
  EXPECT_EQ(status.code, int(StatusCode::UserError));
  EXPECT_NE(std::string(status.text)
                .find("kernel 'add one': the program's kernels are for sm_80, and 'emulated GPU 0' "
                      "is sm_90; compile the model with --target cuda:sm_90 or an older chip's"),
            std::string::npos)
      << status.text;
}

TEST_F(CudaImage, AddressesAreAsItWasMadeFor) {
  weft_status status = openTwice(4, 8);
  EXPECT_EQ(status.code, int(StatusCode::Internal));
  EXPECT_NE(std::string(status.text)
                .find("view 1 of a launch begins at byte 264, which is no multiple of the 16"),
            std::string::npos)
      << status.text;
}

TEST_F(CudaImage, ProcessorsDoNotRunIt) {
  setenv("WEFT_DEVICE", "host", 1);
  weft_status status = openTwice(4);
  setenv("WEFT_DEVICE", "cuda", 1);
  EXPECT_EQ(status.code, int(StatusCode::UserError));
  EXPECT_NE(std::string(status.text).find("kernel 'add one' is for sm_90, not for processors"),
            std::string::npos)
      << status.text;
}

TEST_F(CudaDevice, MemoryThatDoesNotFitIsToldWithNumbers) {
  vector("y");
  arena = uint64_t(3) << 30;
  begin(1, 0);
  weft_status status = open();
  EXPECT_EQ(status.code, int(StatusCode::DoesNotFit));
  std::string text = status.text;
  EXPECT_NE(text.find("needs 3.00 GiB on GPU 0, which has 1.00 GiB of 1.00 GiB available"),
            std::string::npos)
      << text;
}

/// out[e] = a b[e] + plus, in place or not, with rows that are apart.
struct ProductProgram : Harness {
  weft_status openProduct(bool inPlace, int64_t offset = 0) {
    Id a = input("a", DType::F32, {3 * 8}), b = input("b", DType::F32, {2, 5, 7}),
       old = input("old", DType::F32, {2, 3, 7}), out = output("out", DType::F32, {2, 3, 7});
    begin(1, 0);
    Gemm params{};
    params.accumulator = DType::F32;
    builder.add({}, Copy{}, {builder.view(old), builder.view(out)});
    builder.add({0, "product"}, params,
                {builder.view(a, DType::F32, offset, {2, 3, 5}, {0, 8, 1}), builder.view(b),
                 builder.view(out), builder.view(inPlace ? out : old)});
    return open();
  }
  static std::vector<float> wanted(const std::vector<float> &a, const std::vector<float> &b,
                                   const std::vector<float> &old, size_t first) {
    std::vector<float> result;
    for (size_t e = 0; e < 2; ++e)
      for (size_t i = 0; i < 3; ++i)
        for (size_t j = 0; j < 7; ++j) {
          double sum = 0;
          for (size_t k = 0; k < 5; ++k)
            sum += double(a[first + 8 * i + k]) * double(b[35 * e + 7 * k + j]);
          result.push_back(float(sum) + old[result.size()]);
        }
    return result;
  }
};

TEST_F(CudaDevice, ProductsAreCublasLts) {
  for (bool inPlace : {false, true})
    for (int64_t first : {0, 1, 2}) {
      ProductProgram one;
      ASSERT_OK(one.openProduct(inPlace, 4 * first));
      auto a = randomValues<float>(24, 1), b = randomValues<float>(70, 2),
           old = randomValues<float>(42, 3);
      one.set("a", a), one.set("b", b), one.set("old", old);
      ASSERT_OK(one.run());
      EXPECT_EQ(one.get<float>("out", 42), ProductProgram::wanted(a, b, old, size_t(first)));
    }
}

TEST_F(CudaDevice, AFailedProductIsNamedWithTheLibrarysWord) {
  ProductProgram one;
  ASSERT_OK(one.openProduct(false));
  restart(1, "cublasLtMatmul", 1, 15);
  weft_status status = one.run();
  std::string text = status.text;
  EXPECT_EQ(status.code, int(StatusCode::UserError));
  EXPECT_NE(text.find("'product'"), std::string::npos) << text;
  EXPECT_NE(text.find("cuBLASLt failed at a matrix product: CUBLAS_STATUS_NOT_SUPPORTED (15)"),
            std::string::npos)
      << text;
}

TEST_F(CudaDevice, ALibraryThatIsNotThereIsLookedForInAllPlaces) {
  std::string path = std::getenv("WEFT_CUDA_PATH");
  setenv("WEFT_CUDA_PATH", "/nowhere", 1);
  std::string tried;
  EXPECT_EQ(cuda::openLibrary({"libweft-none.so.13", "libweft-none.so.12"}, tried), nullptr);
  setenv("WEFT_CUDA_PATH", path.c_str(), 1);
  for (const char *place : {"/nowhere/libweft-none.so.13", "/nowhere/lib64/libweft-none.so.12",
                            "/nowhere/lib/libweft-none.so.13", "; libweft-none.so.12"})
    EXPECT_NE(tried.find(place), std::string::npos) << tried;
}

TEST_F(CudaDevice, MoreRanksThanGpusAreRefused) {
  builder.addMeshAxis("dp", 9);
  vector("y");
  begin(1, 0);
  weft_status status = open();
  EXPECT_EQ(status.code, int(StatusCode::UserError));
  EXPECT_NE(std::string(status.text).find("the machine has 8 GPUs for 9 ranks"), std::string::npos)
      << status.text;
}

} // namespace
