// How long each op takes, by the model of costs or as a person says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/stages/OpCosts.h"

#include "passes/dist/stages/StageAssignment.h"
#include "passes/dist/stages/StageCut.h"
#include "weft/Interfaces/OpInterfaces.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Regex.h"

using namespace mlir;

namespace weft::dist {

static constexpr StringRef kKinds[] = {"F", "B", "W"};

/// Three decades; sums of it stay finite, whatever is computed of them.
static constexpr double kMostSeconds = 1e9;

static llvm::Error wrongLine(int64_t number, const Twine &what) {
  return llvm::createStringError("line " + Twine(number) + ": " + what);
}

llvm::Expected<StageCosts> StageCosts::read(StringRef text) {
  StageCosts costs;
  int64_t number = 0;
  bool hasHead = false;
  for (StringRef line : llvm::split(text, '\n')) {
    ++number;
    // A regular expression may hold a '#'.
    line = line.starts_with("#") ? "" : line.split(" #").first.trim();
    if (line.empty())
      continue;
    if (!std::exchange(hasHead, true)) {
      if (line != "weft stage costs 1")
        return wrongLine(number, "'" + line + "' stands where 'weft stage costs 1' belongs");
      continue;
    }
    SmallVector<StringRef> words;
    line.split(words, ' ', -1, /*KeepEmpty=*/false);
    Line &entry = costs.lines.emplace_back();
    entry.pattern = words.front().str();
    entry.number = number;
    if (std::string why; !llvm::Regex(entry.pattern).isValid(why))
      return wrongLine(number, "'" + entry.pattern + "' is no regular expression: " + why);
    for (StringRef word : ArrayRef(words).drop_front()) {
      auto [name, value] = word.split('=');
      const auto *kind = llvm::find(kKinds, name);
      double seconds = 0;
      if (kind == std::end(kKinds) || value.getAsDouble(seconds) || !(seconds >= 0))
        return wrongLine(number, "'" + word + "' is not F, B or W = seconds, as F=0.004");
      if (seconds > kMostSeconds)
        return wrongLine(number, "'" + word +
                                     "' is more than 1e9 seconds; say how long one "
                                     "microbatch takes on one device");
      entry.given[size_t(kind - std::begin(kKinds))] = seconds;
    }
    if (!entry.given[0])
      return wrongLine(number, "'" + entry.pattern + "' has no F=SECONDS");
  }
  if (costs.lines.empty())
    return llvm::createStringError("says no costs; write 'weft stage costs 1' and lines as "
                                   "'^/h\\.0/ F=0.004'");
  return costs;
}

double OpCosts::seconds(Operation *op, double parts) const {
  if (auto found = given.find(op); found != given.end())
    return found->second / parts;
  FactorRule rule = globalRuleOf(op);
  double flops = 1, bytes = 0;
  for (const Factor &factor : rule.factors)
    flops *= double(factor.size);
  auto shardable = dyn_cast<ShardableOpInterface>(op);
  flops *= shardable ? shardable.getFlopsPerPoint() : 0;
  for (Value operand : op->getOperands())
    bytes += globalBytes(operand);
  for (Value result : op->getResults())
    bytes += globalBytes(result);
  return costs.seconds(flops / parts, bytes / parts, arithmeticOf(op->getResult(0).getType()));
}

namespace {

/// The ops of one line of the file, by kind, and what the model says of them.
struct Matched {
  std::array<std::vector<std::pair<Operation *, double>>, 3> ops;

  double modelled(size_t kind) const {
    double sum = 0;
    for (const auto &[op, seconds] : ops[kind])
      sum += seconds;
    return sum;
  }
};

} // namespace

llvm::Expected<OpCosts> OpCosts::of(func::FuncOp program, StageAssignment &ops,
                                    const CostModel &model, StringRef text) {
  OpCosts result(model);
  if (text.empty())
    return result;
  llvm::Expected<StageCosts> said = StageCosts::read(text);
  if (!said)
    return said.takeError();
  const Mesh &mesh = model.mesh();
  int64_t devicesOfStage = mesh.deviceCount() / mesh.size(*mesh.stageAxis());
  double parts = double(devicesOfStage);
  size_t onLine = ops.line().size();
  std::vector<Matched> matched(said->lines.size());
  llvm::StringMap<size_t> lineOfName; // the number of lines for names of none
  std::vector<llvm::Regex> patterns;
  for (const StageCosts::Line &line : said->lines)
    patterns.emplace_back(line.pattern);
  std::vector<std::string> names;
  bool goesBack = false;
  for (Operation &op : program.getBody().front().without_terminator()) {
    StageClass kind = ops.classOf(&op);
    if (kind != StageClass::Activation && kind != StageClass::Gradient)
      continue;
    size_t which = kind == StageClass::Activation ? 0 : isWeightGradient(&op) ? 2 : 1;
    goesBack |= which != 0;
    std::string name = nodeName(&op);
    auto [known, isNew] = lineOfName.try_emplace(name, 0);
    if (isNew) {
      auto line =
          llvm::find_if(patterns, [&](const llvm::Regex &line) { return line.match(name); });
      known->second = size_t(line - patterns.begin());
      if (line == patterns.end())
        names.push_back(name);
    }
    if (known->second < matched.size())
      matched[known->second].ops[which].push_back({&op, result.seconds(&op, parts)});
  }
  if (!names.empty()) {
    std::string first;
    for (StringRef name : ArrayRef(names).take_front(3))
      first += (first.empty() ? "'" : ", '") + name.str() + "'";
    return llvm::createStringError("says nothing of " + Twine(names.size()) + " nodes (" + first +
                                   (names.size() > 3 ? ", ..." : "") +
                                   "); add a last line '.* F=SECONDS' for what is left");
  }
  for (auto [line, own] : llvm::zip_equal(said->lines, matched)) {
    if (own.ops[0].empty())
      return wrongLine(line.number, "'" + line.pattern + "' matches none of the " + Twine(onLine) +
                                        " ops that depend on both weights and inputs, or only "
                                        "some that lines before it match");
    double longer = own.modelled(0) > 0 ? *line.given[0] / own.modelled(0) : 1;
    for (size_t kind = 0; kind < 3; ++kind) {
      double sum = own.modelled(kind), seconds = line.given[kind].value_or(sum * longer);
      if (own.ops[kind].empty() && seconds > 0 && goesBack)
        return wrongLine(line.number, "'" + line.pattern + "' has " + kKinds[kind] + "=" +
                                          std::to_string(seconds) +
                                          ", but its nodes have no such pass; leave it away");
      for (const auto &[op, modelled] : own.ops[kind])
        result.given[op] =
            parts * (sum > 0 ? seconds * modelled / sum : seconds / double(own.ops[kind].size()));
    }
  }
  return result;
}

FailureOr<OpCosts> opCostsOf(func::FuncOp program, StageAssignment &ops, const CostModel &model,
                             StringRef text) {
  llvm::Expected<OpCosts> costs = OpCosts::of(program, ops, model, text);
  if (!costs)
    return program.emitError() << "--stage-costs " << llvm::toString(costs.takeError());
  return std::move(*costs);
}

} // namespace weft::dist
