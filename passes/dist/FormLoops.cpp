// Turns what is split over microbatches into loops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/Passes.h"

#include "passes/dist/OpQueries.h"
#include "weft/Interfaces/OpInterfaces.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace weft::dist {
#define GEN_PASS_DEF_DISTFORMLOOPS
#include "passes/dist/Passes.h.inc"

namespace {

/// Loops are numbered in the order in which they run. Loop k consists of the
/// sums over microbatches that are due in it, and of all that they need in each
/// microbatch. Other ops stand in front of the first loop or op that needs them.
class LoopFormer {
public:
  LoopFormer(func::FuncOp function, MeshAttr mesh, AxisId axis)
      : function(function), mesh(mesh), axis(axis) {}

  LogicalResult run() {
    Block &body = function.getBody().front();
    for (Operation &op : body.without_terminator())
      ops.push_back(&op);
    if (llvm::none_of(ops, [&](Operation *op) { return isRepeated(op); }))
      return success();
    countLoops();
    findGathersWithin();
    findDeadlines();
    if (failed(fillLoops()))
      return failure();
    emit(body);
    return success();
  }

private:
  bool usesAxis(Value value) const {
    LocalAttr local = getLocal(value.getType());
    return local && llvm::is_contained(local.getValue().usedAxes(), axis);
  }
  /// Another value in each microbatch goes in or out.
  bool isRepeated(Operation *op) const {
    return llvm::any_of(op->getOperands(), [&](Value v) { return usesAxis(v); }) ||
           llvm::any_of(op->getResults(), [&](Value v) { return usesAxis(v); });
  }
  bool isSum(Operation *op) const {
    auto transition = dyn_cast<TransitionOpInterface>(op);
    return transition && transition.getTransitionKind() == TransitionKind::AllReduce &&
           llvm::is_contained(transition.getTransitionAxes(), axis);
  }
  /// What runs in the body of a loop.
  bool isWithin(Operation *op) const { return (isRepeated(op) && !isSum(op)) || sunk.contains(op); }

  /// The number of loops: one more than the sums that depend on one another.
  void countLoops() {
    DenseMap<Value, unsigned> level;
    for (Operation *op : ops) {
      unsigned most = 0;
      for (Value operand : op->getOperands())
        most = std::max(most, level.lookup(operand));
      if (isSum(op)) {
        ++most;
        loopCount = std::max(loopCount, most);
      }
      for (Value result : op->getResults())
        level[result] = most;
    }
  }

  /// Parameters that are stored split are gathered in each microbatch, so that
  /// they need not be kept whole; and what is made of them goes with them.
  void findGathersWithin() {
    DenseSet<Operation *> movable;
    for (Operation *op : llvm::reverse(ops))
      if (!isRepeated(op) && !op->use_empty() && llvm::all_of(op->getUsers(), [&](Operation *user) {
            return (isRepeated(user) && !isSum(user)) || movable.contains(user);
          }))
        movable.insert(op);
    for (Operation *op : ops) {
      auto part = op->getAttrOfType<StringAttr>(kStepPartAttr);
      bool gathers = part && (part == kForward || part == kBackward);
      bool follows = llvm::any_of(op->getOperands(), [&](Value operand) {
        return operand.getDefiningOp() && sunk.contains(operand.getDefiningOp());
      });
      if ((gathers || follows) && movable.contains(op))
        sunk.insert(op);
    }
  }

  /// As late as possible: sums in the last loop before they are read, other
  /// ops in front of the loop that reads them.
  void findDeadlines() {
    Operation *terminator = function.getBody().front().getTerminator();
    for (Operation *op : llvm::reverse(ops)) {
      unsigned due = loopCount;
      for (Operation *user : op->getUsers())
        if (user != terminator)
          due = std::min(due, deadline.lookup(user));
      deadline[op] = isSum(op) ? due - 1 : due;
    }
  }

  LogicalResult fillLoops() {
    loops.resize(loopCount);
    DenseMap<Operation *, unsigned> home;
    bool failedAny = false;
    for (auto [number, loop] : llvm::enumerate(loops)) {
      DenseSet<Operation *> needed;
      for (Operation *op : llvm::reverse(ops)) {
        if (isSum(op) && deadline.lookup(op) == number)
          loop.sums.push_back(op);
        bool due = (isSum(op) && deadline.lookup(op) == number) || needed.contains(op);
        if (!due)
          continue;
        if (!isSum(op))
          loop.body.push_back(op);
        for (Value operand : op->getOperands())
          if (Operation *maker = operand.getDefiningOp(); maker && isWithin(maker))
            needed.insert(maker);
      }
      std::reverse(loop.sums.begin(), loop.sums.end());
      std::reverse(loop.body.begin(), loop.body.end());
      for (Operation *op : loop.body) {
        auto [first, isNew] = home.try_emplace(op, number);
        if (!isNew && !isCheap(op))
          failedAny |= failed(refuse(op));
      }
    }
    return failure(failedAny);
  }

  /// What may run in each of several loops: moves, elementwise work and small sums.
  bool isCheap(Operation *op) const {
    if (sunk.contains(op))
      return true;
    if (auto transition = dyn_cast<TransitionOpInterface>(op))
      return !transition.isCommunication();
    return !isArithmeticBound(op);
  }

  LogicalResult refuse(Operation *op) {
    return op->emitError()
           << "'" << nodeName(op)
           << "' is needed before and after a reduction over the whole batch, but only one "
              "microbatch exists at a time; use --batch-stats per-microbatch if these are "
              "statistics of the batch, or --microbatches 1";
  }

  void emit(Block &body) {
    // What is not in a loop moves to the end, group by group; loops in between.
    Operation *terminator = body.getTerminator();
    for (unsigned number = 0; number <= loopCount; ++number) {
      for (Operation *op : ops)
        if (!isWithin(op) && !isSum(op) && deadline.lookup(op) == number)
          op->moveBefore(terminator);
      if (number < loopCount && !loops[number].sums.empty())
        emitLoop(loops[number], terminator);
    }
    for (Operation *op : llvm::reverse(ops))
      if (isWithin(op) || isSum(op))
        op->erase();
  }

  struct Loop {
    SmallVector<Operation *> sums, body;
  };

  void emitLoop(const Loop &loop, Operation *before) {
    OpBuilder builder(before);
    SmallVector<Type> types;
    SmallVector<Attribute> accumulate;
    for (Operation *sum : loop.sums) {
      types.push_back(sum->getResult(0).getType());
      accumulate.push_back(TypeAttr::get(cast<TransitionOpInterface>(sum).getAccumulateType()));
    }
    auto repeat = RepeatOp::create(builder, function.getLoc(), types,
                                   builder.getStringAttr(mesh.getValue().axes[axis].name));
    builder.createBlock(&repeat.getBody());
    IRMapping mapping;
    for (Operation *op : loop.body)
      builder.clone(*op, mapping);
    SmallVector<Value> summed;
    for (Operation *sum : loop.sums)
      summed.push_back(mapping.lookupOrDefault(sum->getOperand(0)));
    AccumulateOp::create(builder, function.getLoc(), summed, builder.getArrayAttr(accumulate));
    for (auto [sum, result] : llvm::zip_equal(loop.sums, repeat.getResults()))
      sum->getResult(0).replaceAllUsesWith(result);
  }

  func::FuncOp function;
  MeshAttr mesh;
  AxisId axis;
  SmallVector<Operation *> ops;
  DenseSet<Operation *> sunk;
  /// Of a sum: the loop that makes it. Of another op: the loop before which, or
  /// in which at the earliest, it is needed.
  DenseMap<Operation *, unsigned> deadline;
  std::vector<Loop> loops;
  unsigned loopCount = 0;
};

struct FormLoops : impl::DistFormLoopsBase<FormLoops> {
  void runOnOperation() override {
    MeshAttr mesh = getMesh(getOperation());
    AxisList temporal = mesh ? mesh.getValue().temporalAxes() : AxisList();
    if (temporal.empty())
      return markAllAnalysesPreserved();
    if (temporal.size() > 1) {
      getOperation().emitError() << "has " << temporal.size()
                                 << " temporal axes; microbatches are counted by one";
      return signalPassFailure();
    }
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(LoopFormer(function, mesh, temporal.front()).run()))
        signalPassFailure();
  }
};

} // namespace
} // namespace weft::dist
