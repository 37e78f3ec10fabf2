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
/// Bytes: of a longer line, and of a longer text, as much is told from its begin, with the name of
/// what is wrong, and from its end, with what to do.
struct Bound {
  size_t most, begin, end;
};
constexpr Bound kLine = {4096, 2560, 1280}, kText = {64 << 10, 40 << 10, 16 << 10};

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

bool continues(char byte) { return (uint8_t(byte) & 0xc0) == 0x80; }

/// The bytes of a character of UTF-8 that begins so; 0 if none does.
size_t lengthBy(uint8_t first) {
  return first < 0x80                    ? 1
         : first >= 0xc2 && first < 0xe0 ? 2
         : first >= 0xe0 && first < 0xf0 ? 3
         : first >= 0xf0 && first < 0xf5 ? 4
                                         : 0;
}

/// The bytes of the character of UTF-8 that the text begins with; 0 if it begins with none.
size_t characterLength(std::string_view text) {
  size_t length = lengthBy(uint8_t(text.front()));
  if (length > text.size())
    return 0;
  return std::all_of(text.begin() + 1, text.begin() + std::max<size_t>(length, 1), continues)
             ? length
             : 0;
}

/// Whether a terminal may take the character as a command, in UTF-8 or without it.
bool isControl(std::string_view character) {
  auto first = uint8_t(character.front());
  if (character.size() == 2)
    return first == 0xc2 && uint8_t(character[1]) < 0xa0;
  return (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f;
}

/// The nearest place at or before `at` where no character of UTF-8 is cut.
size_t characterAt(std::string_view text, size_t at) {
  for (size_t back = 0; back < std::min<size_t>(at, 4); ++back)
    if (!continues(text[at - back]))
      return at - back;
  return at;
}

std::string bounded(std::string_view text, const Bound &bound) {
  if (text.size() <= bound.most)
    return std::string(text);
  size_t from = characterAt(text, bound.begin), to = characterAt(text, text.size() - bound.end);
  return std::string(text.substr(0, from)) + " ... (" + std::to_string(to - from) +
         " bytes left out) ... " + std::string(text.substr(to));
}

/// A message continues on lines that are indented. Any other line end is one of a name, behind
/// which a file could have us tell what it likes.
std::string withoutForeignLines(std::string_view text) {
  std::string shown;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n' && text.substr(i + 1, 2) != "  ")
      shown += "\\x0A";
    else
      shown += text[i];
  return shown;
}

/// A line of stderr; its first word behind the tool is in colour where there are colours.
std::string labelled(std::string_view tool, const char *colour, const char *word,
                     std::string_view text) {
  bool hasColours = coloursOnStderr();
  std::string line(tool);
  line += hasColours ? std::string(": \x1b[1;") + colour + "m" + word + ": \x1b[0m"
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
  text = "weft: " + messageText(text) + '\n';
  emit(Stream::Err, text);
}

std::string weft::runtime::shownSafely(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    size_t length = characterLength(text);
    std::string_view character = text.substr(0, std::max<size_t>(length, 1));
    if (length > 0 && !isControl(character))
      shown += character;
    else
      for (char byte : character)
        shown += {'\\', 'x', kDigits[uint8_t(byte) >> 4], kDigits[uint8_t(byte) & 15]};
    text.remove_prefix(character.size());
  }
  return shown;
}

size_t weft::runtime::wholeCharacters(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(text.size(), 3); ++back)
    if (char byte = text[text.size() - back]; !continues(byte))
      return lengthBy(uint8_t(byte)) > back ? text.size() - back : text.size();
  return text.size();
}

std::string weft::runtime::messageText(std::string_view text) {
  return bounded(listingText(withoutForeignLines(text)), kText);
}

std::string weft::runtime::listingText(std::string_view text) {
  std::string shown = shownSafely(text), lines;
  for (std::string_view rest = shown; !rest.empty();) {
    size_t end = std::min(rest.find('\n'), rest.size());
    lines += bounded(rest.substr(0, end), kLine);
    if (end < rest.size())
      lines += rest[end++];
    rest.remove_prefix(end);
  }
  return lines;
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
