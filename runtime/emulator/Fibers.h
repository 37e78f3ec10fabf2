// Stacks, and switching between them and the host thread.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_EMULATOR_FIBERS_H
#define WEFT_RUNTIME_EMULATOR_FIBERS_H

#include <boost/context/detail/fcontext.hpp>

#include <cstddef>

namespace weft::emulator {

/// Code that runs on a stack of its own until it pauses. Fibers belong to the host thread that
/// made them. One that is started anew, or destroyed, while it is paused is left where it is: its
/// frames are gone without destructors.
class Fiber {
public:
  /// Bytes of a fiber's stack. A page that cannot be touched lies below it.
  static constexpr size_t kStackBytes = 128 << 10;

  using Body = void (*)(void *data);

  /// Will run `body(data)` on the next `resume`. `stack` is the end of kStackBytes of memory.
  void start(char *stack, Body body, void *data);
  /// On the host thread: goes on until the fiber pauses or ends.
  void resume();
  /// On the fiber: goes back to the host thread.
  void pause();
  bool hasEnded() const { return ended; }

private:
  static void enter(boost::context::detail::transfer_t from);

  boost::context::detail::fcontext_t own = nullptr, host = nullptr;
  Body body = nullptr;
  void *data = nullptr;
  bool ended = true;
};

/// Stacks of the fibers of one host thread; pages that are not used take no memory.
class Stacks {
public:
  ~Stacks();
  /// The end of the stack of that number, below `count`; null if there is no memory.
  char *end(size_t number, size_t count);

private:
  char *memory = nullptr;
  size_t size = 0;
};

} // namespace weft::emulator

#endif // WEFT_RUNTIME_EMULATOR_FIBERS_H
