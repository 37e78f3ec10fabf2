// Loop nests of nests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "NestLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace weft::kernels;

NotStored::NotStored(ElementEmitter &elements, ArrayRef<LoopNest> nests)
    : elements(elements), storages(elements.storage) {
  for (const LoopNest &nest : nests)
    if (nest.kind != LoopNest::Kind::Copy)
      for (Value value : nest.values)
        elements.storage.erase(value);
}

SmallVector<bool> weft::kernels::rowDims(scf::ForallOp forall) {
  auto insert = cast<tensor::ParallelInsertSliceOp>(forall.getTerminator().getBody()->front());
  return llvm::map_to_vector(insert.getMixedOffsets(),
                             [](OpFoldResult offset) { return isa<Attribute>(offset); });
}

Storage weft::kernels::temporaryStorage(const LoopNest &nest, Value value, Value pointer,
                                        IndexSpace &space) {
  Storage storage;
  storage.pointer = pointer;
  storage.isTemporary = true;
  storage.element = getElementTypeOrSelf(value);
  storage.offset = space.constant(0);
  storage.strides.assign(nest.box.size(), 0);
  int64_t stride = 1;
  for (int64_t dim = int64_t(nest.box.size()) - 1; dim >= 0; --dim) {
    const BoxDim &box = nest.box[dim];
    if (box.width == 1)
      continue;
    storage.strides[dim] = stride;
    storage.offset = space.add(storage.offset, space.multiply(box.base, -stride));
    stride *= box.width;
  }
  return storage;
}

static AffineMap resultMapOf(linalg::GenericOp generic) {
  return generic.getMatchingIndexingMap(generic.getDpsInitOperand(0));
}

/// The innermost loop of the generic is a reduction: a scalar is carried.
static bool carriesScalar(linalg::GenericOp generic) {
  return generic.getIteratorTypesArray().back() == utils::IteratorType::reduction;
}

LoopNestEmitter::Loops LoopNestEmitter::makeLoops(LoopNest &nest) {
  IndexSpace &space = elements.space;
  Loops loops;
  // A loop of `extent` cut at the wanted inner extents, as an index.
  auto addLoops = [&](SmallVectorImpl<Loops::Loop> &into, int64_t extent, bool reduction,
                      unsigned key) {
    SmallVector<int64_t> inner;
    for (auto [splitKey, factor] : nest.splits)
      if (splitKey == key && extent % factor == 0 && factor < extent)
        inner.push_back(factor);
    llvm::sort(inner, std::greater<int64_t>());
    AffineExpr index = space.constant(0);
    int64_t whole = extent;
    for (int64_t factor : inner) {
      if (whole % factor != 0 || whole == factor)
        continue; // does not nest with a cut made already
      AffineExpr dim = space.addDim(whole / factor, false);
      into.push_back({unsigned(space.dims.size() - 1), reduction, key, factor});
      index = space.add(index, space.multiply(dim, factor));
      whole = factor;
    }
    AffineExpr dim = space.addDim(whole, false);
    into.push_back({unsigned(space.dims.size() - 1), reduction, key, 1});
    return space.add(index, dim);
  };

  SmallVector<bool> isRow(nest.box.size(), false);
  if (nest.kind == LoopNest::Kind::Rows)
    isRow = rowDims(cast<scf::ForallOp>(nest.op));
  // Box dims first: as loops, or fixed by the unit.
  SmallVector<SmallVector<Loops::Loop>> boxLoops(nest.box.size());
  for (auto [number, box] : llvm::enumerate(nest.box)) {
    AffineExpr index = box.base;
    if ((box.width != 1 || box.mayBeEmpty) && !isRow[number]) {
      auto reach = space.range(box.base);
      bool clamped = !reach || reach->second + box.width > box.size;
      AffineExpr within;
      if (clamped) {
        within = space.addDim(box.width, false);
        boxLoops[number].push_back(
            {unsigned(space.dims.size() - 1), false, kNever, 1, true, box.base, box.size});
      } else {
        within = addLoops(boxLoops[number], box.width, false, number);
      }
      index = space.add(index, within);
    }
    SmallVector<int64_t> sizes;
    for (int64_t dim : nest.groups[number])
      sizes.push_back(nest.shape()[dim]);
    space.delinearize(index, sizes, loops.valueIndices);
  }

  if (nest.kind != LoopNest::Kind::Reduction) {
    for (auto &own : boxLoops)
      loops.list.append(own);
    return loops;
  }
  auto generic = cast<linalg::GenericOp>(nest.op);
  loops.lanes = carriesScalar(generic);
  loops.genericLoops.resize(generic.getNumLoops());
  AffineMap map = resultMapOf(generic);
  SmallVector<int64_t> extents = generic.getStaticLoopRanges();
  SmallVector<int> boxOf(generic.getNumLoops(), -1);
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    boxOf[loop] = position;
    loops.genericLoops[loop] = loops.valueIndices[position];
  }
  for (unsigned loop = 0; loop < generic.getNumLoops(); ++loop) {
    if (boxOf[loop] >= 0) {
      loops.list.append(boxLoops[boxOf[loop]]);
      continue;
    }
    bool isLane = loops.lanes && loop + 1 == generic.getNumLoops();
    unsigned key = isLane ? kNever : nest.box.size() + loop;
    loops.genericLoops[loop] = addLoops(loops.list, extents[loop], true, key);
  }
  return loops;
}

//===----------------------------------------------------------------------===//
// Joining loops
//===----------------------------------------------------------------------===//

void LoopNestEmitter::joinLoops(Loops &loops, const Recorder &seen) {
  IndexSpace &space = elements.space;
  SmallVector<Loops::Loop> joined;
  SmallVector<AffineExpr> replacement;
  for (unsigned d = 0; d < space.dims.size(); ++d)
    replacement.push_back(getAffineDimExpr(d, elements.builder.getContext()));
  for (size_t i = 0; i < loops.list.size();) {
    size_t end = i + 1;
    auto isLane = [&](size_t at) {
      return loops.lanes && loops.list[at].reduction && at + 1 == loops.list.size();
    };
    auto mayJoin = [&](size_t at) {
      return at < loops.list.size() && loops.list[at].reduction == loops.list[i].reduction &&
             !loops.list[at].clamped && !loops.list[at - 1].clamped && !isLane(at) &&
             !isLane(at - 1) &&
             loopsInStep(space, loops.list[at - 1].dim, loops.list[at].dim, seen);
    };
    while (mayJoin(end))
      ++end;
    if (end == i + 1) {
      joined.push_back(loops.list[i]);
    } else {
      SmallVector<int64_t> extents;
      int64_t total = 1;
      for (size_t at = i; at < end; ++at) {
        extents.push_back(space.dims[loops.list[at].dim].extent);
        total *= extents.back();
      }
      AffineExpr whole = space.addDim(total, false);
      replacement.push_back(whole);
      SmallVector<AffineExpr> parts;
      space.delinearize(whole, extents, parts);
      for (size_t at = i; at < end; ++at)
        replacement[loops.list[at].dim] = parts[at - i];
      Loops::Loop loop = loops.list[i];
      loop.dim = space.dims.size() - 1;
      joined.push_back(loop);
    }
    i = end;
  }
  loops.list = joined;
  for (auto *indices : {&loops.valueIndices, &loops.genericLoops})
    for (AffineExpr &index : *indices)
      if (index)
        index = space.substitute(index, replacement);
}

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

/// Opens the loops number `which` of the nest around `body`.
void LoopNestEmitter::openLoops(Location loc, const Loops &loops, ArrayRef<unsigned> which,
                                llvm::function_ref<void()> body) {
  if (which.empty())
    return body();
  const Loops::Loop &loop = loops.list[which.front()];
  OpBuilder &builder = elements.builder;
  Value upper;
  if (loop.clamped) {
    IndexSpace &space = elements.space;
    AffineExpr left = space.add(space.constant(loop.size), space.multiply(loop.base, -1));
    Value extent = arith::ConstantIndexOp::create(builder, loc, space.dims[loop.dim].extent);
    upper = arith::MinSIOp::create(builder, loc, extent, space.materialize(builder, loc, left));
  }
  elements.loop(loc, loop.dim, upper, {}, [&](ValueRange) {
    openLoops(loc, loops, which.drop_front(), body);
    return SmallVector<Value>();
  });
}

Value LoopNestEmitter::computeElement(LoopNest &nest, const Loops &loops) {
  Value value = nest.values.front();
  if (nest.kind == LoopNest::Kind::Copy)
    return elements.element(value, loops.valueIndices);
  Value computed = elements.define(value, loops.valueIndices);
  elements.remember(value, loops.valueIndices, computed);
  return computed;
}

void LoopNestEmitter::storeElement(LoopNest &nest, const Loops &loops, Value computed) {
  const Storage target = nest.kind == LoopNest::Kind::Copy
                             ? nest.target
                             : elements.storage.lookup(nest.values.front());
  elements.store(target, loops.valueIndices, computed, nest.loc());
}

void LoopNestEmitter::emitElementwise(LoopNest &nest, Loops &loops) {
  if (nest.isScalar()) {
    Value value = nest.values.front();
    elements.storage[value].scalar = elements.define(value, loops.valueIndices);
    return;
  }
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, loops.list.size()));
  openLoops(nest.loc(), loops, all,
            [&] { storeElement(nest, loops, computeElement(nest, loops)); });
}

/// Marks the loop of a reduction, so that it is cut into the same lanes
/// wherever the op stands: as many as a vector has, up to four vectors.
static Attribute laneAnnotation(linalg::GenericOp generic, int64_t extent) {
  MLIRContext *context = generic.getContext();
  Builder builder(context);
  unsigned bits = 0;
  for (Type type : generic.getResultTypes())
    bits = std::max(bits, getElementTypeOrSelf(type).getIntOrFloatBitWidth());
  int64_t width = 1, count = 1;
  while (width * 2 * bits <= 512 && width * 2 <= extent)
    width *= 2;
  while (count < 4 && width * count * 2 <= extent)
    count *= 2;
  auto number = [&](int64_t value) { return builder.getI32IntegerAttr(value); };
  auto yes = builder.getBoolAttr(true), no = builder.getBoolAttr(false);
  auto vectorize = LLVM::LoopVectorizeAttr::get(context, width == 1 ? yes : no, {}, {},
                                                number(width), {}, {}, {});
  auto interleave = LLVM::LoopInterleaveAttr::get(context, number(count));
  auto unroll = LLVM::LoopUnrollAttr::get(context, yes, {}, {}, {}, {}, {}, {});
  return LLVM::LoopAnnotationAttr::get(context, {}, vectorize, width == 1 ? nullptr : interleave,
                                       unroll, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {});
}

void LoopNestEmitter::emitReduction(LoopNest &nest, Loops &loops) {
  // Loops around a reduction gain by unrolling: sums stay in registers.
  llvm::SaveAndRestore unroll(elements.unrollLongLoops, true);
  auto generic = cast<linalg::GenericOp>(nest.op);
  SmallVector<unsigned> outer, init, inner;
  bool seenReduction = false;
  for (auto [number, loop] : llvm::enumerate(loops.list)) {
    if (loops.lanes) {
      (loop.reduction ? inner : outer).push_back(number);
      continue;
    }
    seenReduction |= loop.reduction;
    (seenReduction ? inner : outer).push_back(number);
    if (seenReduction && !loop.reduction)
      init.push_back(number);
  }
  auto storageOf = [&](unsigned number) { return elements.storage.lookup(nest.values[number]); };
  auto inits = [&] {
    SmallVector<Value> values;
    for (Value initial : generic.getDpsInits())
      values.push_back(elements.element(initial, loops.valueIndices));
    return values;
  };
  if (loops.lanes || init.empty()) {
    // Scalars are carried through the reduction loops.
    std::function<SmallVector<Value>(ArrayRef<unsigned>, ValueRange)> reduce =
        [&](ArrayRef<unsigned> which, ValueRange carried) {
          if (which.empty())
            return elements.inlineGeneric(generic, loops.genericLoops, llvm::to_vector(carried));
          unsigned dim = loops.list[which.front()].dim;
          Attribute annotation;
          if (loops.lanes && which.size() == 1)
            annotation = laneAnnotation(generic, elements.space.dims[dim].extent);
          return elements.loop(
              nest.loc(), dim, nullptr, carried,
              [&](ValueRange arguments) { return reduce(which.drop_front(), arguments); },
              annotation);
        };
    auto one = [&](bool keep) {
      SmallVector<Value> sums = reduce(inner, inits());
      for (auto [number, sum] : llvm::enumerate(sums)) {
        if (keep)
          elements.storage[nest.values[number]].scalar = sum;
        else
          elements.store(storageOf(number), loops.valueIndices, sum, nest.loc());
      }
    };
    if (nest.isScalar())
      return one(true);
    openLoops(nest.loc(), loops, outer, [&] { one(false); });
    return;
  }
  // Partial sums of a run of elements lie in the result while the reduction
  // loops go around it.
  openLoops(nest.loc(), loops, outer, [&] {
    openLoops(nest.loc(), loops, init, [&] {
      for (auto [number, value] : llvm::enumerate(inits()))
        elements.store(storageOf(number), loops.valueIndices, value, nest.loc());
    });
    openLoops(nest.loc(), loops, inner, [&] {
      SmallVector<Value> sums;
      for (unsigned number = 0; number < nest.values.size(); ++number)
        sums.push_back(elements.load(storageOf(number), loops.valueIndices, nest.loc()));
      sums = elements.inlineGeneric(generic, loops.genericLoops, sums);
      for (auto [number, sum] : llvm::enumerate(sums))
        elements.store(storageOf(number), loops.valueIndices, sum, nest.loc());
    });
  });
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// The tensor.empty from which a row was made by insertions.
static Value originOf(Value row) {
  while (!row.getDefiningOp<tensor::EmptyOp>()) {
    if (auto insert = row.getDefiningOp<tensor::InsertOp>())
      row = insert.getDest();
    else if (auto loop = row.getDefiningOp<scf::ForOp>())
      row = loop.getInitArgs()[cast<OpResult>(row).getResultNumber()];
    else if (auto branch = row.getDefiningOp<scf::IfOp>())
      row = branch.thenYield().getOperands()[cast<OpResult>(row).getResultNumber()];
    else
      llvm_unreachable("a row is made by insertions in loops");
  }
  return row;
}

/// Loops that carry nothing but tensors can change places with the loops over
/// rows.
static bool carriesTensorsOnly(scf::ForallOp forall) {
  for (Operation &op : forall.getBody()->without_terminator())
    if (!isa<scf::ForOp, arith::ConstantOp, tensor::EmptyOp>(op))
      return false;
  WalkResult result = forall.getBody()->walk([](scf::ForOp loop) {
    bool ok = llvm::all_of(loop.getResultTypes(), llvm::IsaPred<TensorType>);
    return ok ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !result.wasInterrupted();
}

void LoopNestEmitter::emitInterchanged(Operation &op, ElementEmitter::Region &region,
                                       Loops &loops) {
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, loops.list.size()));
  auto loop = dyn_cast<scf::ForOp>(op);
  if (!loop) {
    elements.emitOp(op, region);
    return;
  }
  for (auto [argument, init, result] :
       llvm::zip_equal(loop.getRegionIterArgs(), loop.getInitArgs(), loop.getResults())) {
    elements.storage[argument] = elements.storage.lookup(init);
    elements.storage[result] = elements.storage.lookup(init);
  }
  int64_t extent = loop.getStaticTripCount()->getSExtValue();
  region.indices[loop.getInductionVar()] = elements.space.addDim(extent, false);
  unsigned dim = elements.space.dims.size() - 1;
  elements.loop(loop.getLoc(), dim, nullptr, {}, [&](ValueRange) {
    Operation &first = loop.getBody()->front();
    if (isa<scf::ForOp>(first)) {
      emitInterchanged(first, region, loops);
    } else {
      openLoops(loop.getLoc(), loops, all,
                [&] { (void)elements.emitBlock(*loop.getBody(), region); });
    }
    return SmallVector<Value>();
  });
}

ElementEmitter::Region LoopNestEmitter::placeRows(LoopNest &nest,
                                                  ArrayRef<AffineExpr> valueIndices) {
  auto forall = cast<scf::ForallOp>(nest.op);
  ElementEmitter::Region region;
  for (Operation &op : forall.getTerminator().getBody()->getOperations()) {
    auto insert = cast<tensor::ParallelInsertSliceOp>(op);
    unsigned number = cast<BlockArgument>(insert.getDest()).getArgNumber() - forall.getRank();
    const Storage output = elements.storage.lookup(nest.values[number]);
    Storage row = output;
    row.isMutable = true;
    row.strides.clear();
    for (auto [dim, offset] : llvm::enumerate(insert.getMixedOffsets())) {
      auto iv = dyn_cast<Value>(offset);
      if (!iv) { // a dim of the row, always whole
        row.strides.push_back(output.strides[dim]);
        continue;
      }
      region.indices[iv] = valueIndices[dim];
      row.offset = elements.space.add(
          row.offset, elements.space.multiply(valueIndices[dim], output.strides[dim]));
    }
    elements.storage[originOf(insert.getSource())] = row;
  }
  return region;
}

void LoopNestEmitter::emitRow(LoopNest &nest, ArrayRef<AffineExpr> valueIndices) {
  ElementEmitter::Region region = placeRows(nest, valueIndices);
  for (Operation &op : cast<scf::ForallOp>(nest.op).getBody()->without_terminator())
    elements.emitOp(op, region);
}

void LoopNestEmitter::emitRows(LoopNest &nest, Loops &loops) {
  auto forall = cast<scf::ForallOp>(nest.op);
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, loops.list.size()));
  if (!carriesTensorsOnly(forall)) {
    openLoops(nest.loc(), loops, all, [&] { emitRow(nest, loops.valueIndices); });
    return;
  }
  ElementEmitter::Region region = placeRows(nest, loops.valueIndices);
  for (Operation &op : forall.getBody()->without_terminator())
    emitInterchanged(op, region, loops);
}

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

void LoopNestEmitter::emitLoops(LoopNest &nest, Loops &loops) {
  switch (nest.kind) {
  case LoopNest::Kind::Elementwise:
  case LoopNest::Kind::Copy:
    return emitElementwise(nest, loops);
  case LoopNest::Kind::Reduction:
    return emitReduction(nest, loops);
  case LoopNest::Kind::Rows:
    return emitRows(nest, loops);
  }
}

/// Runs `emit` into a block that is thrown away.
void LoopNestEmitter::record(Recorder &into, llvm::function_ref<void()> emit) {
  // The scrap block may refer to values around the insertion point.
  OpBuilder &builder = elements.builder;
  OpBuilder::InsertionGuard guard(builder);
  auto scrap = std::make_unique<Block>();
  builder.setInsertionPointToStart(scrap.get());
  Recorder *outer = elements.recorder;
  auto storages = elements.storage;
  elements.recorder = &into;
  elements.pushScope();
  emit();
  elements.popScope();
  elements.storage = std::move(storages);
  elements.recorder = outer;
  // Uses may cross in the block; drop them before it goes.
  scrap->dropAllReferences();
}

void LoopNestEmitter::emit(LoopNest &nest) {
  Loops loops = makeLoops(nest);
  Recorder seen;
  record(seen, [&] { emitLoops(nest, loops); });
  joinLoops(loops, seen);
  emitLoops(nest, loops);
}

void LoopNestEmitter::emitTogether(MutableArrayRef<LoopNest> nests) {
  for (LoopNest &nest : nests.drop_front())
    for (auto split : nest.splits)
      if (!llvm::is_contained(nests.front().splits, split))
        nests.front().splits.push_back(split);
  Loops loops = makeLoops(nests.front());
  auto all = [&] {
    auto which = llvm::to_vector(llvm::seq<unsigned>(0, loops.list.size()));
    openLoops(nests.front().loc(), loops, which, [&] {
      // A result may lie where an operand is read: all are read first.
      SmallVector<Value> computed;
      {
        NotStored until(elements, nests);
        for (LoopNest &nest : nests)
          computed.push_back(computeElement(nest, loops));
      }
      for (auto [nest, value] : llvm::zip_equal(nests, computed))
        storeElement(nest, loops, value);
    });
  };
  Recorder seen;
  record(seen, all);
  joinLoops(loops, seen);
  all();
}
