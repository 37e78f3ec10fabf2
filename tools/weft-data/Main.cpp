// weft-data: makes arrays and training data without another program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Idx.h"
#include "Make.h"
#include "Plot.h"

#include "weft/runtime/Flags.h"
#include "weft/runtime/Nearest.h"

#include <cstdio>
#include <cstdlib>
#include <sys/stat.h>

using namespace weft;
using runtime::DType;
using runtime::Status;
using runtime::StatusCode;

namespace {

constexpr const char *kUsage =
    R"(usage: weft-data npy --shape AxBxC [--dtype T] [--fill HOW] -o FILE.npy
       weft-data tokens TEXT -o FILE.u16 [--tokenizer byte]
       weft-data show FILE.npy
       weft-data plot LOG.jsonl... -o FILE.svg [--key K] [--smooth N]
       weft-data --idx-to-npy FILE -o FILE.npy [--scale S] [--sample-shape AxBxC]

npy: an array, for --input and --data of weft-run. The same command gives the
same bytes on every machine.
  --shape AxBxC         its shape; "scalar" has none
  --dtype T             f32 (default), f64, f16, bf16, i64 (default of ids), i32,
                        i16, i8, u64, u32, u16, u8 or bool
  --fill HOW            zeros (default); range: 0, 1, 2 ...; random[:SEED]: even
                        over [-1, 1); ids:N[:SEED]: whole numbers from 0 to N-1
tokens: a text, '-' is stdin, as tokens for --data-tokens FILE:u16 of weft-run.
  --tokenizer byte      each byte is a token; models need a vocabulary of 256
show: shape, type, first values, least, largest and mean.
plot: curves of logs (weft-run --log) over each other, as logged and smoothed.
  --key K               what of the log: loss (default), grad_norm, lr ...
  --smooth N            average over about N lines; default: a fiftieth of all
--idx-to-npy: an IDX file (MNIST and its relatives; unpack it first, '-' is
stdin) as data for --data of weft-run.
  --scale S             values times S, as f32; without it integers, as i64
  --sample-shape AxBxC  shape of one sample, if not the file's
)";

Status usage(const std::string &what) {
  return Status(StatusCode::Usage, what + "; --help shows what there is");
}

bool parseShape(const std::string &text, std::vector<int64_t> &shape) {
  const char *at = text.c_str();
  char *end = nullptr;
  do {
    shape.push_back(std::strtoll(at, &end, 10));
    if (end == at || shape.back() < 1 || (*end != 0 && *end != 'x'))
      return false;
    at = end + 1;
  } while (*end == 'x');
  return true;
}

bool parseType(const std::string &text, std::optional<DType> &type) {
  for (unsigned t = 0; t <= unsigned(DType::Bool); ++t)
    if (text == runtime::dtypeName(DType(t)))
      type = DType(t);
  return type.has_value();
}

/// Whether both names are of one file that is there; a device may be read and written.
bool isSameFile(const std::string &a, const std::string &b) {
  struct stat first, second;
  return stat(a.c_str(), &first) == 0 && stat(b.c_str(), &second) == 0 && S_ISREG(first.st_mode) &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/// All that any subcommand takes.
struct Options {
  data::IdxOptions idx;
  data::NpyOptions npy;
  data::TokenOptions tokens;
  data::PlotOptions plot;
  bool hasShape = false;
};

Status setFlag(const std::string &command, const std::string &flag, const std::string &value,
               Options &options) {
  bool isIdx = command == "--idx-to-npy", isNpy = command == "npy";
  if (flag == "-o" && command != "show") {
    options.idx.output = options.npy.output = options.tokens.output = value;
    options.plot.output = value;
  } else if (flag == "--key" && command == "plot") {
    options.plot.key = value;
  } else if (flag == "--smooth" && command == "plot") {
    char *end = nullptr;
    options.plot.smooth = std::strtol(value.c_str(), &end, 10);
    if (*end != 0 || options.plot.smooth < 1)
      return usage("--smooth wants a whole number of at least 1, not '" + value + "'");
  } else if (flag == "--idx-to-npy" && isIdx) {
    options.idx.input = value;
  } else if (flag == "--scale" && isIdx) {
    char *end = nullptr;
    options.idx.scale = std::strtod(value.c_str(), &end);
    if (value.empty() || *end != 0 || options.idx.scale == 0)
      return usage("--scale wants a number that is not 0");
  } else if (flag == "--sample-shape" && isIdx) {
    if (!parseShape(value, options.idx.sampleShape))
      return usage("--sample-shape wants sizes like 28x28");
  } else if (flag == "--shape" && isNpy) {
    options.hasShape = true;
    options.npy.shape.clear();
    if (value != "scalar" && !parseShape(value, options.npy.shape))
      return usage("--shape wants sizes like 8x64, or scalar, not '" + value + "'");
  } else if (flag == "--dtype" && isNpy) {
    if (!parseType(value, options.npy.dtype))
      return usage("there is no dtype '" + value + "'");
  } else if (flag == "--fill" && isNpy) {
    options.npy.fill = value;
  } else if (flag == "--tokenizer" && command == "tokens") {
    options.tokens.tokenizer = value;
  } else {
    return usage(
        "there is no flag '" + flag + "'" + (isIdx ? "" : " of weft-data " + command) +
        runtime::didYouMean(flag, {"--idx-to-npy", "--scale", "--sample-shape", "--shape",
                                   "--dtype", "--fill", "--tokenizer", "--help", "--version"}));
  }
  return {};
}

Status run(const std::vector<std::string> &arguments) {
  bool isCommand = !arguments.empty() && arguments[0][0] != '-';
  std::string command = isCommand ? arguments[0] : "--idx-to-npy", file;
  if (command != "npy" && command != "tokens" && command != "show" && command != "plot" &&
      isCommand)
    return usage("there is no command '" + command + "'" +
                 runtime::didYouMean(command, {"npy", "tokens", "show", "plot"}));
  bool takesFile = command == "tokens" || command == "show";
  Options options;
  for (size_t i = isCommand; i < arguments.size(); ++i) {
    const std::string &word = arguments[i];
    if (command == "plot" && word[0] != '-') {
      options.plot.logs.push_back(word);
      continue;
    }
    if (takesFile && file.empty() && (word == "-" || word[0] != '-')) {
      file = word;
      continue;
    }
    if (word[0] != '-')
      return usage("what is '" + word + "'?");
    if (i + 1 == arguments.size())
      return usage(word + " wants a value");
    WEFT_TRY(setFlag(command, word, arguments[++i], options));
  }
  bool hasOutput = !options.npy.output.empty();
  std::vector<std::string> inputs = options.plot.logs;
  inputs.insert(inputs.end(), {file, options.idx.input});
  for (const std::string &input : inputs)
    if (isSameFile(input, options.npy.output))
      return Status::user("-o '" + options.npy.output + "' is what is read; name another file");
  if (command == "show")
    return file.empty() ? usage("show wants a FILE.npy") : data::showNpy(file);
  if (command == "tokens") {
    options.tokens.input = file;
    return file.empty() || !hasOutput ? usage("tokens wants a TEXT and -o FILE")
                                      : data::makeTokens(options.tokens);
  }
  if (command == "plot")
    return options.plot.logs.empty() || !hasOutput
               ? usage("plot wants LOG.jsonl, one or more, and -o FILE.svg")
               : data::plot(options.plot);
  if (command == "npy")
    return !options.hasShape || !hasOutput ? usage("npy wants --shape AxBxC and -o FILE.npy")
                                           : data::makeNpy(options.npy);
  if (options.idx.input.empty() || !hasOutput)
    return usage("--idx-to-npy FILE and -o FILE.npy are needed");
  return data::idxToNpy(options.idx);
}

} // namespace

int main(int argc, char **argv) {
  std::vector<std::string> arguments;
  for (int i = 1; i < argc; ++i)
    arguments.push_back(*argv[i] ? argv[i] : "''");
  if (arguments.size() == 1 && arguments[0] == "--version") {
    std::printf("weft-data %s\n", runtime::weftVersion());
    return 0;
  }
  if (arguments.size() == 1 && arguments[0] == "--help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  Status status = run(arguments);
  if (!status.ok())
    std::fprintf(stderr, "weft-data: error: %s\n", status.text().c_str());
  return int(status.code());
}
