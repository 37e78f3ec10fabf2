// libcuda.so.1 without a GPU: the functions that Weft's device calls, on an emulated one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Capture.h"

#include "device/cuda/Driver.h"

#include "weft/runtime/HostImage.h"

#include <cstdlib>
#include <cstring>
#include <numeric>

using namespace weft;
using namespace weft::emulated;
using weft::runtime::HostImage;
using namespace weft::runtime::cuda;

namespace {

constexpr uint32_t kChip = 90; // sm_90

struct ContextState {
  int gpu;
};

struct KernelState {
  HostImage image;
};

thread_local int currentGpu = -1;
thread_local std::vector<Touch> declared;
thread_local bool isDeclared = false;

StreamState *stateOf(Stream stream) { return reinterpret_cast<StreamState *>(stream); }
EventState *stateOf(Event event) { return reinterpret_cast<EventState *>(event); }
CapturedGraph *stateOf(Graph graph) { return reinterpret_cast<CapturedGraph *>(graph); }
Exec *stateOf(GraphExec exec) { return reinterpret_cast<Exec *>(exec); }

char *bytesAt(uint64_t address) { return Gpu::get().bytesAt(address); }

/// Each row's bytes.
void touchRows(std::vector<Touch> &touches, uint64_t begin, size_t pitch, size_t width,
               size_t height, bool writes) {
  for (size_t row = 0; row < height; ++row)
    touches.push_back({begin + row * pitch, width, writes});
}

template <typename T>
Result fillRows(const char *symbol, DevicePointer to, size_t pitch, T value, size_t width,
                size_t height, Stream stream) {
  auto held = Gpu::get().lock();
  if (Result failed = Gpu::get().enter(symbol))
    return failed;
  Work work;
  work.label = symbol;
  touchRows(work.touches, to, pitch, width * sizeof(T), height, true);
  work.run = [=, memory = bytesAt(to)] {
    for (size_t row = 0; row < height; ++row)
      for (size_t i = 0; i < width; ++i)
        std::memcpy(memory + row * pitch + i * sizeof(T), &value, sizeof(T));
  };
  return Gpu::get().put(*stateOf(stream), std::move(work));
}

} // namespace

/// Most functions begin so.
#define WEFT_ENTER(SYMBOL)                                                                         \
  auto held = Gpu::get().lock();                                                                   \
  Gpu &gpu = Gpu::get();                                                                           \
  if (Result enteredResult = gpu.enter(SYMBOL))                                                    \
    return enteredResult;                                                                          \
  (void)gpu

/// Those that a capture forbids.
#define WEFT_ENTER_UNCAPTURED(SYMBOL, ...)                                                         \
  WEFT_ENTER(SYMBOL);                                                                              \
  if (Result refused = checkUncaptured(__VA_ARGS__))                                               \
  return refused

extern "C" {

void weft_emulated_declare(const Access *accesses, size_t count) {
  declared.clear();
  for (size_t i = 0; i < count; ++i)
    declared.push_back({accesses[i].begin, accesses[i].bytes, accesses[i].writes});
  isDeclared = true;
}

/// For tests; see Gpu::restart.
void weft_emulated_restart(uint64_t seed, const char *symbol, uint64_t call, int code) {
  auto held = Gpu::get().lock();
  Gpu::get().restart(seed, symbol, call, code);
}

Result cuInit(unsigned) {
  WEFT_ENTER("cuInit");
  return Success;
}
Result cuDriverGetVersion(int *version) {
  WEFT_ENTER("cuDriverGetVersion");
  const char *wish = std::getenv("WEFT_EMULATED_VERSION");
  *version = wish ? std::atoi(wish) : 13000;
  return Success;
}
Result cuGetErrorName(Result result, const char **name) {
  static const std::map<int, const char *> names = {
      {InvalidValue, "CUDA_ERROR_INVALID_VALUE"},
      {OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY"},
      {NoDevice, "CUDA_ERROR_NO_DEVICE"},
      {InvalidImage, "CUDA_ERROR_INVALID_IMAGE"},
      {NoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
      {InvalidHandle, "CUDA_ERROR_INVALID_HANDLE"},
      {NotFound, "CUDA_ERROR_NOT_FOUND"},
      {NotReady, "CUDA_ERROR_NOT_READY"},
      {LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED"},
      {CaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
      {CaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
      {CaptureMerge, "CUDA_ERROR_STREAM_CAPTURE_MERGE"},
      {CaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"},
      {CaptureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"},
      {CaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"},
      {CapturedEvent, "CUDA_ERROR_CAPTURED_EVENT"}};
  auto found = names.find(result);
  *name = found == names.end() ? nullptr : found->second;
  return *name ? Success : InvalidValue;
}
Result cuGetErrorString(Result result, const char **text) {
  auto held = Gpu::get().lock();
  const std::string &failure = Gpu::get().failure();
  *text = result == LaunchFailed && !failure.empty() ? failure.c_str() : "an emulated failure";
  return Success;
}
Result cuDeviceGetCount(int *count) {
  WEFT_ENTER("cuDeviceGetCount");
  *count = gpu.count();
  return Success;
}
Result cuDeviceGetName(char *name, int bytes, int device) {
  WEFT_ENTER("cuDeviceGetName");
  std::snprintf(name, size_t(bytes), "emulated GPU %d", device);
  return Success;
}
Result cuDeviceGetUuid_v2(Uuid *uuid, int device) {
  WEFT_ENTER("cuDeviceGetUuid");
  const char *first = std::getenv("WEFT_EMULATED_FIRST_GPU");
  std::snprintf(uuid->bytes, sizeof uuid->bytes, "GPU-%d", (first ? std::atoi(first) : 0) + device);
  return Success;
}
Result cuDeviceGetAttribute(int *value, Attribute attribute, int) {
  WEFT_ENTER("cuDeviceGetAttribute");
  *value = attribute == ComputeCapabilityMajor ? kChip / 10 : kChip % 10;
  return Success;
}
Result cuDevicePrimaryCtxRetain(Context *context, int device) {
  WEFT_ENTER("cuDevicePrimaryCtxRetain");
  static std::map<int, ContextState> contexts;
  if (device < 0 || device >= gpu.count())
    return NoDevice;
  *context =
      reinterpret_cast<Context>(&contexts.try_emplace(device, ContextState{device}).first->second);
  return Success;
}
Result cuDevicePrimaryCtxRelease_v2(int) {
  WEFT_ENTER("cuDevicePrimaryCtxRelease");
  return Success;
}
Result cuCtxSetCurrent(Context context) {
  WEFT_ENTER("cuCtxSetCurrent");
  currentGpu = reinterpret_cast<ContextState *>(context)->gpu;
  return Success;
}
Result cuMemGetInfo_v2(size_t *free, size_t *total) {
  WEFT_ENTER("cuMemGetInfo");
  *total = gpu.memory();
  *free = gpu.memory() - gpu.allocated(currentGpu);
  return Success;
}
Result cuMemAlloc_v2(DevicePointer *pointer, size_t bytes) {
  WEFT_ENTER_UNCAPTURED("cuMemAlloc");
  if (currentGpu < 0)
    return gpu.fail("memory is allocated by a thread without a context");
  *pointer = gpu.allocate(currentGpu, bytes);
  return *pointer ? Success : OutOfMemory;
}
Result cuMemFree_v2(DevicePointer pointer) {
  WEFT_ENTER_UNCAPTURED("cuMemFree");
  return gpu.free(pointer) ? Success : InvalidValue;
}
Result cuMemHostAlloc(void **pointer, size_t bytes, unsigned) {
  WEFT_ENTER_UNCAPTURED("cuMemHostAlloc");
  *pointer = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  return *pointer ? Success : OutOfMemory;
}
Result cuMemFreeHost(void *pointer) {
  std::free(pointer);
  return Success;
}
Result cuMemHostGetDevicePointer_v2(DevicePointer *pointer, void *host, unsigned) {
  WEFT_ENTER("cuMemHostGetDevicePointer");
  *pointer = DevicePointer(uintptr_t(host));
  return Success;
}

Result cuMemcpyHtoDAsync_v2(DevicePointer to, const void *from, size_t bytes, Stream stream) {
  WEFT_ENTER("cuMemcpyHtoDAsync");
  Work work;
  work.label = "upload";
  work.touches = {{to, bytes, true}};
  work.run = [=, memory = bytesAt(to)] { std::memcpy(memory, from, bytes); };
  return gpu.put(*stateOf(stream), std::move(work));
}
Result cuMemcpyDtoHAsync_v2(void *to, DevicePointer from, size_t bytes, Stream stream) {
  WEFT_ENTER("cuMemcpyDtoHAsync");
  Work work;
  work.label = "download";
  work.touches = {{from, bytes, false}};
  work.run = [=, memory = bytesAt(from)] { std::memcpy(to, memory, bytes); };
  return gpu.put(*stateOf(stream), std::move(work));
}
Result cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, size_t bytes, Stream stream) {
  WEFT_ENTER("cuMemcpyDtoDAsync");
  Work work;
  work.label = "copy";
  work.touches = {{from, bytes, false}, {to, bytes, true}};
  work.run = [=, target = bytesAt(to), source = bytesAt(from)] {
    std::memmove(target, source, bytes);
  };
  return gpu.put(*stateOf(stream), std::move(work));
}
Result cuMemcpy2DAsync_v2(const Copy2D *copy, Stream stream) {
  WEFT_ENTER("cuMemcpy2DAsync");
  if (copy->sourceKind != DeviceMemory || copy->destinationKind != DeviceMemory ||
      (copy->height > 1 &&
       (copy->sourcePitch < copy->width || copy->destinationPitch < copy->width)))
    return InvalidValue;
  Work work;
  work.label = "copy of rows";
  touchRows(work.touches, copy->sourceDevice, copy->sourcePitch, copy->width, copy->height, false);
  touchRows(work.touches, copy->destinationDevice, copy->destinationPitch, copy->width,
            copy->height, true);
  work.run = [rows = *copy, to = bytesAt(copy->destinationDevice),
              from = bytesAt(copy->sourceDevice)] {
    for (size_t row = 0; row < rows.height; ++row)
      std::memmove(to + row * rows.destinationPitch, from + row * rows.sourcePitch, rows.width);
  };
  return gpu.put(*stateOf(stream), std::move(work));
}
Result cuMemsetD2D8Async(DevicePointer to, size_t pitch, unsigned char value, size_t width,
                         size_t height, Stream stream) {
  return fillRows("cuMemsetD2D8Async", to, pitch, value, width, height, stream);
}
Result cuMemsetD2D16Async(DevicePointer to, size_t pitch, unsigned short value, size_t width,
                          size_t height, Stream stream) {
  return fillRows("cuMemsetD2D16Async", to, pitch, value, width, height, stream);
}
Result cuMemsetD2D32Async(DevicePointer to, size_t pitch, unsigned value, size_t width,
                          size_t height, Stream stream) {
  return fillRows("cuMemsetD2D32Async", to, pitch, value, width, height, stream);
}

Result cuStreamCreate(Stream *stream, unsigned) {
  WEFT_ENTER("cuStreamCreate");
  if (currentGpu < 0)
    return gpu.fail("a stream is made by a thread without a context");
  *stream = reinterpret_cast<Stream>(gpu.makeStream(currentGpu));
  return Success;
}
Result cuStreamDestroy_v2(Stream stream) {
  auto held = Gpu::get().lock();
  Gpu::get().destroyStream(stateOf(stream));
  return Success;
}
Result cuStreamQuery(Stream stream) {
  WEFT_ENTER_UNCAPTURED("cuStreamQuery", stateOf(stream));
  gpu.dabble(stateOf(stream)->gpu);
  if (!stateOf(stream)->isDone())
    return NotReady;
  gpu.learn(stateOf(stream)->clock);
  return Success;
}
Result cuStreamSynchronize(Stream stream) {
  WEFT_ENTER_UNCAPTURED("cuStreamSynchronize", stateOf(stream));
  Result result =
      gpu.progress(held, stateOf(stream)->gpu, [&] { return stateOf(stream)->isDone(); });
  gpu.learn(stateOf(stream)->clock);
  return result;
}
Result cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  WEFT_ENTER("cuStreamWaitEvent");
  return wait(*stateOf(stream), *stateOf(event));
}
Result cuStreamWaitValue32_v2(Stream stream, DevicePointer address, uint32_t value,
                              unsigned flags) {
  WEFT_ENTER("cuStreamWaitValue32");
  if (flags != WaitValueGeq)
    return InvalidValue;
  Work work;
  work.label = "wait for a value";
  work.word = reinterpret_cast<const uint32_t *>(uintptr_t(address));
  work.least = value;
  return gpu.put(*stateOf(stream), std::move(work));
}

Result cuStreamWriteValue32_v2(Stream stream, DevicePointer address, uint32_t value, unsigned) {
  WEFT_ENTER("cuStreamWriteValue32");
  Work work;
  work.label = "write of a value";
  work.run = [word = reinterpret_cast<uint32_t *>(uintptr_t(address)), value] {
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
  };
  return gpu.put(*stateOf(stream), std::move(work));
}

Result cuEventCreate(Event *event, unsigned) {
  WEFT_ENTER("cuEventCreate");
  *event = reinterpret_cast<Event>(new EventState);
  return Success;
}
Result cuEventDestroy_v2(Event event) {
  auto held = Gpu::get().lock();
  delete stateOf(event);
  return Success;
}
Result cuEventRecord(Event event, Stream stream) {
  WEFT_ENTER("cuEventRecord");
  return record(*stateOf(event), *stateOf(stream), 0);
}
Result cuEventRecordWithFlags(Event event, Stream stream, unsigned flags) {
  WEFT_ENTER("cuEventRecordWithFlags");
  return record(*stateOf(event), *stateOf(stream), flags);
}
Result cuEventQuery(Event event) {
  WEFT_ENTER_UNCAPTURED("cuEventQuery");
  if (stateOf(event)->capture)
    return CapturedEvent;
  gpu.dabble(stateOf(event)->latest->gpu);
  const Recording &recording = *stateOf(event)->latest;
  if (recording.done)
    gpu.learn(recording.clock);
  return recording.done ? Success : NotReady;
}
Result cuEventSynchronize(Event event) {
  WEFT_ENTER_UNCAPTURED("cuEventSynchronize");
  if (stateOf(event)->capture)
    return CapturedEvent;
  std::shared_ptr<Recording> recording = stateOf(event)->latest;
  Result result = gpu.progress(held, recording->gpu, [&] { return recording->done; });
  gpu.learn(recording->clock);
  return result;
}
Result cuEventElapsedTime(float *milliseconds, Event from, Event to) {
  WEFT_ENTER("cuEventElapsedTime");
  if (stateOf(from)->capture || stateOf(to)->capture)
    return CapturedEvent;
  const Recording &begin = *stateOf(from)->latest, &end = *stateOf(to)->latest;
  if (!begin.done || !end.done)
    return NotReady;
  *milliseconds = float(end.milliseconds - begin.milliseconds);
  return Success;
}

Result cuModuleLoadData(Module *module, const void *image) {
  WEFT_ENTER_UNCAPTURED("cuModuleLoadData");
  HostImage host;
  std::memcpy(&host, image, sizeof host.magic);
  if (!host.isOne())
    return InvalidImage;
  host = *static_cast<const HostImage *>(image);
  if (host.chip != 0 && host.chip != kChip)
    return NoBinaryForGpu;
  *module = reinterpret_cast<Module>(new KernelState{host});
  return Success;
}
Result cuModuleUnload(Module module) {
  delete reinterpret_cast<KernelState *>(module);
  return Success;
}
Result cuModuleGetFunction(Function *function, Module module, const char *name) {
  WEFT_ENTER("cuModuleGetFunction");
  if (std::strcmp(reinterpret_cast<KernelState *>(module)->image.name, name) != 0)
    return NotFound;
  *function = reinterpret_cast<Function>(module);
  return Success;
}
Result cuLaunchKernel(Function function, unsigned gridX, unsigned gridY, unsigned gridZ,
                      unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                      Stream stream, void **parameters, void **extra) {
  WEFT_ENTER("cuLaunchKernel");
  const HostImage image = reinterpret_cast<KernelState *>(function)->image;
  if (gridX != image.blocks || blockX != image.threads || gridY * gridZ * blockY * blockZ != 1 ||
      sharedBytes != 0 || extra)
    return InvalidValue;
  if (!isDeclared)
    return gpu.fail(std::string("what '") + image.name + "' touches was not declared");
  isDeclared = false;
  Work work;
  work.label = image.name;
  work.touches = declared;
  std::vector<void *> pointers;
  std::vector<int64_t> scalars;
  for (uint32_t i = 0; i < image.pointers; ++i)
    pointers.push_back(bytesAt(image.table ? static_cast<uint64_t *>(parameters[0])[i]
                                           : *static_cast<uint64_t *>(parameters[i])));
  for (uint32_t i = 0; i < image.scalars; ++i)
    scalars.push_back(*static_cast<int64_t *>(parameters[(image.table ? 1 : image.pointers) + i]));
  return gpu.put(*stateOf(stream), [=, &gpu](StreamState &to) {
    std::vector<int64_t> pieces(size_t((image.extent + image.grain - 1) / image.grain));
    std::iota(pieces.begin(), pieces.end(), 0);
    for (size_t i = pieces.size(); i > 1; --i)
      std::swap(pieces[i - 1], pieces[gpu.draw(i)]);
    Work drawn = work;
    drawn.run = [=] {
      for (int64_t piece : pieces)
        image.function(piece * image.grain, std::min(image.extent, (piece + 1) * image.grain),
                       pointers.data(), scalars.data());
    };
    return gpu.push(to, std::move(drawn));
  });
}

Result cuStreamBeginCapture_v2(Stream stream, CaptureMode mode) {
  WEFT_ENTER("cuStreamBeginCapture");
  return beginCapture(*stateOf(stream), mode);
}
Result cuStreamEndCapture(Stream stream, Graph *graph) {
  auto held = Gpu::get().lock();
  // Also where it fails the capture is over.
  std::unique_ptr<CapturedGraph> made;
  Result ended = endCapture(*stateOf(stream), made),
         failed = Gpu::get().enter("cuStreamEndCapture");
  *graph = failed == Success ? reinterpret_cast<Graph>(made.release()) : nullptr;
  return failed == Success ? ended : failed;
}
Result cuGraphGetNodes(Graph graph, GraphNode *nodes, size_t *count) {
  WEFT_ENTER("cuGraphGetNodes");
  *count = stateOf(graph)->nodes.size();
  return nodes ? InvalidValue : Success; // only how many
}
Result cuGraphInstantiateWithFlags(GraphExec *exec, Graph graph, unsigned long long flags) {
  WEFT_ENTER("cuGraphInstantiate");
  if (flags != 0)
    return InvalidValue;
  *exec = reinterpret_cast<GraphExec>(new Exec(*stateOf(graph), currentGpu));
  return Success;
}
Result cuGraphLaunch(GraphExec exec, Stream stream) {
  WEFT_ENTER("cuGraphLaunch");
  return stateOf(exec)->launch(*stateOf(stream));
}
Result cuGraphExecDestroy(GraphExec exec) {
  auto held = Gpu::get().lock();
  delete stateOf(exec);
  return Success;
}
Result cuGraphDestroy(Graph graph) {
  auto held = Gpu::get().lock();
  delete stateOf(graph);
  return Success;
}

} // extern "C"
