// The choice of units, threads and lanes, by what steps of all threads take.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GridPlan.h"

#include "GridElements.h"
#include "GroupReduce.h"
#include "weft/Interfaces/TensorTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace weft::cuda;
using namespace weft::kernels;

double weft::cuda::operationCost(Operation &op) {
  if (isa<math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp, math::RoundEvenOp>(op))
    return 1;
  if (isa<math::MathDialect>(op.getDialect()))
    return 16;
  if (isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
          arith::RemFOp>(op))
    return 8;
  if (isa<arith::ConstantOp, linalg::IndexOp>(op) || op.hasTrait<OpTrait::IsTerminator>())
    return 0;
  return 1;
}

int64_t weft::cuda::leastBytes(const LoopNest &nest) {
  int64_t least = kAccessBytes;
  auto see = [&](Value value) {
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      least = std::min(least, weft::elementBytes(memoryType(type.getElementType())));
  };
  llvm::for_each(nest.values, see);
  // Arguments lie behind ops that are computed in place.
  llvm::SmallVector<Operation *> open;
  llvm::DenseSet<Operation *> seen;
  if (Operation *op = nest.kind == LoopNest::Kind::Copy ? nest.values[0].getDefiningOp() : nest.op)
    open.push_back(op);
  while (!open.empty()) {
    Operation *op = open.pop_back_val();
    if (!seen.insert(op).second || seen.size() > 64)
      continue;
    for (Value operand : op->getOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      if (Operation *maker = operand.getDefiningOp())
        open.push_back(maker);
      else if (type && type.getNumElements() >= nest.boxElements())
        see(operand);
    }
  }
  return least;
}

static std::optional<RowChanges> changesOf(const LoopNest &nest) {
  auto forall = dyn_cast_or_null<scf::ForallOp>(nest.op);
  return forall ? rowChangesOf(forall) : std::nullopt;
}

std::optional<RowChanges> weft::cuda::sharedRows(const LoopNest &nest) {
  std::optional<RowChanges> rows = changesOf(nest);
  if (rows && nest.box.size() == rows->choosing.size())
    for (auto [box, chooses] : llvm::zip_equal(nest.box, rows->choosing))
      if (chooses && box.width > 1)
        return std::nullopt;
  return rows;
}

int64_t weft::cuda::lanesOf(const LoopNest &nest, bool together) {
  if (nest.box.empty())
    return 1;
  // A change is of one element of a row.
  if (nest.kind == LoopNest::Kind::Rows &&
      (!sharedRows(nest) || rowDims(cast<scf::ForallOp>(nest.op)).back()))
    return 1;
  int64_t most = kAccessBytes / leastBytes(nest);
  const BoxDim &last = nest.box.back();
  if (together && nest.box.size() == 1)
    return std::min<int64_t>(most, llvm::bit_floor(uint64_t(std::max<int64_t>(1, last.width))));
  int64_t lanes = 1;
  while (lanes * 2 <= most && last.width % (lanes * 2) == 0 && last.size % (lanes * 2) == 0)
    lanes *= 2;
  return lanes;
}

static int64_t reductionExtent(linalg::GenericOp generic) {
  int64_t extent = 1;
  for (auto [kind, size] :
       llvm::zip_equal(generic.getIteratorTypesArray(), generic.getStaticLoopRanges()))
    if (kind == utils::IteratorType::reduction)
      extent *= size;
  return extent;
}

int64_t weft::cuda::lanesOfReduction(const LoopNest &nest) {
  int64_t extent = reductionExtent(cast<linalg::GenericOp>(nest.op));
  int64_t most = kAccessBytes / leastBytes(nest), lanes = 1;
  while (lanes * 2 <= most && extent % (lanes * 2) == 0)
    lanes *= 2;
  return lanes;
}

/// Whether the innermost loop that has more than one turn is reduced, and with it what lies side by
/// side.
static bool reducesInnermost(linalg::GenericOp generic) {
  auto kinds = generic.getIteratorTypesArray();
  SmallVector<int64_t> extents = generic.getStaticLoopRanges();
  size_t inner = kinds.size();
  while (inner > 1 && extents[inner - 1] == 1 && kinds[inner - 1] == utils::IteratorType::parallel)
    --inner;
  return kinds[inner - 1] == utils::IteratorType::reduction;
}

bool weft::cuda::isShared(linalg::GenericOp generic) {
  return reducesInnermost(generic) && combinerOf(generic).has_value();
}

bool weft::cuda::isSharedByThreads(linalg::GenericOp generic) {
  return isShared(generic) && reductionExtent(generic) >= kWarp;
}

bool weft::cuda::isOfColumns(linalg::GenericOp generic) {
  return !reducesInnermost(generic) && combinerOf(generic).has_value();
}

int64_t weft::cuda::rowGroups(const LoopNest &nest, int64_t threads) {
  auto generic = cast<linalg::GenericOp>(nest.op);
  // Of fewer rows a group's sums would be as much work as the rows.
  constexpr int64_t kLeastRows = 4;
  int64_t ofColumns = std::max<int64_t>(1, nest.boxElements() / lanesOf(nest));
  if (!isOfColumns(generic) || nest.boxElements() == 1)
    return 1;
  return std::max<int64_t>(1, std::min(threads / ofColumns, reductionExtent(generic) / kLeastRows));
}

int64_t weft::cuda::rowGroupBytes(const LoopNest &nest, int64_t groups) {
  int64_t bytes = 0;
  for (Value value : nest.values)
    bytes +=
        weft::elementBytes(memoryType(cast<RankedTensorType>(value.getType()).getElementType()));
  return groups > 1 ? groups * nest.boxElements() * bytes : 0;
}

int64_t weft::cuda::threadsPerElement(const LoopNest &nest, int64_t threads) {
  auto generic = cast<linalg::GenericOp>(nest.op);
  if (!isSharedByThreads(generic))
    return 1;
  return nest.boxElements() == 1 ? threads : kWarp;
}

/// Whether the rows of `first`, one number each, are those of the nest, and a warp has work in
/// each.
static bool goesByRow(const LoopNest &nest, const LoopNest &first, int64_t threads,
                      const IndexSpace &space) {
  size_t dims = first.box.size();
  if (nest.box.size() < dims || nest.ownDims < dims)
    return false;
  for (auto [number, box] : llvm::enumerate(nest.box)) {
    auto reach = space.range(box.base);
    if (box.mayBeEmpty || !reach || reach->second + (box.width - 1) * box.step >= box.size)
      return false;
    if (number < dims && (box.base != first.box[number].base ||
                          box.width != first.box[number].width || box.step != 1))
      return false;
  }
  if (nest.kind == LoopNest::Kind::Reduction)
    return nest.box.size() == dims && threadsPerElement(nest, threads) == kWarp;
  return nest.kind == LoopNest::Kind::Elementwise &&
         (nest.box.size() == dims ||
          nest.boxElements() / first.boxElements() / lanesOf(nest) >= kWarp);
}

size_t weft::cuda::nestsByRow(ArrayRef<LoopNest> nests, int64_t threads, const IndexSpace &space) {
  const LoopNest &first = nests.front();
  // Of fewer rows than warps there are, all threads share what is done for each element.
  if (first.kind != LoopNest::Kind::Reduction ||
      first.boxElements() < std::max<int64_t>(2, threads / kWarp))
    return 1;
  llvm::DenseSet<Value> made;
  // Of other than numbers each lane of the warp has its own elements.
  auto canRead = [&](const LoopNest &nest, Value value) {
    return cast<RankedTensorType>(value.getType()).getRank() == int64_t(first.box.size()) &&
           !llvm::is_contained(nest.strays, value);
  };
  size_t count = 0;
  for (const LoopNest &nest : nests) {
    if (!goesByRow(nest, first, threads, space) || llvm::any_of(nest.reads, [&](Value value) {
          return made.contains(value) && !canRead(nest, value);
        }))
      break;
    made.insert(nest.values.begin(), nest.values.end());
    ++count;
  }
  return std::max<size_t>(1, count);
}

int64_t weft::cuda::threadsOf(const KernelTiling &tiling) {
  // A thread may then have all the registers that code can name. Where a row gives each of twice as
  // many some turns, these read it: what is read again, of the few rows under way, is then still in
  // the cache that all multiprocessors share.
  constexpr int64_t kMostThreads = 256, kTurns = 8;
  int64_t wanted = kWarp, most = kMostThreads;
  for (const LoopNest &nest : tiling.nests) {
    int64_t elements = nest.boxElements();
    if (std::optional<RowChanges> rows = sharedRows(nest))
      wanted = std::max(wanted, llvm::product_of(rows->change.extents()));
    if (nest.kind == LoopNest::Kind::Reduction && threadsPerElement(nest, kMostThreads) > 1) {
      int64_t extent = reductionExtent(cast<linalg::GenericOp>(nest.op));
      int64_t runs = extent / lanesOfReduction(nest);
      wanted = std::max(wanted, elements == 1 ? runs : elements * kWarp);
      if (elements == 1 && runs >= kTurns * kMostThreadsOfBlock)
        most = kMostThreadsOfBlock;
      continue;
    }
    int64_t groups = nest.kind == LoopNest::Kind::Reduction ? rowGroups(nest, kMostThreads) : 1;
    wanted = std::max(wanted, elements / lanesOf(nest) * groups);
  }
  return std::min<int64_t>(most, llvm::PowerOf2Ceil(wanted));
}

/// What a GPU of the years 2020 to 2025 has. Round numbers: they choose between ways to cut that
/// are far apart, and must not depend on the machine.
constexpr int64_t kMultiprocessors = 128;
constexpr double kOperationsPerStep = 64, kLatency = 4, kNestStart = 300;
constexpr int64_t kResidentThreads = 2048, kResidentBlocks = 16, kWorkgroupMemory = 200 << 10;
/// Registers of a multiprocessor, and those that a thread can name.
constexpr int64_t kRegisters = 64 << 10, kThreadRegisters = 256;
/// Bytes that memory gives at a time.
constexpr int64_t kSector = 64;

std::optional<int64_t> weft::cuda::residentBlocks(int64_t blocks, int64_t threads) {
  int64_t resident = llvm::divideCeil(blocks, kMultiprocessors);
  if (resident * threads * kThreadRegisters > kRegisters)
    return std::nullopt;
  return resident;
}

namespace {

/// How many rows of a nest of rows a unit has, or has parts of.
double columnsOf(const LoopNest &nest) {
  double columns = 1;
  for (auto [box, isRow] : llvm::zip(nest.box, rowDims(cast<scf::ForallOp>(nest.op))))
    columns *= isRow ? 1 : double(box.width);
  return columns;
}

/// What a unit does for a nest of rows that are filled and changed, in elements. Together its
/// threads fill their part, look which of all changes fall into it, and do these, each in `columns`
/// rows at once; alone each does so for rows of its own.
struct RowWork {
  bool together;
  double filled, seen, changes, columns;

  RowWork(const LoopNest &nest, const RowChanges &rows)
      : together(sharedRows(nest).has_value()), filled(nest.boxElements()),
        seen(llvm::product_of(rows.change.extents())), columns(columnsOf(nest)) {
    double all = llvm::product_of(rows.fill.extents());
    changes = seen * filled / (columns * std::max(1.0, all));
  }
  double points() const { return filled + (together ? seen : 0) + changes * columns; }
  double cost() const { return 2 * filled + 24 * (together ? seen : 0) + 8 * changes * columns; }
  double steps(int64_t threads, int64_t lanes) const {
    // A change waits for memory; alone a thread does not read for the next ones meanwhile.
    constexpr double kTogether = 4, kAlone = 32;
    double turns = std::ceil(columns / double(threads * lanes));
    if (!together)
      return turns * (filled / std::max(1.0, columns) + kAlone * changes);
    return filled / double(threads * lanes) + seen / double(threads) + turns * kTogether * changes;
  }
};

class GridTiler : public KernelTiler {
public:
  using KernelTiler::KernelTiler;

private:
  /// Threads of all blocks share the one nest.
  SmallVector<UnitDim> unitsTogether() override { return {}; }

  SmallVector<SmallVector<UnitDim>> candidates() override {
    SmallVector<ArrayRef<int64_t>> shapes;
    unsigned shared = sharedDims(shapes);
    SmallVector<SmallVector<UnitDim>> result;
    SmallVector<UnitDim> leading;
    for (unsigned dim = 0; dim <= shared; ++dim) {
      result.insert(result.begin(), leading);
      for (int64_t parts : partsOf(dim, shapes)) {
        result.insert(result.begin(), leading);
        result.front().push_back({dim, 0, parts});
      }
      if (dim == shared || shapes[0][dim] == 0)
        break;
      for (int64_t chunk : {16, 64})
        if (shapes[0][dim] > chunk) {
          result.push_back(leading);
          result.back().push_back({dim, chunk});
        }
      if (shapes[0][dim] > 1)
        leading.push_back({dim, 1});
    }
    // A later dim alone, where the leading ones have to be whole.
    bool same = llvm::all_equal(shapes);
    for (unsigned dim = 1; same && dim < shared; ++dim)
      for (int64_t chunk : {1, 16, 64})
        if (shapes[0][dim] > chunk && (chunk > 1 || dim + 1 < shapes[0].size()))
          result.push_back({{dim, chunk}});
    addPartsOfRows(shapes, shared, result);
    return result;
  }

  /// Ways to cut rows: few changes are done where they fall, but each unit looks at all of them, so
  /// that units are just as many as keep all multiprocessors busy, even if some have more changes
  /// than others. What is changed often are neighbours, as frequent tokens are: units take turns.
  void addPartsOfRows(ArrayRef<ArrayRef<int64_t>> shapes, unsigned shared,
                      SmallVector<SmallVector<UnitDim>> &ways) {
    for (const LoopNest &nest : tiling.nests) {
      if (nest.shape() != shapes[0] || !changesOf(nest))
        continue;
      SmallVector<bool> isRow = rowDims(cast<scf::ForallOp>(nest.op));
      unsigned dim = llvm::find(isRow, true) - isRow.begin();
      if (dim >= shared)
        continue;
      int64_t size = shapes[0][dim], before = llvm::product_of(shapes[0].take_front(dim));
      auto add = [&](ArrayRef<UnitDim> leading, int64_t units) {
        int64_t parts = std::max<int64_t>(1, 4 * kMultiprocessors / std::max<int64_t>(1, units));
        int64_t chunk = llvm::bit_floor(uint64_t(std::max<int64_t>(1, size / parts)));
        ways.push_back(llvm::to_vector(leading));
        ways.back().push_back({dim, chunk});
      };
      SmallVector<UnitDim> leading;
      for (unsigned at = 0; at < dim; ++at)
        leading.push_back({at, 1});
      add(leading, before);
      if (dim > 0)
        add({}, 1);
      // Nobody else reads the parts, and most threads have a run of what an index has.
      constexpr int64_t kLeast = 512;
      bool takeTurns = tiling.nests.size() == 1 && size <= std::numeric_limits<int32_t>::max() &&
                       llvm::product_of(shapes[0].drop_front(dim + 1)) >= kLeast;
      for (SmallVector<UnitDim> &way : ways)
        for (UnitDim &unit : way)
          if (unit.group == dim && unit.chunk > 1)
            unit.takesTurns = takeTurns;
    }
  }

  bool cutsRows(const LoopNest &nest) const override { return sharedRows(nest).has_value(); }

  double costOf(const LoopNest &nest, const NestReport &report) override {
    if (std::optional<RowChanges> rows = changesOf(nest))
      return RowWork(nest, *rows).cost();
    return KernelTiler::costOf(nest, report);
  }

  double score() override {
    int64_t threads = threadsOf(tiling);
    double steps = 0, points = 0, waste = 1;
    for (const LoopNest &nest : tiling.nests) {
      if (std::optional<RowChanges> rows = changesOf(nest)) {
        RowWork work(nest, *rows);
        steps += work.steps(threads, lanesOf(nest));
        points += work.points();
        continue;
      }
      double own = nest.boxElements(), parallel = double(nest.boxElements()) / lanesOf(nest);
      if (nest.kind == LoopNest::Kind::Rows)
        parallel = columnsOf(nest); // a thread each
      if (nest.kind == LoopNest::Kind::Reduction) {
        auto generic = cast<linalg::GenericOp>(nest.op);
        own *= reductionExtent(generic);
        double wasteOfNest = 1;
        if (threadsPerElement(nest, threads) > 1)
          parallel = threads;
        else if (!reducesInnermost(generic) && !nest.box.empty())
          wasteOfNest =
              std::max(1.0, double(kSector) / double(leastBytes(nest) * nest.box.back().width));
        parallel *= rowGroups(nest, threads);
        waste = std::max(waste, wasteOfNest);
        own *= wasteOfNest;
      }
      steps += std::ceil(own / std::max(1.0, std::min<double>(parallel, threads)));
      points += own;
    }
    double cost = points > 0 ? tiling.unitCost / points : 1;
    int64_t resident =
        std::clamp<int64_t>(std::min(kResidentThreads / threads,
                                     kWorkgroupMemory / std::max<int64_t>(1, tiling.stackBytes)),
                            1, kResidentBlocks);
    double turns = std::ceil(double(tiling.extent()) / (kMultiprocessors * resident));
    double latency = turns * (steps * cost * kLatency + kNestStart * tiling.nests.size());
    double work = double(tiling.extent()) * tiling.unitCost;
    double throughput = work / (kMultiprocessors * kOperationsPerStep);
    // Small kernels idle most of the device either way: what is computed twice counts, too.
    return std::max(latency, throughput * waste) * std::sqrt(work);
  }
};

} // namespace

int64_t weft::cuda::listBytes(func::FuncOp kernel) {
  llvm::DenseSet<int64_t> counts; // what is made has room for that many changes
  for (auto forall : kernel.getOps<scf::ForallOp>())
    if (std::optional<RowChanges> rows = rowChangesOf(forall))
      counts.insert(llvm::product_of(rows->change.extents()));
  int64_t bytes = 0;
  for (int64_t count : counts)
    bytes +=
        bytesOfList(std::min<int64_t>(kListedChanges, llvm::alignTo(count, kMostThreadsOfBlock)));
  return bytes;
}

llvm::Expected<KernelTiling> weft::cuda::planGrid(func::FuncOp kernel, ElementEmitter &elements,
                                                  ArrayRef<Storage> resultStorages,
                                                  int64_t workgroupBytes,
                                                  ArrayRef<const Storage *> overwritten) {
  TilingPrices prices = {1, 0, 4, 8, 24, 0.9, "workgroup memory"};
  int64_t left = std::max<int64_t>(0, workgroupBytes - kExchangeBytes - listBytes(kernel));
  return GridTiler(kernel, elements, resultStorages, left, overwritten, prices).run();
}
