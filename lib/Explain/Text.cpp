// The document as text: one screen, or every line.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Grouping.h"
#include "weft/Explain/Classes.h"
#include "weft/Explain/Explain.h"
#include "weft/Support/Diagnostics.h"
#include "weft/Support/Nearest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Regex.h"

#include <map>
#include <set>

using namespace weft::explain;

static void printStages(const Document &document, Detail detail, llvm::raw_ostream &out);

namespace {

/// Lines of one kind on a screen; what is left out is counted.
constexpr size_t kScreenCollectives = 8, kScreenOfOthers = 1, kScreenStates = 4, kScreenBuffers = 5,
                 kScreenHints = 3, kScreenLayers = 6;

std::string quoted(llvm::StringRef name) { return "'" + name.str() + "'"; }

/// `'/h.*/ln_2' needs it whole`, `'a', 'b' and 3 others need it as [8{dp}]`.
std::string readersText(const std::vector<std::string> &readers, int64_t count) {
  std::string text;
  for (const std::string &reader : readers)
    text += (text.empty() ? "" : ", ") + quoted(reader);
  if (count > int64_t(readers.size()))
    text += " and " + std::to_string(count - readers.size()) + " others";
  return text;
}

} // namespace

std::string weft::explain::reasonText(const Collective &one,
                                      const std::vector<std::string> &readers,
                                      int64_t readerCount) {
  if (one.maker.empty())
    return quoted(one.node) + " from " + one.from + " to " + one.to;
  std::string text = quoted(one.maker);
  if (!one.summed.empty())
    text += (one.reduction == "sum" ? " sums over " : " takes the " + one.reduction + " over ") +
            one.summed;
  else
    text += (one.role == "state" ? " is stored as " : " makes it as ") + one.made;
  if (readers.empty())
    return text;
  text +=
      "; " + readersText(readers, readerCount) + (readerCount == 1 ? " needs it " : " need it ");
  return text + (one.wantedWhole ? "whole" : "as " + one.wanted);
}

namespace {

std::string headText(const Collective &one, double bytes, double seconds, int64_t count) {
  std::string text = one.kind + " over " + axesText(one.axes) + ", " + sizeText(bytes / count);
  if (count > 1)
    text += " x " + std::to_string(count);
  return text + " in " + timeText(seconds);
}

void printNode(const Node &node, llvm::raw_ostream &out) {
  out << "  " << node.node << ": " << node.op << ' ' << node.type << ", " << node.placement;
  if (node.count > 1)
    out << ", x " << node.count;
  out << '\n';
}

void printCollective(const Collective &one, llvm::raw_ostream &out) {
  out << "    -> " << headText(one, one.bytes, one.seconds, one.times) << ", " << one.type
      << " from " << one.from << " to " << one.to << ", " << one.role << ": "
      << reasonText(one, one.readers, one.readerCount);
  if (!one.hint.empty())
    out << "; hint: " << one.hint;
  out << '\n';
}

void printClass(const CollectiveClass &group, llvm::raw_ostream &out) {
  const CollectiveClass::Readers &usual = group.readers.front();
  int64_t count = group.members.count * group.example.times;
  out << "  " << headText(group.example, group.bytes, group.seconds, count) << ", "
      << group.example.role << ": " << reasonText(group.example, usual.patterns, usual.count);
  if (std::string layers = group.members.layersText(); !layers.empty())
    out << " [layers " << layers << ']';
  llvm::StringRef separator = " (but ";
  for (const CollectiveClass::Readers &other : llvm::drop_begin(group.readers)) {
    std::string layers = other.members.layersText();
    out << std::exchange(separator, "; ")
        << (layers.empty() ? std::to_string(other.members.count) + " x " : layers + ": ")
        << readersText(other.patterns, other.count);
  }
  out << (group.readers.size() > 1 ? ")\n" : "\n");
}

void printState(const State &state, const Members &members, llvm::raw_ostream &out) {
  out << "  state " << state.name << ": " << state.type << " stored " << state.stored;
  if (state.used != state.stored)
    out << ", used " << state.used;
  out << ", " << sizeText(state.bytes);
  if (members.count > 1)
    out << " x " << members.count;
  if (std::string layers = members.layersText(); !layers.empty())
    out << " [layers " << layers << ']';
  out << '\n';
}

/// `200 KiB in 25 (71.5 us)`.
struct Total {
  double bytes = 0, seconds = 0;
  int64_t count = 0;

  std::string text() const {
    return sizeText(bytes) + " in " + std::to_string(count) + " (" + timeText(seconds) + ")";
  }
};

using Totals = std::map<std::string, Total>;

Totals totalsOf(const Program &program, llvm::function_ref<std::string(const Collective &)> keyOf) {
  Totals totals;
  for (const Collective &one : program.collectives) {
    Total &total = totals[keyOf(one)];
    total.bytes += one.bytes;
    total.seconds += one.seconds;
    total.count += one.times;
  }
  return totals;
}

/// Behind what totals are by: of several stages a rank has a part of them.
llvm::StringRef scopeOf(const Document &document) {
  return document.stageAxes.empty() ? "" : ", of all stages";
}

void printTotals(const llvm::Twine &by, const Totals &totals, llvm::raw_ostream &out) {
  std::vector<std::pair<std::string, Total>> sorted(totals.begin(), totals.end());
  llvm::sort(sorted, [](const auto &a, const auto &b) {
    return std::make_tuple(-a.second.bytes, a.first) < std::make_tuple(-b.second.bytes, b.first);
  });
  out << "  by " << by << ": ";
  llvm::interleaveComma(
      sorted, out, [&](const auto &entry) { out << entry.first << ' ' << entry.second.text(); });
  out << '\n';
}

/// Says nothing of a model without layers.
void printLayers(const Document &document, const Program &program, size_t shown,
                 llvm::raw_ostream &out) {
  std::vector<LayerClass> classes = foldLayers(program.collectives);
  if (llvm::all_of(classes, [](const LayerClass &group) { return group.name.empty(); }))
    return;
  out << "  by layer" << scopeOf(document) << ": ";
  llvm::ArrayRef<LayerClass> all(classes), told = all.take_front(shown);
  llvm::interleaveComma(told, out, [&](const LayerClass &group) {
    if (group.name.empty())
      out << "elsewhere ";
    else
      out << group.name << " [" << group.members.layersText() << "] ";
    out << Total{group.bytes, group.seconds, group.collectives}.text();
  });
  Total left;
  for (const LayerClass &group : all.drop_front(told.size())) {
    left.bytes += group.bytes;
    left.seconds += group.seconds;
    left.count += group.collectives;
  }
  if (left.count > 0)
    out << ", " << classes.size() - told.size() << " kinds more " << left.text();
  out << '\n';
}

void printSentByAxis(const Document &document, const Program &program, llvm::raw_ostream &out) {
  Totals axes = totalsOf(program, [](const Collective &one) { return axesText(one.axes); });
  // Messages that are shared are not those of each alone.
  if (document.stageAxes.empty())
    for (const auto &[over, sent] : program.sentOver)
      axes[axesText(over)].bytes = program.bytesSentOver(document.mesh, over);
  printTotals("axis" + scopeOf(document), axes, out);
}

void printKindsAndRoles(const Document &document, const Program &program, llvm::raw_ostream &out) {
  llvm::StringRef scope = scopeOf(document);
  printTotals("kind" + scope, totalsOf(program, [](const Collective &one) { return one.kind; }),
              out);
  printTotals("role" + scope, totalsOf(program, [](const Collective &one) { return one.role; }),
              out);
}

void printHeadline(const Program &program, llvm::raw_ostream &out) {
  int64_t count = 0;
  for (const Collective &one : program.collectives)
    count += one.times;
  out << "program " << program.name << ": " << count << " collectives, "
      << sizeText(program.bytesSent) << " sent by a rank in a run";
  if (!program.moved.empty()) {
    double read = 0, written = 0;
    for (const MovedBytes &bytes : program.moved) {
      read += bytes.read;
      written += bytes.written;
    }
    out << "; " << sizeText(read) << " of memory read, " << sizeText(written) << " written";
    if (program.units > 0)
      out << ", " << sizeText((read + written) / program.units) << " a " << program.unit;
  }
  out << '\n';
}

class Printer {
public:
  Printer(const Document &document, Detail detail, llvm::raw_ostream &out)
      : document(document), isFull(detail == Detail::Full), out(out) {
    for (const Program &program : document.programs)
      most = std::max(most, program.bytesSent);
  }

  void print() {
    out << document.model << ": " << document.parameters() << " parameters, " << document.ranks()
        << (document.ranks() == 1 ? " rank" : " ranks");
    llvm::StringRef separator = " as ";
    for (const Axis &axis : document.mesh)
      out << std::exchange(separator, ",") << axis.name << '=' << axis.size
          << (axis.temporal ? " (microbatches)" : "");
    out << '\n';
    for (const Program &program : document.programs)
      printProgram(program);
    printStages(document, isFull ? Detail::Full : Detail::Classes, out);
    if (document.hasMemory)
      printMemory(document.memory, out);
    for (const std::string &note : document.notes)
      out << "note: " << note << '\n';
    std::vector<std::string> hints = hintsOf(document);
    size_t shown = isFull ? hints.size() : std::min(hints.size(), kScreenHints);
    for (const std::string &hint : llvm::ArrayRef<std::string>(hints).take_front(shown))
      out << "hint: " << hint << '\n';
    if (hints.size() > shown)
      out << "and " << hints.size() - shown << " hints more; --explain=full tells them\n";
  }

private:
  void printProgram(const Program &program) {
    printHeadline(program, out);
    if (!program.collectives.empty()) {
      printSentByAxis(document, program, out);
      printKindsAndRoles(document, program, out);
      printLayers(document, program, isFull ? program.collectives.size() : kScreenLayers, out);
    }
    if (isFull)
      printInOrder(program);
    else
      printClasses(program);
    printStates(program);
    printSchedule(program);
    if (isFull)
      printMoved(program);
  }

  void printInOrder(const Program &program) {
    auto next = program.collectives.begin();
    for (int64_t i = 0; i <= int64_t(program.nodes.size()); ++i) {
      for (; next != program.collectives.end() && next->position == i; ++next)
        printCollective(*next, out);
      if (i < int64_t(program.nodes.size()))
        printNode(program.nodes[i], out);
    }
  }

  void printClasses(const Program &program) {
    std::vector<CollectiveClass> classes = foldCollectives(program.collectives);
    // The program that sends most gets most of the screen.
    size_t shown = program.bytesSent == most ? kScreenCollectives : kScreenOfOthers;
    double left = 0;
    for (auto [number, group] : llvm::enumerate(classes))
      if (number < shown)
        printClass(group, out);
      else
        left += group.bytes;
    if (classes.size() > shown)
      out << "  and " << classes.size() - shown << " kinds more, " << sizeText(left)
          << "; --explain=full lists all, --explain=REGEX those of some nodes\n";
  }

  /// States are shared by programs: those of which an earlier one told are not told again.
  void printStates(const Program &program) {
    std::vector<State> fresh;
    for (const State &state : program.states)
      if (toldStates.insert({state.name, state.used}).second)
        fresh.push_back(state);
    if (isFull) {
      for (const State &state : fresh)
        printState(state, {}, out);
      return;
    }
    if (&program != &document.programs.front())
      return;
    std::vector<StateClass> classes = foldStates(fresh);
    double left = 0;
    for (auto [number, group] : llvm::enumerate(classes))
      if (number < kScreenStates)
        printState(group.state, group.members, out);
      else
        left += double(group.state.bytes) * group.members.count;
    if (classes.size() > kScreenStates)
      out << "  and states of " << classes.size() - kScreenStates << " kinds more, "
          << sizeText(left) << '\n';
  }

  void printSchedule(const Program &program) {
    if (program.transfers.empty())
      return;
    out << "  scheduled as " << program.transfers.size() << " commands for " << program.movedTensors
        << " tensors";
    double alone = 0;
    for (const Collective &one : program.collectives)
      alone += one.bytes;
    // Of a pipeline each rank runs a part of them.
    if (document.stages.empty() && alone != program.bytesSent)
      out << ", which share messages: " << sizeText(std::abs(alone - program.bytesSent))
          << (program.bytesSent < alone ? " less" : " more") << " than each would send alone";
    out << '\n';
    if (!isFull)
      return;
    for (const Bucket &bucket : program.buckets)
      out << "  bucket: " << bucket.kind << " over " << axesText(bucket.axes) << " of "
          << bucket.tensors << " tensors, " << sizeText(bucket.bytes) << ", from "
          << quoted(bucket.firstNode) << " on\n";
  }

  void printMoved(const Program &program) {
    for (const MovedBytes &bytes : program.moved)
      out << "  memory: " << bytes.commands << ' ' << bytes.kind << " read " << sizeText(bytes.read)
          << " and write " << sizeText(bytes.written) << '\n';
  }

  const Document &document;
  bool isFull;
  llvm::raw_ostream &out;
  double most = 0; // bytes sent by a program
  std::set<std::pair<std::string, std::string>> toldStates;
};

void printMatching(const Document &document, llvm::StringRef nodes, llvm::raw_ostream &out) {
  llvm::Regex regex(nodes);
  std::set<std::string> names;
  auto matches = [&](llvm::StringRef name) {
    names.insert(name.str());
    return regex.match(name);
  };
  bool any = false;
  for (const Program &program : document.programs) {
    printHeadline(program, out);
    auto next = program.collectives.begin();
    for (int64_t i = 0; i <= int64_t(program.nodes.size()); ++i) {
      for (; next != program.collectives.end() && next->position == i; ++next)
        if (matches(next->node) || matches(next->maker) || llvm::any_of(next->readers, matches)) {
          printCollective(*next, out);
          any = true;
        }
      if (i < int64_t(program.nodes.size()) && matches(program.nodes[i].node)) {
        printNode(program.nodes[i], out);
        any = true;
      }
    }
    for (const State &state : program.states)
      if (matches(state.name)) {
        printState(state, {}, out);
        any = true;
      }
  }
  if (any)
    return;
  std::string near = weft::didYouMeanByPattern(nodes, llvm::to_vector(names));
  out << "no node or state has a name that matches '" << nodes << "'"
      << (near.empty() ? "; --explain=full lists all" : near) << '\n';
}

/// A sum over shards of activations, after which all ranks hold the same.
bool isWholeSum(const Collective &one) {
  return one.kind == "all_reduce" && one.role == "forward" && !one.summed.empty() &&
         llvm::StringRef(one.type).count('x') >= 3;
}

} // namespace

std::vector<std::string> weft::explain::hintsOf(const Document &document) {
  std::map<std::string, Members> states;
  std::map<std::string, double> sums; // by axes
  for (const Program &program : document.programs)
    for (const Collective &one : program.collectives) {
      LayerName maker = foldName(one.maker);
      // Other programs take states as the first one places them.
      if (!one.hint.empty() && &program == &document.programs.front())
        states[quoted(maker.pattern) + " is " + foldName(one.hint).pattern].add(maker.layer);
      if (isWholeSum(one) && !document.sequenceParallel)
        sums[axesText(one.axes)] += one.bytes;
    }
  std::vector<std::string> hints;
  for (const auto &[text, members] : states) {
    std::string layers = members.layersText();
    hints.push_back(text + (layers.empty() ? "" : " [layers " + layers + "]"));
  }
  for (const auto &[axes, bytes] : sums)
    hints.push_back("all_reduces of activations over " + axes + " move " + sizeText(bytes) +
                    "; split norms (--sequence-parallel on) make them reduce_scatter and "
                    "all_gather: the same bytes, "
                    "less memory for activations");
  return hints;
}

void weft::explain::printText(const Document &document, Detail detail, llvm::StringRef nodes,
                              llvm::raw_ostream &out) {
  std::string text;
  llvm::raw_string_ostream lines(text);
  if (nodes.empty())
    Printer(document, detail, lines).print();
  else
    printMatching(document, nodes, lines);
  weft::writeSafely(text, out);
}

static void printAlive(const Memory &memory, llvm::raw_ostream &out) {
  out << "arena " << sizeText(memory.arena) << " (" << memory.arena
      << " bytes); at most alive together";
  llvm::StringRef separator = " ";
  for (auto [name, bytes] : llvm::zip_equal(memory.classes, memory.peaks))
    if (bytes != 0)
      out << std::exchange(separator, ", ") << name << ' ' << sizeText(bytes);
  out << '\n';
}

static void printPeaks(const Memory &memory, llvm::raw_ostream &out) {
  out << "memory of one process"
      << (memory.stage ? " of stage " + std::to_string(*memory.stage) : "") << ": ";
  printAlive(memory, out);
}

static std::string flowText(const Stage::Flow &flow) {
  return "sends " + sizeText(double(flow.sent.bytes)) + " in " +
         std::to_string(flow.sent.messages) + " transfers, receives " +
         sizeText(double(flow.received.bytes)) + " in " + std::to_string(flow.received.messages);
}

/// What a rank of each stage gives to others and gets from them in a run: once for stages, and then
/// for programs, that do the same.
static void printFlows(const Document &document, llvm::raw_ostream &out) {
  struct Flows {
    std::string programs, text;
    Members stages;
  };
  using Key = std::pair<std::string, std::string>;
  Grouping<Flows, Key> byStage, byProgram;
  for (const Program &program : document.programs)
    for (auto [number, stage] : llvm::enumerate(document.stages))
      for (const Stage::Flow &flow : stage.flows)
        if (std::string text = flowText(flow);
            flow.program == program.name && flow.sent.messages + flow.received.messages != 0)
          byStage.of({flow.program, text}, [&] { return Flows{flow.program, text, {}}; })
              .stages.add(number);
  for (const Flows &flows : byStage.groups) {
    Flows &alike = byProgram.of({flows.stages.layersText(), flows.text},
                                [&] { return Flows{"", flows.text, flows.stages}; });
    alike.programs += (alike.programs.empty() ? "" : ", ") + flows.programs;
  }
  for (const Flows &flows : byProgram.groups)
    out << "  " << flows.programs << ", " << numbersText("stage", flows.stages) << ": "
        << flows.text << '\n';
}

/// What a rank of each stage holds, gives and gets.
static void printStages(const Document &document, Detail detail, llvm::raw_ostream &out) {
  if (!document.schedule.empty())
    out << "schedule " << document.schedule << '\n';
  weft::explain::printChunks(document.chunks, detail, out);
  for (auto [number, stage] : llvm::enumerate(document.stages)) {
    out << "stage " << number << ": " << stage.states << " states of "
        << sizeText(double(stage.stateBytes)) << "; ";
    printAlive(stage.memory, out);
  }
  printFlows(document, out);
}

void weft::explain::printMemory(const Memory &memory, llvm::raw_ostream &stream) {
  std::string text;
  llvm::raw_string_ostream out(text);
  printPeaks(memory, out);
  out << "largest buffers when " << memory.program << " needs the most:\n";
  std::vector<MemoryItemClass> classes = foldMemory(memory.atPeak);
  for (const MemoryItemClass &group :
       llvm::ArrayRef<MemoryItemClass>(classes).take_front(kScreenBuffers)) {
    out << "  " << sizeText(group.item.bytes);
    if (group.members.count > 1)
      out << " x " << group.members.count;
    out << ' ' << group.item.kind << ' ' << group.item.name;
    if (std::string layers = group.members.layersText(); !layers.empty())
      out << " [layers " << layers << ']';
    out << '\n';
  }
  weft::writeSafely(text, stream);
}

void weft::explain::printSummary(const Document &document, llvm::raw_ostream &out) {
  for (const Program &program : document.programs) {
    printHeadline(program, out);
    if (!program.collectives.empty())
      printSentByAxis(document, program, out);
  }
  printStages(document, Detail::Classes, out);
  if (document.hasMemory)
    printPeaks(document.memory, out);
}
