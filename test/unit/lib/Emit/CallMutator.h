// Seeded mistakes in calls of routines, for tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_LIB_EMIT_CALLMUTATOR_H
#define WEFT_TEST_UNIT_LIB_EMIT_CALLMUTATOR_H

#include "dialects/rt/IR/Rt.h"

#include <random>

namespace weft::test {

/// Changes one thing in a program that calls routines, at `scheduled`.
class CallMutator {
public:
  static constexpr const char *kKinds[] = {
      "dropped",     // a call is gone
      "doubled",     // a call comes a second time, somewhere
      "swapped",     // two calls are in each other's place
      "moved",       // a call comes earlier or later
      "microbatch",  // an operand is what the same call gets for another microbatch
      "frame",       // an operand is the memory of another call of the routine
      "overlapping", // a buffer has bytes of one that is alive with it
      "scratch",     // the same, for what a call needs besides its blocks
      "early",       // a call that writes a state comes before one that reads it
      "operand",     // an operand is any other of its type
      "crossed",     // two operands of a call are in each other's place
      "rows",        // an operand begins at another element
      "unset",       // a sum is added to though it is none yet, or not though it is one
      "stream",      // a call is of the other stream
  };

  CallMutator(mlir::ModuleOp module, unsigned seed);
  /// The number of kinds, and whether there was something to change like that.
  static constexpr unsigned kNumKinds = std::size(kKinds);
  bool mutate(unsigned kind);

private:
  using Calls = llvm::SmallVector<rt::InvokeOp>;

  /// Calls for which `holds`, or null if there is none.
  rt::InvokeOp any(llvm::function_ref<bool(rt::InvokeOp)> holds);
  bool exchange(rt::InvokeOp call);
  bool move(rt::InvokeOp call);
  bool useAnothers(rt::InvokeOp call, bool sameLabel);
  bool overlap(rt::BufferOp buffer);
  bool updateEarly();
  bool changeOperand(rt::InvokeOp call);
  bool crossOperands(rt::InvokeOp call);
  bool moveRows(rt::InvokeOp call);
  bool changeUnset();

  template <typename List> auto pick(const List &list) { return list[random() % list.size()]; }

  std::mt19937 random;
  rt::ProgramOp program;
  Calls calls;
  llvm::SmallVector<rt::BufferOp> buffers;
};

} // namespace weft::test

#endif // WEFT_TEST_UNIT_LIB_EMIT_CALLMUTATOR_H
