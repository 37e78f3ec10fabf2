// Lists the ops of each program in the order in which their commands run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/Nn.h"
#include "dialects/rt/IR/Actions.h"
#include "passes/rt/InPlace.h"
#include "passes/rt/Passes.h"
#include "passes/rt/commands/CommandBuilder.h"

#include <functional>
#include <map>
#include <set>

namespace weft::rt {
#define GEN_PASS_DEF_RTORDERCOMMANDS
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft;
using namespace weft::rt;

namespace {

/// Where an op goes: beside the op that stood at `anchor`, which has rank kOwn.
struct Key {
  int64_t anchor, rank;
  bool operator<(const Key &other) const {
    return std::tie(anchor, rank) < std::tie(other.anchor, other.rank);
  }
};
enum Rank : int64_t { kPrepare = -2, kPrefetch = -1, kOwn = 0, kReduce = 1, kUpdate = 2 };

/// One function's ops, the views aside, and the keys by which they are sorted.
/// The key of an op is never less than those of the ops that it reads. What crosses stages of a
/// pipeline stays in its order, which is that of all stages.
class Order {
public:
  Order(func::FuncOp function, const SymbolTable &symbols, const StoredArguments &stored)
      : symbols(symbols), stored(stored), block(function.getBody().front()),
        overwritten(overwrittenArguments(function)) {
    for (Operation &op : block)
      if (specKind(&op) != SpecKind::View) {
        position[&op] = ops.size();
        ops.push_back(&op);
      }
    producers.resize(ops.size());
    for (size_t i = 0; i < ops.size(); ++i) {
      // Constants need no command and go first.
      keys.push_back({specKind(ops[i]) == SpecKind::Constant ? -1 : int64_t(i), kOwn});
      for (Value operand : ops[i]->getOperands())
        addProducer(i, operand);
    }
    findOverwriting();
  }

  void run() {
    startReductions();
    prefetchGathers();
    advanceUpdates();
    exchangeEarly();
    awaitOldReaders();
    emit();
  }

private:
  void addProducer(size_t i, Value value) {
    Operation *def = value.getDefiningOp();
    if (!def)
      return;
    if (auto found = position.find(def); found != position.end()) {
      producers[i].push_back(found->second);
      return;
    }
    for (Value operand : def->getOperands())
      addProducer(i, operand);
  }

  /// Calls of routines that overwrite a value, and who reads it before.
  void findOverwriting() {
    for (size_t i = 0; i < ops.size(); ++i)
      if (auto call = dyn_cast<CallOp>(ops[i]))
        if (func::FuncOp callee = calleeOf(call, symbols); callee && isRoutine(callee))
          for (int64_t argument : sharedArguments(callee))
            if (argument >= 0)
              for (const Reader &reader : readersOf(call.getInputs()[argument]))
                if (size_t other = position.lookup(reader.op); other < i)
                  overwriting[i].push_back(other);
  }

  /// Whatever moved, such a call stays behind those readers, what reads its results behind it, and
  /// what crosses stages behind what crosses before.
  void awaitOldReaders() {
    if (overwriting.empty())
      return;
    std::optional<size_t> crossing;
    for (size_t i = 0; i < ops.size(); ++i) {
      if (auto found = overwriting.find(i); found != overwriting.end())
        for (size_t reader : found->second)
          keys[i] = std::max(keys[i], keys[reader]);
      for (size_t producer : producers[i])
        keys[i] = std::max(keys[i], keys[producer]);
      if (!dist::crossesStages(ops[i]))
        continue;
      if (crossing)
        keys[i] = std::max(keys[i], keys[*crossing]);
      crossing = i;
    }
  }

  /// Positions of the ops that read results of op `i`, through views.
  SmallVector<size_t> readers(size_t i) const {
    SmallVector<size_t> result;
    for (Value value : ops[i]->getResults())
      for (const Reader &reader : readersOf(value))
        result.push_back(position.lookup(reader.op));
    return result;
  }

  bool combines(Operation *op) const {
    return llvm::any_of(communicationOf(op, symbols), [](TransitionOpInterface transition) {
      return transition.isCommunication() && transition.getGeometry().reduction;
    });
  }

  bool gathers(Operation *op) const {
    SmallVector<TransitionOpInterface> transitions = communicationOf(op, symbols);
    return !transitions.empty() && llvm::all_of(transitions, [](TransitionOpInterface transition) {
      return transition.getTransitionKind() == TransitionKind::AllGather;
    });
  }

  Key afterProducers(size_t i, int64_t rank) const {
    Key key{-1, rank};
    for (size_t producer : producers[i])
      key = std::max(key, Key{keys[producer].anchor, std::max(keys[producer].rank, rank)});
    return key;
  }

  /// Sums start as soon as what they add is there.
  void startReductions() {
    for (size_t i = 0; i < ops.size(); ++i)
      if (combines(ops[i]) && !dist::crossesStages(ops[i]))
        keys[i] = std::min(keys[i], afterProducers(i, kReduce));
  }

  /// Ops that read nothing but states and constants.
  std::vector<bool> findStateOnly() const {
    std::vector<bool> result(ops.size());
    for (size_t i = 0; i < ops.size(); ++i) {
      bool only = specKind(ops[i]) != SpecKind::End && !dist::crossesStages(ops[i]);
      SmallVector<Value> work(ops[i]->getOperands());
      while (only && !work.empty()) {
        Value value = work.pop_back_val();
        Operation *def = value.getDefiningOp();
        if (auto arg = dyn_cast<BlockArgument>(value))
          only = stored.contains(arg);
        else if (auto found = position.find(def); found != position.end())
          only = result[found->second];
        else
          llvm::append_range(work, def->getOperands());
      }
      result[i] = only;
    }
    return result;
  }

  /// Bytes of parameters that are gathered.
  int64_t gatheredBytes() const {
    std::vector<bool> stateOnly = findStateOnly();
    int64_t bytes = 0;
    for (size_t i = 0; i < ops.size(); ++i)
      if (stateOnly[i] && gathers(ops[i]))
        for (Value result : ops[i]->getResults())
          bytes += bytesOf(result);
    return bytes;
  }

  /// The bytes of parameters that routines which also compute gather themselves, by their calls.
  llvm::DenseMap<size_t, int64_t> gatheredInCalls() const {
    llvm::DenseMap<func::FuncOp, int64_t> byRoutine;
    llvm::DenseMap<size_t, int64_t> byCall;
    for (size_t i = 0; i < ops.size(); ++i) {
      auto call = dyn_cast<CallOp>(ops[i]);
      func::FuncOp callee = call ? calleeOf(call, symbols) : func::FuncOp();
      if (!callee || !isRoutine(callee) || !communicationOf(call, symbols).empty())
        continue;
      auto [found, isNew] = byRoutine.try_emplace(callee);
      if (isNew)
        found->second = Order(callee, symbols, stored).gatheredBytes();
      if (found->second > 0)
        byCall[i] = found->second;
    }
    return byCall;
  }

  /// Gathers that one op is the first to read, and the bytes of parameters that are whole when it
  /// has run: with those that it gathers itself, if it is a call.
  struct Lot {
    SmallVector<size_t> gathers;
    int64_t bytes = 0, withOwn = 0;
  };

  /// Gathered parameters are there when they are needed: each lot that one op
  /// reads starts before the first reader of the lot before it, and of earlier
  /// ones as long as no more bytes live at a time than two of the largest lots.
  void prefetchGathers() {
    std::vector<bool> stateOnly = findStateOnly();
    std::map<int64_t, Lot> lots; // by the anchor of the first reader
    int64_t window = 0;
    for (size_t i = 0; i < ops.size(); ++i) {
      if (!stateOnly[i] || !gathers(ops[i]))
        continue;
      int64_t first = ops.size();
      for (size_t reader : readers(i))
        first = std::min(first, keys[reader].anchor);
      Lot &lot = lots[first];
      lot.gathers.push_back(i);
      for (Value result : ops[i]->getResults())
        lot.bytes += bytesOf(result);
      lot.withOwn = lot.bytes;
      window = std::max(window, lot.bytes);
    }
    if (lots.empty())
      return;
    for (auto [i, bytes] : gatheredInCalls())
      lots[keys[i].anchor].withOwn += bytes;
    std::vector<std::pair<int64_t, int64_t>> before; // anchors and bytes of lots so far
    for (auto &[first, lot] : lots) {
      int64_t anchor = first, alive = lot.bytes;
      for (auto it = before.rbegin(); it != before.rend(); ++it) {
        alive += it->second;
        if (it != before.rbegin() && alive > 2 * window)
          break;
        anchor = it->first;
      }
      // Wherever it stood: reshards of arguments stand in front of everything.
      for (size_t gather : lot.gathers)
        keys[gather] = Key{anchor, kPrefetch};
      before.push_back({first, lot.withOwn});
    }
    // Casts of states, and the like, go with their gathers.
    for (size_t i = ops.size(); i-- > 0;)
      if (stateOnly[i] && specKind(ops[i]) == SpecKind::Command)
        for (size_t reader : readers(i))
          if (keys[reader].rank == kPrefetch || keys[reader].rank == kPrepare)
            keys[i] = std::min(keys[i], Key{keys[reader].anchor, kPrepare});
  }

  bool belongsToUpdate(size_t i, const std::vector<bool> &updates) const {
    if (dist::crossesStages(ops[i]))
      return false;
    // Adding up gradients frees them, as an update does.
    if (ops[i]->hasAttr(kRolesAttr))
      return isUpdate(ops[i], symbols);
    // Transitions and copies that only bring the update to its place.
    return specKind(ops[i]) == SpecKind::Command && !producers[i].empty() &&
           llvm::all_of(producers[i], [&](size_t producer) { return updates[producer]; });
  }

  /// Updates, and sums of gradients, run as soon as their gradient is there and the old values are
  /// read for the last time, so that gradients need not all live at once. If the gradient comes
  /// over the network, the update leaves it the time until the next one is sent.
  void advanceUpdates() {
    std::vector<bool> updates(ops.size());
    std::set<int64_t> arrivals;
    for (size_t i = 0; i < ops.size(); ++i) {
      updates[i] = belongsToUpdate(i, updates);
      for (size_t producer : producers[i])
        if (updates[i] && combines(ops[producer]))
          arrivals.insert(keys[producer].anchor);
    }
    // What only prepares updates (slices of parameters) follows them.
    std::vector<bool> prepares(ops.size());
    for (size_t i = ops.size(); i-- > 0;) {
      SmallVector<size_t> users = readers(i);
      bool readsStates = llvm::all_of(producers[i], [&](size_t producer) {
        return specKind(ops[producer]) == SpecKind::Constant;
      });
      prepares[i] = specKind(ops[i]) == SpecKind::Command && !dist::crossesStages(ops[i]) &&
                    readsStates && !users.empty() &&
                    llvm::all_of(users, [&](size_t user) { return updates[user]; });
    }
    for (size_t i = 0; i < ops.size(); ++i) {
      if (!updates[i])
        continue;
      Key key{-1, kUpdate};
      for (size_t producer : producers[i]) {
        if (prepares[producer])
          continue;
        int64_t anchor = keys[producer].anchor;
        if (auto next = arrivals.upper_bound(anchor);
            combines(ops[producer]) && next != arrivals.end())
          anchor = *next;
        key = std::max(key, Key{anchor, kUpdate});
      }
      for (Value value : ops[i]->getResults())
        for (size_t reader : oldReaders(value))
          if (reader != i && !prepares[reader])
            key = std::max(key, Key{keys[reader].anchor, kUpdate});
      keys[i] = std::min(keys[i], key);
    }
    for (size_t i = 0; i < ops.size(); ++i)
      if (prepares[i])
        for (size_t user : readers(i))
          keys[i] = std::min(keys[i], keys[user]);
  }

  /// Who reads the old value of the state that `value` updates.
  SmallVector<size_t> oldReaders(Value value) const {
    SmallVector<size_t> result;
    for (OpOperand &use : value.getUses())
      if (specKind(use.getOwner()) == SpecKind::End)
        if (Value state = overwritten[use.getOperandNumber()])
          for (const Reader &reader : readersOf(state))
            if (specKind(reader.op) != SpecKind::End)
              result.push_back(position.lookup(reader.op));
    return result;
  }

  /// Whether it runs once a step, for updates.
  static bool isForUpdates(Operation *op) {
    auto roles = op->getAttrOfType<ArrayAttr>(kRolesAttr);
    return roles && !op->hasAttr(kActionAttr) &&
           llvm::all_of(roles.getAsValueRange<StringAttr>(), [](StringRef role) {
             return role == nn::kRoleOptimizer || role == nn::kRoleWeightGradient;
           });
  }

  /// What another stage sends for updates, or to be told, is received as soon as what the stage
  /// exchanges before is over, while it still computes gradients: else the other one could not end
  /// its step before. What is sent once a step goes as soon as it is there, whatever was put off.
  void exchangeEarly() {
    std::optional<size_t> before;
    for (size_t i = 0; i < ops.size(); ++i) {
      if (!dist::crossesStages(ops[i]))
        continue;
      Key last = before ? keys[*before] : Key{-1, kOwn};
      // What reads nothing here waits for another stage alone.
      if (ops[i]->getNumOperands() == 0 && before &&
          llvm::all_of(readers(i), [&](size_t reader) { return isForUpdates(ops[reader]); }))
        keys[i] = last;
      else if (isa<dist::SendOp>(ops[i]) && !ops[i]->hasAttr(kActionAttr))
        keys[i] = std::min(keys[i], std::max(last, afterProducers(i, kOwn)));
      before = i;
    }
  }

  void emit() {
    std::vector<size_t> order(ops.size());
    for (size_t i = 0; i < ops.size(); ++i)
      order[i] = i;
    llvm::sort(order, [&](size_t a, size_t b) {
      return keys[a] < keys[b] || (!(keys[b] < keys[a]) && a < b);
    });
    Operation *end = block.getTerminator();
    llvm::DenseSet<Operation *> placed;
    std::function<void(Operation *)> place = [&](Operation *op) {
      for (Value operand : op->getOperands())
        if (Operation *def = operand.getDefiningOp();
            def && !position.count(def) && placed.insert(def).second)
          place(def);
      if (op != end)
        op->moveBefore(end);
    };
    for (size_t i : order)
      place(ops[i]);
  }

  const SymbolTable &symbols;
  const StoredArguments &stored;
  Block &block;
  SmallVector<BlockArgument> overwritten; // by the function's results
  std::vector<Operation *> ops;
  std::vector<Key> keys;
  std::vector<SmallVector<size_t, 4>> producers;
  llvm::DenseMap<Operation *, size_t> position;
  llvm::DenseMap<size_t, SmallVector<size_t>> overwriting;
};

struct OrderCommands : weft::rt::impl::RtOrderCommandsBase<OrderCommands> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    StoredArguments stored(getOperation(), symbols);
    for (func::FuncOp function : commandFunctionsOf(getOperation())) {
      if (failed(verifyViews(function.getBody().front())))
        return signalPassFailure();
      Order(function, symbols, stored).run();
    }
  }
};

} // namespace
