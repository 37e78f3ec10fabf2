// What the runtime declares of NCCL is what nccl.h does.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/libraries/NcclApi.h"
#include "Alike.h"

#include <gtest/gtest.h>

#ifdef WEFT_HAS_NCCL_HEADER
#include <dlfcn.h>
#include <nccl.h>
#include <string>

using namespace weft::runtime;

namespace weft::runtime::cuda {
struct NcclTable {
#define WEFT_FIELD(NAME, SYMBOL, PARAMETERS) cuda::NcclResult(*NAME) PARAMETERS = nullptr;
  WEFT_NCCL(WEFT_FIELD)
#undef WEFT_FIELD
};
} // namespace weft::runtime::cuda

namespace {

static_assert(int(ncclSuccess) == cuda::NcclSuccess);
static_assert(int(ncclUnhandledCudaError) == cuda::NcclUnhandledCudaError);
static_assert(int(ncclSystemError) == cuda::NcclSystemError);
static_assert(int(ncclInternalError) == cuda::NcclInternalError);
static_assert(int(ncclInvalidArgument) == cuda::NcclInvalidArgument);
static_assert(int(ncclInvalidUsage) == cuda::NcclInvalidUsage);
static_assert(int(ncclRemoteError) == cuda::NcclRemoteError);
static_assert(int(ncclInProgress) == cuda::NcclInProgress);
static_assert(int(ncclInt8) == cuda::NcclI8 && int(ncclUint8) == cuda::NcclU8);
static_assert(int(ncclInt32) == cuda::NcclI32 && int(ncclInt64) == cuda::NcclI64);
static_assert(int(ncclFloat16) == cuda::NcclF16 && int(ncclFloat32) == cuda::NcclF32);
static_assert(int(ncclFloat64) == cuda::NcclF64 && int(ncclBfloat16) == cuda::NcclBF16);
static_assert(int(ncclSum) == cuda::NcclSum && int(ncclProd) == cuda::NcclProduct);
static_assert(int(ncclMax) == cuda::NcclMax && int(ncclMin) == cuda::NcclMin);
static_assert(sizeof(ncclUniqueId) == sizeof(cuda::NcclUniqueId));

// A newer library's configuration begins as ours does; it reads no more than our size.
static_assert(sizeof(ncclConfig_t) >= sizeof(cuda::NcclConfig));
static_assert(offsetof(ncclConfig_t, magic) == offsetof(cuda::NcclConfig, magic));
static_assert(offsetof(ncclConfig_t, version) == offsetof(cuda::NcclConfig, version));
static_assert(offsetof(ncclConfig_t, blocking) == offsetof(cuda::NcclConfig, blocking));
static_assert(offsetof(ncclConfig_t, cgaClusterSize) == offsetof(cuda::NcclConfig, clusterSize));
static_assert(offsetof(ncclConfig_t, minCTAs) == offsetof(cuda::NcclConfig, leastBlocks));
static_assert(offsetof(ncclConfig_t, maxCTAs) == offsetof(cuda::NcclConfig, mostBlocks));
static_assert(offsetof(ncclConfig_t, netName) == offsetof(cuda::NcclConfig, network));
static_assert(offsetof(ncclConfig_t, splitShare) == offsetof(cuda::NcclConfig, splitShare));

#define WEFT_ALIKE(NAME, FUNCTION) WEFT_EXPECT_ALIKE(cuda::NcclTable::NAME, FUNCTION)
WEFT_ALIKE(version, ncclGetVersion);
WEFT_ALIKE(makeId, ncclGetUniqueId);
WEFT_ALIKE(join, ncclCommInitRankConfig);
WEFT_ALIKE(finalize, ncclCommFinalize);
WEFT_ALIKE(destroy, ncclCommDestroy);
WEFT_ALIKE(abort, ncclCommAbort);
WEFT_ALIKE(asyncError, ncclCommGetAsyncError);
WEFT_ALIKE(groupStart, ncclGroupStart);
WEFT_ALIKE(groupEnd, ncclGroupEnd);
WEFT_ALIKE(allReduce, ncclAllReduce);
WEFT_ALIKE(broadcast, ncclBroadcast);
WEFT_ALIKE(allGather, ncclAllGather);
WEFT_ALIKE(reduceScatter, ncclReduceScatter);
WEFT_ALIKE(send, ncclSend);
WEFT_ALIKE(recv, ncclRecv);

TEST(NcclApi, BeginsAConfigurationAsTheHeaderDoes) {
  ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
  cuda::NcclConfig ours;
  EXPECT_EQ(ours.magic, theirs.magic);
  EXPECT_EQ(ours.blocking, theirs.blocking);
  EXPECT_EQ(ours.clusterSize, theirs.cgaClusterSize);
  EXPECT_EQ(ours.leastBlocks, theirs.minCTAs);
  EXPECT_EQ(ours.mostBlocks, theirs.maxCTAs);
  EXPECT_EQ(ours.network, theirs.netName);
  EXPECT_EQ(ours.splitShare, theirs.splitShare);
  EXPECT_LE(ours.version, theirs.version);
}

/// The library itself needs no GPU to be opened.
TEST(NcclApi, ResolvesInTheRealLibrary) {
  void *library = dlopen(WEFT_NCCL_LIBRARY, RTLD_LAZY | RTLD_LOCAL);
  if (!library)
    GTEST_SKIP() << dlerror();
#define WEFT_FIND(NAME, SYMBOL, PARAMETERS) EXPECT_NE(dlsym(library, SYMBOL), nullptr) << SYMBOL;
  WEFT_NCCL(WEFT_FIND)
#undef WEFT_FIND
  EXPECT_NE(dlsym(library, "ncclGetLastError"), nullptr);
  auto errorText =
      reinterpret_cast<const char *(*)(cuda::NcclResult)>(dlsym(library, "ncclGetErrorString"));
  ASSERT_NE(errorText, nullptr);
  EXPECT_EQ(std::string(errorText(cuda::NcclInvalidUsage)).find("invalid usage"), 0u);
}

} // namespace
#else
TEST(NcclApi, IsThatOfTheHeader) { GTEST_SKIP() << "nccl.h was not found"; }
#endif
