// Sums over the document, and how its numbers are written.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Explain/Document.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace weft::explain;

double Program::bytesSent() const {
  double sum = 0;
  for (const Collective &collective : collectives)
    sum += collective.bytes;
  return sum;
}

int64_t Document::ranks() const {
  int64_t count = 1;
  for (const Axis &axis : mesh)
    count *= axis.temporal ? 1 : axis.size;
  return count;
}

int64_t Document::parameters() const {
  llvm::StringSet<> seen;
  int64_t count = 0;
  for (const Program &program : programs)
    for (const State &state : program.states)
      if (state.kind == "parameter" && seen.insert(state.name).second)
        count += state.elements;
  return count;
}

Program &Document::program(llvm::StringRef name) {
  auto found =
      llvm::find_if(programs, [&](const Program &program) { return program.name == name; });
  if (found != programs.end())
    return *found;
  programs.emplace_back();
  programs.back().name = name.str();
  return programs.back();
}

std::string weft::explain::axesText(const std::vector<std::string> &axes) {
  return llvm::join(axes, ",");
}

std::string weft::explain::sizeText(double bytes) {
  static constexpr const char *kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  unsigned unit = 0;
  // 1023.9 KiB would be written as 1024 KiB.
  while (unit < 4 && bytes >= (unit == 0 ? 1024 : 1023.5)) {
    bytes /= 1024;
    ++unit;
  }
  std::string text;
  int digits = unit == 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
  llvm::raw_string_ostream(text) << llvm::format("%.*f", digits, bytes);
  if (text.find('.') != std::string::npos)
    text = llvm::StringRef(text).rtrim('0').rtrim('.').str();
  return text + " " + kUnits[unit];
}
