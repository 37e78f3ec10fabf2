// Prints steps for people and as JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "training/TrainingLog.h"

#include "session/SentMeter.h"
#include "terminal/Printer.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <stdio_ext.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace weft::runtime;

namespace {

constexpr double kMebibyte = 1 << 20;
/// Between two lines of steps on a terminal, so that they can be read.
constexpr double kSecondsPerLine = 0.25;
/// More than a line of the file has.
constexpr size_t kLineBytes = 1 << 16;
constexpr char kLineBegins[] = "{\"step\":";

/// `"key":value,`; JSON has no word for NaN and infinities but null.
void putNumber(std::FILE *file, const char *key, double value, const char *format = "%.17g") {
  std::fprintf(file, "\"%s\":", key);
  if (std::isfinite(value))
    std::fprintf(file, format, value);
  else
    std::fputs("null", file);
  std::fputc(',', file);
}

/// Pieces of a text that come in so short a time are told together. mpirun brings stderr and stdout
/// in any order: by then it has most likely brought what was said before, which else would stand
/// within the line.
constexpr double kTextSeconds = 0.05;

/// printf tells the sign of a NaN, which means nothing.
double plain(double value) { return std::isnan(value) ? NAN : value; }

} // namespace

TrainingLog::TrainingLog(bool speaks, bool tokensAreTokens, Options options)
    // mpirun gives ranks a terminal for stdout that nobody looks at.
    : speaks(speaks), terminal(speaks && isatty(STDOUT_FILENO) && drawsOnStderr()),
      options(options), unit(tokensAreTokens ? "tokens" : "samples") {}

TrainingLog::~TrainingLog() {
  if (file)
    std::fclose(file);
}

Status TrainingLog::openFile(const std::string &path, bool append) {
  if (!speaks)
    return {};
  this->path = path;
  file = std::fopen(path.c_str(), append ? "a" : "w");
  if (!file)
    return Status::user("--log: '" + path + "' cannot be written: " + std::strerror(errno));
  room.resize(kLineBytes);
  std::setvbuf(file, room.data(), _IOFBF, room.size());
  struct stat info;
  if (::fstat(fileno(file), &info) != 0 || !S_ISREG(info.st_mode))
    return {};
  whole = info.st_size;
  endTornLine();
  return {};
}

/// A process that was killed, or a full disk, may have left a part of a line, to which the next one
/// would be appended.
void TrainingLog::endTornLine() {
  if (whole == 0)
    return;
  std::string end(kLineBytes, 0);
  int64_t from = std::max<int64_t>(0, whole - int64_t(end.size()));
  int reader = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ssize_t found = reader < 0 ? -1 : ::pread(reader, end.data(), end.size(), from);
  if (reader >= 0)
    ::close(reader);
  if (found != whole - from || end[size_t(found - 1)] == '\n')
    return;
  end.resize(size_t(found));
  size_t newline = end.rfind('\n'), begin = newline == end.npos ? 0 : newline + 1;
  size_t size = std::min(end.size() - begin, sizeof kLineBegins - 1);
  bool isOurs =
      (newline != end.npos || from == 0) && end.compare(begin, size, kLineBegins, size) == 0;
  if (isOurs && ::ftruncate(fileno(file), from + int64_t(begin)) == 0) {
    whole = from + int64_t(begin);
    warning("--log: the last line of '" + path + "' had no end and was cut off");
  } else {
    std::fputc('\n', file); // what others have written stays
    ++whole;
  }
}

void TrainingLog::dropLine() {
  __fpurge(file);
  std::clearerr(file);
  // Where this fails, too, the next line begins in this one.
  if (whole >= 0)
    (void)!::ftruncate(fileno(file), whole);
}

void TrainingLog::sync() {
  // File systems that cannot do this say so with EINVAL.
  if (!file || whole < 0 || ::fdatasync(fileno(file)) == 0 || errno == EINVAL || !lost.ok())
    return;
  lost = Status::user("--log: '" + path + "' cannot be written: " + std::strerror(errno) +
                      "; it may lack steps");
  warning(lost.text());
}

void TrainingLog::begin(int64_t done, int64_t all) {
  firstStep = done;
  bar.emplace(speaks && !options.quiet, "training", uint64_t(all - done));
}

/// The first and the last one, evaluations, what is wrong, and every so many.
bool TrainingLog::isPrinted(const StepRecord &r) {
  bool due = options.logEvery > 0 ? (r.step + 1) % options.logEvery == 0
             : terminal           ? secondsSince(printed) >= kSecondsPerLine
                                  : true;
  bool result =
      due || r.step == firstStep || r.step + 1 == r.steps || r.evaluated || !std::isfinite(r.loss);
  if (result)
    printed = Clock::now();
  return result;
}

void TrainingLog::step(const StepRecord &r) {
  if (!speaks)
    return;
  double rate = r.tokens / std::max(r.seconds, 1e-9);
  if (bar)
    bar->set(uint64_t(r.step + 1 - firstStep));
  if (isPrinted(r))
    print(r, rate);
  if (file)
    write(r, rate);
}

void TrainingLog::print(const StepRecord &r, double rate) {
  Progress::hide();
  char line[512], loss[32] = "";
  if (r.evaluated)
    std::snprintf(loss, sizeof loss, "  eval_loss %.6g", r.evaluationLoss);
  int size = std::snprintf(line, sizeof line,
                           "step %5lld  loss %-9.6g grad_norm %-9.4g lr %-9.3g %9.1f %s/s  "
                           "%8.2f ms  comm %.1f ms, %2.0f %% hidden  mem %.1f MiB%s\n",
                           static_cast<long long>(r.step), plain(r.loss), plain(r.gradientNorm),
                           plain(r.rate), rate, unit, r.seconds * 1e3, r.collectiveSeconds * 1e3,
                           r.overlap * 100, r.memoryBytes / kMebibyte, loss);
  emit(Stream::Out, {line, std::min(size_t(size), sizeof line - 1)});
}

void TrainingLog::write(const StepRecord &r, double rate) {
  std::fprintf(file, "%s%lld,", kLineBegins, static_cast<long long>(r.step));
  putNumber(file, "loss", r.loss);
  putNumber(file, "grad_norm", r.gradientNorm);
  putNumber(file, "lr", r.rate);
  if (r.lossScale)
    putNumber(file, "loss_scale", *r.lossScale);
  putNumber(file, "step_ms", r.seconds * 1e3, "%.6g");
  putNumber(file, "tokens_per_s", rate, "%.6g");
  putNumber(file, "mem_bytes", r.memoryBytes, "%.0f");
  putNumber(file, "mem_predicted_bytes", r.predictedBytes, "%.0f");
  putNumber(file, "communication_share", r.communicationShare, "%.4g");
  putNumber(file, "communication_ms", r.collectiveSeconds * 1e3, "%.6g");
  putNumber(file, "overlap", r.overlap, "%.4g");
  r.sent->printJson(file, 1);
  std::fputc(',', file);
  if (r.evaluated) {
    putNumber(file, "eval_loss", r.evaluationLoss);
    putNumber(file, "eval_elements", r.evaluationElements, "%.0f");
  }
  std::fprintf(file, "\"epoch\":%lld}\n", static_cast<long long>(r.epoch));
  if (std::fflush(file) == 0 && !std::ferror(file)) {
    if (whole >= 0)
      whole = std::max(whole, int64_t(::lseek(fileno(file), 0, SEEK_CUR)));
    return;
  }
  int error = errno;
  dropLine();
  if (!lost.ok())
    return;
  lost = Status::user("--log: '" + path + "' cannot be written: " + std::strerror(error) +
                      "; it lacks steps from " + std::to_string(r.step) + " on");
  warning(lost.text());
}

void TrainingLog::note(const char *format, ...) {
  if (!speaks || options.quiet)
    return;
  Progress::hide();
  va_list arguments;
  va_start(arguments, format);
  tellLine(format, arguments);
  va_end(arguments);
}

void TrainingLog::result(const std::string &line) {
  if (!speaks)
    return;
  Progress::hide();
  emit(Stream::Out, line + "\n");
}

void TrainingLog::warning(const std::string &text) {
  if (!speaks)
    return;
  Progress::hide();
  tellWarning("weft", text);
}

void TrainingLog::text(std::string_view piece) {
  if (!speaks)
    return;
  if (textTold == Clock::time_point{})
    textTold = Clock::now();
  unread += piece;
  // None of it may be left out, as what is emitted is if it is not read.
  if (secondsSince(textTold) < kTextSeconds || !isEmitted(0))
    return;
  emit(Stream::Out, unread);
  unread.clear();
  textTold = Clock::now();
}

void TrainingLog::endText(double seconds) {
  if (!speaks)
    return;
  Progress::hide();
  isEmitted(seconds);
  emit(Stream::Out, unread + "\n");
  unread.clear();
}

MemoryMeter::MemoryMeter() : descriptor(::open("/proc/self/status", O_RDONLY | O_CLOEXEC)) {}

MemoryMeter::~MemoryMeter() {
  if (descriptor >= 0)
    close(descriptor);
}

void MemoryMeter::restart() {
  int file = ::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0)
    return;
  [[maybe_unused]] ssize_t written = ::write(file, "5", 1);
  close(file);
}

double MemoryMeter::peak() const {
  char text[4096];
  ssize_t size = pread(descriptor, text, sizeof text - 1, 0);
  if (size <= 0)
    return 0;
  text[size] = 0;
  const char *line = std::strstr(text, "VmHWM:");
  return line ? double(std::atoll(line + 6)) * 1024 : 0;
}
