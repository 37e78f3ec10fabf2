// Turns the first SIGINT or SIGTERM into a wish to stop after a step.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_INTERRUPT_H
#define WEFT_RUNTIME_LIB_INTERRUPT_H

#include <atomic>
#include <csignal>
#include <thread>

namespace weft::runtime {

/// Must be made before any other thread, so that all of them leave SIGINT,
/// SIGTERM and SIGUSR1 (what weft-run makes mpirun pass on) to the one that
/// waits for them here. A second signal ends the process as it always does.
class Interrupt {
public:
  /// `speaks`: this process tells that the signal was heard.
  explicit Interrupt(bool speaks);
  ~Interrupt();
  Interrupt(const Interrupt &) = delete;

  bool requested() const { return signals.load() > 0; }

private:
  void watch();

  bool speaks;
  sigset_t watched, before;
  std::atomic<int> signals{0};
  std::atomic<bool> ending{false};
  std::thread thread;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_INTERRUPT_H
