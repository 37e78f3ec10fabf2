// Reads who makes and who needs each moved value off the placed program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/Reasons.h"

#include "passes/dist/OpQueries.h"

#include "llvm/ADT/SetVector.h"

#include <set>

using namespace mlir;

namespace weft::dist {

namespace {

/// So many readers are named; the others are counted.
constexpr size_t kNamedReaders = 3;

class Recorder {
public:
  Recorder(func::FuncOp function, MeshAttr mesh) : function(function), mesh(mesh) {}

  void record(ReshardOp reshard) {
    Value origin = throughReshards(reshard.getInput());
    PlacementAttr from = getPlacement(reshard.getInput().getType()),
                  to = getPlacement(reshard.getResult().getType());
    Maker maker = makerOf(origin, awaited(from.getValue(), to.getValue()));
    llvm::SetVector<StringAttr> readers = readersOf(reshard.getResult(), maker.name);
    SmallVector<Attribute> first(readers.begin(),
                                 readers.begin() + std::min<size_t>(readers.size(), kNamedReaders));
    Builder builder(function.getContext());
    reshard->setAttr(kReasonAttr,
                     ReasonAttr::get(function.getContext(), builder.getStringAttr(maker.name),
                                     builder.getArrayAttr(first), readers.size(),
                                     builder.getStringAttr(roleOfMove(origin)), from, to,
                                     maker.summed));
  }

private:
  struct Maker {
    std::string name;
    PlacementAttr summed; // null: it does not reduce
  };

  static Value throughReshards(Value value) {
    while (auto reshard = value.getDefiningOp<ReshardOp>())
      value = reshard.getInput();
    return value;
  }

  /// The axes over which a reduction is due in `from` and not in `to`.
  static AxisList awaited(const Placement &from, const Placement &to) {
    AxisList axes;
    for (const PartialAxis &entry : from.partial)
      if (!llvm::is_contained(to.partial, entry))
        axes.push_back(entry.axis);
    return axes;
  }

  static bool isPartialOn(Value value, ArrayRef<AxisId> axes) {
    PlacementAttr placement = getPlacement(value.getType());
    return placement && llvm::any_of(placement.getValue().partial, [&](const PartialAxis &entry) {
             return llvm::is_contained(axes, entry.axis);
           });
  }

  /// Of a value that awaits a reduction over `axes` the op that reduces, the last if sums of
  /// several are added up; ops that only hand partial values on are passed. Else what makes the
  /// value.
  Maker makerOf(Value value, ArrayRef<AxisId> axes) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return {nn::argumentName(function, cast<BlockArgument>(value).getArgNumber()).str(), {}};
    auto isLater = [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); };
    std::set<Operation *, decltype(isLater)> pending(isLater);
    if (!axes.empty())
      pending.insert(op);
    while (!pending.empty()) {
      Operation *latest = *pending.begin();
      pending.erase(pending.begin());
      if (PlacementAttr summed = summedBy(latest, axes))
        return {nodeName(latest), summed};
      for (Value operand : latest->getOperands())
        if (Operation *maker = throughReshards(operand).getDefiningOp();
            maker && isPartialOn(operand, axes))
          pending.insert(maker);
    }
    return {nodeName(op), {}};
  }

  /// The factors that `op` reduces and `axes` split, as the dims of a placement; null if there are
  /// none.
  PlacementAttr summedBy(Operation *op, ArrayRef<AxisId> axes) {
    FactorRule rule = globalRuleOf(op);
    std::optional<OpSharding> sharding = shardingFromOperands(
        mesh.getValue(), rule, [&](ReduceKind kind) { return partialRulesOf(op, kind); },
        placementsOfTypes(op->getOperandTypes()));
    if (!sharding)
      return {};
    Placement summed;
    for (auto [factor, split] : llvm::zip_equal(rule.factors, sharding->factors))
      if (factor.kind == Factor::Kind::Reduction &&
          llvm::any_of(split, [&](const PlacedFactor &part) {
            return llvm::any_of(part.axes,
                                [&](AxisId axis) { return llvm::is_contained(axes, axis); });
          }))
        summed.dims.push_back(split);
    if (summed.dims.empty())
      return {};
    return PlacementAttr::get(function.getContext(), mesh,
                              canonicalize(mesh.getValue(), std::move(summed)));
  }

  /// Who needs the value, in program order. What follows within the maker's own node, such as its
  /// bias, hands it on, unless it is the end.
  llvm::SetVector<StringAttr> readersOf(Value value, StringRef maker) {
    SmallVector<OpOperand *> uses;
    collectUses(value, maker, uses);
    llvm::sort(uses, [](OpOperand *a, OpOperand *b) {
      return a->getOwner() == b->getOwner() ? a->getOperandNumber() < b->getOperandNumber()
                                            : a->getOwner()->isBeforeInBlock(b->getOwner());
    });
    llvm::SetVector<StringAttr> readers;
    for (OpOperand *use : uses) {
      Operation *op = use->getOwner();
      bool isReturn = op->hasTrait<OpTrait::IsTerminator>();
      readers.insert(StringAttr::get(op->getContext(),
                                     isReturn ? returnedName(function, use->getOperandNumber())
                                              : nodeName(op)));
    }
    return readers;
  }

  static void collectUses(Value value, StringRef maker, SmallVectorImpl<OpOperand *> &uses) {
    // A node that was written out, as one of many steps, is its own reader.
    constexpr size_t kMostPassed = 64;
    llvm::SetVector<Operation *> passed;
    auto look = [&](Value at) {
      for (OpOperand &use : at.getUses()) {
        Operation *op = use.getOwner();
        bool isReturn = op->hasTrait<OpTrait::IsTerminator>();
        if (passed.contains(op))
          continue;
        if (isReturn || passed.size() == kMostPassed ||
            (!isa<ReshardOp>(op) && nodeName(op) != maker))
          uses.push_back(&use);
        else
          passed.insert(op);
      }
    };
    look(value);
    for (size_t i = 0; i < passed.size(); ++i)
      for (Value result : passed[i]->getResults())
        look(result);
  }

  StringRef roleOfMove(Value origin) {
    auto argument = dyn_cast<BlockArgument>(origin);
    if (argument)
      return nn::isState(function, argument.getArgNumber()) ? "state" : "forward";
    switch (roleOf(origin.getDefiningOp())) {
    case OpRole::Forward:
      return "forward";
    case OpRole::Gradient:
      return "gradient";
    case OpRole::Optimizer:
      return "optimizer";
    }
    llvm_unreachable("role of an op");
  }

  func::FuncOp function;
  MeshAttr mesh;
};

} // namespace

void recordReasons(func::FuncOp function, MeshAttr mesh) {
  Recorder recorder(function, mesh);
  for (auto reshard : function.getBody().front().getOps<ReshardOp>())
    recorder.record(reshard);
}

ReasonAttr joinReasons(ReasonAttr first, ReasonAttr last) {
  if (!first || !last)
    return {};
  return ReasonAttr::get(first.getContext(), first.getMaker(), last.getReaders(),
                         last.getReaderCount(), first.getRole(), first.getFrom(), last.getTo(),
                         first.getSummed());
}

ReasonAttr shareReasons(ReasonAttr first, ReasonAttr other) {
  if (!first || !other)
    return {};
  llvm::SetVector<Attribute> readers(first.getReaders().begin(), first.getReaders().end());
  size_t named = readers.size();
  readers.insert(other.getReaders().begin(), other.getReaders().end());
  // Readers with names that both have are the same; of the others nobody knows.
  int64_t count = first.getReaderCount() + other.getReaderCount() -
                  int64_t(named + other.getReaders().size() - readers.size());
  ArrayRef<Attribute> most = readers.getArrayRef().take_front(kNamedReaders);
  return ReasonAttr::get(first.getContext(), first.getMaker(),
                         ArrayAttr::get(first.getContext(), most), count, first.getRole(),
                         first.getFrom(), first.getTo(), first.getSummed());
}

} // namespace weft::dist
