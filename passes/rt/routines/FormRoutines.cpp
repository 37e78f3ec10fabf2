// Cuts programs into segments and makes routines of them, called once a microbatch.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "passes/rt/InPlace.h"
#include "passes/rt/Passes.h"
#include "passes/rt/fusion/FusionChoice.h"
#include "passes/rt/routines/Cuts.h"
#include "weft/Interfaces/KernelAttributes.h"

#include "llvm/ADT/MapVector.h"

namespace weft::rt {
#define GEN_PASS_DEF_RTFORMROUTINES
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

class Former {
public:
  Former(func::FuncOp function, RoutineTable &table, const Target &target, int64_t bucketBytes)
      : function(function), table(table), target(target), bucketBytes(bucketBytes),
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

  static Attribute sectionOf(Operation *op) { return op->getAttr(dist::kSectionAttr); }

  /// No segment is of two sections: between them a stage hears of others.
  void findStretches() {
    stretches.emplace_back();
    for (Operation &op : body.without_terminator()) {
      auto loop = dyn_cast<dist::RepeatOp>(op);
      if (!loop) {
        if (!stretches.back().ops.empty() &&
            sectionOf(stretches.back().ops.back()) != sectionOf(&op))
          stretches.emplace_back();
        stretches.back().ops.push_back(&op);
        continue;
      }
      stretches.emplace_back();
      stretches.back().microbatches.emplace(loop);
      stretches.back().microbatches->forgetSums();
      for (Operation &inner : loop.getBody().front().without_terminator())
        stretches.back().ops.push_back(&inner);
      findSteps(stretches.back());
      stretches.emplace_back();
    }
    for (Stretch &stretch : stretches)
      cut(stretch);
  }

  void findSteps(Stretch &stretch) {
    dist::RepeatOp loop = stretch.microbatches->getLoop();
    if (std::optional<ArrayRef<int64_t>> steps = loop.getSteps()) {
      for (size_t i = 0; i < steps->size(); i += 2)
        stretch.steps.push_back({builder.getI64IntegerAttr((*steps)[i]), (*steps)[i + 1]});
      return;
    }
    for (int64_t i = 0; i < stretch.microbatches->size(); ++i)
      stretch.steps.push_back({Attribute(), i});
  }

  void cut(Stretch &stretch) {
    bool hasSections = !stretch.steps.empty() && stretch.steps.front().first;
    llvm::MapVector<Attribute, std::vector<Operation *>> bySection;
    for (Operation *op : stretch.ops)
      bySection[hasSections ? sectionOf(op) : Attribute()].push_back(op);
    for (const auto &[section, ops] : bySection)
      cutSection(stretch, section, ops);
    if (stretch.microbatches)
      addSums(stretch);
    copyAcrossCuts(stretch, target);
  }

  void cutSection(Stretch &stretch, Attribute section, ArrayRef<Operation *> ops) {
    Segments segments(
        ops, stretch.microbatches.has_value(), bucketBytes,
        [&](Operation *op) { return isNumbered(stretch, op) || dist::crossesStages(op); },
        [&](Value value) {
          auto argument = dyn_cast<BlockArgument>(value);
          return argument ? nn::isState(function, argument.getArgNumber())
                          : stretch.microbatches.has_value();
        });
    for (const Segment &segment : segments.list())
      stretch.cuts.push_back({segment, section, {}, {}, {}, {}});
  }

  /// Sums of what communication makes that stays out of routines have routines of their own: at the
  /// end of the section, where none of the communication is waited for yet.
  void addSums(Stretch &stretch) {
    llvm::MapVector<Value, SmallVector<unsigned>> sumsOf; // by what makes their addends
    for (auto [number, addend] : llvm::enumerate(stretch.microbatches->addends()))
      if (stretch.microbatches->isSum(number))
        sumsOf[rootOf(addend)].push_back(number);
      else
        stretch.broughtTogether.push_back(number);
    std::vector<Cut> own;
    for (Cut &cut : stretch.cuts) {
      if (!isInOrder(stretch, cut.section))
        continue;
      SmallVector<unsigned> sums;
      for (Operation *op : cut.segment.ops)
        for (Value result : op->getResults())
          if (auto found = sumsOf.find(result); found != sumsOf.end())
            llvm::append_range(sums, std::exchange(found->second, {}));
      if (cut.segment.isRoutine)
        cut.sums = sums;
      else if (!sums.empty())
        own.push_back({{{}, true, std::nullopt}, cut.section, sums, {}, {}, {}});
    }
    llvm::append_range(stretch.cuts, own);
    for (auto &[maker, sums] : sumsOf)
      llvm::append_range(stretch.broughtTogether, sums);
    llvm::sort(stretch.broughtTogether);
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
        if (isReadOutside(cut, result, own))
          interface.results.insert(result);
    interface.states.resize(interface.results.size());
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

  /// The routines that make a cut's sums before anything is added. Each sum to which products may
  /// add has its own, because it may be needless (rt-elide-sum-starts); others share one.
  void buildStarts(const Stretch &stretch, Cut &cut) {
    SmallVector<unsigned> others;
    for (unsigned sum : cut.sums) {
      Operation *maker = rootOf(stretch.microbatches->addends()[sum]).getDefiningOp();
      if (maker && isArithmeticBound(maker) && stretch.microbatches->addsAtOnce(sum))
        cut.starts.push_back({{sum}, buildStart(stretch, sum)});
      else
        others.push_back(sum);
    }
    if (!others.empty())
      cut.starts.push_back({others, buildStart(stretch, others)});
  }

  RoutineUse buildStart(const Stretch &stretch, ArrayRef<unsigned> sums) {
    auto [routine, inside] = begin();
    SmallVector<Value> results;
    llvm::SmallDenseMap<Attribute, Value> scalars;
    for (unsigned sum : sums) {
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
      if (Attribute role = stretch.microbatches->roleOf(sum))
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
    if (current)
      if (Value found = inner[microbatch].lookupOrNull(value))
        return found;
    if (Value found = outer.lookupOrNull(value))
      return found;
    Operation *maker = value.getDefiningOp();
    if (!maker)
      return value;
    IRMapping &map = maker->getBlock() == &body ? outer : inner[microbatch];
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
        if (!isSum(cut))
          buildStarts(stretch, cut);
      }
    current = &*stretch.microbatches;
    inner.assign(current->size(), IRMapping());
    sums.assign(current->addends().size(), Value());
    nextOf.assign(sums.size(), 0);
    reached.assign(sums.size(), llvm::DenseSet<int64_t>());
    for (auto [section, i] : stretch.steps) {
      microbatch = i;
      if (failed(emitStep(stretch, section)))
        return failure();
      if (!section)
        inner[i] = IRMapping();
    }
    inner.clear();
    current = nullptr;
    for (auto [sum, result] : llvm::zip(sums, stretch.microbatches->getLoop().getResults()))
      outer.map(result, sum);
    return success();
  }

  LogicalResult emitStep(Stretch &stretch, Attribute section) {
    Operation *before = builder.getInsertionPoint()->getPrevNode();
    for (Cut &cut : stretch.cuts) {
      if (cut.section != section)
        continue;
      if (cut.segment.isRoutine)
        emitCall(cut);
      else
        for (Operation *op : cut.segment.ops)
          if (failed(copy(*op, inner[microbatch])))
            return failure();
    }
    mark(before, section);
    for (unsigned number : stretch.broughtTogether)
      if (Operation *maker = rootOf(current->addends()[number]).getDefiningOp();
          !section || !isInLoop(maker) || sectionOf(maker) == section)
        bringTogether(number, section);
    return success();
  }

  bool isInLoop(Operation *op) const { return op && op->getParentOp() == current->getLoop(); }

  /// What is the same in all microbatches is there at once; sums take microbatches in order.
  void bringTogether(unsigned number, Attribute section) {
    int64_t own = microbatch;
    reached[number].insert(own);
    for (int64_t &next = nextOf[number]; reached[number].contains(next); ++next) {
      microbatch = next;
      Operation *before = builder.getInsertionPoint()->getPrevNode();
      sums[number] = current->combine(builder, sums[number], valueOf(current->addends()[number]),
                                      number, next);
      mark(before, section);
    }
    microbatch = own;
  }

  /// Says of what was made behind `before` what it belongs to.
  void mark(Operation *before, Attribute section) {
    Block::iterator first = before ? std::next(before->getIterator()) : body.begin();
    for (Operation &op : llvm::make_range(first, builder.getInsertionPoint())) {
      current->setAction(&op, section, microbatch);
      if (called.contains(&op))
        continue;
      op.setAttr(kMicrobatchAttr, builder.getI64IntegerAttr(microbatch));
      if (section)
        op.setAttr(dist::kSectionAttr, section);
    }
  }

  /// It only adds up what communication brought, and so is set by the first of that.
  static bool isSum(const Cut &cut) { return cut.segment.ops.empty(); }

  void emitCall(const Cut &cut) {
    if (microbatch == 0 && isSum(cut)) {
      for (unsigned sum : cut.sums) {
        Value first = valueOf(current->addends()[sum]);
        // Of a view nothing can be overwritten.
        if (Operation *maker = first.getDefiningOp(); maker && isSource(maker))
          first = DenseOp::create(builder, first.getLoc(), first.getType(), first);
        sums[sum] = first;
      }
      return;
    }
    if (microbatch == 0)
      for (const Start &start : cut.starts)
        for (auto [sum, nothing] : llvm::zip(start.sums, call(start.use, {}).getResults()))
          sums[sum] = nothing;
    SmallVector<Value> arguments = argumentsOf(cut);
    for (unsigned sum : cut.sums)
      arguments.push_back(sums[sum]);
    CallOp made = call(cut.run, arguments);
    size_t count = cut.interface.results.size();
    inner[microbatch].map(cut.interface.results.getArrayRef(), made.getResults().take_front(count));
    for (auto [sum, value] : llvm::zip(cut.sums, made.getResults().drop_front(count)))
      sums[sum] = value;
  }

  func::FuncOp function;
  RoutineTable &table;
  const Target &target;
  int64_t bucketBytes;
  Block &body;
  OpBuilder builder;
  std::vector<Stretch> stretches;
  IRMapping outer;
  std::vector<IRMapping> inner; // by microbatch
  std::vector<Value> sums;      // by addend, of the loop that is written
  std::vector<int64_t> nextOf;  // by addend: the first microbatch that is not in the sum
  std::vector<llvm::DenseSet<int64_t>> reached; // by addend: microbatches that have it
  llvm::DenseSet<Operation *> called;
  const Microbatches *current = nullptr;
  int64_t microbatch = 0;
};

struct FormRoutines : weft::rt::impl::RtFormRoutinesBase<FormRoutines> {
  using RtFormRoutinesBase::RtFormRoutinesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    const Target *target = targetOf(module);
    if (!target)
      return signalPassFailure();
    auto isLoop = [](dist::RepeatOp) { return WalkResult::interrupt(); };
    if (onlyLoops && !module.walk(isLoop).wasInterrupted())
      return;
    RoutineTable table(module);
    for (func::FuncOp function : programsOf(module))
      if (failed(Former(function, table, *target, bucketBytes).run()))
        return signalPassFailure();
    table.finish();
  }
};

} // namespace
