// The CUDA device on an emulated driver: what only it has. What all devices do is tested by the
// runtime's tests, which run on it, too.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Harness.h"

#include <cstdlib>
#include <dlfcn.h>
#include <set>

using namespace weft::runtime;

namespace {

/// Of the emulated driver: orders of `seed`, and which call fails.
void restart(uint64_t seed, const char *symbol = "", uint64_t call = 0, int code = 0) {
  std::string path = std::string(std::getenv("WEFT_CUDA_PATH")) + "/libcuda.so.1";
  void *library = dlopen(path.c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  using Restart = void (*)(uint64_t, const char *, uint64_t, int);
  reinterpret_cast<Restart>(dlsym(library, "weft_emulated_restart"))(seed, symbol, call, code);
}

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
  void SetUp() override { restart(1); }

  Id vector(const char *name, bool isInput = false) {
    return isInput ? input(name, DType::F32, {64}) : output(name, DType::F32, {64});
  }
  void begin(uint32_t streams, uint32_t events) {
    kernels = {{"add one", addOne}};
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
  EXPECT_EQ(status.code, int(StatusCode::UserError));
  std::string text = status.text;
  EXPECT_NE(text.find("command 0 (launch)"), std::string::npos) << text;
  EXPECT_NE(text.find("launching a kernel: CUDA_ERROR_LAUNCH_FAILED (719)"), std::string::npos)
      << text;
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
