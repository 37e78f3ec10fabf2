// Branches and loops: both walked when compiling, as often as they run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/GraphConverter.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

/// Runs of a loop's body that are written out.
static constexpr int64_t kMostRuns = 4096;

const llvm::StringMap<GraphConverter::Walk> &GraphConverter::controlFlow() {
  static const llvm::StringMap<Walk> walks = {{"If", &GraphConverter::convertIf},
                                              {"Loop", &GraphConverter::convertLoop},
                                              {"Scan", &GraphConverter::convertScan}};
  return walks;
}

void GraphConverter::convertIf(NodeOp node, const Scope &scope) {
  Location loc = locationOf(node, scope);
  SmallVector<Value> inputs;
  if (!lookupInputs(node, inputs))
    return;
  if (!inputs[0]) {
    error(loc) << "the condition of 'If' is missing";
    return;
  }
  if (!b.isBool(inputs[0]) || b.sizeOf(b.shapeOf(inputs[0])) != 1) {
    error(loc) << "the condition of 'If' must be one bool, not " << inputs[0].getType();
    return;
  }
  auto branch = [&](llvm::StringRef name) -> std::optional<SmallVector<Value>> {
    Region *region = node.getGraphRegion(name);
    if (!region || region->empty()) {
      error(loc) << "'If' lacks its graph '" << name << "'";
      return std::nullopt;
    }
    if (size_t inputs = region->front().getNumArguments()) {
      error(loc) << "graph '" << name << "' of 'If' declares " << inputs
                 << " inputs; a branch has none, but reads the values around it";
      return std::nullopt;
    }
    convertBlock(region->front(), scope);
    SmallVector<Value> results = lookup(region->front().getTerminator()->getOperands());
    return llvm::is_contained(results, Value()) ? std::nullopt : std::optional(results);
  };
  if (std::optional<HostTensor> condition = b.known(inputs[0])) {
    if (auto results = branch(condition->integers[0] ? "then_branch" : "else_branch"))
      setResults(node, *results, loc);
    return;
  }
  // Graphs have no effects, so both branches may run and one result be chosen.
  size_t before = b.lookups.size();
  auto onTrue = branch("then_branch"), onFalse = branch("else_branch");
  // The branch not taken may look up anything.
  b.lookups.truncate(before);
  if (!onTrue || !onFalse)
    return;
  if (onTrue->size() != onFalse->size()) {
    error(loc) << "the branches of 'If' make " << onTrue->size() << " and " << onFalse->size()
               << " outputs; they must make the same number";
    return;
  }
  b.loc = loc;
  SmallVector<Value> chosen;
  for (auto [x, y] : llvm::zip_equal(*onTrue, *onFalse)) {
    if (x.getType() != y.getType()) {
      error(loc) << "the branches of 'If' make " << x.getType() << " and " << y.getType()
                 << "; with a condition that is not known at compile time they "
                    "must agree";
      return;
    }
    chosen.push_back(b.select(b.reshape(inputs[0], {}), x, y));
  }
  setResults(node, chosen, loc);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

std::optional<SmallVector<Value>> GraphConverter::convertBody(NodeOp node, const Scope &scope,
                                                              int64_t run,
                                                              ArrayRef<Value> arguments,
                                                              size_t numResults) {
  Region *region = node.getGraphRegion("body");
  if (!region || region->empty() || region->front().getNumArguments() != arguments.size()) {
    error(locationOf(node, scope)) << "'" << node.getOpType() << "' lacks a graph 'body' with "
                                   << arguments.size() << " inputs";
    return std::nullopt;
  }
  if (llvm::is_contained(arguments, Value())) {
    refuse(node, scope, "an argument of its body cannot be made");
    return std::nullopt;
  }
  // A run takes time though its body has no nodes, and loops in loops run often.
  if (!countNode(node.getLoc()))
    return std::nullopt;
  for (auto [argument, value] : llvm::zip_equal(region->front().getArguments(), arguments))
    values[argument] = value;
  Scope inner = scope;
  inner.prefix = prefixWithin(node, scope, std::to_string(run) + "/");
  convertBlock(region->front(), inner);
  SmallVector<Value> results = lookup(region->front().getTerminator()->getOperands());
  b.loc = locationOf(node, scope);
  if (failed || llvm::is_contained(results, Value()))
    return std::nullopt;
  if (results.size() == numResults)
    return results;
  refuse(node, scope, "its body has another number of outputs");
  return std::nullopt;
}

void GraphConverter::refuse(NodeOp node, const Scope &scope, const llvm::Twine &why) {
  b.fail(why);
  setResults(node, {Value()}, locationOf(node, scope));
}

void GraphConverter::refuseRuns(NodeOp node, const Scope &scope) {
  refuse(node, scope,
         "more than " + llvm::Twine(kMostRuns) + " runs of its body are not written out");
}

/// What the runs made of one output, along a new dim.
static Value stack(NnBuilder &b, ArrayRef<Value> parts, int64_t dim) {
  SmallVector<Value> slices;
  for (Value part : parts)
    slices.push_back(b.unsqueeze(part, {dim}));
  return b.concat(slices, dim);
}

namespace {
/// The attributes of a Scan, each a list of one number an input or output.
struct ScanPlan {
  SmallVector<int64_t> inputAxes, inputBackwards, outputAxes, outputBackwards;
};
} // namespace

static SmallVector<int64_t> listOf(NodeContext &n, llvm::StringRef name, int64_t size) {
  SmallVector<int64_t> list(size, 0);
  if (auto given = n.integers(name)) {
    if (static_cast<int64_t>(given->size()) == size)
      return *given;
    n.fail("'" + name + "' needs " + llvm::Twine(size) + " numbers");
  }
  return list;
}

void GraphConverter::convertScan(NodeOp node, const Scope &scope) {
  Location loc = locationOf(node, scope);
  SmallVector<Value> inputs;
  if (!lookupInputs(node, inputs))
    return;
  NodeContext n(b, node, *opsetOf(node, scope), scope.attributes, inputs);
  int64_t numScanned = n.integer("num_scan_inputs", 0),
          numStates = static_cast<int64_t>(inputs.size()) - numScanned,
          numStacked = node.getNumResults() - numStates;
  if (n.opset < 9)
    return refuse(node, scope, "its definition before opset 9 is not supported");
  if (llvm::is_contained(inputs, Value()))
    return refuse(node, scope, "an input is missing");
  if (numScanned < 1 || numStates < 0 || numStacked < 0)
    return refuse(node, scope, "'num_scan_inputs' does not fit its inputs and outputs");
  ScanPlan plan{
      listOf(n, "scan_input_axes", numScanned), listOf(n, "scan_input_directions", numScanned),
      listOf(n, "scan_output_axes", numStacked), listOf(n, "scan_output_directions", numStacked)};
  SmallVector<Value> states(inputs.begin(), inputs.begin() + numStates);
  ArrayRef<Value> scanned = ArrayRef<Value>(inputs).drop_front(numStates);
  int64_t runs = -1;
  for (auto [i, value] : llvm::enumerate(scanned)) {
    auto axis = n.normalize(plan.inputAxes[i], b.rankOf(value));
    if (!axis)
      return refuse(node, scope, "");
    plan.inputAxes[i] = *axis;
    int64_t extent = b.shapeOf(value)[*axis];
    if (runs >= 0 && extent != runs)
      return refuse(node, scope,
                    "its inputs are scanned over " + llvm::Twine(runs) + " and " +
                        llvm::Twine(extent) + " elements");
    runs = extent;
  }
  if (b.hasFailed() || runs > kMostRuns)
    return refuseRuns(node, scope);
  SmallVector<SmallVector<Value>> stacked(numStacked);
  for (int64_t run = 0; run < runs; ++run) {
    SmallVector<Value> arguments(states);
    for (auto [i, value] : llvm::enumerate(scanned)) {
      int64_t dim = plan.inputAxes[i];
      int64_t at = plan.inputBackwards[i] ? runs - 1 - run : run;
      arguments.push_back(b.squeeze(b.sliceDim(value, dim, at, 1), {dim}));
    }
    auto results = convertBody(node, scope, run, arguments, numStates + numStacked);
    if (!results)
      return;
    states.assign(results->begin(), results->begin() + numStates);
    for (int64_t i = 0; i < numStacked; ++i) {
      auto &parts = stacked[i];
      parts.insert(plan.outputBackwards[i] ? parts.begin() : parts.end(),
                   (*results)[numStates + i]);
    }
  }
  if (runs == 0 && numStacked > 0)
    return refuse(node, scope, "it is scanned over no elements");
  for (auto [i, parts] : llvm::enumerate(stacked)) {
    auto axis = n.normalize(plan.outputAxes[i], b.rankOf(parts.front()) + 1);
    states.push_back(axis ? stack(b, parts, *axis) : Value());
  }
  setResults(node, states, loc);
}

void GraphConverter::convertLoop(NodeOp node, const Scope &scope) {
  Location loc = locationOf(node, scope);
  SmallVector<Value> inputs;
  if (!lookupInputs(node, inputs))
    return;
  NodeContext n(b, node, *opsetOf(node, scope), scope.attributes, inputs);
  auto most = n.knownScalar(0, double(kMostRuns) + 1);
  auto goesOn = n.knownScalar(1, 1);
  if (!most || !goesOn)
    return refuse(node, scope, "");
  SmallVector<Value> states(llvm::drop_begin(inputs, std::min<size_t>(2, inputs.size())));
  if (llvm::is_contained(states, Value()))
    return refuse(node, scope, "an initial state is missing");
  SmallVector<SmallVector<Value>> stacked(
      std::max<int64_t>(0, node.getNumResults() - states.size()));
  int64_t run = 0;
  Value stillOn = b.full({}, b.i1(), 1);
  for (; run < *most && *goesOn; ++run) {
    if (run == kMostRuns)
      return refuseRuns(node, scope);
    SmallVector<Value> arguments = {b.full({}, b.i64(), run), stillOn};
    llvm::append_range(arguments, states);
    auto results = convertBody(node, scope, run, arguments, 1 + states.size() + stacked.size());
    if (!results)
      return;
    std::optional<HostTensor> condition = b.known(results->front());
    if (!b.isBool(results->front()))
      return refuse(node, scope, "its body's condition is no bool");
    if (!condition || condition->size() != 1)
      return refuse(node, scope,
                    "how often it runs is known when the program runs only; its trip count and "
                    "condition must be known at compile time");
    goesOn = condition->integers[0];
    auto made = ArrayRef<Value>(*results).drop_front();
    states.assign(made.begin(), made.begin() + states.size());
    for (auto [parts, value] : llvm::zip_equal(stacked, made.drop_front(states.size())))
      parts.push_back(value);
  }
  if (run == 0 && !stacked.empty())
    return refuse(node, scope, "its body never runs");
  for (ArrayRef<Value> parts : stacked)
    states.push_back(stack(b, parts, 0));
  setResults(node, states, loc);
}
