// Shared memory of a job, and what /proc says of processes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "job/Board.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace weft::runtime;

static_assert(std::atomic<int64_t>::is_always_lock_free && std::atomic<double>::is_always_lock_free,
              "processes share atomics, but no locks");
static_assert(sizeof(BoardHeader) <= 256, "slots begin behind the header");

namespace {

constexpr uint64_t kMagic = 0x57656674'426f6132; // "WeftBoa2"

std::string hostName() {
  char name[sizeof BoardHeader::host] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

} // namespace

int64_t weft::runtime::sinceBoot() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1000000000 + now.tv_nsec;
}

namespace {

/// What /proc says of a process: fields 3 and 22 of proc(5).
struct ProcessFacts {
  char state = 0;
  uint64_t started = 0;
};
/// Of one that is there as far as we can tell: nothing else is known.
constexpr ProcessFacts kUnknown{'?', 0};

ProcessFacts factsOf(int32_t pid) {
  char path[32], text[1024];
  std::snprintf(path, sizeof path, "/proc/%d/stat", pid);
  int file = ::open(path, O_RDONLY | O_CLOEXEC);
  // Only these say that there is none; too many open files say nothing.
  auto isGone = [] { return errno == ENOENT || errno == ESRCH; };
  if (file < 0)
    return isGone() ? ProcessFacts() : kUnknown;
  ssize_t size = read(file, text, sizeof text - 1);
  bool isUnknown = size < 0 && !isGone();
  close(file);
  if (isUnknown)
    return kUnknown;
  text[std::max<ssize_t>(size, 0)] = 0;
  // The name before it may hold anything, parentheses too.
  const char *end = std::strrchr(text, ')');
  if (!end || end[1] == 0 || end[2] == 'Z' || end[2] == 'X')
    return {};
  ProcessFacts facts{end[2], 0};
  constexpr int kState = 3, kStart = 22; // numbers of fields
  const char *field = end + 2;
  for (int i = kState; field && i < kStart; ++i)
    field = std::strchr(field + 1, ' ');
  if (field)
    facts.started = std::strtoull(field, nullptr, 10);
  return facts;
}

} // namespace

uint64_t weft::runtime::processStart(int32_t pid) { return factsOf(pid).started; }

char weft::runtime::processState(int32_t pid, uint64_t started) {
  ProcessFacts facts = factsOf(pid);
  bool isAnother = started != 0 && facts.started != 0 && facts.started != started;
  return isAnother ? char(0) : facts.state;
}

void BoardHeader::setLauncher(int32_t pid) {
  launcherStarted = processStart(pid);
  launcher.store(pid);
}

bool BoardHeader::launcherIsStopped() const {
  int32_t pid = launcher.load();
  return pid != 0 && isStopped(processState(pid, launcherStarted));
}

void BoardSlot::enter() {
  started.store(processStart(getpid()));
  pid.store(getpid());
}

char BoardSlot::processState() const {
  int32_t number = pid.load();
  return number == 0 ? char(0) : weft::runtime::processState(number, started.load());
}

Board &Board::operator=(Board &&other) noexcept {
  std::swap(memory, other.memory);
  std::swap(bytes, other.bytes);
  std::swap(descriptor, other.descriptor);
  return *this;
}

Board::~Board() {
  if (memory)
    munmap(memory, bytes);
  if (descriptor >= 0)
    close(descriptor);
}

Status Board::make(int64_t ranks, Board &result) {
  Board board;
  board.bytes = bytesFor(ranks);
  board.descriptor = memfd_create("weft-board", MFD_CLOEXEC);
  bool good = board.descriptor >= 0 && ftruncate(board.descriptor, off_t(board.bytes)) == 0;
  void *memory =
      good ? mmap(nullptr, board.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, board.descriptor, 0)
           : MAP_FAILED;
  if (memory == MAP_FAILED)
    return Status::user(std::string("memory that the ranks share cannot be "
                                    "made: ") +
                        std::strerror(errno));
  board.memory = memory;
  BoardHeader &header = board.header();
  header.magic = kMagic;
  header.ranks = ranks;
  std::snprintf(header.host, sizeof header.host, "%s", hostName().c_str());
  result = static_cast<Board &&>(board);
  return {};
}

std::string Board::address() const {
  return std::string(header().host) + ":/proc/" + std::to_string(getpid()) + "/fd/" +
         std::to_string(descriptor);
}

bool Board::open(const std::string &address, int64_t ranks, Board &result) {
  size_t colon = address.find(':');
  if (colon == std::string::npos || address.substr(0, colon) != hostName())
    return false;
  Board board;
  board.bytes = bytesFor(ranks);
  // What lies there in another process may be anything.
  board.descriptor =
      ::open(address.c_str() + colon + 1, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat info{};
  if (board.descriptor < 0 || fstat(board.descriptor, &info) != 0 || !S_ISREG(info.st_mode) ||
      size_t(info.st_size) != board.bytes)
    return false;
  void *memory =
      mmap(nullptr, board.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, board.descriptor, 0);
  if (memory == MAP_FAILED)
    return false;
  board.memory = memory;
  if (board.header().magic != kMagic || board.header().ranks != ranks)
    return false;
  result = static_cast<Board &&>(board);
  return true;
}

/// As much of `text` as there is room for, with its end: whole lines, and "..." for the others.
static std::string fitted(const std::string &text, size_t room) {
  const std::string cut = "...", nextLine = "\n  ..."; // as messages go on
  if (text.size() < room)
    return text;
  size_t line = text.rfind('\n', room - 1 - nextLine.size());
  if (line != std::string::npos && line > 0)
    return text.substr(0, line) + nextLine;
  size_t most = std::min(room - 1 - cut.size(), text.find('\n'));
  // One line only: not within a letter of UTF-8.
  while (most > 0 && (text[most] & 0xc0) == 0x80)
    --most;
  return text.substr(0, most) + cut;
}

bool Board::put(int64_t rank, int32_t code, const std::string &text, bool consequence) const {
  BoardSlot &mine = slot(rank);
  if (mine.claimed.exchange(1) != 0)
    return false;
  mine.consequence = consequence;
  mine.when = sinceBoot();
  std::snprintf(mine.text, sizeof mine.text, "%s", fitted(text, sizeof mine.text).c_str());
  mine.code.store(code, std::memory_order_release);
  header().failed.store(1);
  return true;
}
