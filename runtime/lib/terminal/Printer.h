// A thread that writes what a process tells, so that its work never waits for a reader.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_TERMINAL_PRINTER_H
#define WEFT_RUNTIME_LIB_TERMINAL_PRINTER_H

#include <cstddef>
#include <limits>
#include <memory>
#include <string_view>

namespace weft::runtime {

enum class Stream { Out, Err };

/// Writes `text`, one line or what erases one, with one write, behind all that was emitted before:
/// by the Printer that lives, else at once.
void emit(Stream stream, std::string_view text);

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
/// How long a reader is waited for that may have stopped, when the process ends for another reason.
constexpr double kReaderSeconds = 0.5;
/// Whether all that was emitted is written; waits for that as long as `seconds`.
bool isEmitted(double seconds);

/// While it lives, of a process one at a time, what is emitted waits in memory for a thread that
/// writes it in order. So a reader that has stopped, as mpirun's does from a signal on, holds up
/// neither a step nor a save. At most `mostBytes` wait; what finds no room is left out, and a line
/// in its place says how many lines that were. Allocates nothing per line.
class Printer {
public:
  static constexpr size_t kMostBytes = size_t(1) << 20;

  explicit Printer(size_t mostBytes = kMostBytes);
  /// What is still not written is lost: ask `isEmitted` first.
  ~Printer();
  Printer(const Printer &) = delete;

  /// The errno of the first write to standard output that failed; 0 = none did.
  int outFailure() const;

private:
  struct State;
  friend void emit(Stream, std::string_view);
  friend bool isEmitted(double);
  std::shared_ptr<State> state;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_TERMINAL_PRINTER_H
