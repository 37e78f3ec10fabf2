// What the nests of a kernel do and read of each other, for one way to cut it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelForm.h"
#include "KernelTiler.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft::kernels;

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

void KernelTiler::grow(Demand &demand, Value tensor, const Recorder::Read &read) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(tensor.getType()).getShape();
  bool first = !demand.any;
  demand.any = true;
  demand.points += read.points;
  ++demand.reads;
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
      // Guarded reads (of padding) may reach outside; those in front take whole dims.
      auto range = space.range(mine.base);
      if (!range || range->first < 0 || mine.width >= shape[dim])
        mine = whole;
      else
        mine.mayBeEmpty = range->second >= shape[dim];
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
    box.mayBeEmpty |= mine.mayBeEmpty;
    if (box.width >= shape[dim])
      box = whole;
  }
}

/// Gives a nest the box that others read of it; false if it is a result of
/// which a unit would read more than it computes.
bool KernelTiler::place(LoopNest &nest, const Demand &demand) {
  if (nest.isTemporary()) {
    nest.box = demand.box;
    if (nest.kind == LoopNest::Kind::Rows && !cutsRows(nest))
      for (auto [dim, isRow] : llvm::enumerate(rowDims(cast<scf::ForallOp>(nest.op))))
        if (isRow) {
          int64_t size = nest.shape()[dim];
          nest.box[dim] = {space.constant(0), size, size};
        }
    return true;
  }
  if (nest.kind == LoopNest::Kind::Rows && !cutsRows(nest))
    for (auto [dim, isRow] : llvm::enumerate(rowDims(cast<scf::ForallOp>(nest.op))))
      if (isRow && nest.box[dim].width != nest.shape()[dim])
        return false;
  if (!demand.any)
    return true;
  // Joined dims are those of elementwise kernels that read in place.
  for (auto [number, read] : llvm::enumerate(demand.box)) {
    if (nest.groups.size() != demand.box.size())
      return true;
    const BoxDim &own = nest.box[number];
    auto distance =
        dyn_cast<AffineConstantExpr>(space.add(read.base, space.multiply(own.base, -1)));
    if (own.step != 1 || !distance || distance.getValue() < 0 ||
        distance.getValue() + read.width > own.width)
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Analysis of one way to cut
//===----------------------------------------------------------------------===//

double KernelTiler::costOf(const LoopNest &nest, const NestReport &report) {
  double work = report.seen.work + double(report.seen.accesses.size()) * nest.boxElements();
  return work / (report.contiguous ? prices.lanes : 1) + prices.loopStart * report.starts;
}

/// Two values of one nest: one box for both.
static void joinBoxes(Demand &demand, const Demand &with, IndexSpace &space) {
  for (auto [own, other] : llvm::zip_equal(demand.box, with.box)) {
    if (own.base == other.base && own.width == other.width)
      continue;
    own = {space.constant(0), own.size ? own.size : other.size, own.size};
    own.width = own.size;
  }
}

/// Whether a nest, of which all later ones were seen, reads what is overwritten before a later nest
/// or another unit writes it: the nest that writes it reads each element for the same element only
/// (all are read before one is written), and others stand before it and read the part that its unit
/// writes. Nests of one loop read each element for the same element only. What reads the result
/// instead of the argument stands behind who writes it.
bool KernelTiler::readsBeforeWrites(const LoopNest &nest, const NestReport &report) {
  if (nest.boxElements() == 0)
    return true;
  auto isSame = [&](AffineExpr a, AffineExpr b) {
    auto distance = dyn_cast<AffineConstantExpr>(space.add(a, space.multiply(b, -1)));
    return distance && distance.getValue() == 0;
  };
  auto partOf = [&](AffineExpr address) -> std::optional<Overwritten> {
    AffineExpr base, rest;
    if (!space.separate(address, base, rest))
      return std::nullopt;
    auto range = space.range(rest);
    return range ? std::optional(Overwritten{base, range->first, range->second}) : std::nullopt;
  };
  for (const Storage *shared : overwritten) {
    AffineExpr own;
    if (tiling.together && nest.shape().size() == shared->strides.size()) {
      own = shared->offset;
      for (auto [index, stride] : llvm::zip_equal(report.valueIndices, shared->strides))
        own = space.add(own, space.multiply(index, stride));
    }
    for (const Recorder::Access &access : report.seen.accesses)
      if (!tiling.together && access.isStore && access.pointer == shared->pointer) {
        own = access.address;
        std::optional<Overwritten> part = partOf(own);
        if (!part || part->greatest - part->least + 1 != nest.boxElements())
          return false;
        writes[shared->pointer] = *part;
      }
    for (const Recorder::Access &access : report.seen.accesses) {
      if (!access.isOverwritten || access.pointer != shared->pointer ||
          (own && isSame(access.address, own)))
        continue;
      auto later = writes.find(shared->pointer);
      std::optional<Overwritten> part = partOf(access.address);
      if (own || !part || later == writes.end() || !isSame(part->base, later->second.base) ||
          part->least < later->second.least || part->greatest > later->second.greatest)
        return false;
    }
  }
  return true;
}

/// Whether elementwise kernels may have the read: of a number, or of the element that is computed.
/// Temporaries come before all results, so they read none, even if these are numbers, too.
static bool isReadInPlace(ArrayRef<LoopNest> nests, const LoopNest &nest,
                          const Recorder::Read &read, ArrayRef<AffineExpr> own) {
  bool isOfResult = llvm::any_of(nests, [&](const LoopNest &other) {
    return !other.isTemporary() && llvm::is_contained(other.values, read.tensor);
  });
  if (nest.isTemporary() && isOfResult)
    return false;
  bool isOne = cast<RankedTensorType>(read.tensor.getType()).getNumElements() == 1;
  return isOne || (ArrayRef<AffineExpr>(read.indices) == own && !nest.isTemporary());
}

/// Makes the loops over units, and the boxes of the results that one of them computes.
void KernelTiler::openUnits(ArrayRef<UnitDim> units) {
  // Any value serves as induction variable of scrap code.
  Value placeholder = arith::ConstantIndexOp::create(elements.builder, kernel.getLoc(), 0);
  auto groupSize = [](const LoopNest &nest, unsigned group) {
    int64_t size = 1;
    for (int64_t dim : nest.groups[group])
      size *= nest.shape()[dim];
    return size;
  };
  const LoopNest *anyResult =
      &*llvm::find_if(tiling.nests, [](LoopNest &nest) { return !nest.isTemporary(); });
  SmallVector<AffineExpr> numbers;
  for (const UnitDim &unit : units) {
    int64_t size = groupSize(*anyResult, unit.group);
    tiling.unitExtents.push_back(llvm::divideCeil(size, unit.chunkOf(size)));
    numbers.push_back(space.addDim(tiling.unitExtents.back(), true, placeholder));
  }
  for (LoopNest &nest : tiling.nests) {
    nest.box.clear();
    nest.isRead = true;
    if (nest.isTemporary())
      continue;
    for (unsigned group = 0; group < nest.groups.size(); ++group) {
      int64_t size = groupSize(nest, group);
      nest.box.push_back({space.constant(0), size, size});
    }
    for (auto [unit, number] : llvm::zip_equal(units, numbers)) {
      int64_t size = nest.box[unit.group].size, chunk = unit.chunkOf(size);
      nest.box[unit.group] = {space.multiply(number, chunk), chunk, size};
      if (unit.takesTurns) {
        nest.box[unit.group].base = number;
        nest.box[unit.group].step = llvm::divideCeil(size, chunk);
      }
    }
  }
}

bool KernelTiler::analyse(ArrayRef<UnitDim> units) {
  writes.clear();
  space.dims.clear();
  space.symbols.clear();
  visits.clear();
  isTooMuch = false;
  readsInPlace = true;
  tiling.units.assign(units.begin(), units.end());
  tiling.unitExtents.clear();
  tiling.stackBytes = 0;
  tiling.unitCost = 0;
  openUnits(units);
  DenseMap<Value, Demand> demands;
  LoopNestEmitter emitter(elements);
  for (LoopNest &nest : llvm::reverse(tiling.nests)) {
    Demand demand;
    for (Value value : nest.values) {
      auto found = demands.find(value);
      if (found == demands.end() || nest.kind == LoopNest::Kind::Copy)
        continue;
      if (!demand.any) {
        demand = found->second;
        continue;
      }
      joinBoxes(demand, found->second, space);
    }
    nest.isRead = !nest.isTemporary() || demand.any;
    if (!nest.isRead)
      continue;
    for (auto [dim, box] : llvm::enumerate(demand.box))
      box.size = nest.shape()[dim];
    if (!place(nest, demand))
      return false;
    // The nest writes somewhere while it is probed; others must still see that
    // its values are read.
    if (nest.kind != LoopNest::Kind::Copy && !nest.isScalar())
      for (auto [value, result] : llvm::zip_equal(nest.values, nest.results))
        elements.storage[value] =
            result >= 0 ? resultStorages[result]
                        : temporaryStorage(nest, value, resultStorages[0].pointer, space);
    NestReport report;
    for (unsigned round = 0; round < 6; ++round) {
      report = emitter.probe(nest);
      bool cut = false;
      for (auto split : report.wantedSplits)
        if (!llvm::is_contained(nest.splits, split)) {
          nest.splits.push_back(split);
          cut = true;
        }
      if (!cut)
        break;
    }
    if (nest.kind != LoopNest::Kind::Copy)
      for (Value value : nest.values)
        elements.storage.erase(value);
    isTooMuch = report.seen.isTooMuch;
    if (isTooMuch) {
      visits.clear();
      for (const Recorder::Read &read : report.seen.visits)
        grow(visits[read.tensor], read.tensor, read);
      return false;
    }
    if (!readsBeforeWrites(nest, report))
      return false;
    noteReads(nest, report, overwritten, space);
    for (const Recorder::Read &read : report.seen.demands) {
      grow(demands[read.tensor], read.tensor, read);
      readsInPlace &= isReadInPlace(tiling.nests, nest, read, report.valueIndices);
    }
    for (const Recorder::Read &read : report.seen.visits)
      grow(visits[read.tensor], read.tensor, read);
    tiling.unitCost += costOf(nest, report);
    tiling.stackBytes += stackBytesOf(nest);
  }
  return true;
}
