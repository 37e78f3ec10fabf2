// kit-report: merges the parts' files, prints a summary, writes docs/gpu-
// results.md.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KitReport.h"

#include <cstdio>
#include <ctime>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace weft::gpukit;

namespace {

constexpr const char *usage = "usage: kit-report merge FOLDER [--seconds N] [-o results.json]\n"
                              "       kit-report summary results.json\n"
                              "       kit-report table results.json [-o gpu-results.md]\n"
                              "       kit-report not-run [-o gpu-results.md]\n";

std::string nowUtc() {
  std::time_t now = std::time(nullptr);
  char text[64];
  std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M UTC", std::gmtime(&now));
  return text;
}

Json readJson(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    throw std::runtime_error("cannot read " + path);
  return Json::parse(file);
}

/// Renamed into place, so that a reader never sees half a file.
void deliver(const std::string &text, const std::string &path) {
  if (path.empty()) {
    std::cout << text;
    return;
  }
  std::string half = path + ".half";
  if (!(std::ofstream(half) << text) || std::rename(half.c_str(), path.c_str()) != 0)
    throw std::runtime_error("cannot write " + path);
}

} // namespace

int main(int argc, char **argv) {
  std::string verb = argc > 1 ? argv[1] : "", input, output, seconds = "0";
  for (int i = 2; i < argc; ++i) {
    std::string word = argv[i];
    bool takesValue = word == "-o" || word == "--seconds";
    if (takesValue && i + 1 < argc) {
      (word == "-o" ? output : seconds) = argv[++i];
    } else if (!takesValue && input.empty() && word[0] != '-') {
      input = word;
    } else {
      std::cerr << usage;
      return 2;
    }
  }
  if ((verb != "merge" && verb != "summary" && verb != "table" && verb != "not-run") ||
      input.empty() != (verb == "not-run")) {
    std::cerr << usage;
    return 2;
  }
  try {
    std::ostringstream text;
    if (verb == "merge")
      text << mergeParts(input, std::atof(seconds.c_str()), nowUtc())
                  .dump(1, ' ', false, Json::error_handler_t::replace)
           << '\n';
    else if (verb == "summary")
      writeSummary(readJson(input), text);
    else if (verb == "table")
      writeTables(readJson(input), text);
    else
      writeNotRun(text);
    deliver(text.str(), output);
  } catch (const std::exception &error) {
    std::cerr << "kit-report: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
