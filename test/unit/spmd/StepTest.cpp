// Training steps under any layout compute what one device computes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomModel.h"
#include "SpmdHarness.h"

#include "dialects/dist/IR/Dist.h"

#include "mlir/Pass/PassRegistry.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace weft;
using namespace weft::test;

/// The largest difference, relative to max(1, largest element).
static double stateError(const HostTensor &found, const HostTensor &oracle) {
  double largest = 1, worst = 0;
  for (double value : oracle.reals)
    largest = std::max(largest, std::abs(value));
  if (found.shape != oracle.shape || found.integers != oracle.integers)
    return INFINITY;
  for (auto [a, b] : llvm::zip_equal(found.reals, oracle.reals))
    worst = std::isfinite(a) ? std::max(worst, std::abs(a - b)) : INFINITY;
  return worst / largest;
}

// Random models, meshes, ZeRO stages, microbatches, optimizers: losses, norms and
// all states after each of up to three steps, with padding that is NaN.
TEST(Step, LayoutsAgreeWithOneDevice) {
  registerAllPasses();
  Context setup;
  int count = volume(40, 400), loops = 0, steps = 0;
  int byZero[4] = {}, withTensor = 0;
  double worst = 0;
  for (int seed = 0; seed < count; ++seed) {
    Random random(seed);
    TrainingCase test = randomTrainingCase(setup.context, random);
    ASSERT_TRUE(test.module) << "seed " << seed;
    std::string before = print(*test.module);
    OwningOpRef<ModuleOp> original(test.module->clone());
    PassManager passes(&setup.context);
    ASSERT_TRUE(succeeded(parsePassPipeline(test.layout.pipeline(), passes)));
    ASSERT_TRUE(succeeded(passes.run(*test.module)))
        << "seed " << seed << " " << test.layout.text() << "\n" << before;
    ++byZero[test.layout.zero];
    withTensor += StringRef(test.layout.mesh).contains("tp");
    test.module->walk([&](dist::RepeatOp) { ++loops; });
    int times = random.between(1, 3);
    steps += times;
    auto local = test.module->getOps<func::FuncOp>();
    auto global = original->getOps<func::FuncOp>();
    for (auto [localFunction, globalFunction] : llvm::zip_equal(local, global)) {
      func::FuncOp function = localFunction, reference = globalFunction;
      std::vector<HostTensor> arguments = randomArguments(reference, random);
      auto oracle = runSteps(reference, arguments, times, [&](ArrayRef<HostTensor> inputs) {
        std::optional<std::vector<HostTensor>> kept;
        if (auto results = interpret(reference, inputs); succeeded(results))
          kept.emplace(results->begin(), results->end());
        return kept;
      });
      std::string why;
      auto found = runSteps(reference, arguments, times, [&](ArrayRef<HostTensor> inputs) {
        return interpretSpmd(function, inputs, 1e-10, &why);
      });
      ASSERT_EQ(found.size(), oracle.size())
          << "seed " << seed << " " << test.layout.text() << ": " << why << "\n" << print(*test.module);
      for (auto [index, a, b] : llvm::enumerate(found, oracle)) {
        double error = stateError(a, b);
        worst = std::max(worst, error);
        ASSERT_LE(error, 1e-9) << "seed " << seed << " " << test.layout.text() << ", "
                               << function.getName().str() << ", result " << index << "\n"
                               << before << print(*test.module);
      }
    }
  }
  std::printf("training: %d seeds from 0 (%d, %d, %d, %d of ZeRO 0 to 3, %d with tp), %d steps, %d loops, "
              "worst error %g\n",
              count, byZero[0], byZero[1], byZero[2], byZero[3], withTensor, steps, loops, worst);
  EXPECT_GE(loops, count / 4);
  for (int zero : byZero)
    EXPECT_GE(zero, count / 20);
  EXPECT_GE(withTensor, count / 5);
}
