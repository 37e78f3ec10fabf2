// The search for a kernel's stages and units.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelPlanner.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft::cpu;

int64_t weft::cpu::stackBytesOf(const Stage &stage) {
  if (stage.kind == Stage::Kind::Copy || stage.isScalar())
    return 0;
  int64_t bytes = 0;
  for (auto [value, result] : llvm::zip_equal(stage.values, stage.results))
    if (result < 0) {
      int64_t width = memoryType(getElementTypeOrSelf(value)).getIntOrFloatBitWidth() / 8;
      bytes += llvm::alignTo(stage.boxElements() * width, 64);
    }
  return bytes;
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

void Planner::makeStages() {
  plan.stages.clear();
  elements.staged.clear();
  Block &body = kernel.getBody().front();
  // What the results reach.
  llvm::DenseSet<Operation *> live;
  for (Operation &op : llvm::reverse(body)) {
    bool isLive = &op == terminator || llvm::any_of(op.getUsers(), [&](auto *user) {
      return live.contains(body.findAncestorOpInBlock(*user));
    });
    if (isLive)
      live.insert(&op);
  }
  llvm::DenseSet<Value> returned(terminator.getOperands().begin(), terminator.getOperands().end());
  for (Operation &op : body.without_terminator()) {
    if (!live.contains(&op) || op.getNumResults() == 0 || elements.storage.count(op.getResult(0)))
      continue;
    Stage stage;
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (generic && generic.getNumReductionLoops() > 0)
      stage.kind = Stage::Kind::Reduction;
    else if (isa<scf::ForallOp>(op))
      stage.kind = Stage::Kind::Rows;
    else if (isa<TensorType>(op.getResult(0).getType()) &&
             (returned.contains(op.getResult(0)) || kept.contains(op.getResult(0))))
      stage.kind = Stage::Kind::Elementwise;
    else
      continue;
    stage.op = &op;
    stage.values.assign(op.result_begin(), op.result_end());
    stage.results.assign(stage.values.size(), -1);
    plan.stages.push_back(std::move(stage));
  }
  for (auto [number, value] : llvm::enumerate(terminator.getOperands())) {
    bool placed = false;
    for (Stage &stage : plan.stages)
      for (auto [own, result] : llvm::zip_equal(stage.values, stage.results))
        if (own == value && result < 0 && !placed) {
          result = number;
          placed = true;
        }
    if (placed)
      continue;
    Stage copy;
    copy.kind = Stage::Kind::Copy;
    copy.values = {value};
    copy.results = {int(number)};
    copy.target = resultStorages[number];
    plan.stages.push_back(std::move(copy));
  }
  for (Stage &stage : plan.stages) {
    if (stage.kind != Stage::Kind::Copy)
      elements.staged.insert(stage.values.begin(), stage.values.end());
    for (size_t dim = 0; dim < stage.shape().size(); ++dim)
      stage.groups.push_back({int64_t(dim)});
  }
}

static bool isOneElement(const Stage &stage) {
  return llvm::all_of(stage.shape(), [](int64_t size) { return size == 1; });
}

MutableArrayRef<Stage> Planner::resultStages() {
  return MutableArrayRef<Stage>(plan.stages).drop_while([](Stage &stage) {
    return stage.isTemporary();
  });
}

/// All results have one shape and are computed element by element; temporaries
/// are single elements and come first.
bool Planner::isElementwise() {
  ArrayRef<Stage> results = resultStages();
  auto isPointwise = [](const Stage &stage) {
    return stage.kind == Stage::Kind::Elementwise || stage.kind == Stage::Kind::Copy;
  };
  return llvm::all_of(plan.stages, isPointwise) &&
         llvm::all_of(
             plan.stages,
             [](const Stage &stage) { return !stage.isTemporary() || isOneElement(stage); }) &&
         llvm::all_of(results, [&](const Stage &stage) {
           return !stage.isTemporary() && stage.shape() == results.front().shape();
         });
}

/// Settles an elementwise kernel as one nest, if it can be.
bool Planner::planTogether() {
  makeStages();
  for (;;) {
    // Single elements first: nothing but them is read to make them.
    std::vector<Stage> numbers, others;
    for (Stage &stage : plan.stages)
      (stage.isTemporary() ? numbers : others).push_back(std::move(stage));
    plan.stages = std::move(numbers);
    llvm::append_range(plan.stages, others);
    if (!isElementwise() || !analyse({}) || !readsInPlace)
      return false;
    // One nest computes what several results need once, whatever it costs.
    Value value = findWorthKeeping(mustBeTogether);
    if (!value)
      break;
    if (cast<RankedTensorType>(value.getType()).getNumElements() != 1)
      return false;
    kept.insert(value);
    makeStages();
  }
  joinDims();
  SmallVector<UnitDim> units = tileUnits();
  return analyse(units.empty() ? elementwiseUnits() : units);
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

void Planner::grow(Demand &demand, Value tensor, const Recorder::Read &read) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(tensor.getType()).getShape();
  bool first = !demand.any;
  demand.any = true;
  demand.points += read.points;
  demand.box.resize(shape.size());
  for (auto [dim, index] : llvm::enumerate(read.indices)) {
    BoxDim &box = demand.box[dim];
    BoxDim whole{space.constant(0), shape[dim], shape[dim]};
    AffineExpr unitPart, rest;
    std::optional<std::pair<int64_t, int64_t>> reach;
    if (space.separate(index, unitPart, rest))
      reach = space.range(rest);
    BoxDim mine = whole;
    if (reach) {
      mine.base = space.add(unitPart, space.constant(reach->first));
      mine.width = reach->second - reach->first + 1;
      // Guarded reads (of padding) may reach outside; those take whole dims.
      auto range = space.range(mine.base);
      if (!range || range->first < 0 || mine.width >= shape[dim])
        mine = whole;
    }
    if (first) {
      box = mine;
      continue;
    }
    // Boxes that start at a constant distance join, others cover all.
    AffineExpr distance = space.add(mine.base, space.multiply(box.base, -1));
    auto constant = dyn_cast<AffineConstantExpr>(distance);
    if (!constant) {
      box = whole;
      continue;
    }
    int64_t shift = constant.getValue();
    int64_t low = std::min<int64_t>(0, shift);
    int64_t high = std::max(box.width, shift + mine.width);
    box.base = space.add(box.base, space.constant(low));
    box.width = high - low;
    if (box.width >= shape[dim])
      box = whole;
  }
}

/// Gives a stage the box that others read of it; false if it is a result of
/// which a unit would read more than it computes.
bool Planner::place(Stage &stage, const Demand &demand) {
  if (stage.isTemporary()) {
    stage.box = demand.box;
    if (stage.kind == Stage::Kind::Rows)
      for (auto [dim, isRow] : llvm::enumerate(rowDims(cast<scf::ForallOp>(stage.op))))
        if (isRow) {
          int64_t size = stage.shape()[dim];
          stage.box[dim] = {space.constant(0), size, size};
        }
    return true;
  }
  if (stage.kind == Stage::Kind::Rows)
    for (auto [dim, isRow] : llvm::enumerate(rowDims(cast<scf::ForallOp>(stage.op))))
      if (isRow && stage.box[dim].width != stage.shape()[dim])
        return false;
  if (!demand.any)
    return true;
  // Joined dims are those of elementwise kernels that read in place.
  for (auto [number, read] : llvm::enumerate(demand.box)) {
    if (stage.groups.size() != demand.box.size())
      return true;
    const BoxDim &own = stage.box[number];
    auto distance =
        dyn_cast<AffineConstantExpr>(space.add(read.base, space.multiply(own.base, -1)));
    if (!distance || distance.getValue() < 0 || distance.getValue() + read.width > own.width)
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Analysis of one way to cut
//===----------------------------------------------------------------------===//

bool Planner::analyse(ArrayRef<UnitDim> units) {
  space.dims.clear();
  space.symbols.clear();
  visits.clear();
  readsInPlace = true;
  plan.units.assign(units.begin(), units.end());
  plan.unitExtents.clear();
  plan.stackBytes = 0;
  plan.unitCost = 0;
  // Any value serves as induction variable of scrap code.
  Value placeholder = arith::ConstantIndexOp::create(elements.builder, kernel.getLoc(), 0);
  auto groupSize = [](const Stage &stage, unsigned group) {
    int64_t size = 1;
    for (int64_t dim : stage.groups[group])
      size *= stage.shape()[dim];
    return size;
  };
  const Stage *anyResult =
      &*llvm::find_if(plan.stages, [](Stage &stage) { return !stage.isTemporary(); });
  SmallVector<AffineExpr> bases;
  for (const UnitDim &unit : units) {
    int64_t extent = llvm::divideCeil(groupSize(*anyResult, unit.group), unit.chunk);
    plan.unitExtents.push_back(extent);
    AffineExpr dim = space.addDim(extent, true, placeholder);
    bases.push_back(space.multiply(dim, unit.chunk));
  }
  for (Stage &stage : plan.stages) {
    stage.box.clear();
    if (stage.isTemporary())
      continue;
    for (unsigned group = 0; group < stage.groups.size(); ++group) {
      int64_t size = groupSize(stage, group);
      stage.box.push_back({space.constant(0), size, size});
    }
    for (auto [unit, base] : llvm::zip_equal(units, bases))
      stage.box[unit.group] = {base, unit.chunk, stage.box[unit.group].size};
  }

  DenseMap<Value, Demand> demands;
  StageEmitter emitter(elements);
  for (Stage &stage : llvm::reverse(plan.stages)) {
    Demand demand;
    for (Value value : stage.values) {
      auto found = demands.find(value);
      if (found == demands.end() || stage.kind == Stage::Kind::Copy)
        continue;
      if (!demand.any) {
        demand = found->second;
        continue;
      }
      // Two values of one stage: one box for both.
      for (auto [own, other] : llvm::zip_equal(demand.box, found->second.box)) {
        if (own.base == other.base && own.width == other.width)
          continue;
        own = {space.constant(0), own.size ? own.size : other.size, own.size};
        own.width = own.size;
      }
    }
    if (stage.isTemporary() && !demand.any)
      continue; // nothing reads it after all
    for (auto [dim, box] : llvm::enumerate(demand.box))
      box.size = stage.shape()[dim];
    if (!place(stage, demand))
      return false;
    // The nest writes somewhere while it is probed; others must still see that
    // its values are read.
    if (stage.kind != Stage::Kind::Copy && !stage.isScalar())
      for (auto [value, result] : llvm::zip_equal(stage.values, stage.results))
        elements.storage[value] =
            result >= 0 ? resultStorages[result]
                        : temporaryStorage(stage, value, resultStorages[0].pointer, space);
    NestReport report;
    for (unsigned round = 0; round < 6; ++round) {
      report = emitter.probe(stage);
      bool cut = false;
      for (auto split : report.wantedSplits)
        if (!llvm::is_contained(stage.splits, split)) {
          stage.splits.push_back(split);
          cut = true;
        }
      if (!cut)
        break;
    }
    if (stage.kind != Stage::Kind::Copy)
      for (Value value : stage.values)
        elements.storage.erase(value);
    for (const Recorder::Read &read : report.seen.demands) {
      grow(demands[read.tensor], read.tensor, read);
      bool isOne = cast<RankedTensorType>(read.tensor.getType()).getNumElements() == 1;
      readsInPlace &= isOne || (read.indices == report.valueIndices && !stage.isTemporary());
    }
    for (const Recorder::Read &read : report.seen.visits)
      grow(visits[read.tensor], read.tensor, read);
    double work = report.seen.work + double(report.seen.accesses.size()) * stage.boxElements();
    plan.unitCost += work / (report.contiguous ? 8 : 1) + 6 * report.starts;
    plan.stackBytes += stackBytesOf(stage);
  }
  return true;
}

/// A value that is computed in place more often than it has elements, and
/// costs enough; the one nearest to the results. Only one of one element if so
/// asked.
Value Planner::findWorthKeeping(bool isOneElement) {
  for (Operation &op : llvm::reverse(kernel.getBody().front())) {
    if (op.getNumResults() != 1)
      continue;
    Value value = op.getResult(0);
    auto found = visits.find(value);
    if (found == visits.end() || refused.contains(value) || kept.contains(value))
      continue;
    if (isOneElement && cast<RankedTensorType>(value.getType()).getNumElements() != 1)
      continue;
    double count = 1;
    for (const BoxDim &dim : found->second.box)
      count *= dim.width;
    if (found->second.points < 1.5 * count)
      continue;
    // A scalar is free to keep; a temporary costs a store and a load.
    if (inlineCost(value, elements.staged) >= (count == 1 ? 4 : 12))
      return value;
  }
  return nullptr;
}

/// Analyses until no further value is worth a temporary and all fit.
bool Planner::settle(ArrayRef<UnitDim> units) {
  for (;;) {
    makeStages();
    if (!analyse(units))
      return false;
    if (plan.stackBytes > stackLimit) {
      // Give up the greatest temporary that can be computed in place.
      Stage *greatest = nullptr;
      for (Stage &stage : plan.stages)
        if (stage.kind == Stage::Kind::Elementwise && stage.isTemporary() &&
            (!greatest || stackBytesOf(stage) > stackBytesOf(*greatest)))
          greatest = &stage;
      if (!greatest)
        return false;
      kept.erase(greatest->values[0]);
      refused.insert(greatest->values[0]);
      continue;
    }
    Value value = findWorthKeeping();
    if (!value)
      return true;
    kept.insert(value);
  }
}

FailureOr<KernelPlan> Planner::run() {
  // Temporaries are chosen for units as small as possible, then units for them.
  bool empty = llvm::any_of(terminator.getOperandTypes(), [](Type type) {
    return cast<RankedTensorType>(type).getNumElements() == 0;
  });
  if (!empty && planTogether()) {
    plan.together = true;
    return std::move(plan);
  }
  if (mustBeTogether && !empty)
    return kernel.emitError("overwrites an argument, but is not one loop nest");
  kept.clear();
  makeStages();
  SmallVector<SmallVector<UnitDim>> ways = candidates();
  if (empty)
    ways.assign(1, {});
  std::optional<KernelPlan> best;
  double bestScore = 0;
  for (auto &units : ways) {
    if (!settle(units))
      continue;
    // Temporaries beyond the first-level cache cost as if computed again.
    double spilled = std::max<double>(0, double(plan.stackBytes) - 24576);
    double total = (plan.unitCost + spilled + 30) * double(plan.extent());
    double score = total / std::min<double>(plan.extent(), 8);
    if (!best || score < 0.9 * bestScore) {
      best = plan;
      bestScore = score;
    }
  }
  if (!best) {
    kernel.emitError("temporaries of the fused ops need more than ")
        << stackLimit << " bytes of stack in every way to cut the kernel";
    return failure();
  }
  // Boxes refer to the loops of their own analysis.
  SmallVector<UnitDim> units = best->units;
  if (!settle(units))
    return failure();
  return std::move(plan);
}

FailureOr<KernelPlan> weft::cpu::planKernel(func::FuncOp kernel, ElementEmitter &elements,
                                            ArrayRef<Storage> resultStorages, int64_t stackLimit,
                                            bool mustBeTogether) {
  return Planner(kernel, elements, resultStorages, stackLimit, mustBeTogether).run();
}
