// Terminals: whether to draw there, colours, and the progress of long work.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_TERMINAL_H
#define WEFT_RUNTIME_TERMINAL_H

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdarg>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace weft::runtime {

/// Whether stderr is a terminal on which lines can be drawn anew.
bool drawsOnStderr();
/// Whether stderr shows colours: a terminal, unless NO_COLOR is set
/// (no-color.org) or TERM is dumb.
bool coloursOnStderr();
/// "weft: ", the text as a message (see messageText) and the line's end on stderr, in one write: a
/// launcher puts together piece by piece what streams and ranks write.
void tellLine(const char *format, va_list arguments);

/// Text with names from files, which may be hostile: bytes of control characters, but tabs and ends
/// of lines, and of what is no UTF-8 as \xHH, so that no command reaches a terminal.
std::string shownSafely(std::string_view text);
/// The bytes of the text without a character of UTF-8 at its end that goes on behind it.
size_t wholeCharacters(std::string_view text);
/// Lines with such names: shown safely, and of a line past 4096 bytes the middle is left out, with
/// a word of how many bytes that is.
std::string listingText(std::string_view text);
/// A message with such names, in the same way; of a text past 64 KiB the middle is left out, too.
/// It continues on lines that begin with two spaces: any other line end is one of a name, a number.
std::string messageText(std::string_view text);
/// "TOOL: error: TEXT" on stderr, in one write and without waiting for what was told before.
void tellError(std::string_view tool, std::string_view text);
/// "TOOL: warning: TEXT" on stderr, behind what was told before.
void tellWarning(std::string_view tool, std::string_view text);

/// Tells on stderr how far something is that takes long: nothing for two
/// seconds, then a bar on a terminal, and elsewhere a line now and then, each
/// after twice the time of the one before. Ends and vanishes with its scope; of
/// several the one that began last is shown. Allocates nothing while it runs.
/// WEFT_PROGRESS_SECONDS says others than two; 0 tells that it begins.
///
///   Progress progress(speaks, "loading weights", bytes, Progress::Bytes);
///   ... progress.add(some); // from any thread
class Progress {
public:
  enum Unit { Count, Bytes };
  /// `total` 0: how much there is to do is not known, only time is told.
  /// `counter`: what is done is counted there and not by `add`.
  Progress(bool speaks, std::string what, uint64_t total = 0, Unit unit = Count,
           const std::atomic<uint64_t> *counter = nullptr);
  ~Progress();
  Progress(const Progress &) = delete;

  void add(uint64_t more) { own += more; }
  void set(uint64_t value) { own = value; }

  /// Erases the bar before somebody else writes to stderr; it comes again.
  static void hide();

  /// The text behind the bar; at most `size` characters of it.
  static void format(char *line, size_t size, const char *what, uint64_t done, uint64_t total,
                     Unit unit, double seconds);

private:
  void watch(double first);
  void draw(double seconds);

  bool speaks;
  std::string what;
  uint64_t total;
  Unit unit;
  std::atomic<uint64_t> own{0};
  const std::atomic<uint64_t> *done;
  uint64_t before; // counted when it began
  std::chrono::steady_clock::time_point started;
  Progress *outer = nullptr;
  std::mutex mutex;
  std::condition_variable ended;
  bool over = false;
  std::thread watcher;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_TERMINAL_H
