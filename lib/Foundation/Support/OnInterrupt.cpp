// Signals wake a thread through a pipe; it cleans up and ends the process.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Support/OnInterrupt.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <thread>
#include <unistd.h>

using weft::OnInterrupt;

namespace {

int wakeUp[2] = {-1, -1}; // a signal handler can reach nothing but globals

void handle(int signal) {
  int before = errno;
  unsigned char byte = static_cast<unsigned char>(signal);
  // A full pipe has woken the thread long since.
  (void)!write(wakeUp[1], &byte, 1);
  errno = before;
}

class Watcher {
public:
  static Watcher &get() {
    static auto *watcher = new Watcher; // outlives all that could ask for it
    return *watcher;
  }

  unsigned add(std::function<void()> cleanup) {
    std::lock_guard<std::mutex> lock(mutex);
    cleanups[++last] = std::move(cleanup);
    return last;
  }

  void remove(unsigned number) {
    std::lock_guard<std::mutex> lock(mutex);
    cleanups.erase(number);
  }

private:
  Watcher() {
    if (pipe2(wakeUp, O_CLOEXEC) != 0)
      return; // signals end the process as they would without us
    std::thread([this] { watch(); }).detach();
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction action = {}, old = {};
      action.sa_handler = handle;
      action.sa_flags = SA_RESTART;
      if (sigaction(signal, nullptr, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(signal, &action, nullptr);
    }
  }

  void watch() {
    unsigned char byte = 0;
    while (read(wakeUp[0], &byte, 1) != 1)
      if (errno != EINTR)
        return;
    // Kept locked: nothing is added any more, and what was, is not done twice.
    mutex.lock();
    for (auto entry = cleanups.rbegin(); entry != cleanups.rend(); ++entry)
      entry->second();
    std::signal(byte, SIG_DFL);
    kill(getpid(), byte);
  }

  std::mutex mutex;
  std::map<unsigned, std::function<void()>> cleanups;
  unsigned last = 0;
};

} // namespace

OnInterrupt::OnInterrupt(std::function<void()> cleanup)
    : number(Watcher::get().add(std::move(cleanup))) {}

OnInterrupt::~OnInterrupt() { Watcher::get().remove(number); }
