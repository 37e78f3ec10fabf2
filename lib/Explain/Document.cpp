// Sums over the document, and how its numbers are written.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Explain/Document.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace weft::explain;

/// The number of a process rank in its group over these axes.
static int64_t memberOf(const std::vector<Axis> &mesh, const std::vector<std::string> &axes,
                        int64_t rank) {
  int64_t member = 0;
  for (const std::string &name : axes) {
    int64_t rest = rank, coordinate = 0;
    for (const Axis &axis : llvm::reverse(mesh)) {
      if (axis.temporal)
        continue;
      coordinate = rest % axis.size;
      rest /= axis.size;
      if (axis.name == name) {
        member = member * axis.size + coordinate;
        break;
      }
    }
  }
  return member;
}

static void addUp(const std::vector<Axis> &mesh, int64_t ranks, Program &program) {
  using ByMember = std::vector<weft::runtime::Volume>;
  std::vector<std::pair<std::vector<std::string>, ByMember>> totals;
  auto add = [&](const std::vector<std::string> &axes, const Sent &sent, int64_t times) {
    auto found = llvm::find_if(totals, [&](const auto &total) { return total.first == axes; });
    if (found == totals.end())
      found = totals.insert(found, {axes, {}});
    ByMember &members = found->second;
    size_t member = 0;
    for (const Sent::Run &run : sent.getRuns())
      for (int64_t i = 0; i < run.members; ++i, ++member) {
        members.resize(std::max(members.size(), member + 1));
        members[member] += uint64_t(times) * run.each;
      }
  };
  if (program.isScheduled)
    for (const Transfer &one : program.transfers)
      add(one.axes, one.sent, 1);
  else
    for (const Collective &one : program.collectives)
      add(one.axes, one.sent, one.times);
  program.sentOver.clear();
  std::vector<uint64_t> byRank(ranks);
  for (const auto &[axes, members] : totals) {
    Sent &sent = program.sentOver.emplace_back(axes, Sent()).second;
    for (const weft::runtime::Volume &member : members)
      sent.add(member);
    for (int64_t rank = 0; rank < ranks; ++rank)
      byRank[rank] += members[memberOf(mesh, axes, rank)].bytes;
  }
  program.rank = llvm::max_element(byRank) - byRank.begin();
  program.bytesSent = byRank[program.rank];
  for (Collective &one : program.collectives)
    one.bytes = double(one.times) * one.sent.of(memberOf(mesh, one.axes, program.rank)).bytes;
}

void Document::addUpSent() {
  for (Program &program : programs)
    addUp(mesh, ranks(), program);
}

double Program::bytesSentOver(const std::vector<Axis> &mesh,
                              const std::vector<std::string> &axes) const {
  auto found = llvm::find_if(sentOver, [&](const auto &entry) { return entry.first == axes; });
  return found == sentOver.end() ? 0 : found->second.of(memberOf(mesh, axes, rank)).bytes;
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

/// With three digits that count.
static std::string numberText(double number, bool isWhole) {
  std::string text;
  int digits = isWhole || number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
  llvm::raw_string_ostream(text) << llvm::format("%.*f", digits, number);
  if (text.find('.') != std::string::npos)
    text = llvm::StringRef(text).rtrim('0').rtrim('.').str();
  return text;
}

std::string weft::explain::sizeText(double bytes) {
  static constexpr const char *kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  unsigned unit = 0;
  // 1023.9 KiB would be written as 1024 KiB.
  while (unit < 4 && bytes >= (unit == 0 ? 1024 : 1023.5)) {
    bytes /= 1024;
    ++unit;
  }
  return numberText(bytes, unit == 0) + " " + kUnits[unit];
}

std::string weft::explain::timeText(double seconds) {
  static constexpr const char *kUnits[] = {"us", "ms", "s"};
  double number = seconds * 1e6;
  unsigned unit = 0;
  for (; unit < 2 && number >= 999.5; ++unit)
    number /= 1000;
  return numberText(number, /*isWhole=*/false) + " " + kUnits[unit];
}
