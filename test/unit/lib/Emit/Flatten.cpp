// Calls of routines written out, as commands.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Flatten.h"

#include "dialects/rt/IR/Rt.h"
#include "passes/rt/memory/Lifetimes.h"
#include "passes/rt/routines/Routines.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace weft;

namespace {

/// Where the ops of a function are after its calls are written out, by the position before and
/// that in the routine, -1 for what is no call of one.
using Moved = std::map<std::pair<int64_t, int64_t>, int64_t>;

/// Inlines one call; returns the ops in its place, in the routine's order.
std::vector<Operation *> inlineCall(rt::CallOp call, func::FuncOp routine) {
  OpBuilder builder(call);
  IRMapping map;
  map.map(routine.getArguments(), call.getInputs());
  std::vector<Operation *> clones;
  Block &body = routine.getBody().front();
  for (Operation &op : body.without_terminator())
    clones.push_back(builder.clone(op, map));
  for (auto [result, value] : llvm::zip(call.getOutputs(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(map.lookup(value));
  call.erase();
  return clones;
}

Moved inlineCalls(func::FuncOp function, const SymbolTable &symbols) {
  std::map<std::pair<int64_t, int64_t>, Operation *> places;
  Block &body = function.getBody().front();
  std::vector<Operation *> ops;
  for (Operation &op : body)
    ops.push_back(&op);
  for (auto [i, op] : llvm::enumerate(ops)) {
    auto call = dyn_cast<rt::CallOp>(op);
    func::FuncOp callee = call ? rt::calleeOf(call, symbols) : func::FuncOp();
    if (!callee || !rt::isRoutine(callee)) {
      places[{i, -1}] = op;
      continue;
    }
    for (auto [j, clone] : llvm::enumerate(inlineCall(call, callee)))
      places[{i, j}] = clone;
  }
  llvm::DenseMap<Operation *, int64_t> position;
  for (auto [i, op] : llvm::enumerate(body))
    position[&op] = i;
  Moved moved;
  for (auto &[key, op] : places)
    moved[key] = position.lookup(op);
  return moved;
}

/// The view of what a block is bound to that `view` is of the block.
Value viewThrough(OpBuilder &builder, rt::ViewOp view, Value bound) {
  auto type = cast<MemRefType>(view.getType());
  SmallVector<int64_t> strides, ignored;
  int64_t offset = 0, start = 0;
  rt::staticLayout(type, strides, offset);
  rt::staticLayout(cast<MemRefType>(bound.getType()), ignored, start);
  if (start != 0)
    type = MemRefType::get(type.getShape(), type.getElementType(),
                           StridedLayoutAttr::get(type.getContext(), offset + start, strides));
  return rt::ViewOp::create(builder, view.getLoc(), type, rt::bufferOfView(bound));
}

class Flattener {
public:
  Flattener(rt::ProgramOp program, const SymbolTable &symbols)
      : program(program), symbols(symbols), builder(program.getContext()),
        events(program.getEvents()) {}

  void run(const Moved &moved) {
    for (Operation &op : llvm::make_early_inc_range(program.getBody().front())) {
      auto origin = op.getAttrOfType<IntegerAttr>(rt::kOriginAttr);
      if (auto invoke = dyn_cast<rt::InvokeOp>(op))
        expand(invoke, moved, origin.getInt());
      else if (origin)
        setOrigin(&op, moved, {origin.getInt(), -1});
    }
    program.setEvents(events);
    rt::Lifetimes lifetimes(program);
    for (auto buffer : program.getOps<rt::BufferOp>())
      if (buffer.getKind() != rt::BufferClass::Input &&
          buffer.getKind() != rt::BufferClass::Output) {
        auto [first, last] = lifetimes.of(buffer);
        buffer.setLives(SmallVector<int64_t>{first, last});
      } else {
        buffer.setLives(
            SmallVector<int64_t>{0, std::max<int64_t>(lifetimes.order().size() - 1, 0)});
      }
  }

private:
  void setOrigin(Operation *op, const Moved &moved, std::pair<int64_t, int64_t> key) {
    auto found = moved.find(key);
    op->setAttr(rt::kOriginAttr,
                builder.getI64IntegerAttr(found == moved.end() ? -1 : found->second));
  }

  /// Whether the call leaves unset what the view is of.
  static bool isUnset(Value view, rt::InvokeOp invoke, rt::ProgramOp routine) {
    auto block = view ? dyn_cast<BlockArgument>(rt::bufferOfView(view)) : BlockArgument();
    return block && block.getArgNumber() < routine.getArgumentBlocks().size() &&
           invoke.isUnset(block.getArgNumber());
  }

  void expand(rt::InvokeOp invoke, const Moved &moved, int64_t origin) {
    auto routine = symbols.lookup<rt::ProgramOp>(invoke.getRoutine());
    builder.setInsertionPoint(invoke);
    IRMapping map;
    for (auto [block, view] : llvm::zip(routine.getResultBlocks(), invoke.getOutputs()))
      map.map(block, view);
    for (auto [block, view] : llvm::zip(routine.getArgumentBlocks(), invoke.getInputs()))
      map.map(block, view);
    int64_t scratch = 0;
    if (invoke.getScratch())
      scratch = invoke.getScratch().getDefiningOp<rt::BufferOp>().getOffset().value_or(0);
    for (Operation &op : routine.getBody().front()) {
      auto view = dyn_cast<rt::ViewOp>(op);
      if (view && isa<BlockArgument>(view.getBuffer())) {
        map.map(view.getResult(), viewThrough(builder, view, map.lookup(view.getBuffer())));
        continue;
      }
      Operation *copy = builder.clone(op, map);
      if (auto product = dyn_cast<rt::GemmOp>(op);
          product && llvm::any_of(product.getAddends(), [&](Value addend) {
            return isUnset(addend, invoke, routine); // then it is the only one
          }))
        cast<rt::GemmOp>(copy).getAddendsMutable().clear();
      if (auto buffer = dyn_cast<rt::BufferOp>(copy))
        buffer.setOffset(*buffer.getOffset() + scratch);
      if (auto record = dyn_cast<rt::RecordOp>(copy))
        record.setEvent(record.getEvent() + events);
      if (auto wait = dyn_cast<rt::WaitOp>(copy))
        wait.setEvent(wait.getEvent() + events);
      if (auto inner = op.getAttrOfType<IntegerAttr>(rt::kOriginAttr))
        setOrigin(copy, moved, {origin, inner.getInt()});
    }
    events += routine.getEvents();
    Value memory = invoke.getScratch();
    invoke.erase();
    if (memory && memory.use_empty())
      memory.getDefiningOp()->erase();
  }

  rt::ProgramOp program;
  const SymbolTable &symbols;
  OpBuilder builder;
  uint32_t events;
};

} // namespace

void weft::test::flattenCalls(ModuleOp module) {
  SymbolTable symbols(module);
  for (auto program : module.getOps<rt::ProgramOp>()) {
    if (program.isRoutine())
      continue;
    auto spec = symbols.lookup<func::FuncOp>(
        program->getAttrOfType<FlatSymbolRefAttr>(rt::kSpecAttr).getValue());
    Flattener(program, symbols).run(inlineCalls(spec, symbols));
  }
  for (Operation &op : llvm::make_early_inc_range(*module.getBody())) {
    auto program = dyn_cast<rt::ProgramOp>(op);
    auto function = dyn_cast<func::FuncOp>(op);
    if ((program && program.isRoutine()) || (function && rt::isRoutine(function)))
      op.erase();
  }
}
