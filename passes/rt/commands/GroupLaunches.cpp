// Makes one call of several of one kernel that need not wait for each other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/InPlace.h"
#include "passes/rt/Passes.h"
#include "passes/rt/commands/CommandBuilder.h"
#include "weft/Interfaces/KernelAttributes.h"
#include "weft/Interfaces/TensorTypes.h"

namespace weft::rt {
#define GEN_PASS_DEF_RTGROUPLAUNCHES
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

/// Bytes that calls may keep alive, by meeting, for longer than they live anyway.
constexpr int64_t kMostKeptBytes = 1 << 20;

/// Kernels of several members, one for each kernel and number.
class GroupKernels {
public:
  explicit GroupKernels(ModuleOp module) : symbols(module) {}

  const SymbolTable &table() const { return symbols; }

  /// That of `count` members of the kernel, with whose every result that takes an argument's memory
  /// a member's does; null if it may not (InPlace.h).
  func::FuncOp get(func::FuncOp kernel, int64_t count) {
    auto [found, isNew] = made.try_emplace({kernel, count});
    if (isNew)
      found->second = make(kernel, count);
    return found->second;
  }

  /// Erases kernels that are called only with others.
  void finish(ModuleOp module) {
    llvm::DenseSet<Attribute> called;
    module.walk([&](CallOp call) { called.insert(call.getCalleeAttr().getAttr()); });
    for (auto &[key, group] : made)
      for (func::FuncOp function : {cast<func::FuncOp>(key.first), group})
        if (function && symbols.lookup(function.getSymName()) == function &&
            !called.contains(function.getSymNameAttr()))
          erased.insert(function);
    for (Operation *function : erased)
      symbols.erase(function);
  }

private:
  func::FuncOp make(func::FuncOp kernel, int64_t count) {
    OpBuilder builder(kernel.getContext());
    SmallVector<Type> arguments, results;
    SmallVector<int64_t> shared, own = sharedArguments(kernel);
    for (int64_t member = 0; member < count; ++member) {
      llvm::append_range(arguments, kernel.getArgumentTypes());
      llvm::append_range(results, kernel.getResultTypes());
      for (int64_t argument : own)
        shared.push_back(argument < 0 ? -1 : argument + member * kernel.getNumArguments());
    }
    std::string name = (kernel.getSymName() + "_x" + Twine(count)).str();
    builder.setInsertionPointAfter(kernel);
    auto group = func::FuncOp::create(builder, kernel.getLoc(), name,
                                      builder.getFunctionType(arguments, results));
    group->setAttrs(kernel->getAttrs());
    group.setFunctionType(builder.getFunctionType(arguments, results));
    group.setSymName(name);
    group->setAttr(kMembersAttr, builder.getI64IntegerAttr(count));
    if (kernel->hasAttr(kInPlaceAttr))
      group->setAttr(kInPlaceAttr, builder.getDenseI64ArrayAttr(shared));
    fill(kernel, count, group);
    for (auto [result, argument] : llvm::enumerate(shared))
      if (argument >= 0 && !mayOverwrite(group, argument, result)) {
        group.erase();
        return {};
      }
    symbols.insert(group); // gives it another name if there is one of that name
    return group;
  }

  static void fill(func::FuncOp kernel, int64_t count, func::FuncOp group) {
    Block &body = kernel.getBody().front(), *all = group.addEntryBlock();
    auto builder = OpBuilder::atBlockEnd(all);
    SmallVector<Value> returned;
    for (int64_t member = 0; member < count; ++member) {
      IRMapping map;
      map.map(body.getArguments(),
              all->getArguments().slice(member * body.getNumArguments(), body.getNumArguments()));
      for (Operation &op : body.without_terminator())
        builder.clone(op, map);
      for (Value value : body.getTerminator()->getOperands())
        returned.push_back(map.lookup(value));
    }
    func::ReturnOp::create(builder, body.getTerminator()->getLoc(), returned);
  }

  SymbolTable symbols;
  llvm::MapVector<std::pair<Operation *, int64_t>, func::FuncOp> made;
  llvm::SetVector<Operation *> erased;
};

/// Where calls meet: where the last or the first of them stands.
enum class Meeting { AtLast, AtFirst };

/// The calls of one function.
class Grouping {
public:
  Grouping(func::FuncOp function, GroupKernels &kernels, int64_t mostPointers)
      : function(function), kernels(kernels), symbols(kernels.table()), mostPointers(mostPointers),
        overwritten(overwrittenArguments(function)) {
    for (auto [i, op] : llvm::enumerate(function.getBody().front()))
      position[&op] = i;
  }

  void run() {
    // What reads what others make is moved down before these, what makes it is moved up before.
    CallsByKernel all = callsByKernel();
    for (auto &[kernel, calls] : llvm::reverse(all))
      form(calls, Meeting::AtLast);
    for (auto &[kernel, calls] : callsByKernel())
      form(calls, Meeting::AtFirst);
  }

private:
  using Calls = SmallVector<CallOp>;
  /// And by what else is said of them.
  using CallsByKernel = llvm::MapVector<std::pair<Attribute, Attribute>, Calls>;

  /// How far a call may move, and what lives longer if it does.
  struct Reach {
    /// Places behind and in front of which it may not stand.
    int64_t after = -1, before = std::numeric_limits<int64_t>::max();
    /// Of what it reads, by the last place that reads it; of what it makes, all.
    SmallVector<std::pair<int64_t, int64_t>> lastReads;
    int64_t madeBytes = 0;
  };

  /// Of kernels that are not several already, in the order of their first calls.
  CallsByKernel callsByKernel() {
    CallsByKernel calls;
    for (auto call : function.getBody().front().getOps<CallOp>()) {
      func::FuncOp callee = calleeOf(call, symbols);
      if (!callee || isRoutine(callee) || callee.isExternal() || callee->hasAttr(kMembersAttr))
        continue;
      NamedAttrList rest(call->getDiscardableAttrDictionary());
      if (rest.erase(kRolesAttr))
        rest.set(kRolesAttr, UnitAttr::get(call.getContext()));
      calls[{call.getCalleeAttr(), rest.getDictionary(call.getContext())}].push_back(call);
    }
    return calls;
  }

  void form(ArrayRef<CallOp> calls, Meeting meeting) {
    if (calls.size() < 2)
      return;
    for (CallOp call : calls)
      reaches[call] = reachOf(call);
    Calls open;
    for (CallOp call : calls) {
      open.push_back(call);
      if (canMeet(open, meeting))
        continue;
      open.pop_back();
      merge(open, meeting);
      open = {call};
    }
    merge(open, meeting);
  }

  bool canMeet(ArrayRef<CallOp> calls, Meeting meeting) const {
    CallOp first = calls.front(), last = calls.back();
    int64_t pointers = first->getNumOperands() + first->getNumResults();
    if (pointers * int64_t(calls.size()) > mostPointers)
      return false;
    int64_t place = position.lookup(meeting == Meeting::AtLast ? last : first), kept = 0;
    for (CallOp call : calls) {
      const Reach &reach = reaches.find(call)->second;
      if (position.lookup(call) == place)
        continue;
      if (place <= reach.after || place >= reach.before)
        return false;
      if (meeting == Meeting::AtFirst)
        kept += reach.madeBytes;
      else
        for (auto [read, bytes] : reach.lastReads)
          kept += read < place ? bytes : 0;
    }
    return kept <= kMostKeptBytes;
  }

  Reach reachOf(CallOp call) {
    Reach reach;
    SmallVector<int64_t> shared = sharedArguments(call, symbols);
    for (auto [i, operand] : llvm::enumerate(call.getInputs())) {
      Value root = specLayout(operand).root;
      if (Operation *maker = root.getDefiningOp(); maker && specKind(maker) != SpecKind::Constant)
        reach.after = std::max(reach.after, position.lookup(maker));
      seeReaders(call, root, llvm::is_contained(shared, int64_t(i)), reach);
    }
    for (OpResult result : call->getResults()) {
      for (const Reader &reader : readersOf(result))
        reach.before = std::min(reach.before, position.lookup(reader.op));
      Value state = stateOf(result);
      for (const Reader &reader : state ? readersOf(state) : std::vector<Reader>())
        if (reader.op != call)
          reach.after = std::max(reach.after, position.lookup(reader.op));
      if (!state && shared[result.getResultNumber()] < 0)
        reach.madeBytes += bytesOf(result);
    }
    return reach;
  }

  /// The call stands before what overwrites the value that it reads, and, if itself does, behind
  /// all else that reads it.
  void seeReaders(CallOp call, Value root, bool overwrites, Reach &reach) {
    int64_t own = position.lookup(call), last = own;
    for (const Reader &reader : readersOf(root)) {
      int64_t place = position.lookup(reader.op);
      last = std::max(last, place);
      if (reader.op == call)
        continue;
      if (overwrites)
        reach.after = std::max(reach.after, place);
      if (place > own && overwritesOperand(reader))
        reach.before = std::min(reach.before, place);
    }
    if (auto argument = dyn_cast<BlockArgument>(root)) {
      for (OpOperand &result : function.getBody().front().getTerminator()->getOpOperands())
        if (Operation *maker = result.get().getDefiningOp();
            maker && maker != call && overwritten[result.getOperandNumber()] == argument &&
            position.lookup(maker) > own)
          reach.before = std::min(reach.before, position.lookup(maker));
      return;
    }
    if (specKind(root.getDefiningOp()) != SpecKind::Constant)
      reach.lastReads.push_back({last, bytesOf(root)});
  }

  bool overwritesOperand(const Reader &reader) const {
    if (TransitionOpInterface transition = transitionOf(reader.op, reader.operand))
      return transition->hasAttr(kReusesAttr);
    return specKind(reader.op) == SpecKind::Command &&
           llvm::is_contained(sharedArguments(reader.op, symbols), int64_t(reader.operand));
  }

  /// The state or argument in whose memory the result lies at the end; null if there is none.
  Value stateOf(OpResult result) const {
    for (OpOperand &use : result.getUses())
      if (specKind(use.getOwner()) == SpecKind::End && overwritten[use.getOperandNumber()])
        return overwritten[use.getOperandNumber()];
    return {};
  }

  void merge(ArrayRef<CallOp> calls, Meeting meeting) {
    if (calls.size() < 2)
      return;
    CallOp first = calls.front();
    func::FuncOp kernel = kernels.get(calleeOf(first, symbols), calls.size());
    if (!kernel)
      return;
    SmallVector<Value> inputs;
    SmallVector<Type> types;
    SmallVector<Attribute> roles;
    for (CallOp call : calls) {
      llvm::append_range(inputs, call.getInputs());
      llvm::append_range(types, call.getResultTypes());
      if (auto own = call->getAttrOfType<ArrayAttr>(kRolesAttr))
        llvm::append_range(roles, own);
    }
    CallOp where = meeting == Meeting::AtLast ? calls.back() : first;
    OpBuilder builder(where);
    for (Value input : inputs)
      moveUp(input, where);
    auto group = CallOp::create(builder, first.getLoc(), types, kernel.getSymName(), inputs);
    group->setDiscardableAttrs(first->getDiscardableAttrDictionary());
    if (!roles.empty())
      group->setAttr(kRolesAttr, builder.getArrayAttr(roles));
    position[group] = position.lookup(where);
    auto results = group.getOutputs().begin();
    for (CallOp call : calls)
      for (Value result : call.getOutputs()) {
        result.replaceAllUsesWith(*results);
        moveDown(*results++, group);
      }
    for (CallOp call : calls) {
      position.erase(call);
      call.erase();
    }
  }

  /// Views of what is made before `where` stand there, too, and constants.
  static void moveUp(Value value, Operation *where) {
    Operation *view = value.getDefiningOp();
    if (!view || view->isBeforeInBlock(where))
      return;
    for (Value operand : view->getOperands())
      moveUp(operand, where);
    view->moveBefore(where);
  }

  /// Views of a result stand behind what makes it.
  static void moveDown(Value made, Operation *maker) {
    for (Operation *user : made.getUsers())
      if (specKind(user) == SpecKind::View && user->isBeforeInBlock(maker)) {
        user->moveAfter(maker);
        for (Value view : user->getResults())
          moveDown(view, user);
      }
  }

  func::FuncOp function;
  GroupKernels &kernels;
  const SymbolTable &symbols;
  int64_t mostPointers;
  SmallVector<BlockArgument> overwritten; // by the function's results
  llvm::DenseMap<Operation *, int64_t> position;
  llvm::DenseMap<Operation *, Reach> reaches;
};

struct GroupLaunches : weft::rt::impl::RtGroupLaunchesBase<GroupLaunches> {
  void runOnOperation() override {
    const Target *target = targetOf(getOperation());
    if (!target)
      return signalPassFailure();
    if (target->traits().mostPointers == 0)
      return;
    GroupKernels kernels(getOperation());
    for (func::FuncOp function : commandFunctionsOf(getOperation()))
      Grouping(function, kernels, target->traits().mostPointers).run();
    kernels.finish(getOperation());
  }
};

} // namespace
