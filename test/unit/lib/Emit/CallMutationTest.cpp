// Mistakes in calls of routines: none that computes something else is accepted.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a call means is defined by its commands written out, so a mutant is run, and judged a
// second time, like that. Two things are then lost: the stream of a call, and the lives of buffers
// that were told. What breaks their rules is only rejected as calls.
#include "CallMutator.h"
#include "CalledStep.h"
#include "Flatten.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/Format.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace weft;
using namespace weft::test;

namespace {

bool isFull() {
  const char *full = std::getenv("WEFT_TEST_FULL");
  return full && *full == '1';
}

/// Of one kind of mistake, or of all.
struct Counts {
  unsigned mutants = 0, invalid = 0, wrong = 0, missed = 0, accepted = 0, stricter = 0;

  Counts &operator+=(const Counts &other) {
    mutants += other.mutants, invalid += other.invalid, wrong += other.wrong;
    missed += other.missed, accepted += other.accepted, stricter += other.stricter;
    return *this;
  }
};
using CountsByKind = std::array<Counts, CallMutator::kNumKinds>;

/// What the verifier says of a mutant; then its commands are written out, and what it says of
/// these is in `isFlatAccepted`.
std::optional<bool> judge(ModuleOp mutant, const std::string &what, bool &isFlatAccepted,
                          Counts &counts) {
  ScopedDiagnosticHandler quiet(&context(), [](Diagnostic &) { return success(); });
  ++counts.mutants;
  if (failed(verify(mutant))) {
    ++counts.invalid;
    return std::nullopt;
  }
  bool accepted = isAccepted(mutant);
  flattenCalls(mutant);
  isFlatAccepted = succeeded(verify(mutant)) && isAccepted(mutant);
  counts.accepted += accepted;
  counts.stricter += isFlatAccepted && !accepted;
  EXPECT_TRUE(isFlatAccepted || !accepted) << what << ": accepted, but not its commands";
  return accepted;
}

Counts report(const CountsByKind &byKind) {
  Counts sum;
  llvm::outs() << "  kind         mutants  no valid IR  compute else  accepted of these  "
                  "accepted in all  only rejected as calls\n";
  auto line = [](const char *kind, const Counts &c) {
    llvm::outs() << "  "
                 << llvm::format("%-11s %8u %12u %13u %18u %16u %23u\n", kind, c.mutants, c.invalid,
                                 c.wrong, c.missed, c.accepted, c.stricter);
  };
  for (auto [kind, counts] : llvm::zip(CallMutator::kKinds, byKind)) {
    line(kind, counts);
    sum += counts;
  }
  line("all", sum);
  return sum;
}

//===----------------------------------------------------------------------===//
// Classed by what they compute
//===----------------------------------------------------------------------===//

void runMutants(int64_t ranks, unsigned seeds, CountsByKind &byKind) {
  OwningOpRef<ModuleOp> module = scheduleCalledStep(ranks, false);
  ASSERT_TRUE(module);
  OwningOpRef<ModuleOp> flat = module->clone();
  flattenCalls(*flat);
  auto artifact = emit::emitArtifact(*flat, {}, {});
  ASSERT_TRUE(succeeded(artifact));
  CalledStep expected;
  ASSERT_TRUE(runCalledStep(*flat, *artifact, ranks, expected));
  for (unsigned seed = 0; seed < seeds; ++seed) {
    unsigned kind = seed % CallMutator::kNumKinds;
    OwningOpRef<ModuleOp> mutant = module->clone();
    if (!CallMutator(*mutant, seed).mutate(kind))
      continue;
    std::string what = "seed " + std::to_string(seed) + " (" + CallMutator::kKinds[kind] + ") on " +
                       std::to_string(ranks);
    Counts &counts = byKind[kind];
    bool isFlatAccepted = false;
    std::optional<bool> accepted = judge(*mutant, what, isFlatAccepted, counts);
    if (!accepted)
      continue;
    ScopedDiagnosticHandler quiet(&context(), [](Diagnostic &) { return success(); });
    CalledStep found;
    bool same = runCalledStep(*mutant, *artifact, ranks, found) && isEqual(found, expected);
    counts.wrong += !same;
    counts.missed += !same && *accepted;
    EXPECT_TRUE(same || !*accepted) << what << ": a wrong mutant is accepted";
  }
}

TEST(CallMutation, WrongMutantsAreRejected) {
  unsigned seeds = isFull() ? 1800 : 600;
  CountsByKind byKind;
  runMutants(1, seeds, byKind);
  runMutants(2, seeds, byKind);
  llvm::outs() << "seeds 0.." << seeds - 1 << " on 1 and 2 ranks:\n";
  Counts sum = report(byKind);
  EXPECT_EQ(sum.missed, 0u);
  EXPECT_GE(sum.wrong, isFull() ? 1000u : 300u);
  for (auto [kind, counts] : llvm::zip(CallMutator::kKinds, byKind))
    if (kind == StringRef("stream"))
      EXPECT_EQ(counts.accepted, 0u) << kind;
    else
      EXPECT_GE(counts.wrong, isFull() ? 50u : 10u) << kind;
}

//===----------------------------------------------------------------------===//
// Judged as calls and as commands
//===----------------------------------------------------------------------===//

TEST(CallMutation, CallsAreJudgedAsTheirCommandsAre) {
  unsigned wanted = isFull() ? 210 : 30, programs = 0;
  CountsByKind byKind;
  for (unsigned seed = 0; programs < wanted; ++seed) {
    ASSERT_LT(seed, 4 * wanted) << "too few of the programs call a routine";
    OwningOpRef<ModuleOp> module = scheduleRandomCalls(seed);
    if (!module)
      continue;
    for (unsigned kind = 0; kind < CallMutator::kNumKinds; ++kind) {
      OwningOpRef<ModuleOp> mutant = module->clone();
      bool isFlatAccepted = false;
      if (CallMutator(*mutant, seed).mutate(kind))
        (void)judge(*mutant,
                    "program " + std::to_string(seed) + " (" + CallMutator::kKinds[kind] + ")",
                    isFlatAccepted, byKind[kind]);
    }
    EXPECT_TRUE(isAccepted(*module)) << "program " << seed;
    flattenCalls(*module);
    EXPECT_TRUE(succeeded(verify(*module)) && isAccepted(*module)) << "program " << seed;
    ++programs;
  }
  llvm::outs() << programs << " programs are accepted as calls and as commands; mutants of them:\n";
  Counts sum = report(byKind);
  EXPECT_GE(sum.mutants, 5 * programs);
  EXPECT_EQ(byKind.back().accepted, 0u) << "of another stream";
  EXPECT_LE((sum.stricter - byKind.back().stricter) * 10, sum.mutants);
}

} // namespace
