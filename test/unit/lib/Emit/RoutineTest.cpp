// Programs that call routines give the bits of those without, and their memory is told.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CalledStep.h"
#include "Flatten.h"

#include "dialects/rt/IR/Rt.h"
#include "weft/Emit/Memory.h"

#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace weft;
using namespace weft::test;

namespace {

TEST(Routines, ComputeWhatTheirCopiesDo) {
  for (int64_t ranks : {1, 2}) {
    OwningOpRef<ModuleOp> called = scheduleCalledStep(ranks, false),
                          copied = scheduleCalledStep(ranks, true);
    ASSERT_TRUE(called && copied);
    auto artifact = emit::emitArtifact(*copied, {}, {});
    ASSERT_TRUE(succeeded(artifact));
    CalledStep expected;
    ASSERT_TRUE(runCalledStep(*copied, *artifact, ranks, expected));
    for (bool areCopied : {false, true}) { // as commands
      if (areCopied)
        flattenCalls(*called);
      ASSERT_TRUE(succeeded(verify(*called)) && isAccepted(*called));
      auto own = emit::emitArtifact(*called, {}, {});
      ASSERT_TRUE(succeeded(own));
      CalledStep found;
      ASSERT_TRUE(runCalledStep(*called, *own, ranks, found));
      EXPECT_TRUE(isEqual(found, expected)) << "on " << ranks << " ranks, copied: " << areCopied;
    }
  }
}

/// What lives in a routine counts by its class at each call, not as the scratch that it lies in.
TEST(Routines, MemoryInsideIsToldByClass) {
  OwningOpRef<ModuleOp> module = scheduleCalledStep(1, false);
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

} // namespace
