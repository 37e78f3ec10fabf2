// Rows that are filled and then changed, by all threads of a block.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "GridNests.h"

#include "GroupReduce.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace weft::cuda;
using namespace weft::kernels;

/// Words of 32 changes that a warp looks at together, and changes whose operands a thread reads
/// together, so that it waits for memory once for all of them: of one element, and elements of all.
static constexpr int64_t kWordsTogether = 4, kChangesTogether = 8, kElementsTogether = 32;

namespace {

/// One loop nest of changes, of which the block finds those that fall into its part of the rows,
/// and does them in the order of the loops.
///
/// Which they are is a matter of the loops' variables alone. So all threads look at as many changes
/// as the list has places, each at others: a warp makes of 32 changes a word of bits, and behind a
/// barrier each finds, by counting the bits before, the place in the list for the changes of its
/// own words. Behind a second barrier the list is there, and each thread does all of it for the
/// columns of the rows that it has. Nothing depends on the order in which threads run.
class ChangeEmitter {
public:
  ChangeEmitter(GridElements &elements, Threads threads, LoopNest &nest, const RowChanges &rows)
      : elements(elements), space(elements.space), builder(elements.builder), threads(threads),
        nest(nest), empty(rows.empty), change(rows.change), guard(change.guard),
        insert(change.insert), loc(insert.getLoc()), count(llvm::product_of(change.extents())) {
    int64_t most = std::min(kListedChanges, int64_t(llvm::alignTo(count, threads.count)));
    wordsOfWarp = std::max<int64_t>(1, most / threads.count);
    together = std::clamp<int64_t>(kElementsTogether / lanesOf(nest), 1, kChangesTogether);
    findLate();
  }

  /// Numbers of one round, which the list has places for.
  int64_t listed() const { return wordsOfWarp * threads.count; }
  int64_t rounds() const { return llvm::divideCeil(count, listed()); }
  /// That of another nest with as long a list, behind whose changes there is a barrier, or new.
  void takeMemory(GridNestEmitter::Lists &lists, const GridNestEmitter::MakeScratch &make);
  void findOwn(Value first);
  void doListed(unsigned laneDim, ArrayRef<AffineExpr> indices);

private:
  Value number(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value word(int64_t value) { return arith::ConstantIntOp::create(builder, loc, value, 32); }
  Value toWord(Value index) {
    return arith::IndexCastOp::create(builder, loc, builder.getI32Type(), index);
  }
  Value toIndex(Value value) {
    return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(), value);
  }
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }
  Value isLess(Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a, b);
  }
  void findLate();
  void doIf(Value condition, llvm::function_ref<void()> body);
  ElementEmitter::Region regionOf(Value which, ArrayRef<AffineExpr> indices);
  void emitChoice(ElementEmitter::Region &region);
  Value isOwn(Value which);
  void readBits();
  void listOwn();
  SmallVector<Value> readOperands(Value place, unsigned laneDim, ArrayRef<AffineExpr> indices);
  SmallVector<Value> readSome(Value place, unsigned laneDim, ArrayRef<AffineExpr> indices);
  void apply(ValueRange operands, unsigned laneDim, ArrayRef<AffineExpr> indices);

  GridElements &elements;
  IndexSpace &space;
  OpBuilder &builder;
  Threads threads;
  LoopNest &nest;
  Value empty;
  const RowLoops &change;
  scf::IfOp guard;
  tensor::InsertOp insert;
  Location loc;
  int64_t count, wordsOfWarp, together;
  llvm::DenseSet<Operation *> late; // what depends on the element
  llvm::SetVector<Value> needed;    // what that needs of all else
  /// For each lane and each of these, which operand of a change it is: lanes that need the same
  /// number share it.
  SmallVector<unsigned> operandOf;
  Value bits, counts, list;       // workgroup memory
  Value first, warp, lane, total; // of a round: its first change; the changes of the list
};

} // namespace

void ChangeEmitter::takeMemory(GridNestEmitter::Lists &lists,
                               const GridNestEmitter::MakeScratch &make) {
  auto [known, isNew] = lists.try_emplace(listed());
  auto &[knownBits, knownCounts, knownList] = known->second;
  if (isNew) {
    Type element = builder.getI32Type();
    knownBits = make(element, listed() / kWarp);
    knownCounts = make(element, threads.count / kWarp);
    knownList = make(builder.getI16Type(), listed());
  }
  bits = knownBits, counts = knownCounts, list = knownList;
}

void ChangeEmitter::doIf(Value condition, llvm::function_ref<void()> body) {
  OpBuilder::InsertionGuard around(builder);
  auto branch = scf::IfOp::create(builder, loc, condition, /*withElseRegion=*/false);
  builder.setInsertionPoint(branch.thenBlock()->getTerminator());
  elements.pushScope();
  body();
  elements.popScope();
}

/// The loops' variables in change number `which`, for the row at `indices`.
ElementEmitter::Region ChangeEmitter::regionOf(Value which, ArrayRef<AffineExpr> indices) {
  ElementEmitter::Region region = LoopNestEmitter(elements).placeRows(nest, indices);
  SmallVector<AffineExpr> variables;
  space.delinearize(space.addDim(count, false, which), change.extents(), variables);
  for (auto [loop, variable] : llvm::zip_equal(change.loops, variables))
    region.indices[scf::ForOp(loop).getInductionVar()] = variable;
  return region;
}

/// What stands before the guard.
void ChangeEmitter::emitChoice(ElementEmitter::Region &region) {
  for (Operation &op : change.body())
    if (&op == guard)
      return;
    else
      elements.emitOp(op, region);
}

/// Whether the change is one, and of an element of the part of the rows that the nest makes.
Value ChangeEmitter::isOwn(Value which) {
  SmallVector<AffineExpr> origin;
  for (const BoxDim &box : nest.box) {
    origin.push_back(box.base);
    if (!box.mayBeEmpty)
      continue;
    // Behind the end there are no indices to read, and nothing is done with what is listed.
    Value held = arith::MinUIOp::create(builder, loc, space.materialize(builder, loc, box.base),
                                        number(box.size - 1));
    origin.back() = space.addDim(box.size, false, held);
  }
  ElementEmitter::Region region = regionOf(which, origin);
  emitChoice(region);
  Value own = elements.resolve(guard.getCondition(), region);
  auto indices = elements.indicesOf(insert.getIndices(), region);
  auto index = indices.begin();
  for (auto [box, isRow] : llvm::zip_equal(nest.box, rowDims(cast<scf::ForallOp>(nest.op)))) {
    if (!isRow)
      continue;
    AffineExpr at = *index++;
    Value isIn;
    if (box.step > 1)
      isIn = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::eq,
          arith::RemUIOp::create(builder, loc, toWord(space.materialize(builder, loc, at)),
                                 word(box.step)),
          toWord(space.materialize(builder, loc, box.base)));
    else if (box.width < box.size)
      isIn = isLess(space.materialize(builder, loc, space.add(at, space.multiply(box.base, -1))),
                    number(box.width));
    if (isIn)
      own = arith::AndIOp::create(builder, loc, own, isIn);
  }
  return own;
}

/// Each warp writes the words of its changes, and how many of them are the block's own.
void ChangeEmitter::readBits() {
  int64_t atOnce = std::gcd(wordsOfWarp, kWordsTogether);
  Value firstWord = arith::MulIOp::create(builder, loc, warp, number(wordsOfWarp));
  scf::ForOp::create(
      builder, loc, number(0), number(wordsOfWarp), number(atOnce), ValueRange{word(0)},
      [&](OpBuilder &, Location, Value iv, ValueRange carried) {
        elements.pushScope();
        Value atWord = add(firstWord, iv), sum = carried.front();
        Value mine = add(
            first, add(arith::MulIOp::create(builder, loc, atWord, number(kWarp)), toIndex(lane)));
        SmallVector<Value> own;
        for (int64_t at = 0; at < atOnce; ++at) {
          Value which = at ? add(mine, number(at * kWarp)) : mine;
          if (count == rounds() * listed()) {
            own.push_back(isOwn(which));
            continue;
          }
          Value last = arith::MinUIOp::create(builder, loc, which, number(count - 1));
          own.push_back(
              arith::AndIOp::create(builder, loc, isOwn(last), isLess(which, number(count))));
        }
        SmallVector<Value> words;
        for (Value condition : own) {
          words.push_back(gatherBits(builder, loc, condition, lane));
          sum = add(sum, math::CtPopOp::create(builder, loc, words.back()));
        }
        Value isFirst =
            arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, lane, word(0));
        doIf(isFirst, [&] {
          for (auto [at, value] : llvm::enumerate(words))
            memref::StoreOp::create(builder, loc, value, bits, add(atWord, number(at)));
          memref::StoreOp::create(builder, loc, sum, counts, warp);
        });
        elements.popScope();
        scf::YieldOp::create(builder, loc, sum);
      });
}

/// Each warp puts its changes into the list, behind those of the warps before.
void ChangeEmitter::listOwn() {
  Value firstWord = arith::MulIOp::create(builder, loc, warp, number(wordsOfWarp));
  Value place = total = word(0);
  for (int64_t other = 0; other < threads.count / kWarp; ++other) {
    Value theirs = memref::LoadOp::create(builder, loc, counts, number(other));
    Value isBefore = isLess(number(other), warp);
    place = add(place, arith::SelectOp::create(builder, loc, isBefore, theirs, word(0)));
    total = add(total, theirs);
  }
  Value bit = arith::ShLIOp::create(builder, loc, word(1), lane);
  Value below = arith::SubIOp::create(builder, loc, bit, word(1));
  scf::ForOp::create(
      builder, loc, number(0), number(wordsOfWarp), number(1), ValueRange{place},
      [&](OpBuilder &, Location, Value iv, ValueRange carried) {
        Value atWord = add(firstWord, iv), before = carried.front();
        Value own = memref::LoadOp::create(builder, loc, bits, atWord);
        auto among = [&](Value mask) -> Value {
          return arith::AndIOp::create(builder, loc, own, mask);
        };
        Value isMine =
            arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, among(bit), word(0));
        doIf(isMine, [&] {
          Value at = add(before, math::CtPopOp::create(builder, loc, among(below)));
          Value mine = add(arith::MulIOp::create(builder, loc, toWord(atWord), word(kWarp)), lane);
          mine = arith::TruncIOp::create(builder, loc, builder.getI16Type(), mine);
          memref::StoreOp::create(builder, loc, mine, list, toIndex(at));
        });
        Value next = add(before, math::CtPopOp::create(builder, loc, own));
        scf::YieldOp::create(builder, loc, next);
      });
}

/// Lists those of the `listed()` changes from `from` on that the block does.
void ChangeEmitter::findOwn(Value from) {
  first = from;
  lane = toWord(arith::RemUIOp::create(builder, loc, threads.thread, number(kWarp)));
  warp = arith::DivUIOp::create(builder, loc, threads.thread, number(kWarp));
  readBits();
  gpu::BarrierOp::create(builder, loc);
  listOwn();
  // What the rows were filled with is there, too.
  gpu::BarrierOp::create(builder, loc);
}

/// Notes what of the guarded ops reads the row, or computes of what was read there, and what that
/// needs of the others.
void ChangeEmitter::findLate() {
  Value row = scf::ForOp(change.loops.back()).getRegionIterArgs().front();
  auto isLate = [&](Value value) { return value == row || late.contains(value.getDefiningOp()); };
  auto isOfUnit = [&](Value value) {
    return value.getParentBlock() == cast<scf::ForallOp>(nest.op).getBody() &&
           isa<BlockArgument>(value);
  };
  for (Operation &op : *guard.thenBlock()) {
    op.walk([&](Operation *inner) {
      if (llvm::any_of(inner->getOperands(), isLate))
        late.insert(&op);
    });
    if (!late.contains(&op) || op.hasTrait<OpTrait::IsTerminator>())
      continue;
    op.walk([&](Operation *inner) {
      for (Value value : inner->getOperands())
        if (!isLate(value) && !isOfUnit(value) && !value.getDefiningOp<arith::ConstantOp>() &&
            !op.isAncestor(value.getParentBlock()->getParentOp()))
          needed.insert(value);
    });
  }
}

/// What the change at `place` of the list needs but the element itself, for all lanes of the rows
/// at `indices`.
SmallVector<Value> ChangeEmitter::readOperands(Value place, unsigned laneDim,
                                               ArrayRef<AffineExpr> indices) {
  Value which = memref::LoadOp::create(builder, loc, list, toIndex(place));
  which = add(first, toIndex(which));
  SmallVector<Value> all, operands;
  elements.forLanes(laneDim, [&](int64_t) {
    ElementEmitter::Region region = regionOf(which, indices);
    emitChoice(region);
    for (Operation &op : guard.thenBlock()->without_terminator())
      if (!late.contains(&op))
        elements.emitOp(op, region);
    for (Value value : needed)
      all.push_back(elements.resolve(value, region));
  });
  if (operandOf.empty()) {
    llvm::SetVector<Value> different(all.begin(), all.end());
    for (Value value : all)
      operandOf.push_back(llvm::find(different, value) - different.begin());
  }
  for (auto [value, number] : llvm::zip_equal(all, operandOf))
    if (number == operands.size())
      operands.push_back(value);
  return operands;
}

/// Changes the element of all lanes of the rows at `indices`.
void ChangeEmitter::apply(ValueRange operands, unsigned laneDim, ArrayRef<AffineExpr> indices) {
  SmallVector<Value> old, next;
  SmallVector<AffineExpr> element;
  auto number = operandOf.begin();
  elements.forLanes(laneDim, [&](int64_t at) {
    ElementEmitter::Region region = LoopNestEmitter(elements).placeRows(nest, indices);
    for (Value value : needed)
      region.values.map(value, operands[*number++]);
    if (at == 0)
      element = elements.indicesOf(insert.getIndices(), region);
    for (Operation &op : guard.thenBlock()->without_terminator()) {
      if (!late.contains(&op) || &op == insert)
        continue;
      if (!isa<tensor::ExtractOp>(op)) {
        elements.emitOp(op, region);
        continue;
      }
      if (old.empty())
        old = elements.loadLanes(elements.storage.lookup(empty), element, laneDim, loc);
      region.values.map(op.getResult(0), old[at]);
    }
    next.push_back(elements.resolve(insert.getScalar(), region));
  });
  elements.storeLanes(elements.storage.lookup(empty), element, laneDim, next, loc);
}

/// The operands of `together` changes from `place` on.
SmallVector<Value> ChangeEmitter::readSome(Value place, unsigned laneDim,
                                           ArrayRef<AffineExpr> indices) {
  SmallVector<Value> operands;
  for (int64_t at = 0; at < together; ++at)
    llvm::append_range(operands, readOperands(add(place, word(at)), laneDim, indices));
  return operands;
}

/// Does the changes of the list for the lanes of the rows at `indices`, in order. The operands of
/// some are read while those before are done: carried around the loop, so that no assembler puts
/// off reading each until it is needed.
void ChangeEmitter::doListed(unsigned laneDim, ArrayRef<AffineExpr> indices) {
  Value rest = arith::AndIOp::create(builder, loc, total, word(together - 1));
  Value whole = arith::SubIOp::create(builder, loc, total, rest);
  doIf(isLess(word(0), whole), [&] {
    SmallVector<Value> now = readSome(word(0), laneDim, indices);
    Value last = arith::SubIOp::create(builder, loc, whole, word(together));
    scf::ForOp::create(builder, loc, word(0), whole, word(together), now,
                       [&](OpBuilder &, Location, Value iv, ValueRange carried) {
                         elements.pushScope();
                         // Behind the last ones these are read once more, for nothing.
                         Value place =
                             arith::MinUIOp::create(builder, loc, add(iv, word(together)), last);
                         SmallVector<Value> next = readSome(place, laneDim, indices);
                         size_t each = carried.size() / together;
                         for (size_t at = 0; at < carried.size(); at += each)
                           apply(carried.slice(at, each), laneDim, indices);
                         elements.popScope();
                         scf::YieldOp::create(builder, loc, next);
                       });
  });
  OpBuilder::InsertionGuard around(builder);
  auto loop = scf::ForOp::create(builder, loc, whole, total, word(1));
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  elements.pushScope();
  apply(readOperands(loop.getInductionVar(), laneDim, indices), laneDim, indices);
  elements.popScope();
}

//===----------------------------------------------------------------------===//
// Nests
//===----------------------------------------------------------------------===//

void GridNestEmitter::fillRows(LoopNest &nest, const RowLoops &fill) {
  // Element by element, like any other.
  LoopNest all = nest;
  all.kind = LoopNest::Kind::Elementwise;
  SmallVector<bool> isRow = rowDims(cast<scf::ForallOp>(nest.op));
  tensor::InsertOp insert = fill.insert;
  auto set = [&](unsigned laneDim, const Indices &indices) {
    SmallVector<Value> values;
    elements.forLanes(laneDim, [&](int64_t) {
      ElementEmitter::Region region = LoopNestEmitter(elements).placeRows(nest, indices);
      auto loop = fill.loops.begin();
      for (auto [index, inRow] : llvm::zip_equal(indices, isRow))
        if (inRow)
          region.indices[scf::ForOp(*loop++).getInductionVar()] = index;
      for (Operation &op : fill.body().without_terminator())
        if (&op != insert)
          elements.emitOp(op, region);
      values.push_back(elements.resolve(insert.getScalar(), region));
    });
    elements.storeLanes(elements.storage.lookup(nest.values.front()), indices, laneDim, values,
                        nest.loc());
  };
  // Indices that are apart, one after another: what a thread has of each is at the same place.
  auto apart = llvm::find_if(all.box, [](const BoxDim &box) { return box.step > 1; });
  if (apart == all.box.end())
    return forBox(all, threads, lanesOf(all), set);
  AffineExpr turn = space.addDim(apart->width, false);
  apart->base = space.add(apart->base, space.multiply(turn, apart->step));
  apart->width = apart->step = 1;
  elements.loop(nest.loc(), space.dims.size() - 1, nullptr, {}, [&](ValueRange) {
    forBox(all, threads, lanesOf(all), set);
    return SmallVector<Value>();
  });
}

void GridNestEmitter::changeRows(LoopNest &nest, const RowChanges &rows) {
  ChangeEmitter changes(elements, threads, nest, rows);
  changes.takeMemory(lists, makeScratch);
  auto round = [&](Value first) {
    changes.findOwn(first);
    forBox(nest, threads, lanesOf(nest),
           [&](unsigned laneDim, const Indices &indices) { changes.doListed(laneDim, indices); });
  };
  auto number = [&](int64_t value) {
    return arith::ConstantIndexOp::create(builder, nest.loc(), value);
  };
  if (changes.rounds() == 1)
    return round(number(0));
  // The next round writes its list behind a barrier that is behind this one's last change.
  Value end = number(changes.rounds() * changes.listed());
  scf::ForOp::create(builder, nest.loc(), number(0), end, number(changes.listed()), ValueRange{},
                     [&](OpBuilder &, Location, Value first, ValueRange) {
                       elements.pushScope();
                       round(first);
                       elements.popScope();
                       scf::YieldOp::create(builder, nest.loc());
                     });
}

void GridNestEmitter::emitRows(LoopNest &nest) {
  if (std::optional<RowChanges> rows = sharedRows(nest)) {
    fillRows(nest, rows->fill);
    if (!llvm::is_contained(rows->change.extents(), 0))
      changeRows(nest, *rows);
    return;
  }
  LoopNestEmitter alone(elements);
  forBox(nest, threads, 1, [&](unsigned, const Indices &indices) { alone.emitRow(nest, indices); });
}
