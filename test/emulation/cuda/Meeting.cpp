// Posts and reads bytes between members.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Meeting.h"

#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace weft::emulated;

std::string Meeting::makeName() {
  static std::atomic<int> next{0};
  return "/dev/shm/weft-emulated-nccl-" + std::to_string(getpid()) + "-" + std::to_string(next++);
}

uint64_t Meeting::placeOf(int from, int to) {
  return sizeof(Shared) + uint64_t(from * (kMost + 1) + to) * kMostBytes;
}

Meeting *Meeting::open(const std::string &name, int members, int me) {
  int file = ::open(name.c_str(), O_RDWR | O_CREAT, 0600);
  if (file < 0)
    return nullptr;
  void *memory = MAP_FAILED;
  if (ftruncate(file, off_t(placeOf(kMost, 0))) == 0)
    memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    close(file);
    return nullptr;
  }
  auto *meeting = new Meeting(members, me);
  meeting->file = file;
  meeting->shared = static_cast<Shared *>(memory);
  if (meeting->shared->come.fetch_add(1) + 1 == members)
    unlink(name.c_str());
  return meeting;
}

Meeting::~Meeting() {
  munmap(shared, sizeof(Shared));
  close(file);
}

bool Meeting::haveAllCome() const { return shared->come.load() >= members; }
bool Meeting::isTwin(uint64_t identity) {
  shared->identities[me] = identity;
  for (int member = 0; member < members; ++member)
    if (member != me && shared->identities[member].load() == identity)
      return true;
  return false;
}
void Meeting::leave() { shared->left.fetch_add(1); }
bool Meeting::haveAllLeft() const { return shared->left.load() >= members; }

bool Meeting::isFree(int to) const {
  const Channel &channel = shared->channels[me][to];
  uint64_t posted = channel.posted.load();
  for (int reader = 0; reader < members; ++reader)
    if ((to == kAll || to == reader) && channel.taken[reader].load() < posted)
      return false;
  return true;
}

void Meeting::post(int to, const std::vector<char> &bytes, uint64_t what) {
  Channel &channel = shared->channels[me][to];
  for (size_t done = 0; done < bytes.size();) {
    ssize_t count =
        pwrite(file, bytes.data() + done, bytes.size() - done, off_t(placeOf(me, to) + done));
    if (count <= 0)
      std::abort(); // no room in /dev/shm
    done += size_t(count);
  }
  channel.bytes = bytes.size();
  channel.what = what;
  channel.posted.fetch_add(1);
}

bool Meeting::hasCome(int from, int to) const {
  const Channel &channel = shared->channels[from][to];
  return channel.posted.load() > channel.taken[me].load();
}

std::vector<char> Meeting::read(int from, int to, uint64_t &what) {
  Channel &channel = shared->channels[from][to];
  std::vector<char> bytes(channel.bytes.load());
  what = channel.what;
  for (size_t done = 0; done < bytes.size();) {
    ssize_t count =
        pread(file, bytes.data() + done, bytes.size() - done, off_t(placeOf(from, to) + done));
    if (count <= 0)
      std::abort(); // of a file that somebody else has cut
    done += size_t(count);
  }
  channel.taken[me].fetch_add(1);
  return bytes;
}
