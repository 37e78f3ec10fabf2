// Sums over the document, and how its numbers are written.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Explain/Document.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

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

namespace {

/// What is sent over some axes: by member, of each stage, and (-1) of all.
struct Total {
  using ByMember = std::vector<weft::runtime::Volume>;
  std::vector<std::string> axes;
  std::map<int64_t, ByMember> byStage;

  void add(int64_t stage, const Sent &sent, int64_t times) {
    ByMember &members = byStage[stage];
    size_t member = 0;
    for (const Sent::Run &run : sent.getRuns())
      for (int64_t i = 0; i < run.members; ++i, ++member) {
        members.resize(std::max(members.size(), member + 1));
        members[member] += uint64_t(times) * run.each;
      }
  }
  /// Where members are of that stage.
  ByMember of(int64_t stage) const {
    ByMember sum;
    for (int64_t part : {int64_t(-1), stage})
      if (auto found = byStage.find(part); found != byStage.end()) {
        sum.resize(std::max(sum.size(), found->second.size()));
        for (size_t member = 0; member < found->second.size(); ++member)
          sum[member] += found->second[member];
      }
    return sum;
  }
};

} // namespace

static void addUp(const Document &document, Program &program) {
  const std::vector<Axis> &mesh = document.mesh;
  std::vector<Total> totals;
  auto totalOver = [&](const std::vector<std::string> &axes) -> Total & {
    auto found = llvm::find_if(totals, [&](const Total &total) { return total.axes == axes; });
    return found != totals.end() ? *found : totals.emplace_back(Total{axes, {}});
  };
  if (program.isScheduled)
    for (const Transfer &one : program.transfers)
      totalOver(one.axes).add(one.stage.value_or(-1), one.sent, 1);
  else
    for (const Collective &one : program.collectives)
      for (int64_t stage : one.stages.empty() ? std::vector<int64_t>{-1} : one.stages)
        totalOver(one.axes).add(stage, one.sent, one.times);
  auto stageOf = [&](int64_t rank) { return memberOf(mesh, document.stageAxes, rank); };
  std::vector<uint64_t> byRank(document.ranks());
  for (const Total &total : totals) {
    // Ranks of a stage have the same members.
    std::map<int64_t, Total::ByMember> members;
    for (size_t rank = 0; rank < byRank.size(); ++rank) {
      auto [found, isNew] = members.try_emplace(stageOf(rank));
      if (isNew)
        found->second = total.of(found->first);
      size_t member = memberOf(mesh, total.axes, rank);
      byRank[rank] += member < found->second.size() ? found->second[member].bytes : 0;
    }
  }
  program.rank = llvm::max_element(byRank) - byRank.begin();
  program.bytesSent = byRank[program.rank];
  program.sentOver.clear();
  for (const Total &total : totals) {
    Sent &sent = program.sentOver.emplace_back(total.axes, Sent()).second;
    for (const weft::runtime::Volume &member : total.of(stageOf(program.rank)))
      sent.add(member);
  }
  for (Collective &one : program.collectives) {
    uint64_t bytes = one.isMove ? one.sent.ofAll().bytes
                                : one.sent.of(memberOf(mesh, one.axes, program.rank)).bytes;
    one.bytes = double(one.times) * bytes;
  }
}

void Document::addUpSent() {
  for (Program &program : programs)
    addUp(*this, program);
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
