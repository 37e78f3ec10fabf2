// Processes that meet over TCP, as threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "comm/TcpLinks.h"

#include <arpa/inet.h>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace weft::runtime;

namespace {

int32_t never(void *) { return 0; }
double twoSeconds(void *) { return 2; }

/// A socket that listens on a free port of this machine.
int listenAnywhere(uint16_t &port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof name;
  int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_EQ(bind(listener, reinterpret_cast<sockaddr *>(&name), length), 0);
  EXPECT_EQ(listen(listener, 16), 0);
  EXPECT_EQ(getsockname(listener, reinterpret_cast<sockaddr *>(&name), &length), 0);
  port = ntohs(name.sin_port);
  return listener;
}

void onThreads(int64_t count, const std::function<void(size_t)> &run) {
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < count; ++i)
    threads.emplace_back(run, size_t(i));
  for (std::thread &thread : threads)
    thread.join();
}

JobAddress addressOf(int64_t rank, int64_t processes, uint16_t port, int listener) {
  JobAddress job;
  job.rank = rank;
  job.processes = processes;
  job.host = "127.0.0.1";
  job.port = port;
  job.token = {1, 2};
  job.listener = rank == 0 ? listener : -1;
  return job;
}

// The last rank of a group stays away: those that came are not blamed.
TEST(TcpLinks, NamesOnlyWhoStaysAway) {
  constexpr int64_t kRanks = 4, kAbsent = kRanks - 1;
  uint16_t port = 0;
  int listener = listenAnywhere(port);
  std::vector<Status> met(kRanks), grouped(kRanks);
  std::vector<std::unique_ptr<TcpLinks>> links;
  for (int64_t rank = 0; rank < kRanks; ++rank)
    links.push_back(std::make_unique<TcpLinks>(addressOf(rank, kRanks, port, listener),
                                               weft_comm_host{nullptr, never, twoSeconds}));
  onThreads(kRanks, [&](size_t rank) { met[rank] = links[rank]->open(); });
  onThreads(kAbsent, [&](size_t rank) {
    std::vector<int> descriptors;
    grouped[rank] = links[rank]->connectGroup(7, {0, 1, 2, 3}, int64_t(rank), descriptors);
    for (int descriptor : descriptors)
      if (descriptor >= 0)
        close(descriptor);
  });
  for (int64_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_TRUE(met[size_t(rank)].ok()) << met[size_t(rank)].text();
    if (rank != kAbsent)
      EXPECT_EQ(grouped[size_t(rank)].text(), "no progress for 2 s; missing: rank 3");
  }
}

// Rank 0 answers just when the other one, tired of waiting, looks whether it may wait on.
TEST(TcpLinks, AnAnswerDuringACheckIsNoFailure) {
  uint16_t port = 0;
  int listener = listenAnywhere(port);
  struct First {
    TcpLinks links;
    bool opened = false;
    Status met;
  } first{{addressOf(0, 2, port, listener), {nullptr, never, twoSeconds}}, false, {}};
  auto answer = [](void *context) {
    First &first = *static_cast<First *>(context);
    if (!first.opened) {
      first.opened = true;
      first.met = first.links.open();
    }
    return int32_t(0);
  };
  TcpLinks second(addressOf(1, 2, port, -1), {&first, answer, twoSeconds});
  Status met = second.open();
  EXPECT_TRUE(first.opened);
  EXPECT_TRUE(first.met.ok()) << first.met.text();
  EXPECT_TRUE(met.ok()) << met.text();
}

} // namespace
