// Where the members of an emulated NCCL communicator meet: threads or processes of one machine.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each member has a channel to all others, and one to each of them. What it posts there, the others
// read when they come to it; a channel is free for the next post when all of them have. All is in
// one file of /dev/shm, without a name as soon as all have come: counters that all map, and a
// stretch of bytes for each channel, which takes room only where something was posted.
#ifndef WEFT_TEST_EMULATION_CUDA_MEETING_H
#define WEFT_TEST_EMULATION_CUDA_MEETING_H

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::emulated {

class Meeting {
public:
  static constexpr int kMost = 16; // members
  static constexpr int kAll = kMost;

  /// A name that nobody else has.
  static std::string makeName();
  /// The most bytes of a post.
  static constexpr uint64_t kMostBytes = uint64_t(64) << 20;
  /// Null if there is no room.
  static Meeting *open(const std::string &name, int members, int me);
  ~Meeting();
  Meeting(const Meeting &) = delete;

  bool haveAllCome() const;
  /// Tells what the member is; whether another one that has come is the same.
  bool isTwin(uint64_t identity);
  void leave();
  bool haveAllLeft() const;

  /// Whether all have read what this member posted before to `to`, a member or kAll.
  bool isFree(int to) const;
  void post(int to, const std::vector<char> &bytes, uint64_t what);
  /// Whether there is a post of `from` that this member has not read, to `to`: itself or kAll.
  bool hasCome(int from, int to) const;
  /// Its bytes, and what it is; the post is read then.
  std::vector<char> read(int from, int to, uint64_t &what);

  const int members, me;

private:
  struct Channel {
    std::atomic<uint64_t> posted, bytes, what;
    std::atomic<uint64_t> taken[kMost]; // by reader
  };
  struct Shared {
    std::atomic<int> come, left;
    std::atomic<uint64_t> identities[kMost]; // 0: not told
    Channel channels[kMost][kMost + 1];      // from, to
  };
  Meeting(int members, int me) : members(members), me(me) {}
  static uint64_t placeOf(int from, int to);

  Shared *shared = nullptr;
  int file = -1;
};

} // namespace weft::emulated

#endif // WEFT_TEST_EMULATION_CUDA_MEETING_H
