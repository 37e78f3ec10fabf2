// The kit's own kernels: data, poison check, memory traffic, the least launch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernels.h"
#include "Random.h"

namespace weft::gpukit {
namespace {

constexpr int threads = 256;

/// Grids are capped: every kernel strides over its data.
unsigned blocksFor(uint64_t items) {
  uint64_t blocks = (items + threads - 1) / threads;
  return unsigned(blocks < 1 ? 1 : blocks > 65535 ? 65535 : blocks);
}

__device__ uint64_t firstItem() { return uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ uint64_t itemStride() { return uint64_t(gridDim.x) * blockDim.x; }

__device__ void store(uint16_t *to, float value) { *to = bf16Bits(value); }
__device__ void store(float *to, float value) { *to = value; }
__device__ void store(double *to, float value) { *to = double(value); }
__device__ double load(const uint16_t *from) { return double(bf16Value(*from)); }
__device__ double load(const float *from) { return double(*from); }
__device__ double load(const double *from) { return *from; }

template <typename Element>
__global__ void fillNormal(Element *data, uint64_t count, uint64_t seed, float sigma) {
  for (uint64_t i = firstItem(); i < count; i += itemStride())
    store(data + i, normalAt(seed, i, sigma));
}

template <typename Element>
__global__ void countNotFinite(const Element *data, uint64_t elements, unsigned long long *count) {
  unsigned long long mine = 0;
  for (uint64_t i = firstItem(); i < elements; i += itemStride())
    mine += !isfinite(load(data + i));
  if (mine)
    atomicAdd(count, mine);
}

template <typename Element>
__global__ void gather(const Element *data, const uint64_t *indexes, uint64_t count, double *out) {
  for (uint64_t i = firstItem(); i < count; i += itemStride())
    out[i] = load(data + indexes[i]);
}

__global__ void countDifferent(const unsigned *a, const unsigned *b, uint64_t words,
                               unsigned long long *count) {
  unsigned long long mine = 0;
  for (uint64_t i = firstItem(); i < words; i += itemStride())
    mine += a[i] != b[i];
  if (mine)
    atomicAdd(count, mine);
}

/// Four loads in flight before the first store: what it takes to cover the
/// latency of device memory.
__global__ void copyWords(uint4 *__restrict__ to, const uint4 *__restrict__ from, uint64_t count) {
  constexpr int unroll = 4;
  uint64_t step = itemStride();
  uint64_t i = firstItem();
  for (; i + (unroll - 1) * step < count; i += unroll * step) {
    uint4 held[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u)
      held[u] = __ldcs(from + i + u * step);
#pragma unroll
    for (int u = 0; u < unroll; ++u)
      __stcs(to + i + u * step, held[u]);
  }
  for (; i < count; i += step)
    to[i] = from[i];
}

__global__ void readWords(const uint4 *__restrict__ from, uint64_t count, unsigned *sum) {
  constexpr int unroll = 8;
  uint64_t step = itemStride();
  uint64_t i = firstItem();
  unsigned mine = 0;
  for (; i + (unroll - 1) * step < count; i += unroll * step) {
    uint4 held[unroll];
#pragma unroll
    for (int u = 0; u < unroll; ++u)
      held[u] = __ldcs(from + i + u * step);
#pragma unroll
    for (int u = 0; u < unroll; ++u)
      mine ^= held[u].x ^ held[u].y ^ held[u].z ^ held[u].w;
  }
  for (; i < count; i += step) {
    uint4 held = from[i];
    mine ^= held.x ^ held.y ^ held.z ^ held.w;
  }
#pragma unroll
  for (int offset = 16; offset; offset /= 2)
    mine ^= __shfl_xor_sync(0xFFFFFFFFu, mine, offset);
  if (threadIdx.x % 32 == 0)
    atomicXor(sum, mine);
}

__global__ void writeWords(uint4 *to, uint64_t count, unsigned value) {
  for (uint64_t i = firstItem(); i < count; i += itemStride())
    __stcs(to + i, make_uint4(value, value, value, value));
}

__global__ void increment(unsigned *counter) {
  if (firstItem() == 0)
    *counter += 1;
}

/// Calls `launch` with the pointer as the type names it.
template <typename Launch> cudaError_t byType(Type type, void *data, const Launch &launch) {
  switch (type) {
  case Type::bf16:
    launch(static_cast<uint16_t *>(data));
    break;
  case Type::f32:
    launch(static_cast<float *>(data));
    break;
  case Type::f64:
    launch(static_cast<double *>(data));
    break;
  }
  return cudaGetLastError();
}

} // namespace

cudaError_t launchFillNormal(void *data, Type type, uint64_t count, uint64_t seed, float sigma,
                             cudaStream_t stream) {
  return byType(type, data, [&](auto *typed) {
    fillNormal<<<blocksFor(count), threads, 0, stream>>>(typed, count, seed, sigma);
  });
}

cudaError_t launchCountNotFinite(const void *data, Type type, uint64_t elements,
                                 unsigned long long *count, cudaStream_t stream) {
  return byType(type, const_cast<void *>(data), [&](auto *typed) {
    countNotFinite<<<blocksFor(elements), threads, 0, stream>>>(typed, elements, count);
  });
}

cudaError_t launchGather(const void *data, Type type, const uint64_t *indexes, uint64_t count,
                         double *out, cudaStream_t stream) {
  return byType(type, const_cast<void *>(data), [&](auto *typed) {
    gather<<<blocksFor(count), threads, 0, stream>>>(typed, indexes, count, out);
  });
}

cudaError_t launchCountDifferent(const void *a, const void *b, uint64_t words,
                                 unsigned long long *count, cudaStream_t stream) {
  countDifferent<<<blocksFor(words), threads, 0, stream>>>(
      static_cast<const unsigned *>(a), static_cast<const unsigned *>(b), words, count);
  return cudaGetLastError();
}

cudaError_t launchCopy(void *to, const void *from, uint64_t bytes, cudaStream_t stream) {
  copyWords<<<blocksFor(bytes / 64), threads, 0, stream>>>(
      static_cast<uint4 *>(to), static_cast<const uint4 *>(from), bytes / 16);
  return cudaGetLastError();
}

cudaError_t launchRead(const void *from, uint64_t bytes, unsigned *sum, cudaStream_t stream) {
  // Few blocks, so that the atomic at each warp's end does not show.
  unsigned blocks = blocksFor(bytes / 128);
  if (blocks > 4096)
    blocks = 4096;
  readWords<<<blocks, threads, 0, stream>>>(static_cast<const uint4 *>(from), bytes / 16, sum);
  return cudaGetLastError();
}

cudaError_t launchWrite(void *to, uint64_t bytes, unsigned value, cudaStream_t stream) {
  writeWords<<<blocksFor(bytes / 64), threads, 0, stream>>>(static_cast<uint4 *>(to), bytes / 16,
                                                            value);
  return cudaGetLastError();
}

cudaError_t launchIncrement(unsigned *counter, cudaStream_t stream) {
  increment<<<1, 32, 0, stream>>>(counter);
  return cudaGetLastError();
}

} // namespace weft::gpukit
