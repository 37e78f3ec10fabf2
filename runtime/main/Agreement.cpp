// What of a command line all processes of a job must have alike.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CommandLine.h"

#include <algorithm>
#include <iterator>
#include <map>

using namespace weft::runtime;

namespace {

/// What may differ: each concerns only the process that it is given to. All
/// others change what is computed or exchanged.
constexpr const char *kOwn[] = {
    "-n",     "--comm",    "--model-dir", "--log", "--threads-per-rank", "--pin", "--rtol",
    "--atol", "--timeout", "--inject",    "-q",    "--log-every"};
/// Their value is NAME=FILE, of which the name counts.
constexpr const char *kFiles[] = {"--input", "--expect", "--data", "--eval-data"};
/// A path of which it counts that it is given.
constexpr const char *kPaths[] = {"--output-dir", "--trace", "--pretend", "--data-tokens",
                                  "--eval-data-tokens"};

/// In one line, and otherwise than any other value.
std::string inOneLine(const std::string &value) {
  std::string text;
  for (char c : value)
    if (c == '\n')
      text += "\\n";
    else
      text += c == '\\' ? "\\\\" : std::string(1, c);
  return text;
}

template <typename List> bool contains(const List &list, const std::string &flag) {
  return std::find(std::begin(list), std::end(list), flag) != std::end(list);
}

} // namespace

std::string weft::runtime::agreementOf(const CommandLine &options) {
  std::map<std::string, std::string> lines;
  for (const auto &[flag, value, alone] : options.given) {
    if (contains(kOwn, flag))
      continue;
    std::string text = value;
    if (contains(kFiles, flag))
      text.resize(std::min(text.find('='), text.size()));
    else if (contains(kPaths, flag))
      text.clear();
    // A line for each name, so that their order does not matter.
    bool repeats = contains(kFiles, flag);
    lines[repeats ? flag + " " + text : flag] = repeats ? "" : text;
  }
  std::string result;
  for (const auto &[flag, value] : lines)
    result += inOneLine(flag) + "\t" + inOneLine(value) + "\n";
  return result;
}
