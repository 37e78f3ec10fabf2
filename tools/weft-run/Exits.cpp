// Waits for processes by their descriptors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Exits.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace weft::runtime;

Exits::Exits() : queue(epoll_create1(EPOLL_CLOEXEC)) {}

Exits::~Exits() {
  for (int process : processes)
    close(process);
  if (queue >= 0)
    close(queue);
}

void Exits::watch(pid_t pid, int64_t rank) {
  int process = int(syscall(SYS_pidfd_open, pid, 0));
  if (process < 0)
    return;
  processes.push_back(process);
  epoll_event event{};
  event.events = EPOLLIN | EPOLLONESHOT;
  event.data.u64 = uint64_t(rank);
  (void)epoll_ctl(queue, EPOLL_CTL_ADD, process, &event);
}

std::vector<int64_t> Exits::next() {
  std::vector<int64_t> ranks;
  epoll_event events[64];
  while (true) {
    int count = epoll_wait(queue, events, 64, 0);
    if (count <= 0)
      return ranks;
    for (int i = 0; i < count; ++i)
      ranks.push_back(int64_t(events[i].data.u64));
  }
}
