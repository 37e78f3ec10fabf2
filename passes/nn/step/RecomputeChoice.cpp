// Chooses what to recompute by bytes saved per second.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/nn/step/RecomputeChoice.h"

#include "dialects/nn/IR/Nn.h"
#include "weft/Cost/Penalties.h"
#include "weft/Interfaces/TensorTypes.h"

using namespace mlir;
using namespace weft;
using namespace weft::step;

static double flopsOf(Operation *op) {
  auto shardable = dyn_cast<ShardableOpInterface>(op);
  if (!shardable)
    return bytesOf(op->getResult(0));
  return std::max(shardable.getFlopsPerPoint(), penalty::kMovedElement) *
         shardable.getOwnFactorRule().points();
}

RecomputeChoice::RecomputeChoice(func::FuncOp function, const ForwardPass &forward, CostModel model)
    : function(function), forward(forward), model(std::move(model)) {
  findParts();
}

void RecomputeChoice::findParts() {
  if (forward.cuts().empty())
    return;
  llvm::DenseSet<Value> borders = forward.blockBorders(), cuts;
  for (const ForwardPass::Cut &cut : forward.cuts())
    cuts.insert(cut.value);
  Part selective, full;
  full.full = true;
  auto close = [&](Part &part) {
    if (!part.ops.empty())
      parts.push_back(part);
    part.ops.clear();
  };
  // The ops of a segment stand in front of the position where its cut is alone.
  size_t segment = 0;
  for (size_t i = 0; i <= forward.cuts().back().position; ++i) {
    Operation *op = forward.ops()[i];
    auto isIn = [&](const llvm::DenseSet<Value> &set) {
      return llvm::any_of(op->getResults(), [&](Value value) { return set.contains(value); });
    };
    if (!isIn(borders))
      full.ops.push_back(op);
    if (!isIn(cuts) && !isExpensive(op))
      selective.ops.push_back(op);
    if (i != forward.cuts()[segment].position)
      continue;
    close(selective);
    if (borders.contains(forward.cuts()[segment].value)) {
      close(full);
      selective.block = ++full.block;
    }
    ++segment;
  }
  close(selective);
  close(full);
}

SmallVector<Value> RecomputeChoice::readByGradients() const {
  SmallVector<Value> read;
  for (Operation &op : func::FuncOp(function).getBody().front().without_terminator())
    if (op.hasAttr(nn::kRoleAttr))
      llvm::append_range(read, op.getOperands());
  return read;
}

bool RecomputeChoice::isRepetition(Value value) const {
  Operation *op = value.getDefiningOp();
  double read = 0;
  for (Value operand : op->getOperands())
    read += bytesOf(operand);
  return read < bytesOf(value) && !isExpensive(op);
}

void RecomputeChoice::addAgain(Value value, Price &price) const {
  double flops = flopsOf(value.getDefiningOp());
  price.flops += flops;
  price.seconds += model.seconds(flops, /*bytes=*/0, arithmeticOf(value.getType()));
}

void RecomputeChoice::follow(SmallVector<Value> work, const llvm::DenseSet<Operation *> &marked,
                             llvm::function_ref<bool(Value)> isNew, Price &price) const {
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || op->hasAttr(nn::kRoleAttr) || !forward.isActivation(value) || !isNew(value))
      continue;
    bool isAgain = marked.contains(op), isRepeated = isRepetition(value);
    if (isAgain)
      addAgain(value, price);
    else if (!isRepeated)
      price.bytes += bytesOf(value);
    if (isAgain || isRepeated)
      llvm::append_range(work, op->getOperands());
  }
}

RecomputeChoice::Price RecomputeChoice::price(const llvm::DenseSet<Operation *> &marked) const {
  Price price;
  llvm::DenseSet<Value> seen;
  auto isNew = [&](Value value) { return seen.insert(value).second; };
  follow(readByGradients(), marked, isNew, price);
  return price;
}

/// A block as a whole is weighed against what is cheap in it, which comes first. Each part is
/// priced by what it changes: of a value that is kept if nothing is marked, its bytes go, and what
/// it is computed from is needed.
void RecomputeChoice::weigh() {
  Price none;
  llvm::DenseSet<Value> kept;
  auto isKept = [&](Value value) { return kept.insert(value).second; };
  follow(readByGradients(), {}, isKept, none);
  auto change = [&](ArrayRef<Operation *> ops) {
    Price change;
    SmallVector<Value> needed;
    llvm::DenseSet<Operation *> marked(ops.begin(), ops.end());
    for (Operation *op : ops)
      for (Value value : op->getResults()) {
        if (!kept.contains(value))
          continue;
        addAgain(value, change);
        if (isRepetition(value))
          continue;
        change.bytes -= bytesOf(value);
        llvm::append_range(needed, op->getOperands());
      }
    llvm::DenseSet<Value> seen;
    auto isNew = [&](Value value) { return !kept.contains(value) && seen.insert(value).second; };
    follow(std::move(needed), marked, isNew, change);
    return change;
  };

  llvm::DenseMap<size_t, SmallVector<Operation *>> cheap;
  llvm::DenseMap<size_t, double> least;
  // What takes no time is worth as much as what takes an operation's.
  const double leastSeconds = model.seconds(1, 0, Arithmetic::F32);
  for (Part &part : parts) {
    if (part.full)
      continue;
    llvm::append_range(cheap[part.block], part.ops);
    Price with = change(part.ops);
    part.saved = std::max(0.0, -with.bytes);
    part.density = part.saved / std::max(leastSeconds, with.seconds);
    if (part.saved > 0) {
      double &found = least.try_emplace(part.block, part.density).first->second;
      found = std::min(found, part.density);
    }
  }
  for (Part &part : parts) {
    if (!part.full)
      continue;
    SmallVector<Operation *> ops = cheap.lookup(part.block);
    Price before = change(ops);
    llvm::SmallDenseSet<Operation *> known(ops.begin(), ops.end());
    for (Operation *op : part.ops)
      if (known.insert(op).second)
        ops.push_back(op);
    Price with = change(ops);
    part.saved = std::max(0.0, before.bytes - with.bytes);
    part.density = part.saved / std::max(leastSeconds, with.seconds - before.seconds);
    if (auto found = least.find(part.block); found != least.end())
      part.density = std::min(part.density, found->second);
  }
  for (auto [order, part] : llvm::enumerate(parts))
    part.order = order;
  llvm::sort(parts, [](const Part &a, const Part &b) {
    return std::tie(b.density, a.order) < std::tie(a.density, b.order);
  });
}

llvm::DenseSet<Operation *> RecomputeChoice::all(bool full) const {
  llvm::DenseSet<Operation *> marked;
  for (const Part &part : parts)
    if (full || !part.full)
      marked.insert(part.ops.begin(), part.ops.end());
  return marked;
}

llvm::DenseSet<Operation *> RecomputeChoice::best(double share) {
  weigh();
  double total = 0, saved = 0;
  for (const Part &part : parts)
    total += part.saved;
  llvm::DenseSet<Operation *> marked;
  for (const Part &part : parts) {
    if (share < 1 && saved >= share * total)
      break;
    saved += part.saved;
    marked.insert(part.ops.begin(), part.ops.end());
  }
  return marked;
}
