// What a stage's nest would do, found by emitting it into scrap.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StageNest.h"

using namespace mlir;
using namespace weft::cpu;

bool weft::cpu::loopsInStep(const IndexSpace &space, unsigned outer, unsigned inner,
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

NestReport StageEmitter::probe(Stage &stage) {
  IndexSpace &space = elements.space;
  NestReport report;
  Nest nest = makeNest(stage);
  space.wantedSplits.clear();
  record(report.seen, [&] { emitNest(stage, nest); });
  report.valueIndices = nest.valueIndices;
  for (auto [dim, inner] : space.wantedSplits)
    for (const Nest::Loop &loop : nest.loops)
      if (loop.dim == dim && loop.key != kNever)
        report.wantedSplits.push_back({loop.key, inner * loop.inside});
  // Lanes run along the last reduction loop, all else along the last loop.
  const Nest::Loop *innermost = nullptr;
  for (const Nest::Loop &loop : nest.loops)
    if (!nest.lanes || loop.reduction)
      innermost = &loop;
  if (!innermost)
    return report;
  for (const Nest::Loop &loop : nest.loops)
    if (&loop != innermost)
      report.starts *= space.dims[loop.dim].extent;
  auto along = [&](AffineExpr expr, bool last) {
    auto step = space.coefficient(expr, innermost->dim);
    return step && (*step == 0 || (last && *step == 1));
  };
  for (const Recorder::Access &access : report.seen.accesses)
    report.contiguous &= along(access.address, true);
  for (const Recorder::Read &read : report.seen.demands)
    for (auto [number, index] : llvm::enumerate(read.indices))
      report.contiguous &= along(index, number + 1 == read.indices.size());
  return report;
}

SmallVector<bool> StageEmitter::joinableDims(Stage &stage) {
  SmallVector<bool> joinable(stage.box.size(), false);
  if (!stage.splits.empty())
    return joinable;
  Nest nest = makeNest(stage);
  Recorder seen;
  record(seen, [&] { emitNest(stage, nest); });
  int previous = -1; // the last loop that is not of one iteration
  int next = 0;
  for (auto [number, box] : llvm::enumerate(stage.box)) {
    if (box.width == 1) {
      joinable[number] = number > 0;
      continue;
    }
    int loop = next++;
    joinable[number] =
        number > 0 && (previous < 0 || loopsInStep(elements.space, nest.loops[previous].dim,
                                                   nest.loops[loop].dim, seen));
    previous = loop;
  }
  return joinable;
}

std::optional<unsigned> StageEmitter::stridedDim(Stage &stage) {
  IndexSpace &space = elements.space;
  Nest nest = makeNest(stage);
  Recorder seen;
  record(seen, [&] { emitNest(stage, nest); });
  // Loops stand for box dims in order; those of one iteration have none.
  SmallVector<unsigned> boxOf;
  for (auto [number, box] : llvm::enumerate(stage.box))
    if (box.width != 1)
      boxOf.push_back(number);
  if (boxOf.size() != nest.loops.size() || nest.loops.size() < 2)
    return std::nullopt;
  for (const Recorder::Access &access : seen.accesses) {
    auto last = space.coefficient(access.address, nest.loops.back().dim);
    if (!last || *last == 0 || *last == 1)
      continue;
    for (unsigned loop = 0; loop + 1 < nest.loops.size(); ++loop) {
      auto step = space.coefficient(access.address, nest.loops[loop].dim);
      if (step && *step == 1)
        return boxOf[loop];
    }
  }
  return std::nullopt;
}
