// Seeded mistakes in calls of routines, for tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CallMutator.h"

#include "passes/rt/memory/Lifetimes.h"

using namespace mlir;
using namespace weft;
using test::CallMutator;

CallMutator::CallMutator(ModuleOp module, unsigned seed) : random(seed) {
  // The one with the most calls: the step of a training.
  for (auto found : module.getOps<rt::ProgramOp>()) {
    Calls own(found.getOps<rt::InvokeOp>());
    if (found.isRoutine() || own.size() <= calls.size())
      continue;
    program = found;
    calls = own;
  }
  if (!program)
    return;
  // So that any of them can be an operand of any call.
  Block &body = program.getBody().front();
  Operation *last = nullptr;
  for (Operation &op : llvm::make_early_inc_range(body))
    if (isa<rt::BufferOp, rt::StateBufferOp, rt::ViewOp>(op)) {
      if (last)
        op.moveAfter(last);
      else
        op.moveBefore(&body, body.begin());
      last = &op;
    }
  buffers.assign(program.getOps<rt::BufferOp>().begin(), program.getOps<rt::BufferOp>().end());
}

bool CallMutator::mutate(unsigned kind) {
  if (calls.empty())
    return false;
  rt::InvokeOp call = pick(calls);
  switch (kind) {
  case 0:
    call.erase();
    return true;
  case 1:
    call->getBlock()->getOperations().insert(std::next(pick(calls)->getIterator()), call->clone());
    return true;
  case 2:
    return exchange(call);
  case 3:
    return move(call);
  case 4:
    return useAnothers(call, true);
  case 5:
    return useAnothers(call, false);
  case 6:
    return overlap(pick(buffers));
  case 7:
    call = any([](rt::InvokeOp other) { return bool(other.getScratch()); });
    return call && overlap(call.getScratch().getDefiningOp<rt::BufferOp>());
  case 8:
    return updateEarly();
  case 9:
    return changeOperand(call);
  case 10:
    return crossOperands(call);
  case 11:
    return moveRows(call);
  case 12:
    return changeUnset();
  default:
    if (program.getStreams() < 2)
      return false;
    call.setStreamNumber(1 - call.getStreamNumber());
    return true;
  }
}

rt::InvokeOp CallMutator::any(llvm::function_ref<bool(rt::InvokeOp)> holds) {
  auto found = llvm::filter_to_vector(calls, holds);
  return found.empty() ? rt::InvokeOp() : pick(found);
}

bool CallMutator::exchange(rt::InvokeOp call) {
  rt::InvokeOp other = any([&](rt::InvokeOp other) { return other != call; });
  if (!other)
    return false;
  Operation *placeholder = call->clone();
  call->getBlock()->getOperations().insert(call->getIterator(), placeholder);
  call->moveAfter(other);
  other->moveAfter(placeholder);
  placeholder->erase();
  return true;
}

bool CallMutator::move(rt::InvokeOp call) {
  rt::InvokeOp other = any([&](rt::InvokeOp other) { return other != call; });
  if (!other)
    return false;
  if (random() % 2)
    call->moveAfter(other);
  else
    call->moveBefore(other);
  return true;
}

static void replace(rt::InvokeOp call, Value from, Value to) {
  for (OpOperand &operand : call->getOpOperands())
    if (operand.get() == from)
      operand.set(to);
}

/// With `sameLabel` that of another microbatch, else of any call.
bool CallMutator::useAnothers(rt::InvokeOp call, bool sameLabel) {
  rt::InvokeOp other = any([&](rt::InvokeOp other) {
    return other != call && other.getRoutine() == call.getRoutine() &&
           other->getNumOperands() == call->getNumOperands() &&
           (!sameLabel ||
            (other.getLabel() == call.getLabel() && other.getMicrobatch() != call.getMicrobatch()));
  });
  if (!other)
    return false;
  // Rows of microbatches have layouts of their own.
  auto isAlike = [](Value a, Value b) {
    auto first = cast<MemRefType>(a.getType()), second = cast<MemRefType>(b.getType());
    return first.getShape() == second.getShape() &&
           first.getElementType() == second.getElementType();
  };
  SmallVector<unsigned> different;
  for (unsigned i = 0; i < call->getNumOperands(); ++i)
    if (call->getOperand(i) != other->getOperand(i) &&
        isAlike(call->getOperand(i), other->getOperand(i)))
      different.push_back(i);
  if (different.empty())
    return false;
  unsigned number = pick(different);
  replace(call, call->getOperand(number), other->getOperand(number));
  return true;
}

bool CallMutator::overlap(rt::BufferOp buffer) {
  auto lives = [](rt::BufferOp buffer) { return *buffer.getLives(); };
  auto others = llvm::filter_to_vector(buffers, [&](rt::BufferOp other) {
    return other != buffer && lives(other)[0] <= lives(buffer)[1] &&
           lives(buffer)[0] <= lives(other)[1];
  });
  if (others.empty())
    return false;
  rt::BufferOp other = pick(others);
  uint64_t offset = *other.getOffset() + (random() % 2 ? 64 : 0);
  if (offset == *buffer.getOffset())
    return false;
  buffer.setOffset(offset);
  return true;
}

bool CallMutator::updateEarly() {
  auto states = [](ValueRange views) {
    llvm::DenseSet<Attribute> names;
    for (Value view : views)
      if (auto state = rt::bufferOfView(view).getDefiningOp<rt::StateBufferOp>())
        names.insert(state.getStateAttr());
    return names;
  };
  rt::InvokeOp update = any([&](rt::InvokeOp call) { return !states(call.getOutputs()).empty(); });
  if (!update)
    return false;
  llvm::DenseSet<Attribute> written = states(update.getOutputs());
  rt::InvokeOp reader = any([&](rt::InvokeOp call) {
    return call != update && call->isBeforeInBlock(update) &&
           llvm::any_of(states(call.getInputs()),
                        [&](Attribute name) { return written.contains(name); });
  });
  if (!reader)
    return false;
  update->moveBefore(reader);
  return true;
}

bool CallMutator::changeOperand(rt::InvokeOp call) {
  if (call->getNumOperands() == 0)
    return false;
  Value from = call->getOperand(random() % call->getNumOperands());
  SmallVector<Value> others;
  for (Operation &op : program.getBody().front())
    if (isa<rt::BufferOp, rt::StateBufferOp, rt::ViewOp>(op))
      if (op.getResult(0).getType() == from.getType() && op.getResult(0) != from)
        others.push_back(op.getResult(0));
  if (others.empty())
    return false;
  replace(call, from, pick(others));
  return true;
}

bool CallMutator::crossOperands(rt::InvokeOp call) {
  if (call->getNumOperands() == 0)
    return false;
  Value first = call->getOperand(random() % call->getNumOperands());
  Value second = call->getOperand(random() % call->getNumOperands());
  if (first == second || first.getType() != second.getType())
    return false;
  for (OpOperand &operand : call->getOpOperands())
    operand.set(operand.get() == first ? second : operand.get() == second ? first : operand.get());
  return true;
}

bool CallMutator::moveRows(rt::InvokeOp call) {
  auto inputs = llvm::filter_to_vector(
      call.getInputs(), [](Value input) { return bool(input.getDefiningOp<rt::ViewOp>()); });
  if (inputs.empty())
    return false;
  auto view = pick(inputs).getDefiningOp<rt::ViewOp>();
  auto type = cast<MemRefType>(view.getType());
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  rt::staticLayout(type, strides, offset);
  int64_t moved = 4 * (random() % 9);
  if (moved == offset)
    return false;
  OpBuilder builder(view);
  auto other =
      rt::ViewOp::create(builder, view.getLoc(),
                         MemRefType::get(type.getShape(), type.getElementType(),
                                         StridedLayoutAttr::get(type.getContext(), moved, strides)),
                         view.getBuffer());
  replace(call, view, other);
  return true;
}

bool CallMutator::changeUnset() {
  auto overwritten = [](rt::InvokeOp call) {
    SmallVector<int64_t> inputs;
    for (auto [i, input] : llvm::enumerate(call.getInputs()))
      if (llvm::is_contained(call.getOutputs(), input))
        inputs.push_back(i);
    return inputs;
  };
  rt::InvokeOp call = any([&](rt::InvokeOp call) { return !overwritten(call).empty(); });
  if (!call)
    return false;
  if (call.getUnset())
    call.removeUnsetAttr();
  else
    call.setUnset(SmallVector<int64_t>{pick(overwritten(call))});
  return true;
}
