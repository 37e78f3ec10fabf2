// The device as the parts use it: checked calls, memory that frees itself,
// event timing, random data and its checks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "Kernels.h"
#include "Report.h"

#include <functional>
#include <string>
#include <vector>

namespace weft::gpukit {

/// Throws Failure with the call's text, its place and CUDA's message.
void checkCuda(cudaError_t error, const char *call, const char *file, int line);
#define CUDA_CALL(call) ::weft::gpukit::checkCuda((call), #call, __FILE__, __LINE__)

/// Empty when device 0 is ready; otherwise why it is not, in the driver's
/// words.
std::string openDevice();

/// Name, compute capability, sizes, driver and runtime versions of device 0.
Json describeDevice();
size_t l2Bytes();
size_t freeBytes();

/// Device memory, freed at the end of its scope.
class Buffer {
public:
  Buffer() = default;
  explicit Buffer(size_t bytes);
  ~Buffer();
  Buffer(Buffer &&other) noexcept;
  Buffer &operator=(Buffer &&other) noexcept;

  template <typename Element = void> Element *as() const { return static_cast<Element *>(data); }
  size_t bytes() const { return size; }

private:
  void *data = nullptr;
  size_t size = 0;
};

class Stream {
public:
  Stream();
  ~Stream();
  Stream(const Stream &) = delete;
  operator cudaStream_t() const { return stream; }

private:
  cudaStream_t stream = nullptr;
};

struct Timing {
  /// What is reported needs minSamples; a quick ranking may take fewer.
  size_t samples = 24;
  size_t warmups = 3;
  /// Runs between two events are repeated until a sample lasts this long, so
  /// that the events' own time does not show.
  double minSampleMs = 0.3;
};

/// Milliseconds of one run. `run(i)` enqueues the i-th run on `stream`; runs
/// rotate over buffers by `i`.
Stats timeOnDevice(cudaStream_t stream, const std::function<void(size_t)> &run, Timing timing = {});

/// Every byte 0xFF: a NaN in bf16, f32 and f64 alike.
void poison(const Buffer &buffer, cudaStream_t stream);
void fillNormal(const Buffer &buffer, Type type, uint64_t count, uint64_t seed, float sigma,
                cudaStream_t stream);
uint64_t countNotFinite(const Buffer &buffer, Type type, uint64_t count, cudaStream_t stream);
std::vector<double> gather(const Buffer &buffer, Type type, const std::vector<uint64_t> &indexes,
                           cudaStream_t stream);
uint64_t countDifferent(const Buffer &a, const Buffer &b, uint64_t bytes, cudaStream_t stream);

/// A check that failed unless `bad` elements of `compared` are none: for
/// results that must be exact.
Check exact(uint64_t bad, uint64_t compared);

} // namespace weft::gpukit
