// Runs kernels of a grid of threads on this processor, and finds what a GPU would not tell.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_EMULATOR_EMULATOR_H
#define WEFT_RUNTIME_EMULATOR_EMULATOR_H

#include "Abi.h"

#include <cstdint>

// Every thread is a fiber that runs until it waits at a barrier or a shuffle, so a launch is one
// of the orders that a GPU may take. A right kernel computes the same in all of them. What is an
// error in any order is found in each:
// - an access outside of the buffers, or by an index that its dim does not have;
// - two threads touch the same bytes without a barrier between them, of their block or of their
//   warp, and one writes (blocks of a launch have none). Atomic updates may meet each other;
// - an address is no multiple of what an access, or an argument, promises;
// - threads of a block do not all come to the same barrier, or those of a warp to the same
//   barrier of theirs or shuffle; a shuffle reads a lane that the block does not have.
// Shared memory starts as bytes of 0xFF or 0xA5, as the seed will: a result that depends on what no
// thread has written differs between seeds.
namespace weft::emulator {

/// In which order threads run, and blocks.
enum class Order {
  Forward,  ///< ascending
  Backward, ///< descending
  Warps,    ///< a drawn warp as far as it comes, then another
  Random,   ///< each time a drawn thread
  Preempted ///< as Random, and threads are also stopped before drawn accesses
};

/// For launches that begin from now on. The same seed gives the same order. At first what
/// WEFT_EMULATOR_ORDER (forward, backward, warps, random or preempted) and WEFT_EMULATOR_SEED say,
/// else random and 1.
void setOrder(Order order, uint64_t seed);

/// Is told the first error of a launch, one sentence that names kernel, block and threads. If it
/// returns, the launch has ended where it was. The default, which null sets again, prints the
/// sentence and ends the process with exit code 70: a kernel is wrong, not what was given to it.
using ErrorHandler = void (*)(const char *sentence);
void setErrorHandler(ErrorHandler handler);

} // namespace weft::emulator

#endif // WEFT_RUNTIME_EMULATOR_EMULATOR_H
