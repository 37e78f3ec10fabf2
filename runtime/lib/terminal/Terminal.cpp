// Draws progress, chooses colours.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/Terminal.h"

#include "terminal/Printer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <utility>

using namespace weft::runtime;
using Clock = std::chrono::steady_clock;

namespace {

constexpr double kSilentSeconds = 2, kSecondsPerDrawing = 0.2;
constexpr int kBarWidth = 30;

/// One bar at a time is on the screen.
std::mutex screen;
bool barShown = false;
Progress *innermost = nullptr;

/// Tests of what is short want to see it, too.
double silentSeconds() {
  const char *told = std::getenv("WEFT_PROGRESS_SECONDS");
  return told ? std::max(0.0, std::atof(told)) : kSilentSeconds;
}

void eraseBar() {
  if (!barShown)
    return;
  emit(Stream::Err, "\r\x1b[K");
  barShown = false;
}

std::string coloured(const char *code, const char *word) {
  return coloursOnStderr() ? std::string("\x1b[1;") + code + "m" + word + "\x1b[0m"
                           : std::string(word);
}

} // namespace

bool weft::runtime::drawsOnStderr() {
  const char *kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) && kind && std::strcmp(kind, "dumb") != 0;
}

bool weft::runtime::coloursOnStderr() {
  const char *never = std::getenv("NO_COLOR");
  return drawsOnStderr() && !(never && *never);
}

std::string weft::runtime::errorWord() { return coloured("31", "error: "); }
std::string weft::runtime::warningWord() { return coloured("33", "warning: "); }

void weft::runtime::tellLine(const char *format, va_list arguments) {
  va_list again;
  va_copy(again, arguments);
  int size = std::vsnprintf(nullptr, 0, format, arguments);
  std::string text(size_t(std::max(size, 0)), '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  text = "weft: " + text + '\n';
  emit(Stream::Err, text);
}

Progress::Progress(bool speaks, std::string what, uint64_t total, Unit unit,
                   const std::atomic<uint64_t> *counter)
    : speaks(speaks), what(std::move(what)), total(total), unit(unit),
      done(counter ? counter : &own), before(*done), started(Clock::now()) {
  if (!speaks)
    return;
  {
    std::lock_guard<std::mutex> lock(screen);
    outer = std::exchange(innermost, this);
  }
  double silent = silentSeconds();
  if (silent == 0)
    draw(0);
  watcher = std::thread([this, first = silent == 0 ? kSilentSeconds : silent] { watch(first); });
}

Progress::~Progress() {
  if (!speaks)
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    over = true;
  }
  ended.notify_one();
  watcher.join();
  std::lock_guard<std::mutex> lock(screen);
  innermost = outer;
  eraseBar();
}

void Progress::hide() {
  std::lock_guard<std::mutex> lock(screen);
  eraseBar();
}

void Progress::watch(double first) {
  bool drawn = drawsOnStderr();
  std::unique_lock<std::mutex> lock(mutex);
  for (double wait = first, at = 0;;) {
    if (ended.wait_for(lock, std::chrono::duration<double>(wait), [this] { return over; }))
      return;
    at += wait;
    draw(std::chrono::duration<double>(Clock::now() - started).count());
    wait = drawn ? kSecondsPerDrawing : at;
  }
}

void Progress::format(char *line, size_t size, const char *what, uint64_t done, uint64_t total,
                      Unit unit, double seconds) {
  done = std::min(done, total);
  bool isKnown = done > 0 && done < total;
  double left = isKnown ? seconds / double(done) * double(total - done) : seconds;
  double scale = unit == Bytes ? 1 << 20 : 1;
  auto whole = static_cast<long long>(left);
  char amount[64] = "";
  if (total > 0)
    std::snprintf(amount, sizeof amount, " %.0f of %.0f%s", double(done) / scale,
                  double(total) / scale, unit == Bytes ? " MiB" : "");
  std::snprintf(line, size, "%s%s, %lld:%02lld%s", what, amount, whole / 60, whole % 60,
                isKnown ? " left" : "");
}

void Progress::draw(double seconds) {
  char line[160], bar[kBarWidth + 4] = "", text[sizeof line + sizeof bar + 8];
  uint64_t part = *done - before;
  format(line, sizeof line, what.c_str(), part, total, unit, seconds);
  std::lock_guard<std::mutex> lock(screen);
  if (innermost != this)
    return;
  if (!drawsOnStderr()) {
    emit(Stream::Err, {text, size_t(std::snprintf(text, sizeof text, "weft: %s\n", line))});
    return;
  }
  // What nobody reads need not be drawn anew.
  if (!isEmitted(0))
    return;
  if (total > 0) {
    int filled = int(double(std::min(part, total)) / double(total) * kBarWidth);
    bar[0] = '[';
    for (int i = 0; i < kBarWidth; ++i)
      bar[1 + i] = i < filled ? '=' : i == filled ? '>' : ' ';
    std::strcpy(bar + 1 + kBarWidth, "] ");
  }
  eraseBar();
  emit(Stream::Err, {text, size_t(std::snprintf(text, sizeof text, "%s%s", bar, line))});
  barShown = true;
}
