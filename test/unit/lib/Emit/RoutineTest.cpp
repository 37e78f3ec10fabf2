// Programs that call routines give the bits of those without, and their memory is told.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CalledStep.h"
#include "Flatten.h"

#include "dialects/rt/IR/Rt.h"
#include "weft/Emit/Memory.h"
#include "weft/runtime/Program.h"

#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"

#include <numeric>

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

/// What lives in a routine counts by its class when it does, not as the scratch that it lies in, as
/// if calls were written out.
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
  for (unsigned c = 0; c < emit::kNumClasses; ++c)
    EXPECT_EQ(called.peaks[c], flat.peaks[c]) << "class " << c;
}

/// What is alive at the peak is what the timeline has there, also where classes in a routine are at
/// their most at different commands.
TEST(Routines, TheTimelineHasThePeak) {
  for (unsigned seed = 0, programs = 0; programs < 8; ++seed) {
    OwningOpRef<ModuleOp> module = scheduleRandomCalls(seed);
    if (!module)
      continue;
    ++programs;
    emit::MemoryUse use = emit::memoryUse(*module);
    int64_t atPeak = 0, most = 0;
    for (const emit::MemoryItem &item : use.atPeak)
      atPeak += item.bytes;
    for (const emit::MemoryTimeline &timeline : use.timelines)
      for (const emit::MemoryTimeline::Moment &moment : timeline.moments)
        most =
            std::max(most, std::accumulate(moment.bytes.begin(), moment.bytes.end(), int64_t(0)));
    EXPECT_EQ(atPeak, most) << "seed " << seed;
    EXPECT_LE(most, use.arenaBytes) << "seed " << seed;
  }
}

/// What people read of a program names routine, label and microbatch of each call.
TEST(Routines, DumpsNameTheCalls) {
  OwningOpRef<ModuleOp> module = scheduleCalledStep(2, false);
  ASSERT_TRUE(module);
  auto artifact = emit::emitArtifact(*module, {}, {});
  ASSERT_TRUE(succeeded(artifact));
  runtime::ProgramView view;
  ASSERT_TRUE(runtime::ProgramView::open(artifact->blob.data(), artifact->blob.size(), view).ok());
  std::string text = runtime::dump(view);
  for (const char *part :
       {"routine 'block'", "// /h.{}/product", "invoke block for 0 microbatch 0 (",
        "invoke block for 1 microbatch 2 (", "invoke next for 1 microbatch 1 (", "invoke reduce (",
        "invoke update for 0 ("})
    EXPECT_TRUE(StringRef(text).contains(part)) << part << " is not in\n" << text;
}

} // namespace
