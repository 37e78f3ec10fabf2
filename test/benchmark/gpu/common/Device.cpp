// The device as the parts use it: checked calls, memory that frees itself,
// event timing, random data and its checks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Device.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft::gpukit {

void checkCuda(cudaError_t error, const char *call, const char *file, int line) {
  if (error != cudaSuccess)
    throw Failure(format("%s at %s:%d: %s (%s)", call, file, line, cudaGetErrorString(error),
                         cudaGetErrorName(error)));
}

std::string openDevice() {
  int count = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count == 0)
    return "the driver reports no device";
  if (error == cudaSuccess)
    error = cudaSetDevice(0);
  if (error == cudaSuccess)
    error = cudaFree(nullptr); // Makes the context, so that its time and
                               // failures stay out of the measurements.
  return error == cudaSuccess
             ? ""
             : format("%s (%s)", cudaGetErrorString(error), cudaGetErrorName(error));
}

Json describeDevice() {
  cudaDeviceProp properties = {};
  CUDA_CALL(cudaGetDeviceProperties(&properties, 0));
  int driver = 0, runtime = 0, smClock = 0, memoryClock = 0;
  CUDA_CALL(cudaDriverGetVersion(&driver));
  CUDA_CALL(cudaRuntimeGetVersion(&runtime));
  CUDA_CALL(cudaDeviceGetAttribute(&smClock, cudaDevAttrClockRate, 0));
  CUDA_CALL(cudaDeviceGetAttribute(&memoryClock, cudaDevAttrMemoryClockRate, 0));
  return {{"name", properties.name},
          {"compute_capability", format("%d.%d", properties.major, properties.minor)},
          {"multiprocessors", properties.multiProcessorCount},
          {"memory_bytes", properties.totalGlobalMem},
          {"l2_bytes", properties.l2CacheSize},
          {"shared_bytes_per_block_optin", properties.sharedMemPerBlockOptin},
          {"max_sm_clock_khz", smClock},
          {"max_memory_clock_khz", memoryClock},
          {"cuda_driver", format("%d.%d", driver / 1000, driver % 1000 / 10)},
          {"cuda_runtime", format("%d.%d", runtime / 1000, runtime % 1000 / 10)}};
}

size_t l2Bytes() {
  int bytes = 0;
  CUDA_CALL(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, 0));
  return size_t(bytes);
}

size_t freeBytes() {
  size_t free = 0, total = 0;
  CUDA_CALL(cudaMemGetInfo(&free, &total));
  return free;
}

Buffer::Buffer(size_t bytes) : size(bytes) {
  if (bytes)
    CUDA_CALL(cudaMalloc(&data, bytes));
}

Buffer::~Buffer() {
  if (data)
    cudaFree(data); // A failure here was reported by the call that caused it.
}

Buffer::Buffer(Buffer &&other) noexcept
    : data(std::exchange(other.data, nullptr)), size(std::exchange(other.size, 0)) {}

Buffer &Buffer::operator=(Buffer &&other) noexcept {
  std::swap(data, other.data);
  std::swap(size, other.size);
  return *this;
}

Stream::Stream() { CUDA_CALL(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)); }
Stream::~Stream() { cudaStreamDestroy(stream); }

namespace {

class Event {
public:
  Event() { CUDA_CALL(cudaEventCreate(&event)); }
  ~Event() {
    if (event)
      cudaEventDestroy(event);
  }
  Event(Event &&other) noexcept : event(std::exchange(other.event, nullptr)) {}
  operator cudaEvent_t() const { return event; }

private:
  cudaEvent_t event = nullptr;
};

} // namespace

Stats timeOnDevice(cudaStream_t stream, const std::function<void(size_t)> &run, Timing timing) {
  size_t done = 0;
  while (done < timing.warmups)
    run(done++);
  CUDA_CALL(cudaStreamSynchronize(stream));

  Event first, second;
  auto elapsed = [](const Event &from, const Event &to) {
    float milliseconds = 0;
    CUDA_CALL(cudaEventElapsedTime(&milliseconds, from, to));
    return double(milliseconds);
  };
  CUDA_CALL(cudaEventRecord(first, stream));
  run(done++);
  CUDA_CALL(cudaEventRecord(second, stream));
  CUDA_CALL(cudaEventSynchronize(second));
  double once = std::max(elapsed(first, second), 1e-4);
  size_t repeats = size_t(std::clamp(std::ceil(timing.minSampleMs / once), 1.0, 500.0));

  std::vector<std::pair<Event, Event>> events(timing.samples);
  for (auto &[start, stop] : events) {
    CUDA_CALL(cudaEventRecord(start, stream));
    for (size_t i = 0; i < repeats; ++i)
      run(done++);
    CUDA_CALL(cudaEventRecord(stop, stream));
  }
  CUDA_CALL(cudaStreamSynchronize(stream));
  CUDA_CALL(cudaGetLastError());
  std::vector<double> times;
  for (auto &[start, stop] : events)
    times.push_back(elapsed(start, stop) / double(repeats));
  return statsOf(std::move(times));
}

void poison(const Buffer &buffer, cudaStream_t stream) {
  CUDA_CALL(cudaMemsetAsync(buffer.as(), 0xFF, buffer.bytes(), stream));
}

namespace {
void checkFits(const Buffer &buffer, Type type, uint64_t count) {
  if (count * sizeOf(type) > buffer.bytes())
    throw Failure(
        format("%llu elements do not fit %zu bytes", (unsigned long long)count, buffer.bytes()));
}
} // namespace

void fillNormal(const Buffer &buffer, Type type, uint64_t count, uint64_t seed, float sigma,
                cudaStream_t stream) {
  checkFits(buffer, type, count);
  CUDA_CALL(launchFillNormal(buffer.as(), type, count, seed, sigma, stream));
}

uint64_t countNotFinite(const Buffer &buffer, Type type, uint64_t count, cudaStream_t stream) {
  checkFits(buffer, type, count);
  Buffer counter(sizeof(unsigned long long));
  CUDA_CALL(cudaMemsetAsync(counter.as(), 0, counter.bytes(), stream));
  CUDA_CALL(
      launchCountNotFinite(buffer.as(), type, count, counter.as<unsigned long long>(), stream));
  unsigned long long found = 0;
  CUDA_CALL(cudaMemcpyAsync(&found, counter.as(), sizeof(found), cudaMemcpyDeviceToHost, stream));
  CUDA_CALL(cudaStreamSynchronize(stream));
  return found;
}

std::vector<double> gather(const Buffer &buffer, Type type, const std::vector<uint64_t> &indexes,
                           cudaStream_t stream) {
  if (indexes.empty())
    return {};
  checkFits(buffer, type, *std::max_element(indexes.begin(), indexes.end()) + 1);
  Buffer wanted(indexes.size() * sizeof(uint64_t)), found(indexes.size() * sizeof(double));
  std::vector<double> values(indexes.size());
  CUDA_CALL(
      cudaMemcpyAsync(wanted.as(), indexes.data(), wanted.bytes(), cudaMemcpyHostToDevice, stream));
  poison(found, stream);
  CUDA_CALL(launchGather(buffer.as(), type, wanted.as<uint64_t>(), indexes.size(),
                         found.as<double>(), stream));
  CUDA_CALL(
      cudaMemcpyAsync(values.data(), found.as(), found.bytes(), cudaMemcpyDeviceToHost, stream));
  CUDA_CALL(cudaStreamSynchronize(stream));
  return values;
}

uint64_t countDifferent(const Buffer &a, const Buffer &b, uint64_t bytes, cudaStream_t stream) {
  if (bytes > a.bytes() || bytes > b.bytes())
    throw Failure("comparison past the end of a buffer");
  Buffer counter(sizeof(unsigned long long));
  CUDA_CALL(cudaMemsetAsync(counter.as(), 0, counter.bytes(), stream));
  CUDA_CALL(
      launchCountDifferent(a.as(), b.as(), bytes / 4, counter.as<unsigned long long>(), stream));
  unsigned long long found = 0;
  CUDA_CALL(cudaMemcpyAsync(&found, counter.as(), sizeof(found), cudaMemcpyDeviceToHost, stream));
  CUDA_CALL(cudaStreamSynchronize(stream));
  return found;
}

Check exact(uint64_t bad, uint64_t compared) {
  Check check;
  check.compared = compared;
  check.notFinite = 0;
  check.normError = check.elementError = bad ? 1 : 0;
  check.ok = compared > 0 && bad == 0;
  return check;
}

} // namespace weft::gpukit
