// Turns what is split over microbatches into loops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/Passes.h"

#include "dialects/nn/IR/NnProgram.h"
#include "passes/dist/OpQueries.h"
#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Support/InputError.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace weft::dist {
#define GEN_PASS_DEF_DISTFORMLOOPS
#include "passes/dist/Passes.h.inc"

namespace {

/// Loops are numbered in the order in which they run. Loop k consists of the ends - sums over
/// microbatches, and values of which it puts the rows together - that are due in it, and of all
/// that they need in each microbatch. Other ops stand in front of the first loop or op that needs
/// them.
class LoopFormer {
public:
  LoopFormer(func::FuncOp function, MeshAttr mesh, AxisId axis)
      : function(function), mesh(mesh), axis(axis) {}

  LogicalResult run() {
    Block &body = function.getBody().front();
    for (Operation &op : body.without_terminator()) {
      ops.push_back(&op);
      if (usesAxis(&op))
        repeated.insert(&op);
    }
    if (repeated.empty())
      return success();
    countLoops();
    findGathersWithin();
    do {
      findDeadlines();
      fillLoops();
    } while (advanceGathers());
    if (failed(refuseRepeated()))
      return failure();
    emit(body);
    return success();
  }

private:
  struct Loop {
    SmallVector<Operation *> ends, body;
  };

  bool usesAxis(Value value) const {
    LocalAttr local = getLocal(value.getType());
    if (!local)
      return false;
    const Placement &placement = local.getValue();
    // Indices of rows are those within a microbatch.
    return llvm::is_contained(placement.usedAxes(), axis) ||
           llvm::any_of(placement.localIndices, [&](const LocalIndex &index) {
             return llvm::any_of(index.factor, [&](const PlacedFactor &part) {
               return llvm::is_contained(part.axes, axis);
             });
           });
  }
  bool usesAxis(Operation *op) const {
    return llvm::any_of(op->getOperands(), [&](Value v) { return usesAxis(v); }) ||
           llvm::any_of(op->getResults(), [&](Value v) { return usesAxis(v); });
  }
  bool isRepeated(Operation *op) const { return repeated.contains(op); }
  bool isEnd(Operation *op) const {
    auto transition = dyn_cast<TransitionOpInterface>(op);
    return transition && transition.isCommunication() &&
           llvm::is_contained(transition.getTransitionAxes(), axis);
  }
  static bool isGather(Operation *end) {
    return cast<TransitionOpInterface>(end).getTransitionKind() == TransitionKind::AllGather;
  }
  /// What runs in the body of a loop.
  bool isWithin(Operation *op) const { return (isRepeated(op) && !isEnd(op)) || sunk.contains(op); }

  /// As many loops as there are ends that depend on one another.
  void countLoops() {
    for (Operation *op : ops) {
      unsigned &least = earliest[op];
      for (Value operand : op->getOperands())
        if (Operation *maker = operand.getDefiningOp())
          least = std::max(least, earliest.lookup(maker) + isEnd(maker));
      if (isEnd(op))
        loopCount = std::max(loopCount, least + 1);
    }
  }

  /// Parameters that are stored split are gathered in each microbatch, so that
  /// they need not be kept whole; and what is made of them goes with them.
  void findGathersWithin() {
    DenseSet<Operation *> movable;
    for (Operation *op : llvm::reverse(ops))
      if (!isRepeated(op) && !op->use_empty() && llvm::all_of(op->getUsers(), [&](Operation *user) {
            return (isRepeated(user) && !isEnd(user)) || movable.contains(user);
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

  /// As late as possible: ends in the last loop before they are read, other
  /// ops in front of the loop that reads them.
  void findDeadlines() {
    Operation *terminator = function.getBody().front().getTerminator();
    for (Operation *op : llvm::reverse(ops)) {
      unsigned due = loopCount;
      for (Operation *user : op->getUsers())
        if (user != terminator)
          due = std::min(due, deadline.lookup(user));
      deadline[op] = isEnd(op) ? due - 1 : due;
      if (auto found = advanced.find(op); found != advanced.end())
        deadline[op] = std::min(deadline[op], found->second);
    }
  }

  void fillLoops() {
    loops.clear();
    for (unsigned number = 0; number < loopCount; ++number)
      loops.push_back(
          loopOf([&](Operation *op) { return isEnd(op) && deadline.lookup(op) == number; }));
  }

  /// The ends for which `isDue` holds, and what they need in each microbatch.
  Loop loopOf(llvm::function_ref<bool(Operation *)> isDue) const {
    Loop loop;
    DenseSet<Operation *> needed;
    for (Operation *op : llvm::reverse(ops)) {
      if (isDue(op))
        loop.ends.push_back(op);
      else if (needed.contains(op))
        loop.body.push_back(op);
      else
        continue;
      for (Value operand : op->getOperands())
        if (Operation *maker = operand.getDefiningOp(); maker && isWithin(maker))
          needed.insert(maker);
    }
    std::reverse(loop.ends.begin(), loop.ends.end());
    std::reverse(loop.body.begin(), loop.body.end());
    return loop;
  }

  /// Rows are put together by the first loop that makes what is dear of them, so that no later one
  /// makes it again. Whether any was to be by a later one.
  bool advanceGathers() {
    for (Operation *gather : ops) {
      if (!isEnd(gather) || !isGather(gather) || loopCount == 1)
        continue;
      Loop own = loopOf([&](Operation *op) { return op == gather; });
      for (unsigned number = earliest.lookup(gather); number < deadline.lookup(gather); ++number)
        if (llvm::any_of(own.body, [&](Operation *op) {
              return !isCheap(op) && llvm::is_contained(loops[number].body, op);
            })) {
          advanced[gather] = number;
          return true;
        }
    }
    return false;
  }

  /// What may run in each of several loops: moves, elementwise work and small sums.
  bool isCheap(Operation *op) const {
    if (sunk.contains(op))
      return true;
    if (auto transition = dyn_cast<TransitionOpInterface>(op))
      return !transition.isCommunication();
    return !isArithmeticBound(op);
  }

  LogicalResult refuseRepeated() {
    DenseMap<Operation *, unsigned> home;
    for (auto [number, loop] : llvm::enumerate(loops))
      for (Operation *op : loop.body)
        if (auto [first, isNew] = home.try_emplace(op, number); !isNew && !isCheap(op))
          return refuse(op, loops[first->second]);
    return success();
  }

  LogicalResult refuse(Operation *op, const Loop &before) {
    auto *gather = llvm::find_if(
        before.ends, [](Operation *end) { return isGather(end) && !readerOf(end).empty(); });
    std::string event = gather == before.ends.end()
                            ? "a reduction over the whole batch"
                            : "'" + readerOf(*gather) + "' reads the rows of all microbatches";
    InFlightDiagnostic error = emitInputError(op);
    error << "'" << nodeName(op) << "' is needed before and after " << event
          << ", but only one microbatch exists at a time; ";
    if (StringRef weight = weightOfSamples(); !weight.empty())
      error << "weight '" << weight << "' has a row for each sample: leave it as it is with "
            << "--freeze, or use --microbatches 1";
    else if (function->getParentOfType<ModuleOp>().lookupSymbol("step"))
      error << "use --batch-stats per-microbatch if these are statistics of the batch, or "
               "--microbatches 1";
    else
      error << "use --microbatches 1";
    return error;
  }

  /// The name of a parameter of which each microbatch reads other rows; "" if there is none.
  StringRef weightOfSamples() const {
    for (Operation *op : ops) {
      auto argument =
          op->getNumOperands() == 1 ? dyn_cast<BlockArgument>(op->getOperand(0)) : BlockArgument();
      if (argument && cast<RankedTensorType>(argument.getType()).getRank() > 1 &&
          nn::isParameter(function, argument.getArgNumber()) && !usesAxis(Value(argument)) &&
          usesAxis(op) && !op->hasAttr(nn::kRoleAttr))
        return nn::argumentName(function, argument.getArgNumber());
    }
    return "";
  }

  /// Who else than the caller of the program reads what a loop has made, wherever it lies; "" if
  /// nobody does.
  static std::string readerOf(Operation *end) {
    for (Operation *user : end->getUsers()) {
      if (user->hasTrait<OpTrait::IsTerminator>())
        continue;
      std::string reader = isa<TransitionOpInterface>(user) ? readerOf(user) : nodeName(user);
      if (!reader.empty())
        return reader;
    }
    return "";
  }

  /// Rows that the program computes with count among its results' no more.
  void tellKept(Operation *gather) {
    std::string reader = readerOf(gather);
    if (!reader.empty())
      gather->emitWarning() << "'" << reader
                            << "' needs the rows of all microbatches at once: it runs once, on the "
                               "whole batch, and "
                            << bytesOf(gather->getResult(0)) << " bytes are kept for it";
  }

  void emit(Block &body) {
    // What is not in a loop moves to the end, group by group; loops in between.
    Operation *terminator = body.getTerminator();
    for (unsigned number = 0; number <= loopCount; ++number) {
      for (Operation *op : ops)
        if (!isWithin(op) && !isEnd(op) && deadline.lookup(op) == number)
          op->moveBefore(terminator);
      if (number < loopCount && !loops[number].ends.empty())
        emitLoop(loops[number], terminator);
    }
    for (Operation *op : llvm::reverse(ops))
      if (isWithin(op) || isEnd(op))
        op->erase();
  }

  void emitLoop(const Loop &loop, Operation *before) {
    OpBuilder builder(before);
    SmallVector<Type> types;
    SmallVector<Attribute> accumulate;
    for (Operation *end : loop.ends) {
      Type type = end->getResult(0).getType();
      types.push_back(type);
      accumulate.push_back(
          TypeAttr::get(isGather(end) ? getElementTypeOrSelf(type)
                                      : cast<TransitionOpInterface>(end).getAccumulateType()));
      if (isGather(end))
        tellKept(end);
    }
    auto repeat = RepeatOp::create(builder, function.getLoc(), types,
                                   builder.getStringAttr(mesh.getValue().axes[axis].name),
                                   DenseI64ArrayAttr());
    builder.createBlock(&repeat.getBody());
    IRMapping mapping;
    for (Operation *op : loop.body)
      builder.clone(*op, mapping);
    SmallVector<Value> ended;
    for (Operation *end : loop.ends)
      ended.push_back(mapping.lookupOrDefault(end->getOperand(0)));
    AccumulateOp::create(builder, function.getLoc(), ended, builder.getArrayAttr(accumulate));
    for (auto [end, result] : llvm::zip_equal(loop.ends, repeat.getResults()))
      end->getResult(0).replaceAllUsesWith(result);
  }

  func::FuncOp function;
  MeshAttr mesh;
  AxisId axis;
  SmallVector<Operation *> ops;
  /// Those into or out of which another value goes in each microbatch.
  DenseSet<Operation *> repeated;
  DenseSet<Operation *> sunk;
  /// Of an end: the loop that makes it. Of another op: the loop before which, or
  /// in which at the earliest, it is needed.
  DenseMap<Operation *, unsigned> deadline;
  /// The first loop, or what stands before which, can have what the op reads.
  DenseMap<Operation *, unsigned> earliest;
  /// Of gathers: a loop before their deadline.
  DenseMap<Operation *, unsigned> advanced;
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
