// Mutants of scheduled programs: every one that computes something else is rejected.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mutants are classed by running them. One that is no valid IR is not run: the
// ops' own verifiers reject it. Races need not show in a run, so the verifier may
// reject mutants that were seen to compute the same.
#include "StepPrograms.h"

#include "dialects/rt/IR/Rt.h"
#include "passes/rt/Passes.h"
#include "passes/rt/memory/Lifetimes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace weft;
using namespace weft::test;

namespace {

constexpr unsigned kMinimumMutants = 500;

class Mutator {
public:
  Mutator(ModuleOp module, unsigned seed) : random(seed) {
    program = *module.getOps<rt::ProgramOp>().begin();
    commands = rt::commandsOf(program);
    buffers.assign(program.getOps<rt::BufferOp>().begin(), program.getOps<rt::BufferOp>().end());
  }

  /// Changes one thing; returns its name, or nothing if it does not apply.
  const char *mutate() {
    rt::CommandInterface command = commands[random() % commands.size()];
    switch (random() % 10) {
    case 0:
      command.erase();
      return "drop";
    case 1:
      command->getBlock()->getOperations().insert(std::next(command->getIterator()),
                                                  command->clone());
      return "double";
    case 2:
    case 3: {
      rt::CommandInterface other = commands[random() % commands.size()];
      if (other == command || command->isBeforeInBlock(other) == false)
        return nullptr;
      command->moveAfter(other);
      return "move";
    }
    case 4:
      return changeEvent(command);
    case 5:
      if (program.getStreams() < 2)
        return nullptr;
      command.setStreamNumber(1 - command.getStreamNumber());
      return "stream";
    case 6: {
      rt::BufferOp a = buffers[random() % buffers.size()], b = buffers[random() % buffers.size()];
      if (a.getOffset() == b.getOffset())
        return nullptr;
      a.setOffset(*b.getOffset());
      return "arena";
    }
    case 7:
      return changeView(command);
    case 8:
      return changeOperand(command);
    default:
      return changeParameter(command);
    }
  }

private:
  const char *changeEvent(Operation *command) {
    if (program.getEvents() < 2)
      return nullptr;
    if (auto record = dyn_cast<rt::RecordOp>(command))
      record.setEvent(random() % program.getEvents());
    else if (auto wait = dyn_cast<rt::WaitOp>(command))
      wait.setEvent(random() % program.getEvents());
    else
      return nullptr;
    return "event";
  }

  const char *changeView(Operation *command) {
    for (Value operand : command->getOperands())
      if (auto view = operand.getDefiningOp<rt::ViewOp>()) {
        auto type = cast<MemRefType>(view.getType());
        SmallVector<int64_t> strides;
        int64_t offset;
        rt::staticLayout(type, strides, offset);
        if (random() % 2)
          offset += int64_t(random() % 9) - 4;
        else
          std::shuffle(strides.begin(), strides.end(), random);
        view.getResult().setType(
            MemRefType::get(type.getShape(), type.getElementType(),
                            StridedLayoutAttr::get(type.getContext(), offset, strides)));
        return "view";
      }
    return nullptr;
  }

  const char *changeOperand(Operation *command) {
    if (command->getNumOperands() == 0)
      return nullptr;
    OpOperand &operand = command->getOpOperand(random() % command->getNumOperands());
    std::vector<Value> others;
    auto add = [&](Value buffer) {
      if (buffer.getType() == operand.get().getType() && buffer != operand.get() &&
          buffer.getDefiningOp()->isBeforeInBlock(command))
        others.push_back(buffer);
    };
    for (rt::BufferOp buffer : buffers)
      add(buffer);
    for (auto state : program.getOps<rt::StateBufferOp>())
      add(state);
    if (others.empty())
      return nullptr;
    operand.set(others[random() % others.size()]);
    return "operand";
  }

  const char *changeParameter(Operation *command) {
    if (auto attention = dyn_cast<rt::AttentionOp>(command))
      attention.setCausal(!attention.getCausal());
    else if (auto collective = dyn_cast<rt::CollectiveOp>(command))
      collective.setReduction(collective.getReduction() == ReduceKind::Sum ? ReduceKind::Max
                                                                           : ReduceKind::Sum);
    else
      return nullptr;
    return "parameter";
  }

  std::mt19937 random;
  rt::ProgramOp program;
  std::vector<rt::CommandInterface> commands;
  std::vector<rt::BufferOp> buffers;
};

struct Counts {
  unsigned mutants = 0, invalid = 0, wrong = 0, same = 0, rejectedSame = 0, missed = 0;
};

/// What runs a program and says whether it computes what it should.
using Check = llvm::function_ref<bool(emit::InProcessProgram &)>;

/// True if the mutant computes the same.
bool computesTheSame(ModuleOp module, const emit::Artifact &original,
                     const llvm::StringMap<LaunchShape> &shapes, Check check) {
  auto blob = emit::emitBlob(module, shapes, {});
  if (failed(blob))
    return false;
  std::string error;
  auto program =
      emit::InProcessProgram::open({original.target, std::move(*blob), original.images}, error);
  return program && check(*program);
}

void runMutants(ModuleOp module, const std::string &name, unsigned seeds, Check check,
                Counts &counts) {
  ASSERT_TRUE(module);
  auto artifact = emit::emitArtifact(module, {}, {});
  ASSERT_TRUE(succeeded(artifact));
  llvm::StringMap<LaunchShape> shapes;
  for (const KernelImage &kernel : artifact->images.kernels)
    shapes[kernel.symbol] = kernel.shape;
  ASSERT_TRUE(computesTheSame(module, *artifact, shapes, check)) << name;
  for (unsigned seed = 0; seed < seeds; ++seed) {
    OwningOpRef<ModuleOp> mutant = module.clone();
    const char *kind = Mutator(*mutant, seed).mutate();
    if (!kind)
      continue;
    ++counts.mutants;
    ScopedDiagnosticHandler quiet(&context(), [](Diagnostic &) { return success(); });
    if (failed(verify(*mutant))) {
      ++counts.invalid;
      continue;
    }
    bool same = computesTheSame(*mutant, *artifact, shapes, check);
    PassManager pm(&context());
    pm.enableVerifier(false);
    pm.addPass(rt::createRtVerifyCommands());
    bool accepted = succeeded(pm.run(*mutant));
    counts.wrong += !same;
    counts.same += same;
    counts.rejectedSame += same && !accepted;
    if (!same && accepted) {
      ++counts.missed;
      ADD_FAILURE() << "seed " << seed << " of " << name << ": a wrong mutant (" << kind
                    << ") is accepted";
    }
  }
}

/// Mutants of a program whose outputs follow from its inputs.
void runMutants(const char *text, const char *mesh, unsigned seeds, Counts &counts) {
  Sample sample = makeSample(text, 7);
  OwningOpRef<ModuleOp> module = schedule(sample, mesh);
  auto check = [&](emit::InProcessProgram &program) {
    std::string error;
    std::vector<HostTensor> found;
    return program.run(sample.inputs, sample.types, found, error) &&
           distance(found, sample.expected) <= 1e-5;
  };
  runMutants(*module, "mesh '" + std::string(mesh) + "'", seeds, check, counts);
}

/// Mutants of a training step, run twice: the second step reads the states that
/// the first left.
void runTrainingMutants(const char *mesh, unsigned seeds, Counts &counts) {
  Training training = makeTraining(7, 2);
  if (*mesh)
    training.module->lookupSymbol("eval")->erase();
  PhaseOptions options;
  options.mesh = *Mesh::parse(mesh);
  options.precision = Precision::F64;
  OwningOpRef<ModuleOp> module = schedule(*training.module, options);
  auto step = training.module->lookupSymbol<func::FuncOp>("step");
  auto check = [&](emit::InProcessProgram &program) {
    std::string error;
    TrainingRun run;
    return runCompiled(program, step, training.batches, run, error) &&
           distance(run, training.expected) <= 1e-9;
  };
  runMutants(*module, "training on mesh '" + std::string(mesh) + "'", seeds, check, counts);
}

void report(const Counts &counts, unsigned seeds) {
  llvm::outs() << "seeds 0.." << seeds - 1 << ": " << counts.mutants << " mutants, "
               << counts.invalid << " no valid IR, " << counts.wrong << " compute something else, "
               << counts.same << " were seen to compute the same, of which " << counts.rejectedSame
               << " are rejected; " << counts.missed << " wrong ones accepted\n";
  EXPECT_EQ(counts.missed, 0u);
  EXPECT_GE(counts.mutants, kMinimumMutants);
  EXPECT_GE(counts.wrong, counts.mutants / 5);
}

unsigned seedsOf(unsigned reduced) {
  const char *full = std::getenv("WEFT_TEST_FULL");
  return full && *full == '1' ? 3 * reduced : reduced;
}

TEST(CommandMutation, WrongMutantsAreRejected) {
  unsigned seeds = seedsOf(400);
  Counts counts;
  runMutants(kBlock, "", seeds, counts);
  runMutants(kMlp, "", seeds / 2, counts);
  runMutants(kBlock, "tp=2", seeds, counts);
  runMutants(kMlp, "tp=2", seeds, counts);
  report(counts, seeds);
}

TEST(CommandMutation, WrongTrainingMutantsAreRejected) {
  unsigned seeds = seedsOf(400);
  Counts counts;
  runTrainingMutants("", seeds, counts);
  runTrainingMutants("dp=2", seeds, counts);
  runTrainingMutants("dp=4", seeds, counts);
  report(counts, seeds);
}

} // namespace
