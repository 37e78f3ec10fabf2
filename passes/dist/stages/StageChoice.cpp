// Where a person says that the chunks of a pipeline begin.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/stages/StageChoice.h"

#include "passes/dist/stages/StageCut.h"
#include "weft/Support/Diagnostics.h"
#include "weft/Support/Repeats.h"

#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

#include <map>
#include <numeric>

using namespace mlir;

namespace weft::dist {

static llvm::Expected<std::vector<size_t>> readBlocks(StringRef text) {
  std::vector<size_t> counts;
  for (StringRef part : llvm::split(text, ',')) {
    unsigned count = 0; // so that sums of them do not wrap
    if (part.getAsInteger(10, count) || count == 0)
      return llvm::createStringError("'" + part + "' is no number of blocks; write blocks:5,7");
    counts.push_back(count);
  }
  return counts;
}

static std::vector<std::string> patternsOf(StringRef text) {
  std::vector<std::string> patterns;
  for (StringRef part : llvm::split(text, ';'))
    patterns.push_back(part.str());
  return patterns;
}

llvm::Error checkStages(StringRef text) {
  if (text.consume_front("blocks:"))
    return readBlocks(text).takeError();
  for (const std::string &pattern : patternsOf(text))
    if (std::string why; pattern.empty() || !llvm::Regex(pattern).isValid(why))
      return llvm::createStringError("'" + pattern + "' is no regular expression" +
                                     (why.empty() ? "" : ": " + why));
  return llvm::Error::success();
}

int64_t chunksSaid(StringRef text) {
  bool isBlocks = text.consume_front("blocks:");
  return isBlocks ? text.count(',') + 1 : text.count(';') + 2;
}

namespace {

std::string plural(size_t count, const char *word) {
  return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

/// The positions on a line at which chunks but the first begin.
class Choice {
public:
  Choice(ArrayRef<Operation *> line, const OpCosts &costs, ArrayRef<int32_t> place)
      : line(line), costs(costs), chunks(place.size()),
        stages(size_t(*llvm::max_element(place)) + 1) {}

  llvm::Expected<std::vector<size_t>> byNames(const std::vector<std::string> &patterns) const {
    if (patterns.size() + 1 != chunks)
      return llvm::createStringError("says where " + plural(patterns.size(), "chunk") +
                                     " of the model begin, but of " + count() +
                                     " all but the first want that: " + plural(chunks - 1, "name"));
    std::vector<size_t> begins;
    size_t from = 1;
    for (const std::string &pattern : patterns) {
      llvm::Regex regex(pattern);
      auto matches = [&](Operation *op) { return regex.match(nodeName(op)); };
      auto found = std::find_if(line.begin() + std::min(from, line.size()), line.end(), matches);
      if (found == line.end())
        return llvm::createStringError("'" + pattern + "' matches no node " +
                                       placesFrom(from, llvm::any_of(line, matches)));
      begins.push_back(size_t(found - line.begin()));
      from = begins.back() + 1;
    }
    return begins;
  }

  llvm::Expected<std::vector<size_t>> byBlocks(const std::vector<size_t> &counts) const {
    Repeat repeat = longestRepeat(words());
    size_t blocks = repeat.length / repeat.period;
    if (counts.size() != chunks)
      return llvm::createStringError("says of " + plural(counts.size(), "chunk") +
                                     " how many blocks each has, but there are " + count());
    if (size_t sum = std::accumulate(counts.begin(), counts.end(), size_t(0)); sum != blocks)
      return llvm::createStringError("says where " + plural(sum, "block") + " go, but the model " +
                                     "repeats " + plural(blocks, "block") + nearest(blocks));
    size_t first = firstBorder(repeat, blocks), done = 0;
    std::vector<size_t> begins;
    for (size_t count : ArrayRef(counts).drop_back())
      begins.push_back(first + repeat.period * ((done += count) - 1));
    return begins;
  }

private:
  /// What could have been named instead.
  std::string placesFrom(size_t from, bool isBefore) const {
    if (from >= line.size())
      return "behind '" + nodeName(line.back()) + "', which is the last";
    std::string next;
    for (Operation *op : line.drop_front(from).take_front(3))
      if (std::string name = "'" + nodeName(op) + "'"; !StringRef(next).contains(name))
        next += (next.empty() ? "" : ", ") + name;
    return std::string(isBefore ? "behind" : "that depends on weights and inputs behind") + " '" +
           nodeName(line[from - 1]) + "', where the last chunk begins" +
           (isBefore ? ", but one before it: name them in the order of the model"
                     : "; the next ones are " + next);
  }

  /// Of chunks, and how they come about where the schedule has several on a stage.
  std::string count() const {
    std::string text = std::to_string(chunks);
    return chunks == stages ? text : text + " (on " + std::to_string(stages) + " stages)";
  }

  std::string nearest(size_t blocks) const {
    if (blocks < chunks)
      return "; name the nodes with which chunks begin";
    std::string text;
    for (size_t chunk = 0; chunk < chunks; ++chunk)
      text += (chunk ? "," : "; write blocks:") +
              std::to_string(blocks * (chunk + 1) / chunks - blocks * chunk / chunks);
    return text + ", for one";
  }

  /// Equal numbers for ops that do the same to values of the same types.
  std::vector<unsigned> words() const {
    std::vector<unsigned> list;
    std::map<std::string, unsigned> numbers;
    for (Operation *op : line) {
      std::string text;
      llvm::raw_string_ostream stream(text);
      stream << op->getName() << op->getPropertiesAsAttribute();
      llvm::interleaveComma(op->getOperandTypes(), stream);
      llvm::interleaveComma(op->getResultTypes(), stream << ':');
      list.push_back(numbers.try_emplace(text, unsigned(numbers.size())).first->second);
    }
    return list;
  }

  /// Where the second block begins.
  size_t firstBorder(const Repeat &repeat, size_t blocks) const {
    std::vector<double> crossing = crossingSeconds(line, costs);
    size_t best = repeat.from + repeat.period;
    double least = std::numeric_limits<double>::infinity();
    for (size_t shift = 0; shift < repeat.period && blocks > 1; ++shift) {
      double sum = 0;
      for (size_t block = 1; block < blocks; ++block)
        sum += crossing[repeat.from + shift + block * repeat.period];
      if (sum < least * (1 - 1e-9)) {
        least = sum;
        best = repeat.from + shift + repeat.period;
      }
    }
    return best;
  }

  ArrayRef<Operation *> line;
  const OpCosts &costs;
  size_t chunks, stages;
};

} // namespace

llvm::Expected<std::vector<int64_t>> cutAsSaid(ArrayRef<Operation *> line, const OpCosts &costs,
                                               ArrayRef<int32_t> place, StringRef text) {
  if (llvm::Error wrong = checkStages(text))
    return std::move(wrong);
  Choice choice(line, costs, place);
  llvm::Expected<std::vector<size_t>> begins = std::vector<size_t>();
  if (StringRef counts = text; counts.consume_front("blocks:"))
    begins = choice.byBlocks(llvm::cantFail(readBlocks(counts)));
  else
    begins = choice.byNames(patternsOf(text));
  if (!begins)
    return begins.takeError();
  std::vector<int64_t> chunkOf;
  begins->push_back(line.size());
  for (auto [chunk, end] : llvm::enumerate(*begins))
    chunkOf.resize(end, int64_t(chunk));
  return chunkOf;
}

} // namespace weft::dist
