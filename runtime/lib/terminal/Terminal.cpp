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
/// Of a longer line as much is told from its begin, with the name of what is wrong, and from its
/// end, with what to do.
constexpr size_t kLongestLine = 4096, kToldBegin = 2560, kToldEnd = 1280;

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

/// The length of the control character, of one byte or of two in UTF-8, that the text begins with.
size_t controlLength(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? uint8_t(text[i]) : uint8_t(0); };
  if (byte(0) == '\n' || byte(0) == '\t')
    return 0;
  if (byte(0) < 0x20 || byte(0) == 0x7f)
    return 1;
  return byte(0) == 0xc2 && byte(1) >= 0x80 && byte(1) < 0xa0 ? 2 : 0;
}

/// The nearest place at or before `at` where no character of UTF-8 is cut.
size_t characterAt(std::string_view text, size_t at) {
  while (at > 0 && (uint8_t(text[at]) & 0xc0) == 0x80)
    --at;
  return at;
}

std::string boundedLine(std::string_view line) {
  if (line.size() <= kLongestLine)
    return std::string(line);
  size_t from = characterAt(line, kToldBegin), to = characterAt(line, line.size() - kToldEnd);
  return std::string(line.substr(0, from)) + " ... (" + std::to_string(to - from) +
         " bytes left out) ... " + std::string(line.substr(to));
}

/// A line of stderr; its first word behind the tool is in colour where there are colours.
std::string labelled(std::string_view tool, const char *colour, const char *word,
                     std::string_view text) {
  bool isShown = coloursOnStderr();
  std::string line(tool);
  line += isShown ? std::string(": \x1b[1;") + colour + "m" + word + ": \x1b[0m"
                  : std::string(": ") + word + ": ";
  return line + messageText(text) + '\n';
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

std::string weft::runtime::shownSafely(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string shown;
  shown.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    size_t control = controlLength(text.substr(i));
    for (size_t end = i + control; i < end; ++i)
      shown += {'\\', 'x', kDigits[uint8_t(text[i]) >> 4], kDigits[uint8_t(text[i]) & 15]};
    if (control == 0)
      shown += text[i++];
  }
  return shown;
}

std::string weft::runtime::messageText(std::string_view text) {
  std::string shown = shownSafely(text), bounded;
  for (std::string_view rest = shown; !rest.empty();) {
    size_t end = std::min(rest.find('\n'), rest.size());
    bounded += boundedLine(rest.substr(0, end));
    if (end < rest.size())
      bounded += rest[end++];
    rest.remove_prefix(end);
  }
  return bounded;
}

void weft::runtime::tellError(std::string_view tool, std::string_view text) {
  std::string line = labelled(tool, "31", "error", text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void weft::runtime::tellWarning(std::string_view tool, std::string_view text) {
  emit(Stream::Err, labelled(tool, "33", "warning", text));
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
