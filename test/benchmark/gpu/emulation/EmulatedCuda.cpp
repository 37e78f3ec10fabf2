// The part of CUDA's runtime that the kit calls, on the host, in program order.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulation.h"

#include <chrono>
#include <cuda_runtime_api.h>
#include <utility>
#include <vector>

using namespace weft::gpukit;

namespace {

using Work = std::vector<std::function<void()>>;
using Clock = std::chrono::steady_clock;

bool capturing = false;
Work captured;

constexpr size_t memoryBytes = size_t(64) << 20;

} // namespace

void weft::gpukit::submit(std::function<void()> work) {
  if (capturing)
    captured.push_back(std::move(work));
  else
    work();
}

extern "C" {

cudaError_t cudaGetDeviceCount(int *count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *properties, int) {
  *properties = {};
  std::strcpy(properties->name, "emulated on the host");
  properties->major = 9;
  properties->totalGlobalMem = memoryBytes;
  properties->l2CacheSize = 1 << 20;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrL2CacheSize ? 1 << 20 : 9;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int *version) {
  *version = 13000;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version) {
  *version = 13000;
  return cudaSuccess;
}
const char *cudaGetErrorString(cudaError_t) { return "emulated error"; }
const char *cudaGetErrorName(cudaError_t) { return "emulated"; }
cudaError_t cudaGetLastError() { return cudaSuccess; }

cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
  *free = *total = memoryBytes;
  return cudaSuccess;
}
cudaError_t cudaMalloc(void **pointer, size_t bytes) {
  // Fresh memory holds what no one wrote: a result that is not poison and not
  // computed either must not look like one.
  *pointer = std::malloc(bytes);
  if (*pointer)
    std::memset(*pointer, 0x5A, bytes);
  return *pointer ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaFree(void *pointer) {
  std::free(pointer);
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void **pointer, size_t bytes) { return cudaMalloc(pointer, bytes); }
cudaError_t cudaFreeHost(void *pointer) { return cudaFree(pointer); }
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
  submit([=] {
    bool lost = kind == cudaMemcpyDeviceToDevice && hasFault("copy");
    std::memcpy(to, from, lost ? bytes - 4 : bytes);
  });
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t) {
  submit([=] { std::memset(to, value, bytes); });
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
  *stream = nullptr;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }

cudaError_t cudaEventCreate(cudaEvent_t *event) {
  *event = reinterpret_cast<cudaEvent_t>(new Clock::time_point);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete reinterpret_cast<Clock::time_point *>(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  *reinterpret_cast<Clock::time_point *>(event) = Clock::now();
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t stop) {
  auto at = [](cudaEvent_t event) { return *reinterpret_cast<Clock::time_point *>(event); };
  *milliseconds = std::chrono::duration<float, std::milli>(at(stop) - at(start)).count();
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  captured.clear();
  capturing = true;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t *graph) {
  capturing = false;
  *graph = reinterpret_cast<cudaGraph_t>(new Work(std::move(captured)));
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *executable, cudaGraph_t graph,
                                 unsigned long long) {
  *executable = reinterpret_cast<cudaGraphExec_t>(new Work(*reinterpret_cast<Work *>(graph)));
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<Work *>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete reinterpret_cast<Work *>(executable);
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t) {
  for (const auto &work : *reinterpret_cast<Work *>(executable))
    work();
  return cudaSuccess;
}

} // extern "C"
