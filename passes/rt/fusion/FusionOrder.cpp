// Which groups wait for each other, and in which order they run.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/fusion/FusionChoice.h"

#include "dialects/dist/IR/Dist.h"

#include <functional>
#include <queue>
#include <set>

using namespace mlir;
using namespace weft;
using namespace weft::rt;

void FusionChoice::findReach() {
  reach.assign(position.size(), 0);
  for (const Group &group : groups)
    if (!group.ops.empty()) {
      unsigned &found = reach[position.lookup(group.ops.front())];
      found = std::max(found, position.lookup(group.ops.back()));
    }
  for (size_t at = 1; at < reach.size(); ++at)
    reach[at] = std::max(reach[at], reach[at - 1]);
}

unsigned FusionChoice::reachOf(unsigned group) const {
  unsigned last = position.lookup(groups[group].ops.back());
  // While groups are formed none has an op behind the latest one.
  while (!reach.empty() && reach[last] > last)
    last = reach[last];
  return last;
}

/// Is there a way from `from` to `into` through something outside both? Merging
/// them would make that thing wait for itself. Views do not stand between: they
/// are cloned into their readers.
bool FusionChoice::wouldCycle(unsigned from, unsigned into) const {
  const unsigned last = reachOf(into);
  SmallVector<Operation *> work;
  llvm::DenseSet<Operation *> seen, seenFree[2];
  bool found = false;
  std::function<void(Operation *, bool)> visitUsers = [&](Operation *op, bool direct) {
    for (Operation *user : op->getUsers()) {
      if (classes.lookup(user) == FusionClass::Free) {
        if (seenFree[direct].insert(user).second)
          visitUsers(user, direct);
        continue;
      }
      auto group = groupOf.find(user);
      bool isMember = group != groupOf.end();
      if (isMember && group->second == from)
        continue;
      if (isMember && group->second == into) {
        found |= !direct;
        continue;
      }
      Operation *first = isMember ? groups[group->second].ops.front() : user;
      if (position.lookup(first) <= last && seen.insert(first).second)
        work.push_back(first);
    }
  };
  for (Operation *op : groups[from].ops)
    visitUsers(op, /*direct=*/true);
  while (!found && !work.empty()) {
    Operation *op = work.pop_back_val();
    auto group = groupOf.find(op);
    if (group == groupOf.end())
      visitUsers(op, /*direct=*/false);
    else
      for (Operation *member : groups[group->second].ops)
        visitUsers(member, /*direct=*/false);
  }
  return found;
}

void FusionChoice::sortNodes(Block &block) {
  std::vector<Node> nodes;
  llvm::DenseMap<Operation *, unsigned> nodeOf;
  for (Operation &op : block) {
    FusionClass kind = classes.lookup(&op);
    if (kind == FusionClass::Free || kind == FusionClass::Absorbed)
      continue;
    if (kind != FusionClass::Kernel) {
      nodeOf[&op] = nodes.size();
      for (Operation *later : absorbed(&op))
        nodeOf[later] = nodes.size();
      nodes.push_back({kind, {&op}, {}, position.lookup(&op)});
    } else if (Group &group = groups[groupOf[&op]]; group.ops.front() == &op) {
      for (Operation *member : group.ops)
        nodeOf[member] = nodes.size();
      nodes.push_back({kind, group.ops, group.copies, group.runsAt});
    }
  }
  // Kahn's algorithm; what runs first goes first, which is stable and keeps the collectives' order.
  std::vector<SmallVector<unsigned>> users(nodes.size());
  std::vector<unsigned> waits(nodes.size(), 0);
  std::set<std::pair<unsigned, unsigned>> edges;
  for (auto [n, node] : llvm::enumerate(nodes)) {
    SmallVector<Operation *> work(node.ops.begin(), node.ops.end());
    llvm::append_range(work, node.copies);
    llvm::append_range(work, absorbed(node.ops.front()));
    while (!work.empty())
      for (Value operand : work.pop_back_val()->getOperands()) {
        Operation *def = operand.getDefiningOp();
        if (!def)
          continue;
        if (classes.lookup(def) == FusionClass::Free)
          work.push_back(def);
        else if (unsigned from = nodeOf.lookup(def); from != n && edges.insert({from, n}).second) {
          users[from].push_back(n);
          ++waits[n];
        }
      }
  }
  // What crosses stages keeps its order.
  std::optional<unsigned> crossing;
  for (auto [n, node] : llvm::enumerate(nodes)) {
    if (!dist::crossesStages(node.ops.front()))
      continue;
    if (crossing && edges.insert({*crossing, n}).second) {
      users[*crossing].push_back(n);
      ++waits[n];
    }
    crossing = n;
  }
  std::priority_queue<std::pair<unsigned, unsigned>, std::vector<std::pair<unsigned, unsigned>>,
                      std::greater<>>
      ready;
  auto enqueue = [&](unsigned n) { ready.push({nodes[n].runsAt, n}); };
  for (unsigned n = 0; n < nodes.size(); ++n)
    if (waits[n] == 0)
      enqueue(n);
  while (!ready.empty()) {
    unsigned n = ready.top().second;
    ready.pop();
    order.push_back(nodes[n]);
    for (unsigned user : users[n])
      if (--waits[user] == 0)
        enqueue(user);
  }
  assert(order.size() == nodes.size() && "a group waits for itself");
}
