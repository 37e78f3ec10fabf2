// What a loop nest would do, found by emitting it into scrap.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "NestLoops.h"

using namespace mlir;
using namespace weft::kernels;

bool weft::kernels::loopsInStep(const IndexSpace &space, unsigned outer, unsigned inner,
                                const Recorder &seen) {
  int64_t extent = space.dims[inner].extent;
  for (const Recorder::Access &access : seen.accesses) {
    auto outerStep = space.coefficient(access.address, outer);
    auto innerStep = space.coefficient(access.address, inner);
    if (!outerStep || !innerStep || *outerStep != *innerStep * extent)
      return false;
  }
  for (AffineExpr value : seen.values)
    if (value.isFunctionOfDim(outer) || value.isFunctionOfDim(inner))
      return false;
  return true;
}

NestReport LoopNestEmitter::probe(LoopNest &nest) {
  IndexSpace &space = elements.space;
  NestReport report;
  Loops loops = makeLoops(nest);
  space.wantedSplits.clear();
  record(report.seen, [&] { emitLoops(nest, loops); });
  report.valueIndices = loops.valueIndices;
  for (auto [dim, inner] : space.wantedSplits)
    for (const Loops::Loop &loop : loops.list)
      if (loop.dim == dim && loop.key != kNever)
        report.wantedSplits.push_back({loop.key, inner * loop.inside});
  // Lanes run along the last reduction loop, all else along the last loop.
  const Loops::Loop *innermost = nullptr;
  for (const Loops::Loop &loop : loops.list)
    if (!loops.lanes || loop.reduction)
      innermost = &loop;
  if (!innermost)
    return report;
  for (const Loops::Loop &loop : loops.list)
    if (&loop != innermost)
      report.starts *= space.dims[loop.dim].extent;
  auto along = [&](AffineExpr expr, bool last) {
    auto step = space.coefficient(expr, innermost->dim);
    return step && (*step == 0 || (last && *step == 1));
  };
  for (const Recorder::Access &access : report.seen.accesses) {
    report.contiguous &= along(access.address, true);
    if (!access.isStore && access.address.isFunctionOfDim(innermost->dim) &&
        !llvm::is_contained(report.streams, access.pointer))
      report.streams.push_back(access.pointer);
  }
  for (const Recorder::Read &read : report.seen.demands)
    for (auto [number, index] : llvm::enumerate(read.indices))
      report.contiguous &= along(index, number + 1 == read.indices.size());
  return report;
}

/// Of the leading dims of the memory as many in which an address keeps to the indices.
static unsigned ownDimsOf(AffineExpr address, ArrayRef<AffineExpr> indices, const Storage &memory,
                          IndexSpace &space) {
  AffineExpr rest = space.add(address, space.multiply(memory.offset, -1));
  unsigned dims = 0;
  for (auto [index, stride] : llvm::zip(indices, memory.strides)) {
    rest = space.add(rest, space.multiply(index, -stride));
    auto range = space.range(rest);
    if (!range || range->first < 0 || range->second >= stride)
      break;
    ++dims;
  }
  return dims;
}

void weft::kernels::noteReads(LoopNest &nest, const NestReport &report,
                              ArrayRef<const Storage *> overwritten, IndexSpace &space) {
  ArrayRef<AffineExpr> own = report.valueIndices;
  nest.reads.clear();
  nest.strays.clear();
  nest.readsOverwritten.clear();
  nest.streams = report.streams;
  nest.ownDims = own.size();
  for (const Recorder::Read &read : report.seen.demands) {
    nest.reads.push_back(read.tensor);
    if (read.indices.size() > own.size() ||
        ArrayRef<AffineExpr>(read.indices) != own.take_front(read.indices.size()))
      nest.strays.push_back(read.tensor);
  }
  for (const Recorder::Access &access : report.seen.accesses)
    for (const Storage *memory : overwritten)
      if (access.pointer == memory->pointer) {
        nest.ownDims = std::min(nest.ownDims, ownDimsOf(access.address, own, *memory, space));
        if (!access.isStore)
          nest.readsOverwritten.push_back(access.pointer);
      }
}

SmallVector<bool> LoopNestEmitter::joinableDims(LoopNest &nest) {
  SmallVector<bool> joinable(nest.box.size(), false);
  if (!nest.splits.empty())
    return joinable;
  Loops loops = makeLoops(nest);
  Recorder seen;
  record(seen, [&] { emitLoops(nest, loops); });
  int previous = -1; // the last loop that is not of one iteration
  int next = 0;
  for (auto [number, box] : llvm::enumerate(nest.box)) {
    if (box.width == 1) {
      joinable[number] = number > 0;
      continue;
    }
    int loop = next++;
    joinable[number] =
        number > 0 && (previous < 0 || loopsInStep(elements.space, loops.list[previous].dim,
                                                   loops.list[loop].dim, seen));
    previous = loop;
  }
  return joinable;
}

std::optional<unsigned> LoopNestEmitter::stridedDim(LoopNest &nest) {
  IndexSpace &space = elements.space;
  Loops loops = makeLoops(nest);
  Recorder seen;
  record(seen, [&] { emitLoops(nest, loops); });
  // Loops stand for box dims in order; those of one iteration have none.
  SmallVector<unsigned> boxOf;
  for (auto [number, box] : llvm::enumerate(nest.box))
    if (box.width != 1)
      boxOf.push_back(number);
  if (boxOf.size() != loops.list.size() || loops.list.size() < 2)
    return std::nullopt;
  for (const Recorder::Access &access : seen.accesses) {
    auto last = space.coefficient(access.address, loops.list.back().dim);
    if (!last || *last == 0 || *last == 1)
      continue;
    for (unsigned loop = 0; loop + 1 < loops.list.size(); ++loop) {
      auto step = space.coefficient(access.address, loops.list[loop].dim);
      if (step && *step == 1)
        return boxOf[loop];
    }
  }
  return std::nullopt;
}
