// Maps files, and knows which one an address belongs to when its bytes are lost.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/MappedFile.h"

#include "weft/runtime/LostFiles.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace weft::runtime;

namespace {

/// What a signal's handler may read: no lock, no memory of its own. A region that faults is in
/// use, so its slot stays as it is meanwhile.
struct Slot {
  std::atomic<const char *> path{nullptr}; // null: free
  std::atomic<uintptr_t> begin{0}, end{0};
};
/// Regions beyond these end by the bare signal.
Slot slots[1024];

int take(const void *memory, size_t bytes, const char *path) {
  for (int i = 0; i < int(std::size(slots)); ++i) {
    const char *unused = nullptr;
    if (!slots[i].path.compare_exchange_strong(unused, path))
      continue;
    slots[i].end = uintptr_t(memory) + bytes;
    slots[i].begin = uintptr_t(memory);
    return i;
  }
  return -1;
}

void free(Slot &slot) {
  slot.begin = slot.end = 0;
  slot.path = nullptr;
}

/// The first file that was lost, and whether somebody takes it from here.
std::atomic<const char *> lost{nullptr};
std::atomic<bool> isHeard{false};

constexpr char kLost[] =
    "' became shorter while it was in use, or its disk cannot be read; restore "
    "it, and start again (--resume goes on from the last checkpoint)";

void write(const char *text) {
  // Nothing is left to do about a message that cannot be written.
  [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, text, std::strlen(text));
}

/// Gives whoever looks after the process's job time to end it; without one the process ends alone.
[[noreturn]] void endWithout(const char *path) {
  constexpr timespec kPause{0, 10'000'000};
  const char *none = nullptr;
  bool isFirst = lost.compare_exchange_strong(none, path);
  for (int i = 0; i < 50; ++i)
    nanosleep(&kPause, nullptr);
  while (isHeard || !isFirst)
    nanosleep(&kPause, nullptr);
  write("weft: error: '");
  write(path);
  write(kLost);
  write("\n");
  _exit(int(StatusCode::UserError));
}

void onLostBytes(int signal, siginfo_t *info, void *) {
  auto address = uintptr_t(info->si_addr);
  for (const Slot &slot : slots)
    if (info->si_code > 0 && slot.begin <= address && address < slot.end)
      endWithout(slot.path);
  // Not of a file of ours: what would have come of it, as the instruction is tried again.
  std::signal(signal, SIG_DFL);
  if (info->si_code <= 0)
    std::raise(signal);
}

} // namespace

void weft::runtime::tellLostFiles() {
  struct sigaction action{};
  action.sa_sigaction = onLostBytes;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

Status weft::runtime::lostFile() {
  const char *path = lost;
  if (!path)
    return {};
  isHeard = true;
  return Status::user(std::string("'") + path + kLost);
}

MappedFile::Region::Region(void *memory, size_t bytes, std::string name)
    : memory(memory), bytes(bytes), path(std::move(name)), slot(take(memory, bytes, path.c_str())) {
}

MappedFile::Region::~Region() {
  if (slot >= 0)
    free(slots[slot]);
  munmap(memory, bytes);
}

bool MappedFile::map(int descriptor, size_t bytes, const std::string &path) {
  region.reset();
  void *memory =
      bytes == 0 ? MAP_FAILED : mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (memory != MAP_FAILED)
    region = std::make_unique<Region>(memory, bytes, path);
  return region != nullptr;
}

void MappedFile::release() const {
  if (region)
    madvise(region->memory, region->bytes, MADV_DONTNEED);
}

Status MappedFile::open(const std::string &path, MappedFile &file) {
  auto bad = [&](const std::string &what) { return Status::user("'" + path + "' " + what); };
  // A pipe must not keep us waiting, nor a device be touched.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0)
    return bad(std::string("cannot be read: ") + std::strerror(errno));
  struct stat info;
  bool isRegular = fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
  bool isMapped = isRegular && file.map(descriptor, size_t(info.st_size), path);
  close(descriptor);
  if (!isRegular)
    return bad("is not a regular file; write what it gives into one");
  return isMapped ? Status() : bad("is empty or cannot be mapped");
}
