// Cuts programs into segments and makes routines of them, called once a microbatch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "passes/rt/FusionChoice.h"
#include "passes/rt/InPlace.h"
#include "passes/rt/Microbatches.h"
#include "passes/rt/Passes.h"
#include "passes/rt/RoutineTable.h"
#include "passes/rt/Segments.h"
#include "weft/Interfaces/KernelAttributes.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace weft::rt {
#define GEN_PASS_DEF_RTFORMROUTINES
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

/// What a segment's routine reads and makes, in terms of the program.
struct Interface {
  llvm::SetVector<Value> arguments, results;
  /// Constants that are not the same in all periods of the stretch: arguments.
  llvm::SmallDenseSet<Value> varying;
  /// By result: the state that it is the new value of, or null.
  SmallVector<Value> states;
};

struct Cut {
  Segment segment;
  /// Sums over microbatches that get their addend here.
  SmallVector<unsigned> sums;
  Interface interface;
  RoutineUse start, run; // which makes sums of nothing, and which does the work and adds to them
};

/// Ops of one block between loops, or of a loop's body.
struct Stretch {
  std::vector<Operation *> ops;
  std::optional<Microbatches> microbatches;
  std::vector<Cut> cuts;
  /// What the program itself brings together of the loop's results: sums whose addend no segment
  /// makes, and rows.
  SmallVector<unsigned> broughtTogether;
};

/// The name of a routine: what its ops are for.
StringRef nameOf(const Segment &segment) {
  bool forward = false, backward = false, update = false;
  for (Operation *op : segment.ops) {
    auto role = op->getAttrOfType<StringAttr>(nn::kRoleAttr);
    forward |= !role;
    update |= role && role.getValue() == nn::kRoleOptimizer;
    backward |= role && role.getValue() != nn::kRoleOptimizer;
  }
  if (segment.ops.empty())
    return "sum";
  if (update)
    return "update";
  return !backward ? "forward" : !forward ? "backward" : "both";
}

class Former {
public:
  Former(func::FuncOp function, RoutineTable &table, int64_t bucketBytes)
      : function(function), table(table), bucketBytes(bucketBytes),
        body(function.getBody().front()), builder(function.getContext()) {}

  LogicalResult run() {
    findStretches();
    if (llvm::none_of(stretches, [](const Stretch &stretch) {
          return llvm::any_of(stretch.cuts, [](const Cut &cut) { return cut.segment.isRoutine; });
        }))
      return success();
    findInterfaces();
    std::vector<Operation *> old;
    for (Operation &op : body.without_terminator())
      old.push_back(&op);
    builder.setInsertionPoint(body.getTerminator());
    for (Stretch &stretch : stretches)
      if (failed(stretch.microbatches ? emitLoop(stretch) : emitOnce(stretch)))
        return failure();
    for (OpOperand &result : body.getTerminator()->getOpOperands())
      result.set(valueOf(result.get()));
    for (Operation *op : llvm::reverse(old))
      op->erase();
    return success();
  }

private:
  bool isNumbered(const Stretch &stretch, Operation *op) const {
    return stretch.microbatches && stretch.microbatches->isNumbered(op);
  }

  void findStretches() {
    stretches.emplace_back();
    for (Operation &op : body.without_terminator()) {
      auto loop = dyn_cast<dist::RepeatOp>(op);
      if (!loop) {
        stretches.back().ops.push_back(&op);
        continue;
      }
      stretches.emplace_back();
      stretches.back().microbatches.emplace(loop);
      stretches.back().microbatches->forgetSums();
      for (Operation &inner : loop.getBody().front().without_terminator())
        stretches.back().ops.push_back(&inner);
      stretches.emplace_back();
    }
    for (Stretch &stretch : stretches)
      cut(stretch);
  }

  void cut(Stretch &stretch) {
    Segments segments(
        stretch.ops, stretch.microbatches.has_value(), bucketBytes,
        [&](Operation *op) { return isNumbered(stretch, op); },
        [&](Value value) {
          auto argument = dyn_cast<BlockArgument>(value);
          return argument ? nn::isState(function, argument.getArgNumber())
                          : stretch.microbatches.has_value();
        });
    for (const Segment &segment : segments.list())
      stretch.cuts.push_back({segment, {}, {}, {}, {}});
    if (stretch.microbatches)
      addSums(stretch);
  }

  /// Sums of what communication makes that stays out of routines have routines of their own: at the
  /// end, where none of the communication is waited for yet.
  void addSums(Stretch &stretch) {
    llvm::MapVector<Value, SmallVector<unsigned>> sumsOf; // by what makes their addends
    for (auto [number, addend] : llvm::enumerate(stretch.microbatches->addends()))
      if (stretch.microbatches->isSum(number))
        sumsOf[rootOf(addend)].push_back(number);
      else
        stretch.broughtTogether.push_back(number);
    std::vector<Cut> own;
    for (Cut &cut : stretch.cuts) {
      SmallVector<unsigned> sums;
      for (Operation *op : cut.segment.ops)
        for (Value result : op->getResults())
          if (auto found = sumsOf.find(result); found != sumsOf.end())
            llvm::append_range(sums, std::exchange(found->second, {}));
      if (cut.segment.isRoutine)
        cut.sums = sums;
      else if (!sums.empty())
        own.push_back({{{}, true, std::nullopt}, sums, {}, {}, {}});
    }
    llvm::append_range(stretch.cuts, own);
    for (auto &[maker, sums] : sumsOf)
      llvm::append_range(stretch.broughtTogether, sums);
    llvm::sort(stretch.broughtTogether);
  }

  static Value rootOf(Value value) {
    while (value.getDefiningOp() && isSource(value.getDefiningOp()) &&
           value.getDefiningOp()->getNumOperands() > 0)
      value = value.getDefiningOp()->getOperand(0);
    return value;
  }

  //===--------------------------------------------------------------------===//
  // What routines read and make

  void findInterfaces() {
    for (Stretch &stretch : stretches) {
      findVarying(stretch);
      for (Cut &cut : stretch.cuts)
        if (cut.segment.isRoutine)
          findInterface(stretch, cut);
    }
    findUpdates();
  }

  /// Calls `each` for what the ops read, through sources, which it may decline to look into.
  static void forEachRead(ArrayRef<Value> values, llvm::function_ref<bool(Value)> each) {
    SmallVector<Value> work(llvm::reverse(values));
    while (!work.empty()) {
      Value value = work.pop_back_val();
      Operation *maker = value.getDefiningOp();
      if (each(value) && maker && isSource(maker))
        llvm::append_range(work, llvm::reverse(maker->getOperands()));
    }
  }

  SmallVector<Value> readBy(const Stretch &stretch, const Cut &cut) const {
    SmallVector<Value> values;
    for (Operation *op : cut.segment.ops)
      llvm::append_range(values, op->getOperands());
    for (unsigned sum : cut.sums)
      values.push_back(stretch.microbatches->addends()[sum]);
    return values;
  }

  SmallVector<Value> constantsOf(const Stretch &stretch, const Cut &cut) const {
    SmallVector<Value> constants;
    forEachRead(readBy(stretch, cut), [&](Value value) {
      if (Operation *maker = value.getDefiningOp();
          maker && maker->hasTrait<OpTrait::ConstantLike>())
        constants.push_back(value);
      return true;
    });
    return constants;
  }

  /// Periods of one stretch read the same constants, or they are arguments.
  void findVarying(Stretch &stretch) {
    std::map<unsigned, std::vector<std::pair<Cut *, SmallVector<Value>>>> byStretch;
    for (Cut &cut : stretch.cuts)
      if (cut.segment.stretch)
        byStretch[*cut.segment.stretch].push_back({&cut, constantsOf(stretch, cut)});
    for (auto &[number, periods] : byStretch) {
      size_t count = periods[0].second.size();
      if (llvm::any_of(periods, [&](auto &period) { return period.second.size() != count; }))
        continue;
      for (size_t i = 0; i < count; ++i) {
        auto attributes = [&](auto &period) {
          return period.second[i].getDefiningOp()->getAttr("value");
        };
        if (llvm::all_equal(llvm::map_range(periods, attributes)))
          continue;
        for (auto &[cut, constants] : periods)
          cut->interface.varying.insert(constants[i]);
      }
    }
  }

  void findInterface(Stretch &stretch, Cut &cut) {
    Interface &interface = cut.interface;
    llvm::SmallPtrSet<Operation *, 16> own(cut.segment.ops.begin(), cut.segment.ops.end());
    forEachRead(readBy(stretch, cut), [&](Value value) {
      Operation *maker = value.getDefiningOp();
      if (maker && own.contains(maker))
        return false;
      bool isArgument = !maker || !isSource(maker) || isNumbered(stretch, maker) ||
                        interface.varying.contains(value);
      if (isArgument)
        interface.arguments.insert(value);
      return !isArgument;
    });
    for (Operation *op : cut.segment.ops)
      for (Value result : op->getResults())
        if (isReadOutside(stretch, result, own))
          interface.results.insert(result);
    interface.states.resize(interface.results.size());
  }

  /// What ends a loop reads addends, of which the routine makes sums, and rows, which it does not
  /// put in place: that is different in each microbatch.
  static bool isReadOutside(const Stretch &stretch, Value value,
                            const llvm::SmallPtrSet<Operation *, 16> &own) {
    SmallVector<OpOperand *> uses;
    auto follow = [&](Value read) {
      for (OpOperand &use : read.getUses())
        uses.push_back(&use);
    };
    follow(value);
    while (!uses.empty()) {
      OpOperand *use = uses.pop_back_val();
      Operation *user = use->getOwner();
      bool isSum =
          isa<dist::AccumulateOp>(user) && stretch.microbatches->isSum(use->getOperandNumber());
      if (own.contains(user) || isSum)
        continue;
      if (!isSource(user))
        return true;
      follow(user->getResult(0));
    }
    return false;
  }

  /// Results that are new values of states overwrite them, if nothing reads the old ones later.
  void findUpdates() {
    llvm::DenseMap<StringAttr, Value> states;
    for (BlockArgument arg : function.getArguments())
      if (nn::isState(function, arg.getArgNumber()))
        states[function.getArgAttrOfType<StringAttr>(arg.getArgNumber(), nn::kNameAttr)] = arg;
    llvm::DenseMap<Operation *, size_t> order;
    llvm::DenseMap<Value, Cut *> makers;
    size_t number = 0;
    for (Stretch &stretch : stretches)
      for (Cut &cut : stretch.cuts) {
        ++number;
        for (Operation *op : cut.segment.ops)
          order[op] = number;
        if (!stretch.microbatches)
          for (Value result : cut.interface.results)
            makers[result] = &cut;
      }
    for (OpOperand &end : body.getTerminator()->getOpOperands()) {
      StringAttr name = nn::updatedState(function, end.getOperandNumber());
      if (Value state = name ? states.lookup(name) : Value())
        findUpdate(end.get(), state, makers.lookup(end.get()), order);
    }
  }

  void findUpdate(Value made, Value state, Cut *maker,
                  const llvm::DenseMap<Operation *, size_t> &order) {
    if (!maker || made.getType() != state.getType() || !maker->interface.arguments.contains(state))
      return;
    size_t own = order.lookup(made.getDefiningOp());
    SmallVector<Operation *> readers(state.getUsers());
    while (!readers.empty()) {
      Operation *reader = readers.pop_back_val();
      if (isSource(reader))
        llvm::append_range(readers, reader->getUsers());
      else if (auto found = order.find(reader); found == order.end() || found->second > own)
        return;
    }
    Interface &interface = maker->interface;
    size_t result = llvm::find(interface.results, made) - interface.results.begin();
    if (!llvm::is_contained(interface.states, state))
      interface.states[result] = state;
  }

  //===--------------------------------------------------------------------===//
  // Routines

  /// A routine without arguments, and a builder in it.
  std::pair<func::FuncOp, OpBuilder> begin() {
    OpBuilder inside(function);
    auto routine =
        func::FuncOp::create(inside, function.getLoc(), "routine", inside.getFunctionType({}, {}));
    routine.setPrivate();
    routine->setAttr(kRoutineAttr, inside.getUnitAttr());
    inside.setInsertionPointToEnd(routine.addEntryBlock());
    return {routine, inside};
  }

  RoutineUse end(func::FuncOp routine, OpBuilder &inside, ArrayRef<Value> results, StringRef name) {
    func::ReturnOp::create(inside, function.getLoc(), results);
    routine.setFunctionType(
        inside.getFunctionType(routine.front().getArgumentTypes(), ValueRange(results).getTypes()));
    return table.add(routine, name);
  }

  /// The routine of a cut; it adds to sums, which are its last arguments.
  RoutineUse build(const Stretch &stretch, const Cut &cut) {
    const Interface &interface = cut.interface;
    auto [routine, inside] = begin();
    Block *block = &routine.front();
    IRMapping map;
    for (Value argument : interface.arguments)
      map.map(argument, block->addArgument(argument.getType(), function.getLoc()));
    for (Operation *op : cut.segment.ops) {
      for (Value operand : op->getOperands())
        copySources(inside, operand, map);
      inside.clone(*op, map);
    }
    SmallVector<Value> results;
    SmallVector<int64_t> overwritten;
    for (auto [result, state] : llvm::zip(interface.results, interface.states)) {
      results.push_back(map.lookup(result));
      overwritten.push_back(
          state ? llvm::find(interface.arguments, state) - interface.arguments.begin() : -1);
    }
    for (unsigned sum : cut.sums) {
      Value addend = stretch.microbatches->addends()[sum];
      copySources(inside, addend, map);
      overwritten.push_back(block->getNumArguments());
      Value soFar = block->addArgument(stretch.microbatches->sumType(sum), function.getLoc());
      results.push_back(stretch.microbatches->add(inside, soFar, map.lookup(addend), sum));
    }
    if (llvm::any_of(overwritten, [](int64_t argument) { return argument >= 0; }))
      routine->setAttr(kInPlaceAttr, inside.getDenseI64ArrayAttr(overwritten));
    return end(routine, inside, results, nameOf(cut.segment));
  }

  /// The routine that makes a cut's sums before anything is added.
  RoutineUse buildStart(const Stretch &stretch, const Cut &cut) {
    auto [routine, inside] = begin();
    SmallVector<Value> results;
    llvm::SmallDenseMap<Attribute, Value> scalars;
    for (unsigned sum : cut.sums) {
      TypedAttr start = stretch.microbatches->startOf(sum);
      Value &scalar = scalars[start];
      if (!scalar) {
        auto type = RankedTensorType::get({}, start.getType());
        scalar = nn::ConstantOp::create(inside, function.getLoc(), type,
                                        DenseElementsAttr::get(type, Attribute(start)));
      }
      Value addend = stretch.microbatches->addends()[sum];
      auto nothing = nn::BroadcastOp::create(
          inside, addend.getLoc(), stretch.microbatches->sumType(sum), scalar, ArrayRef<int64_t>());
      if (Operation *maker = rootOf(addend).getDefiningOp())
        if (Attribute role = maker->getAttr(nn::kRoleAttr))
          nothing->setAttr(nn::kRoleAttr, role);
      results.push_back(nothing);
    }
    return end(routine, inside, results, "start");
  }

  /// Makes the sources that `value` is behind, as far as there is no value for them.
  static void copySources(OpBuilder &builder, Value value, IRMapping &map) {
    Operation *maker = value.getDefiningOp();
    if (map.contains(value) || !maker || !isSource(maker))
      return;
    for (Value operand : maker->getOperands())
      copySources(builder, operand, map);
    builder.clone(*maker, map);
  }

  //===--------------------------------------------------------------------===//
  // The program

  /// The value that now stands for an old one; sources are made anew where they are read.
  Value valueOf(Value value) {
    if (Value found = inner.lookupOrNull(value))
      return found;
    if (Value found = outer.lookupOrNull(value))
      return found;
    Operation *maker = value.getDefiningOp();
    if (!maker)
      return value;
    IRMapping &map = maker->getBlock() == &body ? outer : inner;
    [[maybe_unused]] LogicalResult copied = copy(*maker, map);
    assert(succeeded(copied) && "no source is communication over microbatches");
    return map.lookup(value);
  }

  LogicalResult copy(Operation &op, IRMapping &map) {
    for (Value operand : op.getOperands())
      map.map(operand, valueOf(operand));
    if (current)
      return current->copy(builder, op, microbatch, map);
    builder.clone(op, map);
    return success();
  }

  CallOp call(const RoutineUse &use, ArrayRef<Value> arguments) {
    func::FuncOp callee = table.functionOf(use);
    auto made = CallOp::create(builder, function.getLoc(), callee.getResultTypes(),
                               callee.getSymName(), arguments);
    if (current)
      made.setMicrobatch(microbatch);
    called.insert(made);
    table.addCall(use, made);
    return made;
  }

  SmallVector<Value> argumentsOf(const Cut &cut) {
    SmallVector<Value> arguments;
    for (Value argument : cut.interface.arguments)
      arguments.push_back(valueOf(argument));
    return arguments;
  }

  LogicalResult emitOnce(Stretch &stretch) {
    for (Cut &cut : stretch.cuts) {
      if (cut.segment.isRoutine) {
        cut.run = build(stretch, cut);
        CallOp made = call(cut.run, argumentsOf(cut));
        outer.map(cut.interface.results.getArrayRef(), made.getResults());
        continue;
      }
      for (Operation *op : cut.segment.ops)
        if (failed(copy(*op, outer)))
          return failure();
    }
    return success();
  }

  LogicalResult emitLoop(Stretch &stretch) {
    for (Cut &cut : stretch.cuts)
      if (cut.segment.isRoutine) {
        cut.run = build(stretch, cut);
        if (!cut.sums.empty() && !isSum(cut))
          cut.start = buildStart(stretch, cut);
      }
    std::vector<Value> sums(stretch.microbatches->addends().size());
    current = &*stretch.microbatches;
    for (microbatch = 0; microbatch < current->size(); ++microbatch)
      if (failed(emitMicrobatch(stretch, sums)))
        return failure();
    current = nullptr;
    for (auto [sum, result] : llvm::zip(sums, stretch.microbatches->getLoop().getResults()))
      outer.map(result, sum);
    return success();
  }

  LogicalResult emitMicrobatch(Stretch &stretch, std::vector<Value> &sums) {
    inner = IRMapping();
    Operation *before = builder.getInsertionPoint()->getPrevNode();
    for (Cut &cut : stretch.cuts) {
      if (cut.segment.isRoutine)
        emitCall(cut, sums);
      else
        for (Operation *op : cut.segment.ops)
          if (failed(copy(*op, inner)))
            return failure();
    }
    for (unsigned sum : stretch.broughtTogether)
      sums[sum] =
          current->combine(builder, sums[sum], valueOf(current->addends()[sum]), sum, microbatch);
    Block::iterator first = before ? std::next(before->getIterator()) : body.begin();
    for (Operation &op : llvm::make_range(first, builder.getInsertionPoint()))
      if (!called.contains(&op))
        op.setAttr(kMicrobatchAttr, builder.getI64IntegerAttr(microbatch));
    inner = IRMapping();
    return success();
  }

  /// It only adds up what communication brought, and so is set by the first of that.
  static bool isSum(const Cut &cut) { return cut.segment.ops.empty(); }

  void emitCall(const Cut &cut, std::vector<Value> &sums) {
    if (microbatch == 0 && isSum(cut)) {
      for (unsigned sum : cut.sums)
        sums[sum] = valueOf(current->addends()[sum]);
      return;
    }
    if (microbatch == 0 && !cut.sums.empty())
      for (auto [sum, nothing] : llvm::zip(cut.sums, call(cut.start, {}).getResults()))
        sums[sum] = nothing;
    SmallVector<Value> arguments = argumentsOf(cut);
    for (unsigned sum : cut.sums)
      arguments.push_back(sums[sum]);
    CallOp made = call(cut.run, arguments);
    size_t count = cut.interface.results.size();
    inner.map(cut.interface.results.getArrayRef(), made.getResults().take_front(count));
    for (auto [sum, value] : llvm::zip(cut.sums, made.getResults().drop_front(count)))
      sums[sum] = value;
  }

  func::FuncOp function;
  RoutineTable &table;
  int64_t bucketBytes;
  Block &body;
  OpBuilder builder;
  std::vector<Stretch> stretches;
  IRMapping outer, inner; // inner: of one microbatch
  llvm::DenseSet<Operation *> called;
  const Microbatches *current = nullptr;
  int64_t microbatch = 0;
};

struct FormRoutines : weft::rt::impl::RtFormRoutinesBase<FormRoutines> {
  using RtFormRoutinesBase::RtFormRoutinesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    RoutineTable table(module);
    for (func::FuncOp function : programsOf(module))
      if (failed(Former(function, table, bucketBytes).run()))
        return signalPassFailure();
    table.finish();
  }
};

} // namespace
