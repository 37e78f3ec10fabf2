// What repeats is called: commands grow neither with microbatches nor with layers, only calls do.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Compiler/Compilation.h"

#include "dialects/rt/IR/Rt.h"
#include "passes/rt/memory/Lifetimes.h"
#include "python_free_frontend/builders/Builders.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace weft;

namespace {

struct Growth {
  int64_t commands = 0, calls = 0; // of routines and of programs
};

/// Of training GPT-2 with routines, at `scheduled`. Its vocabulary is so large that the loss is
/// split alike whatever a microbatch has.
Growth growthOf(int64_t layers, int64_t microbatches, const char *mesh) {
  llvm::SmallString<128> folder, path;
  EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("growth", folder));
  llvm::sys::path::append(path, folder, "model.onnx");
  auto built = builders::build("gpt2:layers=" + std::to_string(layers) +
                                   ",hidden=16,heads=2,vocab=256,seq=8",
                               {path.str().str(), true});
  EXPECT_TRUE(bool(built)) << llvm::toString(built.takeError());
  MLIRContext context(compilerRegistry());
  FailureOr<Compilation> compilation = Compilation::load(path, context);
  Growth growth;
  if (succeeded(compilation)) {
    PhaseOptions &options = compilation->options.phases;
    // More than one row of a microbatch on each rank: sums over rows are cut into groups of them.
    options.bindings.dims = {{"batch", 32}, {"seq", 8}};
    options.mesh = *Mesh::parse(mesh);
    options.zero = {*mesh ? 1u : 0u, ""};
    options.train = true;
    options.loss = llvm::cantFail(step::parseLoss("softmax_cross_entropy:logits,labels"));
    options.optimizer = llvm::cantFail(step::parseOptimizer("adamw:lr=0.001,clip=1"));
    options.microbatches = microbatches;
    options.routines = Routines::Called;
    EXPECT_TRUE(succeeded(compilation->runTo(Phase::Scheduled)));
    for (auto program : compilation->getModule().getOps<rt::ProgramOp>())
      for (rt::CommandInterface command : rt::commandsOf(program))
        ++(isa<rt::InvokeOp>(*command) ? growth.calls : growth.commands);
  } else {
    ADD_FAILURE() << "the model is not read";
  }
  llvm::sys::fs::remove_directories(folder);
  return growth;
}

TEST(Growth, OnlyCallsGrow) {
  for (const char *mesh : {"", "dp=2,tp=2"}) {
    Growth few = growthOf(4, 2, mesh), parts = growthOf(4, 8, mesh), layers = growthOf(12, 2, mesh);
    llvm::outs() << "mesh '" << mesh << "': commands and calls " << few.commands << " and "
                 << few.calls << ", with 8 microbatches " << parts.commands << " and "
                 << parts.calls << ", with 12 layers " << layers.commands << " and " << layers.calls
                 << '\n';
    EXPECT_EQ(parts.commands, few.commands);
    EXPECT_LE(layers.commands * 10, few.commands * 11);
    EXPECT_GT(parts.calls, 3 * few.calls);
    EXPECT_GT(layers.calls, 2 * few.calls);
  }
}

} // namespace
