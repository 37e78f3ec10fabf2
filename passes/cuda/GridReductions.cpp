// Reductions by a thread, a warp, the block, or groups of its threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GridNests.h"

#include "GroupReduce.h"
#include "passes/kernels/KernelForm.h"
#include "weft/Interfaces/TensorTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace weft::cuda;
using namespace weft::kernels;

/// The loops of the generic: those of the results at `indices`, and which are reduced.
static SmallVector<AffineExpr> genericLoops(linalg::GenericOp generic, ArrayRef<AffineExpr> indices,
                                            SmallVectorImpl<unsigned> &reduced) {
  SmallVector<AffineExpr> loops(generic.getNumLoops());
  AffineMap map = generic.getMatchingIndexingMap(generic.getDpsInitOperand(0));
  for (auto [position, expr] : llvm::enumerate(map.getResults()))
    loops[cast<AffineDimExpr>(expr).getPosition()] = indices[position];
  for (unsigned loop = 0; loop < loops.size(); ++loop)
    if (!loops[loop])
      reduced.push_back(loop);
  return loops;
}

/// The reduction at `indices` for each lane, in the order of its loops: values by lane, then by
/// result.
SmallVector<Value> GridNestEmitter::reduceAlone(LoopNest &nest, unsigned laneDim,
                                                const Indices &indices) {
  auto generic = cast<linalg::GenericOp>(nest.op);
  assert(!generic->hasAttr(kRunningAttr) && "only threads together keep what a sum is relative to");
  SmallVector<unsigned> reduced;
  SmallVector<AffineExpr> loops = genericLoops(generic, indices, reduced);
  SmallVector<int64_t> extents = generic.getStaticLoopRanges();
  size_t results = nest.values.size();
  SmallVector<Value> carried;
  elements.forLanes(laneDim, [&](int64_t) {
    for (Value initial : generic.getDpsInits())
      carried.push_back(elements.element(initial, indices));
  });
  std::function<SmallVector<Value>(ArrayRef<unsigned>, ValueRange)> reduce =
      [&](ArrayRef<unsigned> which, ValueRange sums) {
        if (which.empty()) {
          SmallVector<Value> next, now = llvm::to_vector(sums);
          elements.forLanes(laneDim, [&](int64_t lane) {
            llvm::append_range(
                next, elements.inlineGeneric(generic, loops,
                                             ArrayRef(now).slice(lane * results, results)));
          });
          return next;
        }
        loops[which.front()] = space.addDim(extents[which.front()], false);
        unsigned dim = space.dims.size() - 1;
        return elements.loop(nest.loc(), dim, nullptr, sums, [&](ValueRange arguments) {
          return reduce(which.drop_front(), arguments);
        });
      };
  return reduce(reduced, carried);
}

/// What one of `among` has of the reduction at `indices`: values by lane, then by result. `lanes`
/// are those of the loop `laneDim`: of the results, or, where that is none, of what is reduced.
SmallVector<Value> GridNestEmitter::reduceRows(LoopNest &nest, Threads among, int64_t lanes,
                                               unsigned laneDim, const Indices &indices) {
  auto generic = cast<linalg::GenericOp>(nest.op);
  SmallVector<unsigned> reduced;
  SmallVector<AffineExpr> loops = genericLoops(generic, indices, reduced);
  SmallVector<int64_t> extents = generic.getStaticLoopRanges();
  // All loops that are reduced are one, so that runs go on where one of them ends.
  SmallVector<int64_t> whole;
  int64_t extent = 1;
  for (unsigned loop : reduced) {
    whole.push_back(extents[loop]);
    extent *= extents[loop];
  }
  bool areReduced = !isOfColumns(generic);
  int64_t runs = areReduced ? extent / lanes : extent;
  size_t results = nest.values.size();
  SmallVector<Value> carried;
  Combiner combiner = *combinerOf(generic);
  for (int64_t at = 0; at < (combiner.isRunning ? 1 : lanes); ++at)
    llvm::append_range(carried, neutralOf(builder, combiner));
  auto add = [&](AffineExpr number, ArrayRef<Value> now) {
    if (areReduced)
      number =
          space.add(space.multiply(number, lanes), getAffineDimExpr(laneDim, builder.getContext()));
    SmallVector<AffineExpr> parts;
    space.delinearize(number, whole, parts);
    for (auto [loop, part] : llvm::zip_equal(reduced, parts))
      loops[loop] = part;
    SmallVector<Value> next;
    elements.pushScope();
    if (combiner.isRunning)
      next = addRun(generic, combiner, loops, laneDim, now);
    else
      elements.forLanes(laneDim, [&](int64_t at) {
        llvm::append_range(
            next, elements.inlineGeneric(generic, loops, now.slice(at * results, results)));
      });
    elements.popScope();
    return next;
  };
  if (among.writeOut(runs)) {
    for (int64_t turn = 0; turn < runs / among.count; ++turn)
      carried = add(turnOf(among, turn), carried);
    return carried;
  }
  AffineExpr number = space.addDim(runs, false);
  unsigned numberDim = space.dims.size() - 1;
  return loopOfThread(nest.loc(), runs, among, carried, [&](Value iv, ValueRange arguments) {
    space.dims[numberDim].iv = iv;
    return add(number, llvm::to_vector(arguments));
  });
}

/// The values of all as one, in pairs, so that what waits for what is short: a power of two.
static Value combineInPairs(OpBuilder &builder, Operation *op, SmallVector<Value> values) {
  for (size_t distance = values.size() / 2; distance > 0; distance /= 2)
    for (size_t at = 0; at < distance; ++at)
      values[at] = combine(builder, op, values[at], values[at + distance]);
  return values.front();
}

/// What a running sum becomes by a run of elements: their maximum comes first, so that the sum so
/// far is scaled once, and each element takes one exponential.
SmallVector<Value> GridNestEmitter::addRun(linalg::GenericOp generic, const Combiner &combiner,
                                           ArrayRef<AffineExpr> loops, unsigned laneDim,
                                           ArrayRef<Value> now) {
  Location loc = generic.getLoc();
  SmallVector<Value> numbers, terms, start = neutralOf(builder, combiner);
  elements.forLanes(laneDim, [&](int64_t) {
    numbers.push_back(elements.inlineGeneric(generic, loops, start)[0]);
  });
  Value greatest =
      combine(builder, combiner.ops[0], now[0], combineInPairs(builder, combiner.ops[0], numbers));
  Value exponent = exponentOf(builder, loc, greatest);
  start[0] = exponent;
  elements.forLanes(
      laneDim, [&](int64_t) { terms.push_back(elements.inlineGeneric(generic, loops, start)[1]); });
  Value sum = rescale(builder, loc, now[1], now[0], exponent);
  return {greatest,
          combine(builder, combiner.ops[1], sum, combineInPairs(builder, combiner.ops[1], terms))};
}

/// The reduction at `indices` by all of `among`, which are a warp or the block.
SmallVector<Value> GridNestEmitter::reduceTogether(LoopNest &nest, Threads among,
                                                   const Indices &indices) {
  auto generic = cast<linalg::GenericOp>(nest.op);
  Combiner combiner = *combinerOf(generic);
  int64_t lanes = lanesOfReduction(nest);
  size_t results = nest.values.size();
  space.addDim(lanes, false);
  SmallVector<Value> carried = reduceRows(nest, among, lanes, space.dims.size() - 1, indices);
  SmallVector<Value> initials, sums, scratches;
  for (size_t result = 0; result < results; ++result) {
    SmallVector<Value> ofLanes;
    for (size_t at = result; at < carried.size(); at += results)
      ofLanes.push_back(carried[at]);
    sums.push_back(combineInPairs(builder, combiner.ops[result], ofLanes));
    initials.push_back(elements.element(generic.getDpsInits()[result], indices));
  }
  if (among.count == kWarp) {
    sums = reduceWarp(builder, combiner, sums);
  } else {
    for (Value sum : sums)
      scratches.push_back(makeScratch(memoryType(sum.getType()), among.count / kWarp));
    sums = reduceBlock(builder, combiner, sums, scratches, among.thread, among.count);
  }
  return combine(builder, combiner, initials, sums);
}

/// All threads compute the one element, and keep it.
bool GridNestEmitter::keepsScalar(LoopNest &nest, ArrayRef<Value> values) {
  if (!nest.isScalar())
    return false;
  for (auto [value, computed] : llvm::zip_equal(nest.values, values))
    elements.storage[value].scalar = computed;
  return true;
}

/// A reduction along columns by groups of threads: each group takes rows of its own, and leaves its
/// sums in workgroup memory. False if the columns keep all threads busy, or there is no memory for
/// it.
bool GridNestEmitter::reduceInGroups(LoopNest &nest) {
  auto generic = cast<linalg::GenericOp>(nest.op);
  assert(!generic->hasAttr(kRunningAttr) && "only threads together keep what a sum is relative to");
  int64_t groups = rowGroups(nest, threads.count);
  while (groups > 1 && rowGroupBytes(nest, groups) > scratchBytes)
    --groups;
  if (groups == 1)
    return false;
  scratchBytes -= rowGroupBytes(nest, groups);
  Location loc = nest.loc();
  Combiner combiner = *combinerOf(generic);
  int64_t lanes = lanesOf(nest), results = nest.values.size(), columns = nest.boxElements(),
          runs = columns / lanes;
  auto number = [&](int64_t n) { return arith::ConstantIndexOp::create(builder, loc, n); };
  SmallVector<Storage> left; // [group][column] of each result
  for (Value value : nest.values) {
    Type element = cast<RankedTensorType>(value.getType()).getElementType();
    left.push_back(denseStorage(makeScratch(memoryType(element), groups * columns),
                                RankedTensorType::get({groups, columns}, element), space));
    left.back().isMutable = true;
  }
  auto where = [&](int64_t bound, llvm::function_ref<void()> body) {
    Value isIn = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, threads.thread,
                                       number(bound));
    OpBuilder::InsertionGuard guard(builder);
    auto branch = scf::IfOp::create(builder, loc, isIn, /*withElseRegion=*/false);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    body();
  };
  // `body` for a run of columns, if it lies within the values: their indices, and that of the
  // column.
  auto ofRun = [&](Value run,
                   llvm::function_ref<void(unsigned, const Indices &, AffineExpr)> body) {
    AffineExpr runNumber = space.addDim(runs, false);
    space.dims.back().iv = run;
    AffineExpr lane = space.addDim(lanes, false);
    unsigned laneDim = space.dims.size() - 1;
    space.dims.back().iv = number(0);
    Indices boxIndices;
    Indices indices = valueIndices(nest, runNumber, lanes, lane, boxIndices);
    elements.pushScope();
    guarded(nest, boxIndices,
            [&] { body(laneDim, indices, space.add(space.multiply(runNumber, lanes), lane)); });
    elements.popScope();
  };
  where(groups * runs, [&] {
    Value run = arith::RemUIOp::create(builder, loc, threads.thread, number(runs));
    Value group = arith::DivUIOp::create(builder, loc, threads.thread, number(runs));
    AffineExpr own = space.addDim(groups, false);
    space.dims.back().iv = group;
    ofRun(run, [&](unsigned laneDim, const Indices &indices, AffineExpr column) {
      SmallVector<Value> sums =
          reduceRows(nest, {group, number(groups), groups}, lanes, laneDim, indices);
      for (int64_t result = 0; result < results; ++result) {
        SmallVector<Value> ofLanes;
        for (int64_t at = result; at < lanes * results; at += results)
          ofLanes.push_back(sums[at]);
        elements.storeLanes(left[result], {own, column}, laneDim, ofLanes, loc);
      }
    });
  });
  gpu::BarrierOp::create(builder, loc);
  elements.forgetReads();
  where(runs, [&] {
    ofRun(threads.thread, [&](unsigned laneDim, const Indices &indices, AffineExpr column) {
      for (int64_t result = 0; result < results; ++result) {
        SmallVector<Value> totals;
        elements.forLanes(laneDim, [&](int64_t) {
          totals.push_back(elements.element(generic.getDpsInits()[result], indices));
        });
        for (int64_t group = 0; group < groups; ++group) {
          SmallVector<Value> sums =
              elements.loadLanes(left[result], {space.constant(group), column}, laneDim, loc);
          for (auto [total, sum] : llvm::zip_equal(totals, sums))
            total = combine(builder, combiner.ops[result], total, sum);
        }
        elements.storeLanes(elements.storage.lookup(nest.values[result]), indices, laneDim, totals,
                            loc);
      }
    });
  });
  return true;
}

/// Thread 0 of those that `thread` is one of stores the values.
void GridNestEmitter::storeByFirst(Value thread, LoopNest &nest, const Indices &indices,
                                   ArrayRef<Value> values) {
  Location loc = nest.loc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, thread, zero);
  OpBuilder::InsertionGuard guard(builder);
  auto branch = scf::IfOp::create(builder, loc, isFirst, /*withElseRegion=*/false);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  for (auto [value, computed] : llvm::zip_equal(nest.values, values))
    elements.store(elements.storage.lookup(value), indices, computed, loc);
}

bool GridNestEmitter::emitReduction(LoopNest &nest) {
  Location loc = nest.loc();
  int64_t group = threadsPerElement(nest, threads.count);
  if (nest.boxElements() == 1) {
    Threads one = group > 1 ? threads : Threads{threads.thread, threads.step, 1};
    AffineExpr zero = space.constant(0);
    space.addDim(1, false);
    unsigned laneDim = space.dims.size() - 1;
    Indices boxIndices;
    Indices indices = valueIndices(nest, zero, 1, zero, boxIndices);
    bool isKept = false;
    guarded(nest, boxIndices, [&] {
      SmallVector<Value> totals =
          group > 1 ? reduceTogether(nest, one, indices) : reduceAlone(nest, laneDim, indices);
      isKept = keepsScalar(nest, totals);
      if (!isKept)
        storeByFirst(threads.thread, nest, indices, totals);
    });
    return !isKept;
  }
  if (group == 1 && reduceInGroups(nest))
    return true;
  if (group == 1) {
    forBox(nest, threads, lanesOf(nest), [&](unsigned laneDim, const Indices &indices) {
      SmallVector<Value> sums = reduceAlone(nest, laneDim, indices);
      size_t results = nest.values.size();
      for (auto [result, value] : llvm::enumerate(nest.values)) {
        SmallVector<Value> own;
        for (size_t at = result; at < sums.size(); at += results)
          own.push_back(sums[at]);
        elements.storeLanes(elements.storage.lookup(value), indices, laneDim, own, loc);
      }
    });
    return true;
  }
  // Each warp takes elements of its own.
  auto number = [&](int64_t n) { return arith::ConstantIndexOp::create(builder, loc, n); };
  Value lane = arith::RemUIOp::create(builder, loc, threads.thread, number(kWarp));
  Value warp = arith::DivUIOp::create(builder, loc, threads.thread, number(kWarp));
  Threads warps{warp, number(threads.count / kWarp), threads.count / kWarp};
  Threads ofWarp{lane, number(kWarp), kWarp};
  forBox(nest, warps, 1, [&](unsigned, const Indices &indices) {
    storeByFirst(lane, nest, indices, reduceTogether(nest, ofWarp, indices));
  });
  return true;
}
