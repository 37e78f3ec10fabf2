// The kit's own kernels, as plain functions for host code; each returns the
// launch's error.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

namespace weft::gpukit {

enum class Type { bf16, f32, f64 };

inline size_t sizeOf(Type type) { return type == Type::bf16 ? 2 : type == Type::f32 ? 4 : 8; }

/// data[i] = normalAt(seed, i, sigma), rounded to `type`.
cudaError_t launchFillNormal(void *data, Type type, uint64_t count, uint64_t seed, float sigma,
                             cudaStream_t stream);

/// *count += how many elements are NaN or infinite.
cudaError_t launchCountNotFinite(const void *data, Type type, uint64_t elements,
                                 unsigned long long *count, cudaStream_t stream);

/// out[i] = data[indexes[i]].
cudaError_t launchGather(const void *data, Type type, const uint64_t *indexes, uint64_t count,
                         double *out, cudaStream_t stream);

/// *count += how many 32-bit words differ.
cudaError_t launchCountDifferent(const void *a, const void *b, uint64_t words,
                                 unsigned long long *count, cudaStream_t stream);

/// Copies 16 bytes per thread and step; `bytes` is a multiple of 16.
cudaError_t launchCopy(void *to, const void *from, uint64_t bytes, cudaStream_t stream);

/// *sum ^= every 32-bit word: a read of `bytes` (a multiple of 16) that nothing
/// can skip.
cudaError_t launchRead(const void *from, uint64_t bytes, unsigned *sum, cudaStream_t stream);

/// Writes `value` into every 32-bit word; `bytes` is a multiple of 16.
cudaError_t launchWrite(void *to, uint64_t bytes, unsigned value, cudaStream_t stream);

/// *counter += 1, by one thread: the least kernel whose execution can be
/// checked.
cudaError_t launchIncrement(unsigned *counter, cudaStream_t stream);

} // namespace weft::gpukit
