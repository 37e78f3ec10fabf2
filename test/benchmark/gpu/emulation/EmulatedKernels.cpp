// The kit's own kernels on the host, each with the fault that its check must
// see.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulation.h"
#include "common/Kernels.h"
#include "common/Random.h"

#include <cmath>

namespace weft::gpukit {
namespace {

double load(const void *data, Type type, uint64_t i) {
  switch (type) {
  case Type::bf16:
    return bf16Value(static_cast<const uint16_t *>(data)[i]);
  case Type::f32:
    return static_cast<const float *>(data)[i];
  case Type::f64:
    return static_cast<const double *>(data)[i];
  }
  return NAN;
}

} // namespace

cudaError_t launchFillNormal(void *data, Type type, uint64_t count, uint64_t seed, float sigma,
                             cudaStream_t) {
  submit([=] {
    for (uint64_t i = 0; i < count; ++i) {
      float value = normalAt(seed, i, sigma);
      if (type == Type::bf16)
        static_cast<uint16_t *>(data)[i] = bf16Bits(value);
      else if (type == Type::f32)
        static_cast<float *>(data)[i] = value;
      else
        static_cast<double *>(data)[i] = value;
    }
  });
  return cudaSuccess;
}

cudaError_t launchCountNotFinite(const void *data, Type type, uint64_t elements,
                                 unsigned long long *count, cudaStream_t) {
  submit([=] {
    for (uint64_t i = 0; i < elements; ++i)
      *count += !std::isfinite(load(data, type, i));
  });
  return cudaSuccess;
}

cudaError_t launchGather(const void *data, Type type, const uint64_t *indexes, uint64_t count,
                         double *out, cudaStream_t) {
  submit([=] {
    for (uint64_t i = 0; i < count; ++i)
      out[i] = load(data, type, indexes[i]);
  });
  return cudaSuccess;
}

cudaError_t launchCountDifferent(const void *a, const void *b, uint64_t words,
                                 unsigned long long *count, cudaStream_t) {
  submit([=] {
    for (uint64_t i = 0; i < words; ++i)
      *count += static_cast<const uint32_t *>(a)[i] != static_cast<const uint32_t *>(b)[i];
  });
  return cudaSuccess;
}

cudaError_t launchCopy(void *to, const void *from, uint64_t bytes, cudaStream_t) {
  submit([=] { std::memcpy(to, from, hasFault("copy") ? bytes - 4 : bytes); });
  return cudaSuccess;
}

cudaError_t launchRead(const void *from, uint64_t bytes, unsigned *sum, cudaStream_t) {
  submit([=] {
    for (uint64_t i = hasFault("read"); i < bytes / 4; ++i)
      *sum ^= static_cast<const unsigned *>(from)[i];
  });
  return cudaSuccess;
}

cudaError_t launchWrite(void *to, uint64_t bytes, unsigned value, cudaStream_t) {
  submit([=] {
    uint64_t words = bytes / 4 - hasFault("write");
    for (uint64_t i = 0; i < words; ++i)
      static_cast<unsigned *>(to)[i] = value;
  });
  return cudaSuccess;
}

cudaError_t launchIncrement(unsigned *counter, cudaStream_t) {
  submit([=] {
    static unsigned calls = 0;
    if (!hasFault("launch") || ++calls % 100 != 0)
      ++*counter;
  });
  return cudaSuccess;
}

} // namespace weft::gpukit
