// Program info, output values, comparisons.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Report.h"

#include "base/Convert.h"
#include "base/ValuesText.h"
#include "files/FileCache.h"
#include "files/InputFile.h"
#include "program/ProgramText.h"
#include "program/commands/Issued.h"
#include "session/AmongProcesses.h"
#include "weft/runtime/Metadata.h"
#include "weft/runtime/OutputFile.h"
#include "weft/runtime/Terminal.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <sys/stat.h>
#include <unistd.h>

using namespace weft::runtime;

void weft::runtime::say(bool speaks, const char *format, ...) {
  if (!speaks)
    return;
  va_list arguments;
  va_start(arguments, format);
  tellLine(format, arguments);
  va_end(arguments);
}

namespace {

std::string portText(const ProgramView &p, const Port &port) {
  return std::string(p.string(port.name)) + ": " + shapeText(shapeOf(p, port)) + " " +
         dtypeName(port.dtype);
}

std::string mebibytes(uint64_t bytes) {
  char text[48];
  std::snprintf(text, sizeof text, "%.1f MiB", double(bytes) / (1 << 20));
  return text;
}

Status readOutput(weft_session *session, const ProgramView &p, const char *program,
                  const Port &port, std::vector<char> &data) {
  std::string name(p.string(port.name));
  return checked([&](weft_status *status) {
    return weft_get_output(session, program, name.c_str(), data.data(), data.size(), status);
  });
}

/// |found - expected|; 0 if both are the same infinity or both NaN, and
/// infinite if anything else is not finite.
double difference(double found, double expected) {
  if (std::isfinite(found) && std::isfinite(expected))
    return std::fabs(found - expected);
  bool same = found == expected || (std::isnan(found) && std::isnan(expected));
  return same ? 0 : HUGE_VAL;
}

/// An expected value may be more precise than the output, never another kind of
/// number.
bool mayBeExpectedOf(DType output, DType file) {
  return file == output ||
         (isFloat(output) && isFloat(file) && dtypeBytes(file) > dtypeBytes(output));
}

} // namespace

int64_t weft::runtime::numElements(const std::vector<int64_t> &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

/// A line for each file that weights are in.
static std::string weightsText(const ProgramView &p, const std::string &modelDirectory) {
  struct File {
    uint64_t sources = 0, bytes = 0, checked = 0;
  };
  std::map<std::string, File> files;
  for (const StatePiece &piece : p.StatePieces()) {
    if (piece.kind != SourceKind::File)
      continue;
    File &file = files[FileCache::join(modelDirectory, std::string(p.string(piece.path)))];
    ++file.sources;
    file.bytes += piece.byteLength;
    file.checked += piece.hashes.count != 0;
  }
  std::string text;
  for (const auto &[path, file] : files)
    text += "weights: " + std::to_string(file.sources) + " tensors, " + mebibytes(file.bytes) +
            ", from " + path + (file.checked == file.sources ? "" : ", not all checked by hashes") +
            "\n";
  return text;
}

/// "program step: 40 commands, which with calls issue 14232".
static std::string commandsText(const ProgramView &p, const Program &program) {
  uint64_t commands = 0, issued = 0;
  for (const Body &body : p.Bodies().slice(program.bodies)) {
    commands += body.commands.count;
    issued += IssuedCommands(p, body).size();
  }
  return "program " + std::string(p.string(program.name)) + ": " + std::to_string(commands) +
         " commands" +
         (issued == commands ? "" : ", which with calls issue " + std::to_string(issued)) + "\n";
}

static std::string routinesText(const ProgramView &p) {
  uint64_t commands = 0;
  for (const Routine &routine : p.Routines())
    commands += routine.commands.count;
  return p.Routines().empty() ? ""
                              : "routines: " + std::to_string(p.Routines().size()) + " of " +
                                    std::to_string(commands) + " commands\n";
}

std::string weft::runtime::infoText(const ProgramView &p, const std::string &modelDirectory) {
  const ModuleInfo &info = p.info();
  std::string text = "model " + std::string(p.string(info.modelName)) + ", compiled by weft " +
                     std::string(p.string(info.weftVersion)) + " for " +
                     std::string(p.string(info.target)) + "\nchecksum: " + checksumText(p) + "\n";
  if (!p.string(info.options).empty())
    text += "flags: " + std::string(p.string(info.options)) + "\n";
  if (!p.string(info.processor).empty())
    text +=
        "processor: " + std::string(p.string(info.processor)) +
        (p.string(info.features).empty() ? "" : ", needs " + std::string(p.string(info.features))) +
        "\n";
  text +=
      "threads per rank: " +
      (info.threadsPerRank ? std::to_string(info.threadsPerRank) : "cores / ranks on a machine") +
      "\nmesh";
  for (const MeshAxis &axis : p.MeshAxes())
    text += " " + std::string(p.string(axis.name)) + "=" + std::to_string(axis.size);
  text += " (" + std::to_string(p.numRanks()) + " ranks)\n";
  for (size_t i = 0; i < p.Stages().size(); ++i) {
    const Stage &stage = p.Stages()[i];
    text += p.Stages().size() > 1 ? "memory per rank of stage " + std::to_string(i) + ": "
                                  : "memory per rank: ";
    text += mebibytes(stage.arenaBytes);
    const char *before = " (";
    for (unsigned c = 0; c < kNumBufferClasses; ++c)
      if (stage.peakBytes[c] != 0) {
        text += before + std::string(bufferClassName(BufferClass(c))) + " " +
                mebibytes(stage.peakBytes[c]);
        before = ", ";
      }
    text += stage.arenaBytes ? ")\n" : "\n";
  }
  uint64_t parameters = 0;
  for (const State &state : p.States()) {
    uint64_t elements = 1;
    for (int64_t size : p.ints(state.shape))
      elements *= uint64_t(size);
    parameters += elements;
  }
  constexpr std::string_view training = metadata::kTrainPrefix;
  for (const MetadataEntry &entry : p.Metadata())
    if (p.string(entry.key).substr(0, training.size()) == training)
      text += "training: " + std::string(p.string(entry.key).substr(training.size())) + " " +
              std::string(p.string(entry.value)) + "\n";
  text += "state: " + std::to_string(p.States().size()) + " tensors, " +
          std::to_string(parameters) + " elements\n";
  text += weightsText(p, modelDirectory);
  text += routinesText(p);
  for (const Program &program : p.Programs()) {
    text += commandsText(p, program);
    for (const Port &port : p.Ports().slice(program.inputs))
      text += "  input  " + portText(p, port) + "\n";
    for (const Port &port : p.Ports().slice(program.outputs))
      text += "  output " + portText(p, port) + "\n";
  }
  return text;
}

Status weft::runtime::checkInputFile(const ProgramView &p, const Port &input,
                                     const std::string &path) {
  NpyFile file;
  return openInputFile(p, input, path, file);
}

Status weft::runtime::checkExpectedFile(const ProgramView &p, const Port &output,
                                        const std::string &path) {
  NpyFile file;
  WEFT_TRY(NpyFile::open(path, file));
  std::vector<int64_t> shape = shapeOf(p, output);
  if (file.shape() == shape && mayBeExpectedOf(output.dtype, file.dtype()))
    return {};
  return Status::user("output '" + std::string(p.string(output.name)) + "' is " + shapeText(shape) +
                      " " + dtypeName(output.dtype) + ", but " + textOf(file, path));
}

/// A pipe or a device is not opened to see whether it can be: that would end a
/// pipe for whoever reads there.
static bool isWritablePipe(const std::string &path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode) &&
         access(path.c_str(), W_OK) == 0;
}

Status weft::runtime::checkReplaceable(const char *flag, const std::string &path) {
  return isWritablePipe(path) ? Status() : OutputFile(path).open().prefix(flag);
}

Status weft::runtime::checkWritable(const char *flag, const std::string &path) {
  if (isWritablePipe(path))
    return {};
  // What is made here is taken away again: a link that leads nowhere yet is not.
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
  int descriptor = ::open(path.c_str(), kFlags | O_EXCL, 0666);
  bool isNew = descriptor >= 0;
  if (!isNew && errno == EEXIST)
    descriptor = ::open(path.c_str(), kFlags, 0666);
  if (descriptor < 0)
    return Status::user(std::string(flag) + ": '" + path +
                        "' cannot be written: " + std::strerror(errno));
  close(descriptor);
  if (isNew)
    unlink(path.c_str());
  return {};
}

Status weft::runtime::printOutput(weft_session *session, const ProgramView &p, const char *program,
                                  const Port &port, bool speaks) {
  std::vector<int64_t> shape = shapeOf(p, port);
  int64_t count = numElements(shape);
  // The others only give what they have.
  std::vector<char> data(speaks ? size_t(count) * dtypeBytes(port.dtype) : 0);
  std::string name(p.string(port.name));
  WEFT_TRY(checked([&](weft_status *status) {
    return weft_gather_output(session, program, name.c_str(), speaks ? data.data() : nullptr,
                              data.size(), status);
  }));
  if (!speaks)
    return {};
  std::printf("%s = %s\n", portText(p, port).c_str(),
              valuesText(port.dtype, data.data(), count).c_str());
  return {};
}

Status weft::runtime::compareOutput(weft_session *session, const ProgramView &p,
                                    const char *program, const Port &port, const std::string &path,
                                    const CommandLine &options, bool speaks) {
  WEFT_TRY(checkExpectedFile(p, port, path));
  NpyFile file;
  WEFT_TRY(NpyFile::open(path, file));
  std::vector<int64_t> shape = shapeOf(p, port);
  std::string name(p.string(port.name));
  int64_t count = numElements(shape);
  // Elements of other processes keep the expected value, rounded.
  size_t width = dtypeBytes(port.dtype);
  std::vector<char> data(size_t(count) * width);
  convertElements(file.dtype(), file.data(), port.dtype, data.data(), count);
  WEFT_TRY(readOutput(session, p, program, port, data));
  // Of two integers that differ neither is nearly the other, unless somebody says so.
  bool tolerates =
      std::any_of(options.given.begin(), options.given.end(), [](const FlagTable::Given &flag) {
        return flag.name == "--rtol" || flag.name == "--atol";
      });
  bool isExact = !isFloat(port.dtype) && !tolerates;
  double atol = isExact ? 0 : options.atol, rtol = isExact ? 0 : options.rtol;
  double worst = 0, largest = 0, excess = 0;
  int64_t worstAt = 0, wrong = 0;
  constexpr int64_t kBlock = 1024; // of what is expected, as doubles and as the output has it
  double expected[kBlock];
  std::vector<char> rounded(size_t(kBlock) * width);
  forEachDouble(port.dtype, data.data(), count, [&](int64_t i, double y) {
    if (i % kBlock == 0) {
      const char *from =
          static_cast<const char *>(file.data()) + size_t(i) * dtypeBytes(file.dtype());
      int64_t here = std::min(kBlock, count - i);
      convertElements(file.dtype(), from, DType::F64, expected, here);
      convertElements(file.dtype(), from, port.dtype, rounded.data(), here);
    }
    double e = expected[i % kBlock], error = difference(y, e);
    // Beyond 2^53 doubles do not tell neighbours apart.
    if (isExact && std::memcmp(data.data() + size_t(i) * width,
                               rounded.data() + size_t(i % kBlock) * width, width) != 0)
      error = std::fmax(error, 1);
    double size = std::isfinite(e) ? std::fabs(e) : 0;
    largest = std::fmax(largest, size);
    double limit = atol + rtol * size;
    wrong += !(error <= limit);
    excess = std::fmax(excess, error <= limit ? 0 : 1);
    if (error > worst) {
      worst = error;
      worstAt = i;
    }
  });
  auto reduced = [&](double value, double &result) {
    return checked(
        [&](weft_status *status) { return weft_reduce_max(session, value, &result, status); });
  };
  double everywhere = 0, anyExcess = 0;
  WEFT_TRY(reduced(worst, everywhere));
  WEFT_TRY(reduced(excess, anyExcess));
  say(speaks || excess > 0,
      "%s: max error %.3g, relative to the largest value %.3g (rtol %g, atol "
      "%g): %s",
      name.c_str(), everywhere, everywhere / std::fmax(largest, 1e-300), rtol, atol,
      anyExcess > 0 ? "DIFFERENT" : "ok");
  Status own;
  if (excess > 0)
    own = Status::user("output '" + name + "' differs from '" + path + "' in " +
                       std::to_string(wrong) + " of " + std::to_string(count) +
                       " elements, most at element " + std::to_string(worstAt) + ": found " +
                       valueText(port.dtype, data.data(), worstAt) + ", expected " +
                       valueText(file.dtype(), file.data(), worstAt));
  return agree(*session, own);
}
