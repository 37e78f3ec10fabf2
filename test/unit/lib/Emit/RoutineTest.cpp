// Programs that call routines: the same bits as without calls, and no wrong one accepted.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Compile.h"
#include "Flatten.h"

#include "dialects/rt/IR/Rt.h"
#include "passes/rt/Lifetimes.h"
#include "passes/rt/Passes.h"
#include "weft/Emit/Memory.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <random>
#include <regex>

using namespace mlir;
using namespace weft;
using namespace weft::test;

namespace {

/// Three microbatches through two layers. Layers share a routine, which communicates inside; the
/// first microbatch sets the gradients, others add to them in place; their sums over devices and
/// the updates are routines too.
const char *const kStep = R"(
#mesh = #dist.mesh<["dp"=RANKS]>
!x = tensor<12x4xf64, #dist.local<#mesh, [ROWS{"dp"}, 4]>>
!b = tensor<4x4xf64, #dist.local<#mesh, [BATCH{"dp"}, 4]>>
!w = tensor<4x4xf64, #dist.local<#mesh, [4, 4]>>
!g = tensor<4x4xf64, #dist.local<#mesh, [4, 4], partial = sum["dp"]>>
!n = tensor<4xf64, #dist.local<#mesh, [4], partial = sum["dp"]>>
!m = tensor<4xf64, #dist.local<#mesh, [4]>>
module attributes {dist.mesh = #mesh} {
func.func private @block(%x: !b, %w: !w) -> !b attributes {rt.routine} {
  %0 = nn.reduce sum %x dims = [0] : !b -> !n loc("/h.{}/sums")
  %1 = dist.all_reduce %0 ["dp"] accumulate f64 : !n -> !m loc("/h.{}/sums")
  %2 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f64 : (!b, !w) -> !b loc("/h.{}/product")
  %3 = nn.exp %2 : (!b) -> !b loc("/h.{}/exp")
  %c = nn.constant dense<[[0.5, 0.25, 0.125, 0.5], [0.5, 0.75, 0.125, 0.5], [0.5, 0.25, 0.375, 0.5], [0.5, 0.25, 0.125, 0.25]]> : tensor<4x4xf64> : !b
  %4 = nn.mul %3, %c : (!b, !b) -> !b loc("/h.{}/scaled")
  %5 = nn.broadcast %1 dims = [1] : !m -> !b loc("/h.{}/result")
  %6 = nn.sub %4, %5 : (!b, !b) -> !b loc("/h.{}/result")
  return %6 : !b
}
func.func private @first(%x: !b, %y: !b) -> !g attributes {rt.routine} {
  %0 = nn.contract %x, %y lhs = [1, 0] rhs = [1, 2] result = [0, 2] accumulate = f64 {nn.role = "weight_gradient"} : (!b, !b) -> !g
  return %0 : !g
}
func.func private @next(%x: !b, %y: !b, %g: !g) -> !g attributes {rt.routine, rt.in_place = array<i64: 2>} {
  %0 = nn.contract %x, %y lhs = [1, 0] rhs = [1, 2] result = [0, 2] accumulate = f64 {nn.role = "weight_gradient"} : (!b, !b) -> !g
  %1 = nn.add %g, %0 {nn.role = "weight_gradient"} : (!g, !g) -> !g
  return %1 : !g
}
func.func private @reduce(%g: !g, %h: !g) -> (!w, !w) attributes {rt.routine} {
  %0 = dist.all_reduce %g ["dp"] accumulate f64 : !g -> !w
  %1 = dist.all_reduce %h ["dp"] accumulate f64 : !g -> !w
  return %0, %1 : !w, !w
}
func.func private @update(%w: !w, %g: !w) -> !w attributes {rt.routine, rt.in_place = array<i64: 0>} {
  %c = nn.constant dense<0.0625> : tensor<4x4xf64> : !w
  %0 = nn.mul %g, %c {nn.role = "optimizer"} : (!w, !w) -> !w
  %1 = nn.sub %w, %0 {nn.role = "optimizer"} : (!w, !w) -> !w
  return %1 : !w
}
func.func @step(%x: !x {nn.name = "x"},
    %w: !w {nn.name = "w", nn.initial = dense<[[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [0.9, -0.1, -0.2, -0.3], [-0.4, -0.5, -0.6, -0.7]]> : tensor<4x4xf64>},
    %v: !w {nn.name = "v", nn.initial = dense<[[0.3, -0.2, 0.1, 0.4], [0.15, 0.6, -0.7, 0.2], [0.9, 0.1, -0.2, 0.35], [0.4, -0.5, 0.6, -0.7]]> : tensor<4x4xf64>})
    -> (!b {nn.name = "y"}, !w {nn.updates = "w"}, !w {nn.updates = "v"}) {
  %x0 = nn.slice %x starts = [0, 0] strides = [1, 1] : !x -> !b
  %x1 = nn.slice %x starts = [4, 0] strides = [1, 1] : !x -> !b
  %x2 = nn.slice %x starts = [8, 0] strides = [1, 1] : !x -> !b
  %h0 = rt.call @block(%x0, %w) {label = "0", microbatch = 0 : i64} : (!b, !w) -> !b
  %k0 = rt.call @block(%h0, %v) {label = "1", microbatch = 0 : i64} : (!b, !w) -> !b
  %a0 = rt.call @first(%x0, %k0) {label = "0", microbatch = 0 : i64} : (!b, !b) -> !g
  %b0 = rt.call @first(%h0, %k0) {label = "1", microbatch = 0 : i64} : (!b, !b) -> !g
  %h1 = rt.call @block(%x1, %w) {label = "0", microbatch = 1 : i64} : (!b, !w) -> !b
  %k1 = rt.call @block(%h1, %v) {label = "1", microbatch = 1 : i64} : (!b, !w) -> !b
  %a1 = rt.call @next(%x1, %k1, %a0) {label = "0", microbatch = 1 : i64} : (!b, !b, !g) -> !g
  %b1 = rt.call @next(%h1, %k1, %b0) {label = "1", microbatch = 1 : i64} : (!b, !b, !g) -> !g
  %h2 = rt.call @block(%x2, %w) {label = "0", microbatch = 2 : i64} : (!b, !w) -> !b
  %k2 = rt.call @block(%h2, %v) {label = "1", microbatch = 2 : i64} : (!b, !w) -> !b
  %a2 = rt.call @next(%x2, %k2, %a1) {label = "0", microbatch = 2 : i64} : (!b, !b, !g) -> !g
  %b2 = rt.call @next(%h2, %k2, %b1) {label = "1", microbatch = 2 : i64} : (!b, !b, !g) -> !g
  %r:2 = rt.call @reduce(%a2, %b2) : (!g, !g) -> (!w, !w)
  %w1 = rt.call @update(%w, %r#0) {label = "0"} : (!w, !w) -> !w
  %v1 = rt.call @update(%v, %r#1) {label = "1"} : (!w, !w) -> !w
  return %k2, %w1, %v1 : !b, !w, !w
}
}
)";

/// On one rank nothing is partial, and something else is computed in place of sums over ranks.
std::string stepText(int64_t ranks) {
  std::string text = std::regex_replace(kStep, std::regex("RANKS"), std::to_string(ranks));
  text = std::regex_replace(text, std::regex("ROWS"), std::to_string(12 * ranks));
  text = std::regex_replace(text, std::regex("BATCH"), std::to_string(4 * ranks));
  std::regex sum(R"(dist\.all_reduce (%\w+) \["dp"\] accumulate f64 : (!\w) -> (!\w))");
  return ranks > 1 ? text : std::regex_replace(text, sum, "nn.tanh $1 : ($2) -> $3");
}

/// From the end of placement on; with `isFlat` nothing is called.
OwningOpRef<ModuleOp> scheduleStep(int64_t ranks, bool isFlat) {
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(stepText(ranks), &context());
  if (!module)
    return nullptr;
  PhaseOptions options;
  PassManager pm(&context());
  if (isFlat)
    pm.addPass(rt::createRtInlineRoutines());
  buildOutline(pm, options);
  buildPhase(pm, Phase::Scheduled, options);
  return succeeded(pm.run(*module)) ? std::move(module) : nullptr;
}

struct Step {
  std::vector<HostTensor> outputs;
  HostTensor w, v;
};

bool isEqual(const HostTensor &a, const HostTensor &b) { return a.reals == b.reals; }

bool isEqual(const Step &a, const Step &b) {
  return isEqual(a.outputs[0], b.outputs[0]) && isEqual(a.w, b.w) && isEqual(a.v, b.v);
}

/// Two steps: the second reads what the first left.
bool runStep(emit::InProcessProgram &program, int64_t ranks, Step &step, std::string &error) {
  Type f64 = Float64Type::get(&context());
  auto weight = RankedTensorType::get({4, 4}, f64);
  HostTensor x(RankedTensorType::get({12 * ranks, 4}, f64));
  for (auto [i, value] : llvm::enumerate(x.reals))
    value = double(int(i * 37 % 101) - 50) / 128;
  auto output = RankedTensorType::get({4 * ranks, 4}, f64);
  for (unsigned i = 0; i < 2; ++i)
    if (!program.run("step", {x}, {output}, step.outputs, error))
      return false;
  return program.getState("w", weight, step.w, error) &&
         program.getState("v", weight, step.v, error);
}

llvm::StringMap<LaunchShape> shapesOf(const emit::Artifact &artifact) {
  llvm::StringMap<LaunchShape> shapes;
  for (const KernelImage &kernel : artifact.images.kernels)
    shapes[kernel.symbol] = kernel.shape;
  return shapes;
}

bool runModule(ModuleOp module, const emit::Artifact &like, int64_t ranks, Step &step) {
  auto blob = emit::emitBlob(module, shapesOf(like), {});
  std::string error;
  if (failed(blob))
    return false;
  auto program = emit::InProcessProgram::open({like.target, std::move(*blob), like.images}, error);
  return program && runStep(*program, ranks, step, error);
}

bool isAccepted(ModuleOp module) {
  PassManager pm(&context());
  pm.enableVerifier(false);
  pm.addPass(rt::createRtVerifyCommands());
  return succeeded(pm.run(module));
}

/// Changes one thing on the level of calls.
class CallMutator {
public:
  CallMutator(ModuleOp module, unsigned seed) : random(seed) {
    for (auto found : module.getOps<rt::ProgramOp>())
      if (!found.isRoutine())
        program = found;
    calls.assign(program.getOps<rt::InvokeOp>().begin(), program.getOps<rt::InvokeOp>().end());
    buffers.assign(program.getOps<rt::BufferOp>().begin(), program.getOps<rt::BufferOp>().end());
  }

  const char *mutate() {
    rt::InvokeOp call = pick(calls);
    switch (random() % 9) {
    case 0:
      call.erase();
      return "drop";
    case 1:
      call->getBlock()->getOperations().insert(std::next(pick(calls)->getIterator()),
                                               call->clone());
      return "double";
    case 2:
      return move(call);
    case 3:
      return changeOperand(call);
    case 4:
      return changeMicrobatch(call);
    case 5:
      return moveBuffer(pick(buffers));
    case 6:
      return call.getScratch() ? moveBuffer(call.getScratch().getDefiningOp<rt::BufferOp>())
                               : nullptr;
    case 7:
      return swapOperands(call);
    default:
      return changeStream(call);
    }
  }

private:
  template <typename T> T pick(const std::vector<T> &list) { return list[random() % list.size()]; }

  const char *move(rt::InvokeOp call) {
    rt::InvokeOp other = pick(calls);
    if (other == call)
      return nullptr;
    if (random() % 2)
      call->moveAfter(other);
    else
      call->moveBefore(other);
    return "move";
  }

  void set(rt::InvokeOp call, Value from, Value to) {
    for (OpOperand &operand : call->getOpOperands())
      if (operand.get() == from)
        operand.set(to);
  }

  const char *changeOperand(rt::InvokeOp call) {
    Value from = call->getOperand(random() % call->getNumOperands());
    std::vector<Value> others;
    for (Operation &op : program.getBody().front())
      if (isa<rt::BufferOp, rt::StateBufferOp, rt::ViewOp>(op) && op.isBeforeInBlock(call))
        if (op.getResult(0).getType() == from.getType() && op.getResult(0) != from)
          others.push_back(op.getResult(0));
    if (others.empty())
      return nullptr;
    set(call, from, pick(others));
    return "operand";
  }

  /// Rows of another microbatch, or a few rows off.
  const char *changeMicrobatch(rt::InvokeOp call) {
    for (Value operand : call.getInputs()) {
      auto view = operand.getDefiningOp<rt::ViewOp>();
      if (!view)
        continue;
      auto type = cast<MemRefType>(view.getType());
      auto layout = StridedLayoutAttr::get(type.getContext(), 4 * (random() % 9), {4, 1});
      OpBuilder builder(view);
      auto other = rt::ViewOp::create(
          builder, view.getLoc(), MemRefType::get(type.getShape(), type.getElementType(), layout),
          view.getBuffer());
      if (other.getType() == view.getType())
        return nullptr;
      set(call, operand, other);
      return "microbatch";
    }
    return nullptr;
  }

  const char *moveBuffer(rt::BufferOp buffer) {
    rt::BufferOp other = pick(buffers);
    uint64_t offset = *other.getOffset() + (random() % 2 ? 64 : 0);
    if (offset == *buffer.getOffset())
      return nullptr;
    buffer.setOffset(offset);
    return "arena";
  }

  const char *swapOperands(rt::InvokeOp call) {
    unsigned a = random() % call->getNumOperands(), b = random() % call->getNumOperands();
    Value first = call->getOperand(a), second = call->getOperand(b);
    if (first == second || first.getType() != second.getType())
      return nullptr;
    for (OpOperand &operand : call->getOpOperands())
      operand.set(operand.get() == first    ? second
                  : operand.get() == second ? first
                                            : operand.get());
    return "swap";
  }

  const char *changeStream(rt::InvokeOp call) {
    if (program.getStreams() < 2)
      return nullptr;
    call.setStreamNumber(1 - call.getStreamNumber());
    return "stream";
  }

  std::mt19937 random;
  rt::ProgramOp program;
  std::vector<rt::InvokeOp> calls;
  std::vector<rt::BufferOp> buffers;
};

struct Counts {
  unsigned mutants = 0, invalid = 0, wrong = 0, missed = 0, rejectedSame = 0, stricter = 0;
};

/// A mutant is run as its commands written out: what a call means is defined by that.
void judge(ModuleOp mutant, const emit::Artifact &original, int64_t ranks, const Step &expected,
           const std::string &what, Counts &counts) {
  ScopedDiagnosticHandler quiet(&context(), [](Diagnostic &) { return success(); });
  if (failed(verify(mutant))) {
    ++counts.invalid;
    return;
  }
  bool accepted = isAccepted(mutant);
  flattenCalls(mutant);
  bool acceptedFlat = succeeded(verify(mutant)) && isAccepted(mutant);
  Step found;
  bool same = runModule(mutant, original, ranks, found) && isEqual(found, expected);
  counts.wrong += !same;
  counts.missed += !same && accepted;
  counts.rejectedSame += same && !accepted;
  counts.stricter += acceptedFlat && !accepted;
  EXPECT_TRUE(same || !accepted) << what << ": a wrong mutant is accepted";
  EXPECT_TRUE(acceptedFlat || !accepted) << what << ": accepted, but not its commands written out";
}

void runMutants(int64_t ranks, unsigned seeds, Counts &counts) {
  OwningOpRef<ModuleOp> module = scheduleStep(ranks, false);
  ASSERT_TRUE(module);
  OwningOpRef<ModuleOp> flat = module->clone();
  flattenCalls(*flat);
  auto artifact = emit::emitArtifact(*flat, {}, {});
  ASSERT_TRUE(succeeded(artifact));
  Step expected;
  ASSERT_TRUE(runModule(*flat, *artifact, ranks, expected));
  for (unsigned seed = 0; seed < seeds; ++seed) {
    OwningOpRef<ModuleOp> mutant = module->clone();
    const char *kind = CallMutator(*mutant, seed).mutate();
    if (!kind)
      continue;
    ++counts.mutants;
    judge(*mutant, *artifact, ranks, expected,
          "seed " + std::to_string(seed) + " (" + kind + ") on " + std::to_string(ranks), counts);
  }
}

TEST(Routines, ComputeWhatTheirCopiesDo) {
  for (int64_t ranks : {1, 2}) {
    OwningOpRef<ModuleOp> called = scheduleStep(ranks, false), copied = scheduleStep(ranks, true);
    ASSERT_TRUE(called && copied);
    auto artifact = emit::emitArtifact(*copied, {}, {});
    ASSERT_TRUE(succeeded(artifact));
    Step expected;
    ASSERT_TRUE(runModule(*copied, *artifact, ranks, expected));
    for (bool areCopied : {false, true}) { // as commands
      if (areCopied)
        flattenCalls(*called);
      ASSERT_TRUE(succeeded(verify(*called)) && isAccepted(*called));
      auto own = emit::emitArtifact(*called, {}, {});
      ASSERT_TRUE(succeeded(own));
      Step found;
      ASSERT_TRUE(runModule(*called, *own, ranks, found));
      EXPECT_TRUE(isEqual(found, expected)) << "on " << ranks << " ranks, copied: " << areCopied;
    }
  }
}

/// What lives in a routine counts by its class at each call, not as the scratch that it lies in.
TEST(Routines, MemoryInsideIsToldByClass) {
  OwningOpRef<ModuleOp> module = scheduleStep(1, false);
  ASSERT_TRUE(module);
  emit::MemoryUse called = emit::memoryUse(*module);
  int64_t sum = 0;
  for (const emit::MemoryItem &item : called.atPeak) {
    EXPECT_FALSE(module->lookupSymbol(item.name) &&
                 isa<rt::ProgramOp>(module->lookupSymbol(item.name)))
        << item.name.str() << " is a routine's scratch";
    sum += item.bytes;
  }
  EXPECT_LE(sum, called.arenaBytes);
  flattenCalls(*module);
  emit::MemoryUse flat = emit::memoryUse(*module);
  for (unsigned c = 0; c < emit::kNumClasses; ++c) {
    // Arguments live as long as their call.
    EXPECT_GE(called.peaks[c], flat.peaks[c]) << "class " << c;
    EXPECT_LE(called.peaks[c], flat.peaks[c] + 2 * 16 * 8) << "class " << c;
  }
}

TEST(CallMutation, WrongMutantsAreRejected) {
  const char *full = std::getenv("WEFT_TEST_FULL");
  unsigned seeds = full && *full == '1' ? 2000 : 700;
  Counts counts;
  runMutants(1, seeds, counts);
  runMutants(2, seeds, counts);
  llvm::outs() << "seeds 0.." << seeds - 1 << ": " << counts.mutants << " mutants of calls, "
               << counts.invalid << " no valid IR, " << counts.wrong
               << " compute something else, of which " << counts.missed << " are accepted; "
               << counts.rejectedSame << " others are rejected, " << counts.stricter
               << " though their commands written out are accepted\n";
  EXPECT_GE(counts.mutants, 1000u);
  EXPECT_GE(counts.wrong, counts.mutants / 5);
}

} // namespace
