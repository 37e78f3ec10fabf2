// Compiled programs equal the oracle, on one device and on ranks in process.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Compile.h"

#include "weft/Target/Cpu/Processor.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace weft;
using namespace weft::test;

namespace {

struct Case {
  const char *name, *text, *mesh;
  int64_t ranks;
};

class Compiled : public testing::TestWithParam<Case> {};

TEST_P(Compiled, EqualsTheOracle) {
  Sample sample = makeSample(GetParam().text, 1);
  OwningOpRef<ModuleOp> module = schedule(sample, GetParam().mesh);
  ASSERT_TRUE(module);
  std::vector<std::string> processors = cpu::executableLevels();
  processors.push_back("native");
  for (const std::string &processor : processors) {
    SCOPED_TRACE(processor);
    auto artifact = emit::emitArtifact(*module, {processor}, {});
    ASSERT_TRUE(succeeded(artifact));
    std::string error;
    auto program = emit::InProcessProgram::open(std::move(*artifact), error);
    ASSERT_TRUE(program) << error;
    EXPECT_EQ(program->numRanks(), GetParam().ranks);
    std::vector<HostTensor> outputs;
    // Twice: a second run starts from whatever the first left in the arena.
    for (int run = 0; run < 2; ++run) {
      ASSERT_TRUE(program->run(sample.inputs, sample.types, outputs, error)) << error;
      EXPECT_LE(distance(outputs, sample.expected), 1e-5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Programs, Compiled,
    testing::Values(Case{"block", kBlock, "", 1}, Case{"block_tp2", kBlock, "tp=2", 2},
                    Case{"block_tp4", kBlock, "tp=4", 4}, Case{"block_uneven", kBlock, "tp=3", 3},
                    Case{"block_dp_tp", kBlock, "dp=2,tp=2", 4}, Case{"mlp", kMlp, "", 1},
                    Case{"mlp_tp2", kMlp, "tp=2", 2}, Case{"mlp_uneven", kMlp, "dp=4", 4},
                    Case{"image", kImage, "", 1}, Case{"image_dp", kImage, "dp=2", 2},
                    Case{"rows", kRows, "", 1}, Case{"rows_dp", kRows, "dp=2", 2}),
    [](const testing::TestParamInfo<Case> &info) { return info.param.name; });

TEST(Blob, SameModuleSameBytes) {
  Sample sample = makeSample(kBlock, 1);
  auto first = emit::emitArtifact(*schedule(sample, "tp=2"), {}, {});
  auto second = emit::emitArtifact(*schedule(sample, "tp=2"), {}, {});
  ASSERT_TRUE(succeeded(first) && succeeded(second));
  EXPECT_EQ(first->blob, second->blob);
}

} // namespace
