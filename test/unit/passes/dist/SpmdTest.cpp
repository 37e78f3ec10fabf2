// Partitioned programs compute what the global program computes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "SpmdHarness.h"

#include "mlir/Parser/Parser.h"

#include "dialects/dist/IR/Dist.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace weft;
using namespace weft::test;

/// Whether all devices together compute what the oracle did; `worst` grows to the largest error.
static testing::AssertionResult agrees(RandomProgram &program, ArrayRef<HostTensor> oracle,
                                       double &worst) {
  std::string why;
  auto results = interpretSpmd(program.function, program.inputs, 1e-10, &why);
  if (!results)
    return testing::AssertionFailure() << why << "\n" << print(*program.module);
  for (auto [index, found, expected] : llvm::enumerate(*results, oracle)) {
    double error = errorOf(found, expected);
    worst = std::max(worst, error);
    if (!(error <= 1e-10))
      return testing::AssertionFailure() << "result " << index << " is off by " << error << "\n"
                                         << print(*program.module);
  }
  return testing::AssertionSuccess();
}

// Random programs, meshes and annotations: shard by shard the same values, and
// padding, which is NaN, never shows.
TEST(Spmd, PartitionedProgramsComputeTheGlobalProgram) {
  Context setup;
  int count = volume(500, 6000), collectives = 0, masks = 0, localized = 0;
  double worst = 0;
  for (int seed = 0; seed < count; ++seed) {
    Random random(seed);
    RandomProgram program = randomProgram(setup.context, random, random.between(2, 12));
    ASSERT_TRUE(succeeded(verify(*program.module))) << "seed " << seed;
    auto oracle = interpret(program.function, program.inputs);
    ASSERT_TRUE(succeeded(oracle)) << "seed " << seed;
    annotate(program, random);
    std::string before = print(*program.module);
    ASSERT_TRUE(succeeded(partition(*program.module, random.chance(60), random.chance(50))))
        << "seed " << seed << "\n"
        << before;
    program.function.walk([&](Operation *op) {
      StringRef name = op->getName().getStringRef();
      masks += name == "dist.mask";
      localized += name == "dist.localize_index";
      collectives += name.starts_with("dist.");
    });
    ASSERT_TRUE(agrees(program, *oracle, worst)) << "seed " << seed << "\n" << before;
  }
  std::printf(
      "programs: %d seeds from 0, %d transitions, %d masks, %d localized indices, worst error %g\n",
      count, collectives, masks, localized, worst);
  EXPECT_GE(collectives, 2 * count);
  EXPECT_GE(masks, count / 10);
  EXPECT_GE(localized, count / 50);
}

// The same with an axis of microbatches, on any dim of any value: what is split over it is made in
// loops, which add up and put in place. Who needs what is dear both before and after all
// microbatches are there is refused; nobody else is.
TEST(Spmd, LoopsComputeTheGlobalProgram) {
  Context setup;
  int count = volume(300, 3000), sums = 0, gathers = 0, refused = 0;
  double worst = 0;
  for (int seed = 0; seed < count; ++seed) {
    Random random(seed);
    RandomProgram program = randomProgram(setup.context, random, random.between(2, 10));
    auto oracle = interpret(program.function, program.inputs);
    ASSERT_TRUE(succeeded(oracle)) << "seed " << seed;
    addMicrobatches(program, random.between(2, 3));
    annotate(program, random);
    std::string before = print(*program.module);
    ASSERT_TRUE(succeeded(partition(*program.module, random.chance(60), random.chance(50))))
        << "seed " << seed << "\n"
        << before;
    std::string errors;
    if (failed(formLoops(*program.module, &errors))) {
      ++refused;
      ASSERT_NE(errors.find("is needed before and after"), std::string::npos)
          << "seed " << seed << ": " << errors << before << print(*program.module);
      continue;
    }
    program.function.walk([&](dist::AccumulateOp end) {
      for (Value each : end.getInputs()) {
        const Placement &placement = dist::getLocal(each.getType()).getValue();
        auto found = combinationOver(program.mesh, placement, program.mesh.axes.size() - 1);
        ++(found->kind == TransitionKind::AllGather ? gathers : sums);
      }
    });
    ASSERT_TRUE(agrees(program, *oracle, worst)) << "seed " << seed << "\n" << before;
  }
  std::printf("loops: %d seeds from 0, %d sums, %d gathers, %d refused, worst error %g\n", count,
              sums, gathers, refused, worst);
  EXPECT_GE(sums, count / 10);
  EXPECT_GE(gathers, count);
  EXPECT_LE(refused, count / 4);
}

// What a stage does not hold is nothing there, whatever the types of others say: the oracle does
// not stand on the verifier.
TEST(Spmd, NothingIsReadWhereNothingIsHeld) {
  Context setup;
  auto refusal = [&](StringRef first, StringRef second) {
    std::string held = "tensor<2xf32, #dist.local<#mesh, [2], held = \"pp\"";
    std::string text = "#mesh = #dist.mesh<[stages \"pp\"=2]>\n"
                       "module attributes {dist.mesh = #mesh} {\n"
                       "func.func @f(%x: tensor<2xf32, #dist.local<#mesh, [2]>>) -> " +
                       held + "[1]>> {\n" + first.str() + "\n" + second.str() +
                       "\nreturn %1 : " + held + "[1]>>\n}\n}";
    OwningOpRef<ModuleOp> module =
        parseSourceString<ModuleOp>(text, ParserConfig(&setup.context, /*verifyAfterParse=*/false));
    EXPECT_TRUE(module) << text;
    HostTensor input(RankedTensorType::get({2}, Builder(&setup.context).getF32Type()));
    std::string why;
    EXPECT_FALSE(interpretSpmd(*module->getOps<func::FuncOp>().begin(), {input}, 0, &why));
    return why;
  };
  std::string all = "tensor<2xf32, #dist.local<#mesh, [2]>>",
              zero = "tensor<2xf32, #dist.local<#mesh, [2], held = \"pp\"[0]>>",
              one = "tensor<2xf32, #dist.local<#mesh, [2], held = \"pp\"[1]>>";
  std::string onZero = "%0 = nn.exp %x : (" + all + ") -> " + zero;
  EXPECT_EQ(refusal(onZero, "%1 = nn.exp %0 : (" + zero + ") -> " + one),
            "op 'nn.exp' reads what process rank 1 does not hold");
}
