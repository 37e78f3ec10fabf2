// Compiled training steps equal the oracle, with states updated in place.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StepPrograms.h"

#include "dialects/rt/IR/Rt.h"
#include "weft/Testing/Interpreter/Interpreter.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace weft;
using namespace weft::test;

namespace {

struct Layout {
  const char *name, *mesh, *place;
};

class CompiledTraining : public testing::TestWithParam<Layout> {};

TEST_P(CompiledTraining, EqualsTheOracle) {
  Training training = makeTraining(5, 6);
  // On a mesh each program alone would choose where states are stored.
  if (*GetParam().mesh)
    training.module->lookupSymbol("eval")->erase();
  PhaseOptions options;
  options.mesh = *Mesh::parse(GetParam().mesh);
  llvm::cantFail(dist::appendRules(GetParam().place, options.place));
  options.precision = Precision::F64;
  OwningOpRef<ModuleOp> module = schedule(*training.module, options);
  ASSERT_TRUE(module);
  // Every state is written in place: there is no copy.
  unsigned copies = 0;
  module->walk([&](rt::CopyOp) { ++copies; });
  EXPECT_EQ(copies, 0u);
  auto artifact = emit::emitArtifact(*module, {}, {});
  ASSERT_TRUE(succeeded(artifact));
  std::string error;
  auto program = emit::InProcessProgram::open(std::move(*artifact), error);
  ASSERT_TRUE(program) << error;
  TrainingRun run;
  ASSERT_TRUE(runCompiled(*program, training.module->lookupSymbol<func::FuncOp>("step"),
                          training.batches, run, error))
      << error;
  double found = distance(run, training.expected);
  llvm::outs() << GetParam().name << ": " << training.batches.size()
               << " steps, distance to the oracle " << found << '\n';
  EXPECT_LE(found, 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Layouts, CompiledTraining,
                         testing::Values(Layout{"one", "", ""}, Layout{"sharded2", "dp=2", ""},
                                         Layout{"sharded4", "dp=4", ""},
                                         Layout{"replicated2", "dp=2", "w[12].*=dim0:-,dim1:-"},
                                         Layout{"replicated4", "dp=4", "w[12].*=dim0:-,dim1:-"}),
                         [](const testing::TestParamInfo<Layout> &info) {
                           return info.param.name;
                         });

/// A program that only reads the states sees what the step left in them.
TEST(CompiledPrograms, ShareStates) {
  Training training = makeTraining(9, 3);
  PhaseOptions options;
  options.precision = Precision::F64;
  OwningOpRef<ModuleOp> module = schedule(*training.module, options);
  ASSERT_TRUE(module);
  auto artifact = emit::emitArtifact(*module, {}, {});
  ASSERT_TRUE(succeeded(artifact));
  std::string error;
  auto program = emit::InProcessProgram::open(std::move(*artifact), error);
  ASSERT_TRUE(program) << error;
  auto eval = training.module->lookupSymbol<func::FuncOp>("eval");
  auto type = cast<RankedTensorType>(eval.getResultTypes()[0]);
  const HostTensor &x = training.batches[0][0];
  auto check = [&](const HostTensor &w1, const HostTensor &w2) {
    std::vector<HostTensor> found;
    ASSERT_TRUE(program->run("eval", {x}, {type}, found, error)) << error;
    auto wanted = interpret(eval, {w1, w2, x});
    ASSERT_TRUE(succeeded(wanted));
    EXPECT_LE(distance(found, *wanted), 1e-11);
  };
  auto step = training.module->lookupSymbol<func::FuncOp>("step");
  check(initialState(step, 0), initialState(step, 1));
  TrainingRun run;
  ASSERT_TRUE(runCompiled(*program, step, training.batches, run, error)) << error;
  check(training.expected.states["w1"], training.expected.states["w2"]);
}

} // namespace
