// What the runtime declares of CUDA's driver is what cuda.h does.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/DriverApi.h"
#include "Alike.h"

#include <gtest/gtest.h>

#ifdef WEFT_HAS_CUDA_HEADER
#include <cuda.h>

namespace weft::runtime::cuda {
struct Table {
#define WEFT_FIELD(NAME, SYMBOL, PARAMETERS) cuda::Result(*NAME) PARAMETERS = nullptr;
  WEFT_CUDA_DRIVER(WEFT_FIELD)
#undef WEFT_FIELD
};
} // namespace weft::runtime::cuda

using namespace weft::runtime;
using cuda::Table;

namespace {

static_assert(int(CUDA_SUCCESS) == cuda::Success);
static_assert(int(CUDA_ERROR_INVALID_VALUE) == cuda::InvalidValue);
static_assert(int(CUDA_ERROR_OUT_OF_MEMORY) == cuda::OutOfMemory);
static_assert(int(CUDA_ERROR_NOT_INITIALIZED) == cuda::NotInitialized);
static_assert(int(CUDA_ERROR_DEVICE_UNAVAILABLE) == cuda::DeviceUnavailable);
static_assert(int(CUDA_ERROR_NO_DEVICE) == cuda::NoDevice);
static_assert(int(CUDA_ERROR_INVALID_IMAGE) == cuda::InvalidImage);
static_assert(int(CUDA_ERROR_NO_BINARY_FOR_GPU) == cuda::NoBinaryForGpu);
static_assert(int(CUDA_ERROR_ECC_UNCORRECTABLE) == cuda::EccUncorrectable);
static_assert(int(CUDA_ERROR_NVLINK_UNCORRECTABLE) == cuda::NvlinkUncorrectable);
static_assert(int(CUDA_ERROR_INVALID_HANDLE) == cuda::InvalidHandle);
static_assert(int(CUDA_ERROR_NOT_FOUND) == cuda::NotFound);
static_assert(int(CUDA_ERROR_NOT_READY) == cuda::NotReady);
static_assert(int(CUDA_ERROR_ILLEGAL_ADDRESS) == cuda::IllegalAddress);
static_assert(int(CUDA_ERROR_LAUNCH_TIMEOUT) == cuda::LaunchTimeout);
static_assert(int(CUDA_ERROR_HARDWARE_STACK_ERROR) == cuda::HardwareStackError);
static_assert(int(CUDA_ERROR_ILLEGAL_INSTRUCTION) == cuda::IllegalInstruction);
static_assert(int(CUDA_ERROR_MISALIGNED_ADDRESS) == cuda::MisalignedAddress);
static_assert(int(CUDA_ERROR_INVALID_ADDRESS_SPACE) == cuda::InvalidAddressSpace);
static_assert(int(CUDA_ERROR_INVALID_PC) == cuda::InvalidPc);
static_assert(int(CUDA_ERROR_LAUNCH_FAILED) == cuda::LaunchFailed);
static_assert(int(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) == cuda::CaptureUnsupported);
static_assert(int(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) == cuda::CaptureInvalidated);
static_assert(int(CUDA_ERROR_STREAM_CAPTURE_MERGE) == cuda::CaptureMerge);
static_assert(int(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED) == cuda::CaptureUnmatched);
static_assert(int(CUDA_ERROR_STREAM_CAPTURE_UNJOINED) == cuda::CaptureUnjoined);
static_assert(int(CUDA_ERROR_STREAM_CAPTURE_ISOLATION) == cuda::CaptureIsolation);
static_assert(int(CUDA_ERROR_CAPTURED_EVENT) == cuda::CapturedEvent);
static_assert(int(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD) == cuda::CaptureWrongThread);
static_assert(int(CU_STREAM_CAPTURE_MODE_GLOBAL) == cuda::CaptureGlobal);
static_assert(int(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == cuda::CaptureThreadLocal);
static_assert(int(CU_STREAM_CAPTURE_MODE_RELAXED) == cuda::CaptureRelaxed);
static_assert(unsigned(CU_EVENT_RECORD_EXTERNAL) == cuda::EventRecordExternal);
static_assert(int(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) == cuda::ComputeCapabilityMajor);
static_assert(int(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) == cuda::ComputeCapabilityMinor);
static_assert(unsigned(CU_STREAM_NON_BLOCKING) == cuda::StreamNonBlocking);
static_assert(unsigned(CU_EVENT_DISABLE_TIMING) == cuda::EventDisableTiming);
static_assert(unsigned(CU_MEMHOSTALLOC_DEVICEMAP) == cuda::HostAllocDeviceMap);
static_assert(unsigned(CU_STREAM_WAIT_VALUE_GEQ) == cuda::WaitValueGeq);
static_assert(int(CU_MEMORYTYPE_HOST) == cuda::HostMemory);
static_assert(int(CU_MEMORYTYPE_DEVICE) == cuda::DeviceMemory);
static_assert(sizeof(CUdeviceptr) == sizeof(cuda::DevicePointer));
static_assert(sizeof(CUuuid) == sizeof(cuda::Uuid));

static_assert(sizeof(CUDA_MEMCPY2D) == sizeof(cuda::Copy2D));
#define WEFT_SAME(THEIRS, OURS)                                                                    \
  static_assert(offsetof(CUDA_MEMCPY2D, THEIRS) == offsetof(cuda::Copy2D, OURS))
WEFT_SAME(srcXInBytes, sourceX);
WEFT_SAME(srcY, sourceY);
WEFT_SAME(srcMemoryType, sourceKind);
WEFT_SAME(srcHost, sourceHost);
WEFT_SAME(srcDevice, sourceDevice);
WEFT_SAME(srcPitch, sourcePitch);
WEFT_SAME(dstXInBytes, destinationX);
WEFT_SAME(dstY, destinationY);
WEFT_SAME(dstMemoryType, destinationKind);
WEFT_SAME(dstHost, destinationHost);
WEFT_SAME(dstDevice, destinationDevice);
WEFT_SAME(dstPitch, destinationPitch);
WEFT_SAME(WidthInBytes, width);
WEFT_SAME(Height, height);

// cuda.h names the newest version of each function that it has; ours is the one in the table.
#undef cuEventElapsedTime
#undef cuDevicePrimaryCtxRelease
extern "C" CUresult cuEventElapsedTime(float *, CUevent, CUevent);
#define WEFT_ALIKE(NAME, FUNCTION) WEFT_EXPECT_ALIKE(Table::NAME, FUNCTION)
WEFT_ALIKE(init, cuInit);
WEFT_ALIKE(driverVersion, cuDriverGetVersion);
WEFT_ALIKE(errorName, cuGetErrorName);
WEFT_ALIKE(errorText, cuGetErrorString);
WEFT_ALIKE(deviceCount, cuDeviceGetCount);
WEFT_ALIKE(deviceUuid, cuDeviceGetUuid_v2);
WEFT_ALIKE(deviceName, cuDeviceGetName);
WEFT_ALIKE(deviceAttribute, cuDeviceGetAttribute);
WEFT_ALIKE(retainContext, cuDevicePrimaryCtxRetain);
WEFT_ALIKE(setContext, cuCtxSetCurrent);
WEFT_ALIKE(memoryInfo, cuMemGetInfo_v2);
WEFT_ALIKE(allocate, cuMemAlloc_v2);
WEFT_ALIKE(free, cuMemFree_v2);
WEFT_ALIKE(hostAllocate, cuMemHostAlloc);
WEFT_ALIKE(hostFree, cuMemFreeHost);
WEFT_ALIKE(hostDevicePointer, cuMemHostGetDevicePointer_v2);
WEFT_ALIKE(upload, cuMemcpyHtoDAsync_v2);
WEFT_ALIKE(download, cuMemcpyDtoHAsync_v2);
WEFT_ALIKE(copy, cuMemcpyDtoDAsync_v2);
WEFT_ALIKE(copy2D, cuMemcpy2DAsync_v2);
WEFT_ALIKE(fill8, cuMemsetD2D8Async);
WEFT_ALIKE(fill16, cuMemsetD2D16Async);
WEFT_ALIKE(fill32, cuMemsetD2D32Async);
WEFT_ALIKE(createStream, cuStreamCreate);
WEFT_ALIKE(destroyStream, cuStreamDestroy_v2);
WEFT_ALIKE(queryStream, cuStreamQuery);
WEFT_ALIKE(synchronizeStream, cuStreamSynchronize);
WEFT_ALIKE(waitEvent, cuStreamWaitEvent);
WEFT_ALIKE(waitValue, cuStreamWaitValue32_v2);
WEFT_ALIKE(writeValue, cuStreamWriteValue32_v2);
WEFT_ALIKE(createEvent, cuEventCreate);
WEFT_ALIKE(destroyEvent, cuEventDestroy_v2);
WEFT_ALIKE(recordEvent, cuEventRecord);
WEFT_ALIKE(recordEventWithFlags, cuEventRecordWithFlags);
WEFT_ALIKE(queryEvent, cuEventQuery);
WEFT_ALIKE(synchronizeEvent, cuEventSynchronize);
WEFT_ALIKE(elapsed, cuEventElapsedTime);
WEFT_ALIKE(beginCapture, cuStreamBeginCapture);
WEFT_ALIKE(endCapture, cuStreamEndCapture);
WEFT_ALIKE(graphNodes, cuGraphGetNodes);
WEFT_ALIKE(instantiate, cuGraphInstantiate);
WEFT_ALIKE(launchGraph, cuGraphLaunch);
WEFT_ALIKE(destroyExec, cuGraphExecDestroy);
WEFT_ALIKE(destroyGraph, cuGraphDestroy);
WEFT_ALIKE(loadModule, cuModuleLoadData);
WEFT_ALIKE(unloadModule, cuModuleUnload);
WEFT_ALIKE(getFunction, cuModuleGetFunction);
WEFT_ALIKE(launch, cuLaunchKernel);

} // namespace
#else
TEST(DriverApi, IsThatOfTheToolkit) { GTEST_SKIP() << "cuda.h was not found"; }
#endif
