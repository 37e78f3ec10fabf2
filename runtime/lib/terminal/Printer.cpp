// Two buffers: one is filled, the other one written.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "terminal/Printer.h"

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace weft::runtime;

namespace {

constexpr int kStreams = 2;
constexpr size_t kNoticeBytes = 128;

int descriptorOf(Stream stream) { return stream == Stream::Out ? STDOUT_FILENO : STDERR_FILENO; }

/// 0, or the errno.
int writeAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno != EINTR)
      return errno;
    text.remove_prefix(size_t(count < 0 ? 0 : count));
  }
  return 0;
}

struct Line {
  Stream stream;
  size_t end; // in the buffer's bytes
};

struct Buffer {
  size_t mostBytes, mostLines;
  std::string bytes;
  std::vector<Line> lines;

  /// What is told has lines of some tens of bytes. There is room for what tells of each stream that
  /// lines are left out.
  explicit Buffer(size_t mostBytes) : mostBytes(mostBytes), mostLines(mostBytes / 16) {
    bytes.reserve(mostBytes + kStreams * kNoticeBytes);
    lines.reserve(mostLines + kStreams);
  }
  bool takes(size_t size) const {
    return bytes.empty() || (bytes.size() + size <= mostBytes && lines.size() < mostLines);
  }
  void add(Stream stream, std::string_view text) {
    bytes += text;
    lines.push_back({stream, bytes.size()});
  }
  void clear() {
    bytes.clear();
    lines.clear();
  }
};

} // namespace

/// Outlives the Printer if its thread is in a write that does not return.
struct Printer::State {
  explicit State(size_t mostBytes) : filled(mostBytes), written(mostBytes) {}

  void put(Stream stream, std::string_view text);
  bool drain(double seconds);
  void run();

  std::mutex mutex;
  std::condition_variable filling, idle;
  Buffer filled, written; // the thread's own is `written`
  size_t leftOut[kStreams] = {};
  bool writes = false, ending = false;
  int failure[kStreams] = {};

  /// The one that lives.
  static std::mutex currentMutex;
  static std::shared_ptr<State> current;
  static std::shared_ptr<State> get() {
    std::lock_guard<std::mutex> lock(currentMutex);
    return current;
  }
};

std::mutex Printer::State::currentMutex;
std::shared_ptr<Printer::State> Printer::State::current;

void Printer::State::put(Stream stream, std::string_view text) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    // Once lines are left out, all are until that is told, so that it is told in their place.
    bool isBehind = leftOut[0] + leftOut[1] != 0;
    if (isBehind || !filled.takes(text.size())) {
      ++leftOut[int(stream)];
      return;
    }
    filled.add(stream, text);
  }
  filling.notify_one();
}

bool Printer::State::drain(double seconds) {
  std::unique_lock<std::mutex> lock(mutex);
  auto isDone = [this] { return filled.lines.empty() && !writes; };
  if (seconds == kNoLimit)
    idle.wait(lock, isDone);
  else
    idle.wait_for(lock, std::chrono::duration<double>(seconds), isDone);
  return isDone();
}

void Printer::State::run() {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    filling.wait(lock, [this] { return ending || !filled.lines.empty(); });
    if (filled.lines.empty())
      return;
    std::swap(filled, written);
    size_t missing[kStreams] = {std::exchange(leftOut[0], 0), std::exchange(leftOut[1], 0)};
    writes = true;
    lock.unlock();
    for (Stream stream : {Stream::Out, Stream::Err})
      if (size_t count = missing[int(stream)]) {
        char text[kNoticeBytes];
        int size = std::snprintf(text, sizeof text,
                                 "weft: %zu lines are left out here, as what came before was not "
                                 "read in time\n",
                                 count);
        written.add(stream, {text, size_t(size)});
      }
    size_t begin = 0;
    int failed[kStreams] = {};
    for (const Line &line : written.lines) {
      int error = writeAll(descriptorOf(line.stream),
                           std::string_view(written.bytes).substr(begin, line.end - begin));
      if (failed[int(line.stream)] == 0)
        failed[int(line.stream)] = error;
      begin = line.end;
    }
    written.clear();
    lock.lock();
    for (int i = 0; i < kStreams; ++i)
      if (failure[i] == 0)
        failure[i] = failed[i];
    writes = false;
    if (filled.lines.empty())
      idle.notify_all();
  }
}

void weft::runtime::emit(Stream stream, std::string_view text) {
  if (std::shared_ptr<Printer::State> state = Printer::State::get())
    return state->put(stream, text);
  std::FILE *file = stream == Stream::Out ? stdout : stderr;
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

bool weft::runtime::isEmitted(double seconds) {
  std::shared_ptr<Printer::State> state = Printer::State::get();
  return !state || state->drain(seconds);
}

Printer::Printer(size_t mostBytes) : state(std::make_shared<State>(mostBytes)) {
  // Signals are for other threads; but a reader that is gone ends the process, as it always does.
  sigset_t all, before;
  sigfillset(&all);
  sigdelset(&all, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  std::thread([state = state] { state->run(); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::lock_guard<std::mutex> lock(State::currentMutex);
  State::current = state;
}

Printer::~Printer() {
  {
    std::lock_guard<std::mutex> lock(State::currentMutex);
    State::current = nullptr;
  }
  {
    std::lock_guard<std::mutex> lock(state->mutex);
    state->ending = true;
  }
  state->filling.notify_one();
}

int Printer::outFailure() const {
  std::lock_guard<std::mutex> lock(state->mutex);
  return state->failure[int(Stream::Out)];
}
