// A nest's elements dealt out to threads, adjacent ones to adjacent threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GridNests.h"

#include "GroupReduce.h"
#include "weft/Interfaces/TensorTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft::cuda;
using namespace weft::kernels;

//===----------------------------------------------------------------------===//
// Who does what
//===----------------------------------------------------------------------===//

/// A loop over the numbers below `count` that fall to one thread: i to thread i modulo their count.
/// Where each has as many, the loop is over these: who unrolls it sees how many there are.
static SmallVector<Value>
loopOfThread(OpBuilder &builder, Location loc, int64_t count, const Threads &among,
             ValueRange carried, llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto number = [&](int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); };
  bool isEven = count % among.count == 0;
  Value first = isEven ? number(0).getResult() : among.thread;
  Value end = number(isEven ? count / among.count : count);
  Value step = isEven ? number(1).getResult() : among.step;
  auto loop = scf::ForOp::create(builder, loc, first, end, step, carried,
                                 [&](OpBuilder &inner, Location, Value iv, ValueRange arguments) {
                                   if (isEven) {
                                     iv = arith::MulIOp::create(inner, loc, iv, among.step);
                                     iv = arith::AddIOp::create(inner, loc, iv, among.thread);
                                   }
                                   scf::YieldOp::create(inner, loc, body(iv, arguments));
                                 });
  return SmallVector<Value>(loop.getResults());
}

/// Runs `body` for numbers 0.. below `count`, each on one thread: number i on thread i modulo their
/// count. `body` gets the loop of the space.
void GridNestEmitter::share(Location loc, int64_t count, Threads among,
                            llvm::function_ref<void(unsigned)> body) {
  if (count == 0)
    return;
  space.addDim(count, false);
  unsigned dim = space.dims.size() - 1;
  auto inside = [&](Value iv) {
    space.dims[dim].iv = iv;
    elements.pushScope();
    body(dim);
    elements.popScope();
  };
  if (count == among.count)
    return inside(among.thread);
  OpBuilder::InsertionGuard guard(builder);
  if (count < among.count) {
    Value bound = arith::ConstantIndexOp::create(builder, loc, count);
    Value takes =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, among.thread, bound);
    auto branch = scf::IfOp::create(builder, loc, takes, /*withElseRegion=*/false);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    return inside(among.thread);
  }
  loopOfThread(builder, loc, count, among, {}, [&](Value iv, ValueRange) {
    inside(iv);
    return SmallVector<Value>();
  });
}

/// The indices of the values, a dim each, of box element `number * lanes + lane`; `boxIndices` are
/// those within the box.
GridNestEmitter::Indices GridNestEmitter::valueIndices(const LoopNest &nest, AffineExpr number,
                                                       int64_t lanes, AffineExpr lane,
                                                       Indices &boxIndices) {
  SmallVector<bool> isRow(nest.box.size(), false);
  if (nest.kind == LoopNest::Kind::Rows)
    isRow = rowDims(cast<scf::ForallOp>(nest.op));
  SmallVector<int64_t> widths;
  for (auto [dim, box] : llvm::enumerate(nest.box))
    widths.push_back(isRow[dim] ? 1 : box.width);
  if (!widths.empty())
    widths.back() = std::max<int64_t>(1, widths.back() / lanes);
  boxIndices.clear();
  space.delinearize(number, widths, boxIndices);
  for (auto [dim, index] : llvm::enumerate(boxIndices))
    if (widths[dim] == 1)
      index = space.constant(0);
  if (!widths.empty())
    boxIndices.back() = space.add(space.multiply(boxIndices.back(), lanes), lane);
  Indices indices;
  for (auto [dim, box] : llvm::enumerate(nest.box)) {
    SmallVector<int64_t> sizes;
    for (int64_t d : nest.groups[dim])
      sizes.push_back(nest.shape()[d]);
    space.delinearize(space.add(box.base, boxIndices[dim]), sizes, indices);
  }
  return indices;
}

/// Runs `body` where the box lies within the values. A box ends between lanes only if there is one.
void GridNestEmitter::guarded(const LoopNest &nest, const Indices &boxIndices,
                              llvm::function_ref<void()> body) {
  Value inside;
  for (auto [box, index] : llvm::zip_equal(nest.box, boxIndices)) {
    auto reach = space.range(box.base);
    if (reach && reach->second + box.width <= box.size)
      continue;
    Location loc = nest.loc();
    Value at = space.materialize(builder, loc, space.add(box.base, index));
    Value size = arith::ConstantIndexOp::create(builder, loc, box.size);
    Value isIn = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, at, size);
    inside = inside ? arith::AndIOp::create(builder, loc, inside, isIn).getResult() : isIn;
  }
  if (!inside)
    return body();
  OpBuilder::InsertionGuard guard(builder);
  auto branch = scf::IfOp::create(builder, nest.loc(), inside, /*withElseRegion=*/false);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  elements.pushScope();
  body();
  elements.popScope();
}

/// Runs `body` for the elements of the box, `lanes` adjacent ones at a time: for the loop of the
/// lanes, and the indices of the values in terms of it.
void GridNestEmitter::forBox(const LoopNest &nest, Threads among, int64_t lanes,
                             llvm::function_ref<void(unsigned, const Indices &)> body) {
  int64_t elementsOfBox = 1;
  SmallVector<bool> isRow(nest.box.size(), false);
  if (nest.kind == LoopNest::Kind::Rows)
    isRow = rowDims(cast<scf::ForallOp>(nest.op));
  for (auto [dim, box] : llvm::enumerate(nest.box))
    elementsOfBox *= isRow[dim] ? 1 : box.width;
  auto some = [&](int64_t count, int64_t lanesNow, int64_t from) {
    share(nest.loc(), count, among, [&](unsigned dim) {
      AffineExpr lane = space.addDim(lanesNow, false);
      unsigned laneDim = space.dims.size() - 1;
      space.dims[laneDim].iv = arith::ConstantIndexOp::create(builder, nest.loc(), 0);
      AffineExpr number =
          space.add(getAffineDimExpr(dim, builder.getContext()), space.constant(from));
      Indices boxIndices;
      Indices indices = valueIndices(nest, number, lanesNow, lane, boxIndices);
      guarded(nest, boxIndices, [&] { body(laneDim, indices); });
    });
  };
  int64_t whole = elementsOfBox / lanes;
  some(whole, lanes, 0);
  // Only a box that is one run of all elements ends between lanes.
  some(elementsOfBox - whole * lanes, 1, whole * lanes);
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

Value GridNestEmitter::computeElement(LoopNest &nest, const Indices &indices) {
  Value value = nest.values.front();
  if (nest.kind == LoopNest::Kind::Copy)
    return elements.element(value, indices);
  Value computed = elements.define(value, indices);
  elements.remember(value, indices, computed);
  return computed;
}

void GridNestEmitter::emitElements(MutableArrayRef<LoopNest> nests, unsigned laneDim,
                                   const Indices &indices) {
  SmallVector<SmallVector<Value>> computed(nests.size());
  elements.forLanes(laneDim, [&](int64_t) {
    for (auto [nest, values] : llvm::zip_equal(nests, computed))
      values.push_back(computeElement(nest, indices));
  });
  for (auto [nest, values] : llvm::zip_equal(nests, computed)) {
    const Storage target = nest.kind == LoopNest::Kind::Copy
                               ? nest.target
                               : elements.storage.lookup(nest.values.front());
    elements.storeLanes(target, indices, laneDim, values, nest.loc());
  }
}

void GridNestEmitter::emitTogether(MutableArrayRef<LoopNest> nests) {
  elements.forgetReads();
  int64_t lanes = 1;
  for (LoopNest &nest : nests)
    lanes = std::max(lanes, lanesOf(nest, /*together=*/true));
  forBox(nests.front(), threads, lanes,
         [&](unsigned laneDim, const Indices &indices) { emitElements(nests, laneDim, indices); });
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

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

/// The reduction at `indices` by all of `among`, which are a warp or the block.
SmallVector<Value> GridNestEmitter::reduceTogether(LoopNest &nest, Threads among,
                                                   const Indices &indices) {
  auto generic = cast<linalg::GenericOp>(nest.op);
  SmallVector<Operation *> combiners = *combinersOf(generic);
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
  int64_t lanes = lanesOfReduction(nest);
  size_t results = nest.values.size();
  Location loc = nest.loc();

  AffineExpr number = space.addDim(extent / lanes, false);
  unsigned numberDim = space.dims.size() - 1;
  AffineExpr lane = space.addDim(lanes, false);
  unsigned laneDim = space.dims.size() - 1;
  SmallVector<AffineExpr> parts;
  space.delinearize(space.add(space.multiply(number, lanes), lane), whole, parts);
  for (auto [loop, part] : llvm::zip_equal(reduced, parts))
    loops[loop] = part;
  auto shared = [&](ValueRange sums) {
    return loopOfThread(
        builder, loc, extent / lanes, among, sums, [&](Value iv, ValueRange arguments) {
          space.dims[numberDim].iv = iv;
          SmallVector<Value> next, now = llvm::to_vector(arguments);
          elements.pushScope();
          elements.forLanes(laneDim, [&](int64_t at) {
            llvm::append_range(
                next,
                elements.inlineGeneric(generic, loops, ArrayRef(now).slice(at * results, results)));
          });
          elements.popScope();
          return next;
        });
  };
  SmallVector<Value> carried;
  for (int64_t at = 0; at < lanes; ++at)
    for (Operation *combiner : combiners)
      carried.push_back(neutralOf(builder, combiner));
  carried = shared(carried);
  SmallVector<Value> totals;
  for (size_t result = 0; result < results; ++result) {
    Operation *combiner = combiners[result];
    // Lanes in pairs, so that what waits for what is short.
    for (int64_t distance = lanes / 2; distance > 0; distance /= 2)
      for (int64_t at = 0; at < distance; ++at)
        carried[at * results + result] = combine(builder, combiner, carried[at * results + result],
                                                 carried[(at + distance) * results + result]);
    Value sum = carried[result];
    if (among.count == kWarp)
      sum = reduceWarp(builder, combiner, sum);
    else
      sum = reduceBlock(builder, combiner, sum,
                        makeScratch(memoryType(sum.getType()), among.count / kWarp), among.thread,
                        among.count);
    Value initial = elements.element(generic.getDpsInits()[result], indices);
    totals.push_back(combine(builder, combiner, initial, sum));
  }
  return totals;
}

/// All threads compute the one element, and keep it.
static bool keepsScalar(LoopNest &nest, GridElements &elements, ArrayRef<Value> values) {
  if (!nest.isScalar())
    return false;
  for (auto [value, computed] : llvm::zip_equal(nest.values, values))
    elements.storage[value].scalar = computed;
  return true;
}

bool GridNestEmitter::emitReduction(LoopNest &nest) {
  Location loc = nest.loc();
  auto oneOf = [&](Value thread) {
    Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, thread, zero);
  };
  auto store = [&](Value isWriter, const Indices &indices, ArrayRef<Value> totals) {
    OpBuilder::InsertionGuard guard(builder);
    auto branch = scf::IfOp::create(builder, loc, isWriter, /*withElseRegion=*/false);
    builder.setInsertionPoint(branch.thenBlock()->getTerminator());
    for (auto [value, total] : llvm::zip_equal(nest.values, totals))
      elements.store(elements.storage.lookup(value), indices, total, loc);
  };
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
      isKept = keepsScalar(nest, elements, totals);
      if (!isKept)
        store(oneOf(threads.thread), indices, totals);
    });
    return !isKept;
  }
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
    store(oneOf(lane), indices, reduceTogether(nest, ofWarp, indices));
  });
  return true;
}

bool GridNestEmitter::emit(LoopNest &nest) {
  elements.forgetReads();
  if (nest.kind == LoopNest::Kind::Reduction)
    return emitReduction(nest);
  if (nest.kind == LoopNest::Kind::Rows) {
    emitRows(nest);
    return true;
  }
  if (nest.isScalar()) {
    Indices boxIndices;
    AffineExpr zero = space.constant(0);
    keepsScalar(
        nest, elements,
        elements.define(nest.values.front(), valueIndices(nest, zero, 1, zero, boxIndices)));
    return false;
  }
  // A few numbers of workgroup memory need no wide accesses, but many threads.
  int64_t lanes = lanesOf(nest);
  while (nest.isTemporary() && lanes > 1 && nest.boxElements() / lanes < threads.count)
    lanes /= 2;
  forBox(nest, threads, lanes, [&](unsigned laneDim, const Indices &indices) {
    emitElements(MutableArrayRef(nest), laneDim, indices);
  });
  return true;
}
