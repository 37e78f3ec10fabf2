// The command line of weft-data.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Request.h"

#include "weft/runtime/Flags.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

using namespace weft;
using namespace weft::data;
using runtime::DType;
using runtime::FlagTable;
using runtime::Status;
using runtime::StatusCode;

namespace {

constexpr const char *kIntro =
    R"(usage: weft-data npy --shape AxBxC [--dtype T] [--fill HOW] -o FILE.npy
       weft-data tokens TEXT -o FILE.u16 [--tokenizer byte]
       weft-data show FILE.npy
       weft-data plot LOG.jsonl... -o FILE.svg [--key K] [--smooth N]
       weft-data --idx-to-npy FILE -o FILE.npy [--scale S] [--sample-shape AxBxC]

Makes arrays and training data without another program, and shows them.
)";

bool parseShape(const std::string &text, std::vector<int64_t> &shape) {
  shape.clear();
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

std::vector<std::string> typeNames() {
  std::vector<std::string> names;
  for (unsigned t = 0; t <= unsigned(DType::Bool); ++t)
    names.push_back(runtime::dtypeName(DType(t)));
  return names;
}

/// The flags, and of which commands each is, for refusing it elsewhere.
class CommandLine {
public:
  explicit CommandLine(Request &request) : flags("weft-data", kIntro), request(request) {
    addOfArrays();
    addOfTexts();
    addOfLogs();
    addOfIdx();
    flags.topic("files", "What is written");
    goWith({"npy", "tokens", "plot", kIdx},
           flags.text("-o|--output", "FILE", "the file to write; - is the standard output",
                      request.output));
    flags.epilogue("Exit codes: 0 ok, 1 wrong input, 2 wrong command line, 70 our bug.\n");
    flags.positional([&request](const std::string &word) {
      (request.command.empty() ? request.command : request.files.emplace_back()) = word;
      return std::string();
    });
  }

  Status parse(const std::vector<std::string> &arguments) {
    if (std::string wrong = flags.parse(arguments); !wrong.empty())
      return Status(StatusCode::Usage, wrong);
    if (flags.answers() || !isCommand(request.command))
      return {};
    for (const FlagTable::Given &given : flags.given())
      if (const auto &commands = commandsOf[given.name];
          std::find(commands.begin(), commands.end(), request.command) == commands.end())
        return usage(given.name + " is no flag of weft-data " + request.command);
    return {};
  }
  const FlagTable &table() const { return flags; }

private:
  void goWith(std::vector<std::string> commands, const FlagTable::Names &names) {
    commandsOf[names.front()] = std::move(commands);
  }

  void addOfArrays() {
    flags.topic("npy", "npy: an array, for --input and --data of weft-run",
                "  The same command gives the same bytes on every machine.\n");
    goWith({"npy"}, flags.value("--shape", "AxBxC", "its shape; \"scalar\" has none",
                                [this](const std::string &text) -> std::string {
                                  request.hasShape = true;
                                  request.npy.shape.clear();
                                  if (text == "scalar" || parseShape(text, request.npy.shape))
                                    return "";
                                  return "wants sizes like 8x64, or scalar, not '" + text + "'";
                                }));
    goWith({"npy"}, flags.value(
                        "--dtype", "T",
                        "f32 (default), f64, f16, bf16, i64 (default of ids), i32, i16, i8, u64, "
                        "u32, u16, u8 or bool",
                        [this](const std::string &text) -> std::string {
                          std::vector<std::string> names = typeNames();
                          auto found = std::find(names.begin(), names.end(), text);
                          if (found == names.end())
                            return FlagTable::notAmong(text, names);
                          request.npy.dtype = DType(found - names.begin());
                          return "";
                        },
                        typeNames()));
    goWith(
        {"npy"},
        flags.text("--fill", "HOW",
                   "zeros (default); ones; range: 0, 1, 2 ...; random[:SEED]: even over [-1, 1]; "
                   "ids:N[:SEED]: whole numbers from 0 to N-1",
                   request.npy.fill));
  }

  void addOfTexts() {
    flags.topic("tokens",
                "tokens: a text, '-' is stdin, as tokens for --data-tokens FILE:u16 of weft-run");
    goWith({"tokens"}, flags.text("--tokenizer", "byte",
                                  "each byte is a token; models need a vocabulary of 256",
                                  request.tokens.tokenizer));
    flags.topic("show", "show: shape, type, first values, least, largest and mean");
  }

  void addOfLogs() {
    flags.topic("plot",
                "plot: curves of logs (weft-run --log) over each other, as logged and smoothed");
    goWith({"plot"}, flags.text("--key", "K", "what of the log: loss (default), grad_norm, lr ...",
                                request.plot.key));
    goWith({"plot"},
           flags.count("--smooth", "N", "average over about N lines; default: a fiftieth of all",
                       request.plot.smooth, 1));
  }

  void addOfIdx() {
    flags.topic("idx", "--idx-to-npy: an IDX file as data for --data of weft-run");
    goWith({kIdx},
           flags.value(kIdx, "FILE", "of MNIST and its relatives; unpack it first, '-' is stdin",
                       [this](const std::string &file) -> std::string {
                         request.files = {file};
                         if (!request.command.empty())
                           return "is a command itself, beside '" + request.command + "'";
                         request.command = kIdx;
                         return "";
                       }));
    goWith({kIdx}, flags.value("--scale", "S",
                               "values times S, as f32; without it integers as i64, floats as f32",
                               [this](const std::string &text) -> std::string {
                                 char *end = nullptr;
                                 request.idx.scale = std::strtod(text.c_str(), &end);
                                 bool isNumber =
                                     !text.empty() && *end == 0 && std::isfinite(request.idx.scale);
                                 return isNumber && request.idx.scale != 0
                                            ? ""
                                            : "wants a number that is not 0, not '" + text + "'";
                               }));
    goWith({kIdx}, flags.value("--sample-shape", "AxBxC", "shape of one sample, if not the file's",
                               [this](const std::string &text) -> std::string {
                                 return parseShape(text, request.idx.sampleShape)
                                            ? ""
                                            : "wants sizes like 28x28, not '" + text + "'";
                               }));
  }

  FlagTable flags;
  Request &request;
  std::map<std::string, std::vector<std::string>> commandsOf;
};

} // namespace

Status weft::data::parseRequest(const std::vector<std::string> &arguments, Request &request) {
  CommandLine line(request);
  WEFT_TRY(line.parse(arguments));
  if (line.table().answers())
    request.answer = line.table().answer();
  return {};
}
