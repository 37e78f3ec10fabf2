// What of the CUDA driver's interface the device uses, so that it builds without CUDA's toolkit.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and numbers are those of cuda.h (CUDA 12 and 13), which a test holds them to where it is
// installed. All functions are the library's newest version of their name that CUDA 12.0 has.
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_DRIVERAPI_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_DRIVERAPI_H

#include <cstddef>
#include <cstdint>

namespace weft::runtime::cuda {

using DevicePointer = unsigned long long; // an address on the device
using Context = struct ContextTag *;
using Stream = struct StreamTag *;
using Event = struct EventTag *;
using Module = struct ModuleTag *;
using Function = struct FunctionTag *;
using Graph = struct GraphTag *;
using GraphNode = struct GraphNodeTag *;
using GraphExec = struct GraphExecTag *; // a graph that can be launched

enum Result : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  DeviceUnavailable = 46,
  NoDevice = 100,
  InvalidImage = 200,
  NoBinaryForGpu = 209,
  EccUncorrectable = 214,
  NvlinkUncorrectable = 220,
  InvalidHandle = 400,
  NotFound = 500,
  NotReady = 600,
  IllegalAddress = 700,
  LaunchTimeout = 702,
  HardwareStackError = 714,
  IllegalInstruction = 715,
  MisalignedAddress = 716,
  InvalidAddressSpace = 717,
  InvalidPc = 718,
  LaunchFailed = 719,
  CaptureUnsupported = 900,
  CaptureInvalidated = 901,
  CaptureMerge = 902,
  CaptureUnmatched = 903,
  CaptureUnjoined = 904,
  CaptureIsolation = 905,
  CapturedEvent = 907,
  CaptureWrongThread = 908,
};

enum Attribute : int { ComputeCapabilityMajor = 75, ComputeCapabilityMinor = 76 };

enum Flag : unsigned {
  StreamNonBlocking = 1, // it does not wait for the default stream
  EventDisableTiming = 2,
  HostAllocDeviceMap = 2, // the device may read and write what is allocated so
  WaitValueGeq = 0,       // int32(value in memory - wanted) >= 0
  EventRecordExternal = 1 // a captured record is a node: whoever asks sees when it was reached
};

/// Whose calls a capture forbids that could not be captured: all threads', its own thread's, none.
enum CaptureMode : int { CaptureGlobal = 0, CaptureThreadLocal = 1, CaptureRelaxed = 2 };

enum MemoryKind : int { NoMemory = 0, HostMemory = 1, DeviceMemory = 2 };

/// Of a device, wherever it is seen: CUuuid.
struct Uuid {
  char bytes[16];
};

/// Rows of `width` bytes: CUDA_MEMCPY2D.
struct Copy2D {
  size_t sourceX, sourceY;
  MemoryKind sourceKind;
  const void *sourceHost;
  DevicePointer sourceDevice;
  void *sourceArray;
  size_t sourcePitch;
  size_t destinationX, destinationY;
  MemoryKind destinationKind;
  void *destinationHost;
  DevicePointer destinationDevice;
  void *destinationArray;
  size_t destinationPitch;
  size_t width, height; // bytes, rows
};

/// X(name in the table, symbol, parameters). All return Result.
#define WEFT_CUDA_DRIVER(X)                                                                        \
  X(init, "cuInit", (unsigned flags))                                                              \
  X(driverVersion, "cuDriverGetVersion", (int *version))                                           \
  X(errorName, "cuGetErrorName", (Result result, const char **name))                               \
  X(errorText, "cuGetErrorString", (Result result, const char **text))                             \
  X(deviceCount, "cuDeviceGetCount", (int *count))                                                 \
  X(deviceName, "cuDeviceGetName", (char *name, int bytes, int device))                            \
  X(deviceUuid, "cuDeviceGetUuid_v2", (Uuid * uuid, int device))                                   \
  X(deviceAttribute, "cuDeviceGetAttribute", (int *value, Attribute attribute, int device))        \
  X(retainContext, "cuDevicePrimaryCtxRetain", (Context * context, int device))                    \
  X(releaseContext, "cuDevicePrimaryCtxRelease_v2", (int device))                                  \
  X(setContext, "cuCtxSetCurrent", (Context context))                                              \
  X(memoryInfo, "cuMemGetInfo_v2", (size_t *free, size_t *total))                                  \
  X(allocate, "cuMemAlloc_v2", (DevicePointer * pointer, size_t bytes))                            \
  X(free, "cuMemFree_v2", (DevicePointer pointer))                                                 \
  X(hostAllocate, "cuMemHostAlloc", (void **pointer, size_t bytes, unsigned flags))                \
  X(hostFree, "cuMemFreeHost", (void *pointer))                                                    \
  X(hostDevicePointer, "cuMemHostGetDevicePointer_v2",                                             \
    (DevicePointer * pointer, void *host, unsigned flags))                                         \
  X(upload, "cuMemcpyHtoDAsync_v2",                                                                \
    (DevicePointer to, const void *from, size_t bytes, Stream stream))                             \
  X(download, "cuMemcpyDtoHAsync_v2", (void *to, DevicePointer from, size_t bytes, Stream stream)) \
  X(copy, "cuMemcpyDtoDAsync_v2",                                                                  \
    (DevicePointer to, DevicePointer from, size_t bytes, Stream stream))                           \
  X(copy2D, "cuMemcpy2DAsync_v2", (const Copy2D *copy, Stream stream))                             \
  X(fill8, "cuMemsetD2D8Async",                                                                    \
    (DevicePointer to, size_t pitch, unsigned char value, size_t width, size_t height,             \
     Stream stream))                                                                               \
  X(fill16, "cuMemsetD2D16Async",                                                                  \
    (DevicePointer to, size_t pitch, unsigned short value, size_t width, size_t height,            \
     Stream stream))                                                                               \
  X(fill32, "cuMemsetD2D32Async",                                                                  \
    (DevicePointer to, size_t pitch, unsigned value, size_t width, size_t height, Stream stream))  \
  X(createStream, "cuStreamCreate", (Stream * stream, unsigned flags))                             \
  X(destroyStream, "cuStreamDestroy_v2", (Stream stream))                                          \
  X(queryStream, "cuStreamQuery", (Stream stream))                                                 \
  X(synchronizeStream, "cuStreamSynchronize", (Stream stream))                                     \
  X(waitEvent, "cuStreamWaitEvent", (Stream stream, Event event, unsigned flags))                  \
  X(waitValue, "cuStreamWaitValue32_v2",                                                           \
    (Stream stream, DevicePointer address, uint32_t value, unsigned flags))                        \
  X(writeValue, "cuStreamWriteValue32_v2",                                                         \
    (Stream stream, DevicePointer address, uint32_t value, unsigned flags))                        \
  X(createEvent, "cuEventCreate", (Event * event, unsigned flags))                                 \
  X(destroyEvent, "cuEventDestroy_v2", (Event event))                                              \
  X(recordEvent, "cuEventRecord", (Event event, Stream stream))                                    \
  X(recordEventWithFlags, "cuEventRecordWithFlags", (Event event, Stream stream, unsigned flags))  \
  X(queryEvent, "cuEventQuery", (Event event))                                                     \
  X(synchronizeEvent, "cuEventSynchronize", (Event event))                                         \
  X(elapsed, "cuEventElapsedTime", (float *milliseconds, Event from, Event to))                    \
  X(beginCapture, "cuStreamBeginCapture_v2", (Stream stream, CaptureMode mode))                    \
  X(endCapture, "cuStreamEndCapture", (Stream stream, Graph * graph))                              \
  X(graphNodes, "cuGraphGetNodes", (Graph graph, GraphNode * nodes, size_t *count))                \
  X(instantiate, "cuGraphInstantiateWithFlags",                                                    \
    (GraphExec * exec, Graph graph, unsigned long long flags))                                     \
  X(launchGraph, "cuGraphLaunch", (GraphExec exec, Stream stream))                                 \
  X(destroyExec, "cuGraphExecDestroy", (GraphExec exec))                                           \
  X(destroyGraph, "cuGraphDestroy", (Graph graph))                                                 \
  X(loadModule, "cuModuleLoadData", (Module * module, const void *image))                          \
  X(unloadModule, "cuModuleUnload", (Module module))                                               \
  X(getFunction, "cuModuleGetFunction", (Function * function, Module module, const char *name))    \
  X(launch, "cuLaunchKernel",                                                                      \
    (Function function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,           \
     unsigned blockY, unsigned blockZ, unsigned sharedBytes, Stream stream, void **parameters,     \
     void **extra))

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_DRIVERAPI_H
