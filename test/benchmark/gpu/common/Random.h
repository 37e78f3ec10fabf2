// Random data that host and device compute alike from (seed, index), so that a
// reference needs no copy.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define GPUKIT_BOTH __host__ __device__ inline
#else
#define GPUKIT_BOTH inline
#endif

namespace weft::gpukit {

/// 64 well mixed bits of a counter (the finaliser of SplitMix64).
GPUKIT_BOTH uint64_t mixBits(uint64_t seed, uint64_t index) {
  uint64_t z = (index + 1) * 0x9E3779B97F4A7C15ull + seed * 0xD1B54A32D192ED03ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

/// Near-normal with mean 0 and standard deviation `sigma`: the sum of four
/// uniform 16-bit integers. The sum is exact, so that the one rounded operation
/// is the product, the same on host and device.
GPUKIT_BOTH float normalAt(uint64_t seed, uint64_t index, float sigma) {
  uint64_t bits = mixBits(seed, index);
  int32_t sum = int32_t(bits & 0xFFFF) + int32_t((bits >> 16) & 0xFFFF) +
                int32_t((bits >> 32) & 0xFFFF) + int32_t(bits >> 48) - 131070;
  // A uniform 16-bit integer has variance (65536^2 - 1) / 12; four of them
  // 65536^2 / 3.
  return float(sum) * (sigma * (1.7320508f / 65536.0f));
}

/// Bits of the bfloat16 nearest to a finite float, ties to even.
GPUKIT_BOTH uint16_t bf16Bits(float value) {
  uint32_t bits;
#ifdef __CUDA_ARCH__
  bits = __float_as_uint(value);
#else
  std::memcpy(&bits, &value, sizeof(bits));
#endif
  bits += 0x7FFF + ((bits >> 16) & 1);
  return uint16_t(bits >> 16);
}

GPUKIT_BOTH float bf16Value(uint16_t half) {
  uint32_t bits = uint32_t(half) << 16;
#ifdef __CUDA_ARCH__
  return __uint_as_float(bits);
#else
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
#endif
}

/// What a kernel reads back from element `index` of a bf16 buffer filled with
/// this seed.
GPUKIT_BOTH float bf16NormalAt(uint64_t seed, uint64_t index, float sigma) {
  return bf16Value(bf16Bits(normalAt(seed, index, sigma)));
}

} // namespace weft::gpukit
