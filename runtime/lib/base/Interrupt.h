// Turns the first SIGINT, SIGTERM or SIGHUP into a wish to stop after a step.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_BASE_INTERRUPT_H
#define WEFT_RUNTIME_LIB_BASE_INTERRUPT_H

#include <atomic>
#include <csignal>
#include <cstdint>
#include <thread>

namespace weft::runtime {

struct BoardHeader;

/// Must be made before any other thread, so that all of them leave these
/// signals to the one that waits for them here. A second signal ends the
/// process as it always does; so does the first one before the loop runs, as
/// there is nothing to save yet, and when the running step does not end.
class Interrupt {
public:
  /// `speaks`: this process tells that the signal was heard.
  explicit Interrupt(bool speaks);
  ~Interrupt();
  Interrupt(const Interrupt &) = delete;

  /// A wish may also stand here, by weft-run; null = no longer.
  void follow(const BoardHeader *header) { board.store(header); }

  /// The signal that asks to stop; 0 = none.
  int requested() const;
  /// The loop is alive: a step ended that took so long.
  void stepTook(double seconds);
  /// While one lives, what is being done ends, however long it takes: a checkpoint is written. A
  /// second signal ends the process nevertheless. Null has no interrupt to keep.
  class Patience {
  public:
    explicit Patience(Interrupt *interrupt) : interrupt(interrupt) { add(1); }
    ~Patience() { add(-1); }
    Patience(const Patience &) = delete;

  private:
    void add(int count) {
      if (interrupt)
        interrupt->patient.fetch_add(count);
    }
    Interrupt *interrupt;
  };
  /// The loop knows that it is to stop, because of `signal`, and does.
  void stopping(int signal) { heeded.store(signal); }
  /// The wish came in the last step, and stopped nothing.
  void allDone() { complete.store(true); }
  /// The signal that ended the loop before its end; 0 = none did.
  int stopped() const { return complete.load() ? 0 : heeded.load(); }

private:
  void watch();
  [[noreturn]] void endAtOnce(int signal) const;
  [[noreturn]] static void end(int signal);

  bool speaks;
  sigset_t watched, before;
  std::atomic<const BoardHeader *> board{nullptr};
  std::atomic<int> first{0}, heeded{0}, patient{0};
  std::atomic<double> longest{0}; // step; 0 = none has ended
  std::atomic<bool> ending{false}, complete{false};
  std::thread thread;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_BASE_INTERRUPT_H
