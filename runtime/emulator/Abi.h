// What a kernel of a grid of threads calls when it runs on this processor, and how it is started.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_EMULATOR_ABI_H
#define WEFT_RUNTIME_EMULATOR_ABI_H

#include <stdint.h>

extern "C" {

/// A buffer that a kernel is given: its bytes, and those of an element, in which its accesses are
/// counted (one that is narrower counts as all of the element).
typedef struct weft_emulated_buffer {
  int64_t bytes, granule;
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

/// Runs blocks [begin, end), each thread as a fiber, one at a time on the calling thread. What is
/// wrong with them is told to the handler of Emulator.h.
void weft_emulator_launch(const weft_emulated_kernel *kernel, int64_t begin, int64_t end,
                          void *const *arguments);

/// Waits for all threads of the block. `site` numbers the barriers of a kernel.
void weft_emulator_barrier(weft_emulated_thread *thread, int32_t site);

enum { WEFT_SHUFFLE_XOR = 0, WEFT_SHUFFLE_UP = 1, WEFT_SHUFFLE_DOWN = 2, WEFT_SHUFFLE_IDX = 3 };

/// Waits for all threads of the warp and gives the value of another one in the low 32 bits, and in
/// the next whether there is that one; else the thread's own value. PTX's shfl.sync of width 32.
int64_t weft_emulator_shuffle(weft_emulated_thread *thread, int32_t site, int32_t mode,
                              int32_t value, int32_t offset);

enum { WEFT_ACCESS_READ = 0, WEFT_ACCESS_WRITE = 1, WEFT_ACCESS_ATOMIC = 2 };

/// Before each access to arguments or shared buffers.
void weft_emulator_access(weft_emulated_thread *thread, const void *address, int64_t bytes,
                          int32_t kind);

/// An index that is not within its dim; `base` is the first element of what is indexed. Does not
/// return.
void weft_emulator_outside(weft_emulated_thread *thread, const void *base, int64_t dim,
                           int64_t index, int64_t size);
}

#endif // WEFT_RUNTIME_EMULATOR_ABI_H
