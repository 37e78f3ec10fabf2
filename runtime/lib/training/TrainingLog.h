// What training tells: a line a step, a progress bar, JSON lines, memory.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_TRAINING_TRAININGLOG_H
#define WEFT_RUNTIME_LIB_TRAINING_TRAININGLOG_H

#include "job/World.h"

#include "weft/runtime/Terminal.h"

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::runtime {

class SentMeter;

struct StepRecord {
  int64_t step = 0, steps = 0; // this one, counted from 0; and how many
  double loss = 0, gradientNorm = 0, rate = 0;
  std::optional<double> lossScale; // of a program that skips steps whose gradients are not finite
  double seconds = 0;
  double tokens = 0; // of the step: elements of the labels
  double communicationShare = 0;
  double collectiveSeconds = 0, overlap = 0;  // Overlap.h; the hidden part
  const SentMeter *sent = nullptr;            // in the step
  double memoryBytes = 0, predictedBytes = 0; // a rank
  int64_t epoch = 0;
  bool evaluated = false;
  double evaluationLoss = 0, evaluationElements = 0;
};

/// Only one process of a job speaks; the others have a silent one. Lines of
/// steps go to stdout, everything else to stderr; nothing is allocated per
/// step.
class TrainingLog {
public:
  struct Options {
    bool quiet = false;   // no remarks but warnings and errors
    int64_t logEvery = 0; // lines of steps; 0 = all, or what can be read
  };
  TrainingLog(bool speaks, bool tokensAreTokens, Options options);
  ~TrainingLog();
  TrainingLog(const TrainingLog &) = delete;

  /// JSON lines to `path`; `append`: behind those of an earlier run, of which a last one that was
  /// not written to its end is cut off.
  Status openFile(const std::string &path, bool append);
  /// Puts the lines so far on the disk: what a checkpoint goes on from must not lack them.
  void sync();
  void step(const StepRecord &record);
  /// A remark, on stderr.
  void note(const char *format, ...) __attribute__((format(printf, 2, 3)));
  /// A line of results, on stdout, even if it is to be quiet.
  void result(const std::string &line);
  /// One of what a program does, unless it is empty.
  void remark(const char *program, const std::string &text) {
    if (!text.empty())
      note("%s: %s", program, text.c_str());
  }
  /// A remark even if it is to be quiet.
  void warning(const std::string &text);
  /// Steps are counted for a bar from `done` to `all`.
  void begin(int64_t done, int64_t all);
  void end() { bar.reset(); }
  /// A piece of the text that is the result, on stdout soon, once that is read: nothing waits for
  /// its reader.
  void text(std::string_view piece);
  /// The end of its line, and waits so long for its reader.
  void endText(double seconds);
  bool isSpeaking() const { return speaks; }
  /// Whether somebody looks at stdout as it is written.
  bool isOnTerminal() const { return terminal; }
  /// Whether the file has all lines so far. Training goes on without it.
  const Status &fileStatus() const { return lost; }

private:
  void print(const StepRecord &record, double rate);
  void write(const StepRecord &record, double rate);
  void endTornLine();
  /// The file ends with its last whole line again.
  void dropLine();
  bool isPrinted(const StepRecord &record);

  bool speaks, terminal;
  Options options;
  const char *unit; // what is counted per second
  std::string path;
  std::FILE *file = nullptr;
  int64_t whole = -1;     // bytes of whole lines; -1 = the file is a pipe or a device
  std::vector<char> room; // for a line, which so is written at once
  Status lost;
  std::optional<Progress> bar;
  std::string unread; // text
  Clock::time_point textTold{};
  int64_t firstStep = 0;
  Clock::time_point printed{};
};

/// Measures the process's peak resident memory (VmHWM) without allocating.
class MemoryMeter {
public:
  MemoryMeter();
  ~MemoryMeter();
  MemoryMeter(const MemoryMeter &) = delete;
  /// The peak is that from here on, if the system can (Linux 4.0).
  static void restart();
  /// Bytes; 0 = not known.
  double peak() const;

private:
  int descriptor;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_TRAINING_TRAININGLOG_H
