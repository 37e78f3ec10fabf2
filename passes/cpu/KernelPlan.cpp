// The search for a kernel's stages and units.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelPlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace weft::cpu;

int64_t weft::cpu::stackBytesOf(const Stage &stage) {
  if (stage.kind == Stage::Kind::Copy || stage.isScalar())
    return 0;
  int64_t bytes = 0;
  for (auto [value, result] : llvm::zip_equal(stage.values, stage.results))
    if (result < 0) {
      int64_t width =
          memoryType(getElementTypeOrSelf(value)).getIntOrFloatBitWidth() / 8;
      bytes += llvm::alignTo(stage.boxElements() * width, 64);
    }
  return bytes;
}

namespace {

/// Elements of a tensor that are read: one box, grown by every read.
struct Demand {
  bool any = false;
  SmallVector<BoxDim> box;
  double points = 0;
};

class Planner {
public:
  Planner(func::FuncOp kernel, ElementEmitter &elements,
          ArrayRef<Storage> resultStorages, int64_t stackLimit)
      : kernel(kernel), elements(elements), space(elements.space),
        resultStorages(resultStorages), stackLimit(stackLimit),
        terminator(
            cast<func::ReturnOp>(kernel.getBody().front().getTerminator())) {}

  FailureOr<KernelPlan> run();

private:
  func::FuncOp kernel;
  ElementEmitter &elements;
  IndexSpace &space;
  ArrayRef<Storage> resultStorages;
  int64_t stackLimit;
  func::ReturnOp terminator;
  /// Elementwise values that get a temporary, and those that must not.
  llvm::DenseSet<Value> kept, refused;
  KernelPlan plan;
  /// What was computed in place during the last analysis.
  DenseMap<Value, Demand> visits;
  /// Every stage read other stages at its own indices only.
  bool readsInPlace = true;

  void makeStages();
  void grow(Demand &demand, Value tensor, const Recorder::Read &read);
  bool place(Stage &stage, const Demand &demand);
  bool analyse(ArrayRef<UnitDim> units);
  Value findWorthKeeping();
  bool settle(ArrayRef<UnitDim> units);
  bool isElementwise() const;
  void joinDims();
  SmallVector<UnitDim> elementwiseUnits();
  SmallVector<UnitDim> tileUnits();
  SmallVector<SmallVector<UnitDim>> candidates();
};

} // namespace

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
    bool isLive =
        &op == terminator || llvm::any_of(op.getUsers(), [&](auto *user) {
          return live.contains(body.findAncestorOpInBlock(*user));
        });
    if (isLive)
      live.insert(&op);
  }
  llvm::DenseSet<Value> returned(terminator.getOperands().begin(),
                                 terminator.getOperands().end());
  for (Operation &op : body.without_terminator()) {
    if (!live.contains(&op) || op.getNumResults() == 0 ||
        elements.storage.count(op.getResult(0)))
      continue;
    Stage stage;
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (generic && generic.getNumReductionLoops() > 0)
      stage.kind = Stage::Kind::Reduction;
    else if (isa<scf::ForallOp>(op))
      stage.kind = Stage::Kind::Rows;
    else if (isa<TensorType>(op.getResult(0).getType()) &&
             (returned.contains(op.getResult(0)) ||
              kept.contains(op.getResult(0))))
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

bool Planner::isElementwise() const {
  return llvm::all_of(plan.stages, [&](const Stage &stage) {
    return (stage.kind == Stage::Kind::Elementwise ||
            stage.kind == Stage::Kind::Copy) &&
           !stage.isTemporary() && stage.shape() == plan.stages[0].shape();
  });
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
      for (auto [dim, isRow] :
           llvm::enumerate(rowDims(cast<scf::ForallOp>(stage.op))))
        if (isRow) {
          int64_t size = stage.shape()[dim];
          stage.box[dim] = {space.constant(0), size, size};
        }
    return true;
  }
  if (stage.kind == Stage::Kind::Rows)
    for (auto [dim, isRow] :
         llvm::enumerate(rowDims(cast<scf::ForallOp>(stage.op))))
      if (isRow && stage.box[dim].width != stage.shape()[dim])
        return false;
  if (!demand.any)
    return true;
  // Joined dims are those of elementwise kernels that read in place.
  for (auto [number, read] : llvm::enumerate(demand.box)) {
    if (stage.groups.size() != demand.box.size())
      return true;
    const BoxDim &own = stage.box[number];
    auto distance = dyn_cast<AffineConstantExpr>(
        space.add(read.base, space.multiply(own.base, -1)));
    if (!distance || distance.getValue() < 0 ||
        distance.getValue() + read.width > own.width)
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
  Value placeholder =
      arith::ConstantIndexOp::create(elements.builder, kernel.getLoc(), 0);
  auto groupSize = [](const Stage &stage, unsigned group) {
    int64_t size = 1;
    for (int64_t dim : stage.groups[group])
      size *= stage.shape()[dim];
    return size;
  };
  const Stage *anyResult = &*llvm::find_if(
      plan.stages, [](Stage &stage) { return !stage.isTemporary(); });
  SmallVector<AffineExpr> bases;
  for (const UnitDim &unit : units) {
    int64_t extent =
        llvm::divideCeil(groupSize(*anyResult, unit.group), unit.chunk);
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
                        : temporaryStorage(stage, value,
                                           resultStorages[0].pointer, space);
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
      readsInPlace &= read.indices == report.valueIndices;
    }
    for (const Recorder::Read &read : report.seen.visits)
      grow(visits[read.tensor], read.tensor, read);
    double work = report.seen.work +
                  double(report.seen.accesses.size()) * stage.boxElements();
    plan.unitCost += work / (report.contiguous ? 8 : 1) + 6 * report.starts;
    plan.stackBytes += stackBytesOf(stage);
  }
  return true;
}

/// A value that is computed in place more often than it has elements, and
/// costs enough; the one nearest to the results.
Value Planner::findWorthKeeping() {
  for (Operation &op : llvm::reverse(kernel.getBody().front())) {
    if (op.getNumResults() != 1)
      continue;
    Value value = op.getResult(0);
    auto found = visits.find(value);
    if (found == visits.end() || refused.contains(value) ||
        kept.contains(value))
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

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

void Planner::joinDims() {
  StageEmitter emitter(elements);
  SmallVector<bool> joinable;
  for (Stage &stage : plan.stages) {
    Value value = stage.values[0];
    if (stage.kind != Stage::Kind::Copy)
      elements.storage[value] = resultStorages[stage.results[0]];
    SmallVector<bool> own = emitter.joinableDims(stage);
    if (stage.kind != Stage::Kind::Copy)
      elements.storage.erase(value);
    if (joinable.empty())
      joinable = own;
    for (auto [all, one] : llvm::zip_equal(joinable, own))
      all = all && one;
  }
  for (Stage &stage : plan.stages) {
    stage.groups.clear();
    for (size_t dim = 0; dim < joinable.size(); ++dim) {
      if (!joinable[dim])
        stage.groups.emplace_back();
      stage.groups.back().push_back(dim);
    }
  }
}

/// Units of about 4096 elements, less if that gives more than 64 of them.
SmallVector<UnitDim> Planner::elementwiseUnits() {
  const Stage &stage = plan.stages[0];
  int64_t total = 1;
  SmallVector<int64_t> sizes;
  for (auto &group : stage.groups) {
    int64_t size = 1;
    for (int64_t dim : group)
      size *= stage.shape()[dim];
    sizes.push_back(size);
    total *= size;
  }
  if (total == 0)
    return {};
  int64_t target = std::clamp<int64_t>(total / 64, 256, 4096);
  SmallVector<UnitDim> units;
  int64_t inner = 1;
  for (int group = sizes.size() - 1; group >= 0; --group) {
    int64_t room = std::max<int64_t>(1, target / inner);
    if (inner >= target) {
      units.push_back({unsigned(group), 1});
    } else if (sizes[group] > room) {
      // Whole vectors, and whole pieces of loops that are cut.
      int64_t multiple = inner == 1 ? 64 : 1;
      for (auto [key, factor] : stage.splits)
        if (key == unsigned(group))
          multiple = std::lcm(multiple, factor);
      int64_t chunk = llvm::alignTo(room, multiple);
      if (chunk < sizes[group])
        units.push_back({unsigned(group), chunk});
      inner = target;
      continue;
    }
    inner *= sizes[group];
  }
  std::reverse(units.begin(), units.end());
  return units;
}

/// If an operand runs along memory in another dim than the last (a transpose):
/// small tiles of both, so that what a tile reads and writes stays in the
/// cache.
SmallVector<UnitDim> Planner::tileUnits() {
  constexpr int64_t side = 16;
  if (plan.stages[0].groups.size() < 2 || !analyse({}))
    return {};
  std::optional<unsigned> other;
  StageEmitter emitter(elements);
  for (Stage &stage : plan.stages) {
    if (!stage.splits.empty() || stage.box.back().width < 2 * side)
      return {};
    if (stage.kind != Stage::Kind::Elementwise)
      continue;
    elements.storage[stage.values[0]] = resultStorages[stage.results[0]];
    if (auto found = emitter.stridedDim(stage))
      other = found;
    elements.storage.erase(stage.values[0]);
  }
  const Stage &stage = plan.stages[0];
  unsigned last = stage.groups.size() - 1;
  if (!other || stage.box[*other].width < 2 * side)
    return {};
  SmallVector<UnitDim> units;
  for (unsigned group = 0; group <= last; ++group) {
    bool isTile = group == *other || group == last;
    if (stage.box[group].width > 1)
      units.push_back({group, isTile ? side : 1});
  }
  return units;
}

SmallVector<SmallVector<UnitDim>> Planner::candidates() {
  // Leading dims that all results share; each is cut whole (chunk 1), the one
  // after them perhaps in chunks.
  SmallVector<ArrayRef<int64_t>> shapes;
  for (Value value : terminator.getOperands())
    shapes.push_back(cast<RankedTensorType>(value.getType()).getShape());
  unsigned shared = 0;
  auto isShared = [&](unsigned dim) {
    return llvm::all_of(shapes, [&](ArrayRef<int64_t> shape) {
      return dim < shape.size() && shape[dim] == shapes[0][dim];
    });
  };
  while (isShared(shared))
    ++shared;
  // The smallest units first; larger ones have to be better.
  SmallVector<SmallVector<UnitDim>> result;
  SmallVector<UnitDim> leading;
  int64_t unitsSoFar = 1;
  for (unsigned dim = 0; dim <= shared; ++dim) {
    result.insert(result.begin(), leading);
    if (dim == shared || shapes[0][dim] == 0)
      break;
    int64_t size = shapes[0][dim];
    for (int64_t chunk : {64, 512})
      if (size > chunk && unitsSoFar < 256) {
        result.push_back(leading);
        result.back().push_back({dim, chunk});
      }
    if (size > 1)
      leading.push_back({dim, 1});
    unitsSoFar *= size;
  }
  // A later dim alone, where the leading ones have to be whole.
  bool same = llvm::all_equal(shapes);
  for (unsigned dim = 1; same && dim < shared; ++dim)
    for (int64_t chunk : {1, 64, 512})
      if (shapes[0][dim] > chunk && (chunk > 1 || dim + 1 < shapes[0].size()))
        result.push_back({{dim, chunk}});
  return result;
}

FailureOr<KernelPlan> Planner::run() {
  // Temporaries are chosen for units as small as possible, then units for them.
  bool empty = llvm::any_of(terminator.getOperandTypes(), [](Type type) {
    return cast<RankedTensorType>(type).getNumElements() == 0;
  });
  makeStages();
  if (!empty && isElementwise() && analyse({}) && readsInPlace &&
      !findWorthKeeping()) {
    joinDims();
    SmallVector<UnitDim> units = tileUnits();
    if (analyse(units.empty() ? elementwiseUnits() : units)) {
      plan.together = true;
      return std::move(plan);
    }
  }
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

FailureOr<KernelPlan> weft::cpu::planKernel(func::FuncOp kernel,
                                            ElementEmitter &elements,
                                            ArrayRef<Storage> resultStorages,
                                            int64_t stackLimit) {
  return Planner(kernel, elements, resultStorages, stackLimit).run();
}
