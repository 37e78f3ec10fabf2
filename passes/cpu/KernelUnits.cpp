// How the elements of a kernel's results are cut into units.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelUnits.h"
#include "KernelPrices.h"

#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace weft::cpu;
using namespace weft::kernels;

namespace {

class CpuTiler : public KernelTiler {
public:
  using KernelTiler::KernelTiler;

private:
  SmallVector<UnitDim> elementwiseUnits();
  SmallVector<UnitDim> tileUnits();
  SmallVector<UnitDim> unitsTogether() override {
    SmallVector<UnitDim> units = tileUnits();
    return units.empty() ? elementwiseUnits() : units;
  }
  SmallVector<SmallVector<UnitDim>> candidates() override;
  double score() override;
};

} // namespace

/// Units of about 4096 elements, less if that gives more than 64 of them.
SmallVector<UnitDim> CpuTiler::elementwiseUnits() {
  const LoopNest &nest = resultNests().front();
  int64_t total = 1;
  SmallVector<int64_t> sizes;
  for (auto &group : nest.groups) {
    int64_t size = 1;
    for (int64_t dim : group)
      size *= nest.shape()[dim];
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
      for (auto [key, factor] : nest.splits)
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
SmallVector<UnitDim> CpuTiler::tileUnits() {
  constexpr int64_t side = 16;
  if (resultNests().front().groups.size() < 2 || !analyse({}))
    return {};
  std::optional<unsigned> other;
  LoopNestEmitter emitter(elements);
  for (LoopNest &nest : resultNests()) {
    if (!nest.splits.empty() || nest.box.back().width < 2 * side)
      return {};
    if (nest.kind != LoopNest::Kind::Elementwise)
      continue;
    elements.storage[nest.values[0]] = resultStorages[nest.results[0]];
    if (auto found = emitter.stridedDim(nest))
      other = found;
    elements.storage.erase(nest.values[0]);
  }
  const LoopNest &nest = resultNests().front();
  unsigned last = nest.groups.size() - 1;
  if (!other || nest.box[*other].width < 2 * side)
    return {};
  SmallVector<UnitDim> units;
  for (unsigned group = 0; group <= last; ++group) {
    bool isTile = group == *other || group == last;
    if (nest.box[group].width > 1)
      units.push_back({group, isTile ? side : 1});
  }
  return units;
}

SmallVector<SmallVector<UnitDim>> CpuTiler::candidates() {
  // Leading dims that all results share; each is cut whole (chunk 1), the one
  // after them perhaps in chunks.
  SmallVector<ArrayRef<int64_t>> shapes;
  unsigned shared = sharedDims(shapes);
  // The smallest units first; larger ones have to be better.
  SmallVector<SmallVector<UnitDim>> result;
  SmallVector<UnitDim> leading;
  int64_t unitsSoFar = 1;
  for (unsigned dim = 0; dim <= shared; ++dim) {
    result.insert(result.begin(), leading);
    for (int64_t parts : partsOf(dim, shapes)) {
      result.insert(result.begin(), leading);
      result.front().push_back({dim, 0, parts});
      // Columns that stay in the first-level cache.
      constexpr int64_t columns = 512;
      if (llvm::all_of(shapes, [&](ArrayRef<int64_t> shape) {
            return dim + 2 == shape.size() && shape.back() == shapes[0].back() &&
                   shape.back() > columns;
          })) {
        result.push_back(result.front());
        result.back().push_back({dim + 1, columns});
      }
    }
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

double CpuTiler::score() {
  double spilled = std::max<double>(0, double(tiling.stackBytes) - kFirstLevelBytes);
  double total = (tiling.unitCost + kSpilledByte * spilled + kUnitStart) * double(tiling.extent());
  // When it is launched, a thread has at least a grain to do.
  double grains = total * kNanosecondsOfOperation / kGrainNanoseconds;
  double time = total / std::clamp(grains, 1.0, std::min(double(tiling.extent()), kThreads));
  // No way is worth the time alone, as idle cores have other work: bf16 sums of columns took five
  // times as long where only time counted. So half as long may take four times the work.
  return time * std::sqrt(total);
}

llvm::Expected<KernelTiling> weft::cpu::tileKernel(func::FuncOp kernel, ElementEmitter &elements,
                                                   ArrayRef<Storage> resultStorages,
                                                   int64_t stackLimit,
                                                   ArrayRef<const Storage *> overwritten) {
  TilingPrices prices = {kLanes,        kLoopStart,   kWorthAScalar, kWorthAnArray,
                         kWorthAnArray, kClearlyLess, "stack"};
  return CpuTiler(kernel, elements, resultStorages, stackLimit, overwritten, prices).run();
}
