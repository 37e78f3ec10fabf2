// What a kernel of a grid of threads calls when it runs on this processor, and how it is started.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_EMULATOR_ABI_H
#define WEFT_RUNTIME_EMULATOR_ABI_H

#include <stdint.h>

extern "C" {

/// A buffer that a kernel is given: its bytes; those of an element, in which its accesses are
/// counted (one that is narrower counts as all of the element); what its address is a multiple of.
typedef struct weft_emulated_buffer {
  int64_t bytes, granule, alignment;
} weft_emulated_buffer;

/// One thread of a block. Kernels read the two numbers; what follows them is the emulator's.
typedef struct weft_emulated_thread {
  int64_t thread, block;
} weft_emulated_thread;

/// The code of one thread: first elements of the arguments, then of the block's shared buffers.
typedef void (*weft_emulated_code)(weft_emulated_thread *thread, void *const *arguments,
                                   void *const *shared);

typedef struct weft_emulated_kernel {
  const char *name;
  weft_emulated_code code;
  /// Blocks of the grid, threads of a block (at most 1024).
  int64_t blocks, threads;
  int64_t num_arguments, num_shared;
  /// Arguments, then shared buffers.
  const weft_emulated_buffer *buffers;
} weft_emulated_kernel;

/// Runs blocks [begin, end) as far as there are so many, each thread as a fiber, one at a time on
/// the calling thread. What is wrong with them is told to the handler of Emulator.h.
void weft_emulator_launch(const weft_emulated_kernel *kernel, int64_t begin, int64_t end,
                          void *const *arguments);

/// Waits for all threads of the block. `site` numbers the barriers of a kernel.
void weft_emulator_barrier(weft_emulated_thread *thread, int32_t site);

/// Waits for all threads of the warp, as PTX's bar.warp.sync of all of its lanes.
void weft_emulator_warp_barrier(weft_emulated_thread *thread, int32_t site);

enum { WEFT_SHUFFLE_XOR = 0, WEFT_SHUFFLE_UP = 1, WEFT_SHUFFLE_DOWN = 2, WEFT_SHUFFLE_IDX = 3 };

/// PTX's shfl.sync among segments of `width` lanes of a warp (a power of two up to 32), for which
/// all threads of the warp wait: the value of another lane in the low 32 bits, and in the next
/// whether the segment has that lane; else the thread's own value.
int64_t weft_emulator_shuffle(weft_emulated_thread *thread, int32_t site, int32_t mode,
                              int32_t value, int32_t offset, int32_t width);

enum { WEFT_ACCESS_READ = 0, WEFT_ACCESS_WRITE = 1, WEFT_ACCESS_ATOMIC = 2 };

/// Before each access to arguments or shared buffers. The address must be a multiple of
/// `alignment` bytes.
void weft_emulator_access(weft_emulated_thread *thread, const void *address, int64_t bytes,
                          int64_t alignment, int32_t kind);

/// An index that is not within its dim; `base` is the first element of what is indexed. Does not
/// return.
void weft_emulator_outside(weft_emulated_thread *thread, const void *base, int64_t dim,
                           int64_t index, int64_t size);
}

#endif // WEFT_RUNTIME_EMULATOR_ABI_H
