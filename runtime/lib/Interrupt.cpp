// A thread that waits for signals.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Interrupt.h"

#include <cstdio>
#include <initializer_list>
#include <pthread.h>

using namespace weft::runtime;

Interrupt::Interrupt(bool speaks) : speaks(speaks) {
  sigemptyset(&watched);
  for (int signal : {SIGINT, SIGTERM, SIGUSR1})
    sigaddset(&watched, signal);
  pthread_sigmask(SIG_BLOCK, &watched, &before);
  thread = std::thread([this] { watch(); });
}

Interrupt::~Interrupt() {
  ending.store(true);
  pthread_kill(thread.native_handle(), SIGUSR1);
  thread.join();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Interrupt::watch() {
  while (true) {
    int signal = 0;
    if (sigwait(&watched, &signal) != 0)
      continue;
    if (ending.load())
      return;
    if (signals.fetch_add(1) == 0) {
      if (speaks)
        std::fputs("\nweft: stopping after the running step; once more to stop "
                   "at once\n",
                   stderr);
      continue;
    }
    // The user means it: end as if nothing had been watched.
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, signal);
    std::signal(signal, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
    raise(signal);
  }
}
