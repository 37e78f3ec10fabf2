// A nest's elements dealt out to threads, adjacent ones to adjacent threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GridNests.h"

#include "weft/Interfaces/TensorTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace weft::cuda;
using namespace weft::kernels;

//===----------------------------------------------------------------------===//
// Who does what
//===----------------------------------------------------------------------===//

SmallVector<Value>
GridNestEmitter::loopOfThread(Location loc, int64_t count, const Threads &among, ValueRange carried,
                              llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
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

/// The number that a thread has in a turn.
AffineExpr GridNestEmitter::turnOf(const Threads &among, int64_t turn) {
  return space.add(getAffineDimExpr(*among.dim, builder.getContext()),
                   space.constant(turn * among.count));
}

/// Runs `body` for numbers 0.. below `count`, each on one thread: number i on thread i modulo their
/// count. `body` gets the number in terms of the space.
void GridNestEmitter::share(Location loc, int64_t count, Threads among,
                            llvm::function_ref<void(AffineExpr)> body) {
  if (count == 0)
    return;
  auto inScope = [&](AffineExpr number) {
    elements.pushScope();
    body(number);
    elements.popScope();
  };
  if (among.writeOut(count)) {
    for (int64_t turn = 0; turn < count / among.count; ++turn)
      inScope(turnOf(among, turn));
    return;
  }
  AffineExpr number = space.addDim(count, false);
  unsigned dim = space.dims.size() - 1;
  auto inside = [&](Value iv) {
    space.dims[dim].iv = iv;
    inScope(number);
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
  loopOfThread(loc, count, among, {}, [&](Value iv, ValueRange) {
    inside(iv);
    return SmallVector<Value>();
  });
}

/// The indices of the values, a dim each, of an element of the box.
GridNestEmitter::Indices GridNestEmitter::indicesAt(const LoopNest &nest,
                                                    const Indices &boxIndices) {
  Indices indices;
  for (auto [dim, box] : llvm::enumerate(nest.box)) {
    SmallVector<int64_t> sizes;
    for (int64_t d : nest.groups[dim])
      sizes.push_back(nest.shape()[d]);
    space.delinearize(space.add(box.base, space.multiply(boxIndices[dim], box.step)), sizes,
                      indices);
  }
  return indices;
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
  return indicesAt(nest, boxIndices);
}

/// Runs `body` where the box lies within the values. A box ends between lanes only if there is one.
void GridNestEmitter::guarded(const LoopNest &nest, const Indices &boxIndices,
                              llvm::function_ref<void()> body) {
  Value inside;
  for (auto [box, index] : llvm::zip_equal(nest.box, boxIndices)) {
    auto reach = space.range(box.base);
    if (reach && reach->second + (box.width - 1) * box.step < box.size)
      continue;
    Location loc = nest.loc();
    Value at =
        space.materialize(builder, loc, space.add(box.base, space.multiply(index, box.step)));
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
    share(nest.loc(), count, among, [&](AffineExpr number) {
      AffineExpr lane = space.addDim(lanesNow, false);
      unsigned laneDim = space.dims.size() - 1;
      space.dims[laneDim].iv = arith::ConstantIndexOp::create(builder, nest.loc(), 0);
      // So that indices have one form: (d + 0) mod 5 is d mod 5 + 0.
      if (lanesNow == 1)
        lane = space.constant(0);
      number = space.add(number, space.constant(from));
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
  {
    NotStored until(elements, nests);
    elements.forLanes(laneDim, [&](int64_t) {
      for (auto [nest, values] : llvm::zip_equal(nests, computed))
        values.push_back(computeElement(nest, indices));
    });
  }
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
        nest, elements.define(nest.values.front(), valueIndices(nest, zero, 1, zero, boxIndices)));
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

//===----------------------------------------------------------------------===//
// Row by row
//===----------------------------------------------------------------------===//

/// The threads of the warp that this thread is of, for nests that follow each other in it.
Threads GridNestEmitter::lanesOfWarp(ArrayRef<LoopNest> nests) {
  Location loc = nests.front().loc();
  llvm::DenseSet<Value> streams;
  for (const LoopNest &nest : nests)
    streams.insert(nest.streams.begin(), nest.streams.end());
  // The smallest element is read by 16 bytes, and of larger ones as many.
  auto bytesOf = [](Value memory) {
    return elementBytes(cast<MemRefType>(memory.getType()).getElementType());
  };
  int64_t least = kAccessBytes, accesses = 0;
  for (const LoopNest &nest : nests)
    least = std::min(least, leastBytes(nest));
  for (Value memory : streams)
    accesses += bytesOf(memory) / std::min(least, bytesOf(memory));
  Value warp = arith::ConstantIndexOp::create(builder, loc, kWarp);
  Value lane = arith::RemUIOp::create(builder, loc, threads.thread, warp);
  space.addDim(kWarp, false);
  space.dims.back().iv = lane;
  return {lane, warp, kWarp, unsigned(space.dims.size() - 1), accesses};
}

/// The indices of the values of element `number * lanes + lane` of a row of the nest, whose leading
/// dims are those of `rows`.
GridNestEmitter::Indices GridNestEmitter::indicesInRow(const LoopNest &nest, const LoopNest &rows,
                                                       AffineExpr row, AffineExpr number,
                                                       int64_t lanes, AffineExpr lane) {
  auto widthsOf = [](ArrayRef<BoxDim> box) {
    return llvm::map_to_vector(box, [](const BoxDim &dim) { return dim.width; });
  };
  Indices boxIndices;
  space.delinearize(row, widthsOf(rows.box), boxIndices);
  SmallVector<int64_t> inside = widthsOf(ArrayRef(nest.box).drop_front(rows.box.size()));
  if (!inside.empty()) {
    inside.back() /= lanes;
    space.delinearize(number, inside, boxIndices);
  }
  for (auto [dim, index] : llvm::enumerate(boxIndices)) {
    bool isLast = dim >= rows.box.size() && dim + 1 == nest.box.size();
    if (nest.box[dim].width / (isLast ? lanes : 1) == 1)
      index = space.constant(0);
    if (isLast)
      index = space.add(space.multiply(index, lanes), lane);
  }
  return indicesAt(nest, boxIndices);
}

/// Waits for all lanes of the warp if the nest overwrites what they have `seen` of a row: each has
/// its own elements of it, but not the same ones in each nest.
void GridNestEmitter::waitToOverwrite(const LoopNest &nest, SmallVectorImpl<Value> &seen) {
  if (llvm::none_of(nest.values, [&](Value value) {
        return llvm::is_contained(seen, elements.storage.lookup(value).pointer);
      }))
    return;
  Value all = arith::ConstantOp::create(builder, nest.loc(), builder.getI32IntegerAttr(-1));
  NVVM::SyncWarpOp::create(builder, nest.loc(), all);
  seen.clear();
}

/// The numbers that a nest makes for a row: all lanes compute them, and one stores.
void GridNestEmitter::emitNumber(LoopNest &nest, const Threads &ofWarp, const Indices &indices,
                                 SmallVectorImpl<Value> &seen) {
  SmallVector<Value> values =
      nest.kind == LoopNest::Kind::Reduction
          ? reduceTogether(nest, ofWarp, indices)
          : SmallVector<Value>{elements.define(nest.values.front(), indices)};
  for (auto [value, computed] : llvm::zip_equal(nest.values, values))
    elements.remember(value, indices, computed);
  llvm::append_range(seen, nest.readsOverwritten);
  waitToOverwrite(nest, seen);
  storeByFirst(ofWarp.thread, nest, indices, values);
}

void GridNestEmitter::emitByRow(MutableArrayRef<LoopNest> nests) {
  LoopNest &rows = nests.front();
  Location loc = rows.loc();
  Threads ofWarp = lanesOfWarp(nests);
  auto number = [&](int64_t n) { return arith::ConstantIndexOp::create(builder, loc, n); };
  Value warp = arith::DivUIOp::create(builder, loc, threads.thread, number(kWarp));
  Threads warps{warp, number(threads.count / kWarp), threads.count / kWarp};
  AffineExpr zero = space.constant(0);
  share(loc, rows.boxElements(), warps, [&](AffineExpr row) {
    elements.forgetReads();
    SmallVector<Value> seen;
    for (LoopNest &nest : nests) {
      if (nest.box.size() == rows.box.size()) {
        emitNumber(nest, ofWarp, indicesInRow(nest, rows, row, zero, 1, zero), seen);
        continue;
      }
      // What it reads of what it overwrites is read by the lane that does so.
      waitToOverwrite(nest, seen);
      llvm::append_range(seen, nest.readsOverwritten);
      int64_t lanes = lanesOf(nest);
      share(nest.loc(), nest.boxElements() / rows.boxElements() / lanes, ofWarp,
            [&](AffineExpr run) {
              AffineExpr lane = space.addDim(lanes, false);
              unsigned laneDim = space.dims.size() - 1;
              space.dims[laneDim].iv = number(0);
              emitElements(MutableArrayRef(nest), laneDim,
                           indicesInRow(nest, rows, row, run, lanes, lane));
            });
    }
  });
}
