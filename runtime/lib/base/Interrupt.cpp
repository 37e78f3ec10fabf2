// A thread that waits for signals.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/Interrupt.h"

#include "job/Board.h"
#include "job/World.h"
#include "terminal/Printer.h"

#include <algorithm>
#include <initializer_list>
#include <pthread.h>
#include <unistd.h>

using namespace weft::runtime;

namespace {

/// How long the running step may take after a signal: some times what the
/// longest took.
constexpr double kLeastPatience = 2, kLongestSteps = 5;

/// mpirun sends a signal twice, to the process and to its group; what comes so
/// soon is one wish, not two.
constexpr double kSameWish = 0.3;
constexpr useconds_t kHearsay = 60 * 1000;

bool isIgnored(int signal) {
  struct sigaction action{};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

} // namespace

Interrupt::Interrupt(bool speaks) : speaks(speaks) {
  sigemptyset(&watched);
  for (int signal : {SIGINT, SIGTERM})
    sigaddset(&watched, signal);
  if (!isIgnored(SIGHUP)) // as nohup wants it
    sigaddset(&watched, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &watched, &before);
  thread = std::thread([this] { watch(); });
}

Interrupt::~Interrupt() {
  ending.store(true);
  thread.join();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

int Interrupt::requested() const {
  const BoardHeader *header = board.load();
  int signal = first.load();
  return signal != 0 || !header ? signal : header->stop.load();
}

void Interrupt::stepTook(double seconds) { longest.store(std::max(seconds, longest.load())); }

void Interrupt::watch() {
  timespec period{0, 50 * 1000 * 1000};
  bool asked = false;
  Clock::time_point since, asking;
  while (!ending.load()) {
    int signal = sigtimedwait(&watched, nullptr, &period);
    if (signal > 0 && first.load() != 0 && secondsSince(since) > kSameWish)
      endAtOnce(signal); // the user means it
    if (signal > 0 && first.load() == 0) {
      first.store(signal);
      since = Clock::now();
    }
    if (requested() == 0 || heeded.load() != 0)
      continue;
    if (!asked) {
      asked = true;
      asking = Clock::now();
      if (longest.load() == 0)
        end(requested());
      // What a launcher sends because a rank failed is nobody's wish.
      usleep(kHearsay);
      const BoardHeader *header = board.load();
      if (speaks && (!header || header->failed.load() == 0))
        emit(Stream::Err, "\nweft: stopping after the running step; once more to stop at once\n");
    }
    if (patient.load() > 0)
      asking = Clock::now();
    if (secondsSince(asking) < std::max(kLeastPatience, kLongestSteps * longest.load()))
      continue;
    if (speaks)
      emit(Stream::Err, "weft: the running step does not end; stopping at once\n");
    end(requested());
  }
}

void Interrupt::endAtOnce(int signal) const {
  if (speaks)
    emit(Stream::Err, "weft: stopping at once; what is not saved yet is lost\n");
  end(signal);
}

void Interrupt::end(int signal) {
  // Who should read it may be what hangs.
  isEmitted(kReaderSeconds);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  std::signal(signal, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  raise(signal);
  _Exit(128 + signal);
}
