// A nest's elements dealt out to threads, adjacent ones to adjacent threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GridNests.h"

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
  loopOfThread(loc, count, among, {}, [&](Value iv, ValueRange) {
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
    space.delinearize(space.add(box.base, space.multiply(boxIndices[dim], box.step)), sizes,
                      indices);
  }
  return indices;
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
    share(nest.loc(), count, among, [&](unsigned dim) {
      AffineExpr lane = space.addDim(lanesNow, false);
      unsigned laneDim = space.dims.size() - 1;
      space.dims[laneDim].iv = arith::ConstantIndexOp::create(builder, nest.loc(), 0);
      // So that indices have one form: (d + 0) mod 5 is d mod 5 + 0.
      if (lanesNow == 1)
        lane = space.constant(0);
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
