// Loop nests of stages.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StageNest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace weft::cpu;

SmallVector<bool> weft::cpu::rowDims(scf::ForallOp forall) {
  auto insert = cast<tensor::ParallelInsertSliceOp>(forall.getTerminator().getBody()->front());
  return llvm::map_to_vector(insert.getMixedOffsets(),
                             [](OpFoldResult offset) { return isa<Attribute>(offset); });
}

Storage weft::cpu::temporaryStorage(const Stage &stage, Value value, Value pointer,
                                    IndexSpace &space) {
  Storage storage;
  storage.pointer = pointer;
  storage.element = getElementTypeOrSelf(value);
  storage.offset = space.constant(0);
  storage.strides.assign(stage.box.size(), 0);
  int64_t stride = 1;
  for (int64_t dim = int64_t(stage.box.size()) - 1; dim >= 0; --dim) {
    const BoxDim &box = stage.box[dim];
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

StageEmitter::Nest StageEmitter::makeNest(Stage &stage) {
  IndexSpace &space = elements.space;
  Nest nest;
  // A loop of `extent` cut at the wanted inner extents, as an index.
  auto addLoops = [&](SmallVectorImpl<Nest::Loop> &into, int64_t extent, bool reduction,
                      unsigned key) {
    SmallVector<int64_t> inner;
    for (auto [splitKey, factor] : stage.splits)
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

  SmallVector<bool> isRow(stage.box.size(), false);
  if (stage.kind == Stage::Kind::Rows)
    isRow = rowDims(cast<scf::ForallOp>(stage.op));
  // Box dims first: as loops, or fixed by the unit.
  SmallVector<SmallVector<Nest::Loop>> boxLoops(stage.box.size());
  for (auto [number, box] : llvm::enumerate(stage.box)) {
    AffineExpr index = box.base;
    if (box.width != 1 && !isRow[number]) {
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
    for (int64_t dim : stage.groups[number])
      sizes.push_back(stage.shape()[dim]);
    space.delinearize(index, sizes, nest.valueIndices);
  }

  if (stage.kind != Stage::Kind::Reduction) {
    for (auto &loops : boxLoops)
      nest.loops.append(loops);
    return nest;
  }
  auto generic = cast<linalg::GenericOp>(stage.op);
  nest.lanes = carriesScalar(generic);
  nest.genericLoops.resize(generic.getNumLoops());
  AffineMap map = resultMapOf(generic);
  SmallVector<int64_t> extents = generic.getStaticLoopRanges();
  SmallVector<int> boxOf(generic.getNumLoops(), -1);
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    boxOf[loop] = position;
    nest.genericLoops[loop] = nest.valueIndices[position];
  }
  for (unsigned loop = 0; loop < generic.getNumLoops(); ++loop) {
    if (boxOf[loop] >= 0) {
      nest.loops.append(boxLoops[boxOf[loop]]);
      continue;
    }
    bool isLane = nest.lanes && loop + 1 == generic.getNumLoops();
    unsigned key = isLane ? kNever : stage.box.size() + loop;
    nest.genericLoops[loop] = addLoops(nest.loops, extents[loop], true, key);
  }
  return nest;
}

//===----------------------------------------------------------------------===//
// Joining loops
//===----------------------------------------------------------------------===//

void StageEmitter::joinLoops(Nest &nest, const Recorder &seen) {
  IndexSpace &space = elements.space;
  SmallVector<Nest::Loop> joined;
  SmallVector<AffineExpr> replacement;
  for (unsigned d = 0; d < space.dims.size(); ++d)
    replacement.push_back(getAffineDimExpr(d, elements.builder.getContext()));
  for (size_t i = 0; i < nest.loops.size();) {
    size_t end = i + 1;
    auto isLane = [&](size_t at) {
      return nest.lanes && nest.loops[at].reduction && at + 1 == nest.loops.size();
    };
    auto mayJoin = [&](size_t at) {
      return at < nest.loops.size() && nest.loops[at].reduction == nest.loops[i].reduction &&
             !nest.loops[at].clamped && !nest.loops[at - 1].clamped && !isLane(at) &&
             !isLane(at - 1) &&
             loopsInStep(space, nest.loops[at - 1].dim, nest.loops[at].dim, seen);
    };
    while (mayJoin(end))
      ++end;
    if (end == i + 1) {
      joined.push_back(nest.loops[i]);
    } else {
      SmallVector<int64_t> extents;
      int64_t total = 1;
      for (size_t at = i; at < end; ++at) {
        extents.push_back(space.dims[nest.loops[at].dim].extent);
        total *= extents.back();
      }
      AffineExpr whole = space.addDim(total, false);
      replacement.push_back(whole);
      SmallVector<AffineExpr> parts;
      space.delinearize(whole, extents, parts);
      for (size_t at = i; at < end; ++at)
        replacement[nest.loops[at].dim] = parts[at - i];
      Nest::Loop loop = nest.loops[i];
      loop.dim = space.dims.size() - 1;
      joined.push_back(loop);
    }
    i = end;
  }
  nest.loops = joined;
  for (auto *indices : {&nest.valueIndices, &nest.genericLoops})
    for (AffineExpr &index : *indices)
      if (index)
        index = space.substitute(index, replacement);
}

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

/// Opens the loops number `which` of the nest around `body`.
void StageEmitter::loops(Location loc, const Nest &nest, ArrayRef<unsigned> which,
                         llvm::function_ref<void()> body) {
  if (which.empty())
    return body();
  const Nest::Loop &loop = nest.loops[which.front()];
  OpBuilder &builder = elements.builder;
  Value upper;
  if (loop.clamped) {
    IndexSpace &space = elements.space;
    AffineExpr left = space.add(space.constant(loop.size), space.multiply(loop.base, -1));
    Value extent = arith::ConstantIndexOp::create(builder, loc, space.dims[loop.dim].extent);
    upper = arith::MinSIOp::create(builder, loc, extent, space.materialize(builder, loc, left));
  }
  elements.loop(loc, loop.dim, upper, {}, [&](ValueRange) {
    loops(loc, nest, which.drop_front(), body);
    return SmallVector<Value>();
  });
}

Value StageEmitter::computeElement(Stage &stage, const Nest &nest) {
  Value value = stage.values.front();
  if (stage.kind == Stage::Kind::Copy)
    return elements.element(value, nest.valueIndices);
  Value computed = elements.define(value, nest.valueIndices);
  elements.remember(value, nest.valueIndices, computed);
  return computed;
}

void StageEmitter::storeElement(Stage &stage, const Nest &nest, Value computed) {
  const Storage target = stage.kind == Stage::Kind::Copy
                             ? stage.target
                             : elements.storage.lookup(stage.values.front());
  elements.store(target, nest.valueIndices, computed, stage.loc());
}

void StageEmitter::emitElementwise(Stage &stage, Nest &nest) {
  if (stage.isScalar()) {
    Value value = stage.values.front();
    elements.storage[value].scalar = elements.define(value, nest.valueIndices);
    return;
  }
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, nest.loops.size()));
  loops(stage.loc(), nest, all, [&] { storeElement(stage, nest, computeElement(stage, nest)); });
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

void StageEmitter::emitReduction(Stage &stage, Nest &nest) {
  // Loops around a reduction gain by unrolling: sums stay in registers.
  llvm::SaveAndRestore unroll(elements.unrollLongLoops, true);
  auto generic = cast<linalg::GenericOp>(stage.op);
  SmallVector<unsigned> outer, init, inner;
  bool seenReduction = false;
  for (auto [number, loop] : llvm::enumerate(nest.loops)) {
    if (nest.lanes) {
      (loop.reduction ? inner : outer).push_back(number);
      continue;
    }
    seenReduction |= loop.reduction;
    (seenReduction ? inner : outer).push_back(number);
    if (seenReduction && !loop.reduction)
      init.push_back(number);
  }
  auto storageOf = [&](unsigned number) { return elements.storage.lookup(stage.values[number]); };
  auto inits = [&] {
    SmallVector<Value> values;
    for (Value initial : generic.getDpsInits())
      values.push_back(elements.element(initial, nest.valueIndices));
    return values;
  };
  if (nest.lanes || init.empty()) {
    // Scalars are carried through the reduction loops.
    std::function<SmallVector<Value>(ArrayRef<unsigned>, ValueRange)> reduce =
        [&](ArrayRef<unsigned> which, ValueRange carried) {
          if (which.empty())
            return elements.inlineGeneric(generic, nest.genericLoops, llvm::to_vector(carried));
          unsigned dim = nest.loops[which.front()].dim;
          Attribute annotation;
          if (nest.lanes && which.size() == 1)
            annotation = laneAnnotation(generic, elements.space.dims[dim].extent);
          return elements.loop(
              stage.loc(), dim, nullptr, carried,
              [&](ValueRange arguments) { return reduce(which.drop_front(), arguments); },
              annotation);
        };
    auto one = [&](bool keep) {
      SmallVector<Value> sums = reduce(inner, inits());
      for (auto [number, sum] : llvm::enumerate(sums)) {
        if (keep)
          elements.storage[stage.values[number]].scalar = sum;
        else
          elements.store(storageOf(number), nest.valueIndices, sum, stage.loc());
      }
    };
    if (stage.isScalar())
      return one(true);
    loops(stage.loc(), nest, outer, [&] { one(false); });
    return;
  }
  // Partial sums of a run of elements lie in the result while the reduction
  // loops go around it.
  loops(stage.loc(), nest, outer, [&] {
    loops(stage.loc(), nest, init, [&] {
      for (auto [number, value] : llvm::enumerate(inits()))
        elements.store(storageOf(number), nest.valueIndices, value, stage.loc());
    });
    loops(stage.loc(), nest, inner, [&] {
      SmallVector<Value> sums;
      for (unsigned number = 0; number < stage.values.size(); ++number)
        sums.push_back(elements.load(storageOf(number), nest.valueIndices, stage.loc()));
      sums = elements.inlineGeneric(generic, nest.genericLoops, sums);
      for (auto [number, sum] : llvm::enumerate(sums))
        elements.store(storageOf(number), nest.valueIndices, sum, stage.loc());
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

void StageEmitter::emitInterchanged(Operation &op, ElementEmitter::Region &region, Nest &nest) {
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, nest.loops.size()));
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
      emitInterchanged(first, region, nest);
    } else {
      loops(loop.getLoc(), nest, all, [&] { (void)elements.emitBlock(*loop.getBody(), region); });
    }
    return SmallVector<Value>();
  });
}

void StageEmitter::emitRows(Stage &stage, Nest &nest) {
  auto forall = cast<scf::ForallOp>(stage.op);
  ElementEmitter::Region region;
  for (Operation &op : forall.getTerminator().getBody()->getOperations()) {
    auto insert = cast<tensor::ParallelInsertSliceOp>(op);
    unsigned number = cast<BlockArgument>(insert.getDest()).getArgNumber() - forall.getRank();
    // The row is the part of the output that the insertion would write.
    const Storage output = elements.storage.lookup(stage.values[number]);
    Storage row = output;
    row.isMutable = true;
    row.strides.clear();
    for (auto [dim, offset] : llvm::enumerate(insert.getMixedOffsets())) {
      auto iv = dyn_cast<Value>(offset);
      if (!iv) { // a dim of the row, always whole
        row.strides.push_back(output.strides[dim]);
        continue;
      }
      region.indices[iv] = nest.valueIndices[dim];
      row.offset = elements.space.add(
          row.offset, elements.space.multiply(nest.valueIndices[dim], output.strides[dim]));
    }
    elements.storage[originOf(insert.getSource())] = row;
  }
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, nest.loops.size()));
  if (carriesTensorsOnly(forall)) {
    for (Operation &op : forall.getBody()->without_terminator())
      emitInterchanged(op, region, nest);
    return;
  }
  loops(stage.loc(), nest, all, [&] {
    for (Operation &op : forall.getBody()->without_terminator())
      elements.emitOp(op, region);
  });
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

void StageEmitter::emitNest(Stage &stage, Nest &nest) {
  switch (stage.kind) {
  case Stage::Kind::Elementwise:
  case Stage::Kind::Copy:
    return emitElementwise(stage, nest);
  case Stage::Kind::Reduction:
    return emitReduction(stage, nest);
  case Stage::Kind::Rows:
    return emitRows(stage, nest);
  }
}

/// Runs `emit` into a block that is thrown away.
void StageEmitter::record(Recorder &into, llvm::function_ref<void()> emit) {
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

void StageEmitter::emit(Stage &stage) {
  Nest nest = makeNest(stage);
  Recorder seen;
  record(seen, [&] { emitNest(stage, nest); });
  joinLoops(nest, seen);
  emitNest(stage, nest);
}

void StageEmitter::emitTogether(MutableArrayRef<Stage> stages) {
  for (Stage &stage : stages.drop_front())
    for (auto split : stage.splits)
      if (!llvm::is_contained(stages.front().splits, split))
        stages.front().splits.push_back(split);
  Nest nest = makeNest(stages.front());
  auto all = [&] {
    auto which = llvm::to_vector(llvm::seq<unsigned>(0, nest.loops.size()));
    loops(stages.front().loc(), nest, which, [&] {
      // A result may lie where an operand is read: all are read first.
      SmallVector<Value> computed;
      for (Stage &stage : stages)
        computed.push_back(computeElement(stage, nest));
      for (auto [stage, value] : llvm::zip_equal(stages, computed))
        storeElement(stage, nest, value);
    });
  };
  Recorder seen;
  record(seen, all);
  joinLoops(nest, seen);
  all();
}
