// Chooses what the backward pass computes anew.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "passes/step/Losses.h"
#include "passes/step/Passes.h"

namespace weft::step {
#define GEN_PASS_DEF_STEPMARKRECOMPUTE
#include "passes/step/Passes.h.inc"
} // namespace weft::step

using namespace mlir;
using namespace weft;

namespace {

/// Products and convolutions; attention is one whose memory is worth its time.
bool isExpensive(Operation *op) {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  std::optional<LibraryCall> call = kernel ? kernel.getLibraryCall() : std::nullopt;
  return call && !std::holds_alternative<AttentionCall>(*call);
}

/// The forward pass as a line of ops, and where it is narrow.
class ForwardPass {
public:
  explicit ForwardPass(func::FuncOp function) {
    for (BlockArgument arg : function.getArguments())
      (step::isState(function, arg.getArgNumber()) ? ofState : ofInput).insert(arg);
    for (Operation &op : function.getBody().front().without_terminator())
      if (!op.hasAttr(nn::kRoleAttr))
        add(&op);
    findCuts();
  }

  ArrayRef<Operation *> ops() const { return line; }
  /// Values that depend on weights and on inputs; all else is there anyway.
  bool isActivation(Value value) const { return ofState.contains(value) && ofInput.contains(value); }

  struct Cut {
    Value value;
    size_t position;
  };
  /// Values through which all that follows hangs on what was before, where
  /// something was joined (residuals) or a product made: what is kept there is
  /// worth keeping. So is the first one, as an embedding would need its table.
  ArrayRef<Cut> cuts() const { return narrow; }

private:
  void add(Operation *op) {
    bool state = llvm::any_of(op->getOperands(), [&](Value value) { return ofState.contains(value); });
    bool input = llvm::any_of(op->getOperands(), [&](Value value) { return ofInput.contains(value); });
    for (Value result : op->getResults()) {
      if (state)
        ofState.insert(result);
      if (input)
        ofInput.insert(result);
    }
    position[op] = line.size();
    line.push_back(op);
  }

  bool isWorthKeeping(Value value) {
    Operation *op = value.getDefiningOp();
    return op && (isExpensive(op) || llvm::count_if(op->getOperands(), [&](Value v) { return isActivation(v); }) > 1);
  }

  void findCuts() {
    std::vector<SmallVector<Value, 2>> ends(line.size());
    llvm::DenseSet<Value> alive;
    for (Operation *op : line)
      for (Value result : op->getResults())
        if (std::optional<size_t> last = isActivation(result) ? lastUse(result) : std::nullopt)
          ends[*last].push_back(result);
    for (auto [i, op] : llvm::enumerate(line)) {
      for (Value value : ends[i])
        alive.erase(value);
      for (Value result : op->getResults())
        if (isActivation(result) && lastUse(result))
          alive.insert(result);
      if (alive.size() == 1 && (narrow.empty() || isWorthKeeping(*alive.begin())) &&
          (narrow.empty() || narrow.back().value != *alive.begin()))
        narrow.push_back({*alive.begin(), i});
    }
  }

  /// By an op of the forward pass.
  std::optional<size_t> lastUse(Value value) {
    std::optional<size_t> last;
    for (Operation *user : value.getUsers())
      if (auto found = position.find(user); found != position.end())
        last = std::max(last.value_or(0), found->second);
    return last;
  }

  llvm::DenseSet<Value> ofState, ofInput;
  std::vector<Operation *> line;
  llvm::DenseMap<Operation *, size_t> position;
  SmallVector<Cut> narrow;
};

/// What stands between one cut and the next, as text.
std::vector<std::string> signatures(const ForwardPass &forward) {
  std::vector<std::string> texts;
  size_t from = 0;
  for (const ForwardPass::Cut &cut : forward.cuts()) {
    llvm::raw_string_ostream stream(texts.emplace_back());
    for (size_t i = from; i <= cut.position; ++i)
      stream << forward.ops()[i]->getName() << forward.ops()[i]->getResult(0).getType() << ';';
    from = cut.position + 1;
  }
  return texts;
}

/// The cuts that lie between repeated blocks: of the period that covers most
/// (the shortest of those), one cut a period; outside of it every cut.
llvm::DenseSet<Value> blockBorders(const ForwardPass &forward) {
  std::vector<std::string> texts = signatures(forward);
  size_t count = texts.size(), bestPeriod = 1, bestFrom = 0, bestLength = 0;
  for (size_t period = 1; period <= count / 2; ++period)
    for (size_t from = 0; from + period < count;) {
      size_t length = 0;
      while (from + length + period < count && texts[from + length] == texts[from + length + period])
        ++length;
      if (length >= period && length + period > bestLength) {
        bestPeriod = period;
        bestFrom = from;
        bestLength = length + period;
      }
      from += length + 1;
    }
  llvm::DenseSet<Value> kept;
  for (size_t i = 0; i < count; ++i) {
    bool within = i >= bestFrom && i < bestFrom + bestLength;
    // Cut i ends segment i.
    if (!within || (i - bestFrom) % bestPeriod == bestPeriod - 1)
      kept.insert(forward.cuts()[i].value);
  }
  return kept;
}

struct MarkRecompute : step::impl::StepMarkRecomputeBase<MarkRecompute> {
  using StepMarkRecomputeBase::StepMarkRecomputeBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (mode != "none" && mode != "selective" && mode != "full") {
      function.emitError() << "unknown mode '" << mode << "'; choose none, selective or full";
      return signalPassFailure();
    }
    if (mode == "none" || function.isExternal())
      return;
    ForwardPass forward(function);
    // Without a backward pass there is nothing to save, behind the last cut not yet.
    bool hasBackward = llvm::any_of(function.getBody().front(), [](Operation &op) { return op.hasAttr(nn::kRoleAttr); });
    if (!hasBackward || forward.cuts().empty())
      return;
    llvm::DenseSet<Value> kept;
    if (mode == "full")
      kept = blockBorders(forward);
    else
      for (const ForwardPass::Cut &cut : forward.cuts())
        kept.insert(cut.value);
    for (size_t i = 0; i <= forward.cuts().back().position; ++i) {
      Operation *op = forward.ops()[i];
      bool isActivation = llvm::any_of(op->getResults(), [&](Value value) { return forward.isActivation(value); });
      bool isKept = llvm::any_of(op->getResults(), [&](Value value) { return kept.contains(value); });
      if (isActivation && !isKept && (mode == "full" || !isExpensive(op)))
        op->setAttr(nn::kRecomputeAttr, UnitAttr::get(&getContext()));
    }
  }
};

} // namespace
