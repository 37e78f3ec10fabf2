// Conformance of a communicator's transfers: from one member to another, at any moment.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: weft_transfers_test inproc|mpi|tcp RANKS CASE
//   exchange  on several groups at once, each with a thread, all members do their part of one
//             random order of transfers of 0 bytes to megabytes, early or late, with exchanges of
//             all members between them
//   large     more bytes than a message of MPI may have (WEFT_TEST_FULL=1), else 48 MiB
//   aborted, aborted-send  who waits for a peer that does not come stops soon after its own rank
//             has failed
//   late, late-send        a peer that does not come in time is named
//   dies      so is a peer whose process ends (tcp; what runs ranks under MPI ends them all)
#include "comm/Groups.h"

#include "weft/runtime/Launch.h"

#include <algorithm>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <unistd.h>

using namespace weft::runtime;

namespace {

using Bytes = std::vector<uint8_t>;

/// The same of the same numbers, on all ranks.
uint64_t mixed(uint64_t a, uint64_t b) {
  uint64_t x = (a + 1) * 0x9e3779b97f4a7c15ull ^ (b + 1) * 0xc2b2ae3d27d4eb4full;
  x = (x ^ (x >> 31)) * 0xbf58476d1ce4e5b9ull;
  return x ^ (x >> 29);
}

void fill(Bytes &bytes, uint64_t key) {
  std::mt19937_64 random(key);
  for (size_t i = 0; i < bytes.size(); i += 8) {
    uint64_t word = random();
    std::memcpy(&bytes[i], &word, std::min<size_t>(8, bytes.size() - i));
  }
}

class Test {
public:
  Test(const char *comm, int64_t ranks, double patience)
      : comm(comm), ranks(ranks), patience(patience), world(patience),
        host{&world, [](void *w) { return int32_t(static_cast<World *>(w)->aborted()); },
             [](void *w) { return static_cast<World *>(w)->timeoutSeconds(); }} {}

  Status open() {
    Launcher launch;
    if (comm == "inproc")
      backend = openInproc(world, ranks);
    else if (comm == "mpi")
      WEFT_TRY(openPlugin(comm, host, backend));
    else {
      WEFT_TRY(detectLauncher(launch));
      WEFT_TRY(openTcp(launch.job, host, backend));
    }
    return {};
  }
  void close() { backend.vtable->destroy(backend.backend); }
  bool isLocal() const { return backend.everyRankIsLocal; }

  /// Calls `body` for each rank of this process, each on a thread of its own.
  void onRanks(const std::function<void(int64_t)> &body) {
    if (!isLocal())
      return body(backend.vtable->process(backend.backend));
    std::vector<std::thread> threads;
    for (int64_t rank = 0; rank < ranks; ++rank)
      threads.emplace_back(body, rank);
    for (std::thread &thread : threads)
      thread.join();
  }

  /// A group of these ranks, of which `rank` is one; collective.
  void *group(uint32_t id, const std::vector<int64_t> &members, int64_t rank) {
    void *result = nullptr;
    int64_t me = std::find(members.begin(), members.end(), rank) - members.begin();
    expect(rank, "a group", commCall([&](weft_status *status) {
             return backend.vtable->create_group(backend.backend, id, members.data(),
                                                 int64_t(members.size()), me, &result, status);
           }));
    return result;
  }
  Status send(void *group, int64_t to, const Bytes &bytes) {
    return commCall([&](weft_status *status) {
      return backend.vtable->send(group, to, bytes.data(), bytes.size(), status);
    });
  }
  Status recv(void *group, int64_t from, Bytes &bytes) {
    return commCall([&](weft_status *status) {
      return backend.vtable->recv(group, from, bytes.data(), bytes.size(), status);
    });
  }

  void fail(int64_t rank, const std::string &text) {
    std::fprintf(stderr, "FAILED: rank %lld: %s\n", static_cast<long long>(rank), text.c_str());
    ++failures;
  }
  void expect(int64_t rank, const char *what, const Status &status) {
    if (!status.ok())
      fail(rank, what + (": " + status.text()));
  }
  /// `part` of the failure's text; what failed, how long it took.
  void expectFailure(int64_t rank, const Status &status, StatusCode code, const std::string &part,
                     double seconds, double most) {
    if (status.code() != code || status.text().find(part) == std::string::npos)
      fail(rank, "expected '" + part + "', found '" + status.text() + "'");
    if (seconds > most)
      fail(rank, "stopped after " + std::to_string(seconds) + " s");
  }

  const std::string comm;
  const int64_t ranks;
  const double patience;
  World world;
  weft_comm_host host;
  CommBackend backend;
  std::atomic<int> failures{0}, done{0};
};

std::vector<int64_t> allRanks(const Test &test) {
  std::vector<int64_t> members;
  for (int64_t rank = 0; rank < test.ranks; ++rank)
    members.push_back(rank);
  return members;
}

/// All members give each other four bytes.
void exchange(Test &test, void *group, int64_t rank, uint32_t word) {
  size_t members = size_t(test.ranks);
  std::vector<uint32_t> mine(members, word), rooms(members);
  std::vector<weft_block> sends, staging;
  for (size_t m = 0; m < members; ++m) {
    sends.push_back({&mine[m], 4});
    staging.push_back({&rooms[m], 4});
  }
  std::vector<const void *> received(members);
  const weft_comm_vtable &table = *test.backend.vtable;
  std::vector<weft_message> out = messagesOf(sends), in = messagesOf(staging);
  test.expect(rank, "exchange", commCall([&](weft_status *status) {
                return table.exchange_begin(group, out.data(), in.data(), received.data(), status);
              }));
  for (const void *from : received)
    if (!from || std::memcmp(from, &word, 4) != 0)
      return test.fail(rank, "an exchange between transfers gives something else");
  test.expect(rank, "exchange",
              commCall([&](weft_status *status) { return table.exchange_end(group, status); }));
}

constexpr uint64_t kSizes[] = {0, 1, 8, 1000, 4096, 70001, 0, 300000, 3000000};

/// One thread of a rank: its part of a group's transfers.
void runOrder(Test &test, void *group, const std::vector<int64_t> &members, int64_t rank,
              uint32_t id, int count) {
  std::mt19937_64 random(1000 + id); // one order for all members
  Traffic due{};
  for (int t = 0; t < count && test.failures == 0; ++t) {
    auto n = int64_t(members.size());
    int64_t from = int64_t(random() % uint64_t(n));
    int64_t to = (from + 1 + int64_t(random() % uint64_t(n - 1))) % n;
    Bytes bytes(kSizes[random() % std::size(kSizes)]), expected(bytes.size());
    uint64_t key = mixed(id, uint64_t(t));
    if (t % 20 == 19)
      exchange(test, group, rank, uint32_t(key));
    bool sends = members[size_t(from)] == rank;
    if (!sends && members[size_t(to)] != rank)
      continue;
    uint64_t late = mixed(key, uint64_t(rank));
    if (late % 4 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(late / 4 % 2000));
    fill(sends ? bytes : expected, key);
    if (sends)
      test.expect(rank, "send", test.send(group, to, bytes));
    else
      test.expect(rank, "recv", test.recv(group, from, bytes));
    if (!sends && bytes != expected)
      test.fail(rank, "transfer " + std::to_string(t) + " of group " + std::to_string(id) +
                          " brings other bytes");
    (sends ? due.sent : due.received) += {uint64_t(!bytes.empty()), bytes.size()};
    ++test.done;
  }
  Traffic told = test.backend.vtable->traffic(group);
  uint64_t exchanged = uint64_t(count / 20) * uint64_t(test.ranks - 1);
  due.sent += {exchanged, 4 * exchanged};
  due.received += {exchanged, 4 * exchanged};
  if (test.failures == 0 && !(told.sent == due.sent && told.received == due.received))
    test.fail(rank, "counts " + std::to_string(told.sent.bytes) + " bytes sent in " +
                        std::to_string(told.sent.messages) + ", not " +
                        std::to_string(due.sent.bytes) + " in " +
                        std::to_string(due.sent.messages));
}

void runExchange(Test &test) {
  constexpr uint32_t kGroups = 4;
  int count = std::getenv("WEFT_TEST_FULL") ? 1000 : 120;
  test.onRanks([&](int64_t rank) {
    // Of the same ranks, in their order and backwards: members are not ranks.
    std::vector<int64_t> members = allRanks(test), backwards(members.rbegin(), members.rend());
    std::vector<void *> groups;
    for (uint32_t id = 0; id < kGroups; ++id)
      groups.push_back(test.group(id, id % 2 ? backwards : members, rank));
    std::vector<std::thread> threads;
    for (uint32_t id = 0; id < kGroups; ++id)
      threads.emplace_back(
          [&, id] { runOrder(test, groups[id], id % 2 ? backwards : members, rank, id, count); });
    for (std::thread &thread : threads)
      thread.join();
    for (void *group : groups)
      test.backend.vtable->destroy_group(group);
  });
  int64_t least = test.isLocal() ? 2 * int64_t(kGroups) * count : int64_t(kGroups) * count / 8;
  if (test.failures == 0 && test.done < least)
    test.fail(0, "only " + std::to_string(test.done.load()) + " transfers");
}

/// A ring of one large message; the last rank receives first.
void runLarge(Test &test) {
  uint64_t size = std::getenv("WEFT_TEST_FULL") ? (uint64_t(1) << 30) + 12345 : 48 << 20;
  test.onRanks([&](int64_t rank) {
    void *group = test.group(0, allRanks(test), rank);
    Bytes bytes(rank < 2 ? size : 0);
    if (rank == 0) {
      fill(bytes, 5);
      test.expect(rank, "send", test.send(group, 1, bytes));
    } else if (rank == 1) {
      Bytes expected(size);
      test.expect(rank, "recv", test.recv(group, 0, bytes));
      fill(expected, 5);
      if (bytes != expected)
        test.fail(rank, "a large transfer brings other bytes");
    }
    test.done += rank < 2;
    test.backend.vtable->destroy_group(group);
  });
}

/// Rank 0 waits for rank 1, which does nothing meanwhile.
void waitForNobody(Test &test, bool sends, const std::function<void(const Status &, double)> &check,
                   double seconds) {
  test.onRanks([&](int64_t rank) {
    void *group = test.group(0, allRanks(test), rank);
    Bytes bytes(16 << 20);
    if (rank == 0) {
      Clock::time_point start = Clock::now();
      Status status = sends ? test.send(group, 1, bytes) : test.recv(group, 1, bytes);
      check(status, secondsSince(start));
      ++test.done;
    } else {
      std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    }
  });
}

void runAborted(Test &test, bool sends) {
  std::thread failing([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    test.world.abort({StatusCode::RankFailed, "of a test"});
  });
  waitForNobody(
      test, sends,
      [&](const Status &status, double seconds) {
        test.expectFailure(0, status, StatusCode::RankFailed, "another rank failed", seconds, 5);
      },
      1.5);
  failing.join();
}

void runLate(Test &test, bool sends) {
  waitForNobody(
      test, sends,
      [&](const Status &status, double seconds) {
        test.expectFailure(0, status, StatusCode::Hang, "missing: rank 1", seconds,
                           test.patience + 5);
        test.expectFailure(0, status, StatusCode::Hang, "no progress for 2 s; ", 0, 0);
      },
      test.patience + 1);
}

void runDies(Test &test) {
  test.onRanks([&](int64_t rank) {
    void *group = test.group(0, allRanks(test), rank);
    Bytes bytes(16 << 20);
    if (rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      _exit(0);
    }
    Clock::time_point start = Clock::now();
    Status status = test.recv(group, 1, bytes);
    // Others than rank 0 may hear of it from rank 0.
    test.expectFailure(rank, status, StatusCode::RankFailed, rank == 0 ? "rank 1" : "rank",
                       secondsSince(start), 5);
    ++test.done;
  });
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s inproc|mpi|tcp RANKS CASE\n", argv[0]);
    return 2;
  }
  std::string which = argv[3];
  bool sends = which.find("-send") != std::string::npos;
  Test test(argv[1], std::atoi(argv[2]), which.find("late") == 0 ? 2 : 60);
  Status opened = test.open();
  if (!opened.ok()) {
    std::fprintf(stderr, "FAILED: %s\n", opened.text().c_str());
    return 1;
  }
  if (which == "exchange")
    runExchange(test);
  else if (which == "large")
    runLarge(test);
  else if (which == "dies")
    runDies(test);
  else if (which.find("aborted") == 0)
    runAborted(test, sends);
  else
    runLate(test, sends);
  test.close();
  std::printf("%s on %s ranks, %s: %d done, %d failures\n", argv[1], argv[2], argv[3],
              test.done.load(), test.failures.load());
  return test.failures != 0;
}
