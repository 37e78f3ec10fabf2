// Training steps under any layout compute what one device computes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomModel.h"
#include "SpmdHarness.h"

#include "dialects/dist/IR/Dist.h"
#include "weft/Sharding/StatePlacement.h"

#include "mlir/Pass/PassRegistry.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace mlir;
using namespace weft;
using namespace weft::test;

/// How many of the results of several steps can be compared: a training whose loss has passed a
/// million ends with it, because no bound holds what rounding becomes in its gradients.
static size_t countComparable(ArrayRef<HostTensor> results, size_t ofStep) {
  for (size_t step = 0; step < results.size(); step += ofStep)
    if (!(std::fabs(results[step].reals[0]) < 1e6))
      return step + 1;
  return results.size();
}

/// The passes from `step` to `local`, and to the programs of stages. With several chunks a stage as
/// `test.layout.schedule` wants, where the model is long enough for that; else with one.
static bool distribute(TrainingCase &test, OwningOpRef<ModuleOp> &projected) {
  MLIRContext *context = test.module->getContext();
  auto run = [&](ModuleOp module, const std::string &pipeline) {
    PassManager passes(context);
    return succeeded(parsePassPipeline(pipeline, passes)) && succeeded(passes.run(module));
  };
  OwningOpRef<ModuleOp> whole(test.module->clone());
  std::string told;
  {
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      told += diagnostic.str();
      return success();
    });
    if (!run(*test.module, test.layout.pipeline())) {
      if (!StringRef(told).contains("each chunk needs one"))
        return false;
      test.module = std::move(whole);
      test.layout.schedule = "zb-h1";
    }
  }
  if (!whole && !run(*test.module, test.layout.pipeline()))
    return false;
  if (test.layout.stages.empty())
    return true;
  projected = test.module->clone();
  return run(*projected, "dist-project-stages{schedule=" + test.layout.schedule + "}");
}

/// The programs of that name in the modules of stages, run as one.
static std::optional<std::vector<HostTensor>> runStages(ModuleOp projected, func::FuncOp whole,
                                                        ArrayRef<HostTensor> arguments,
                                                        std::string *why) {
  SmallVector<func::FuncOp> programs;
  for (auto stage : projected.getOps<ModuleOp>())
    programs.push_back(stage.lookupSymbol<func::FuncOp>(whole.getName()));
  llvm::StringMap<HostTensor> inputs;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    StringRef name = nn::argumentName(whole, i);
    inputs[name.empty() ? "input" + std::to_string(i) : name.str()] = argument;
  }
  auto found = interpretStages(programs, inputs, 1e-10);
  if (!found) {
    *why = llvm::toString(found.takeError());
    return std::nullopt;
  }
  std::vector<HostTensor> results;
  for (unsigned i = 0; i < whole.getNumResults(); ++i) {
    StringAttr name = nn::updatedState(whole, i);
    if (!name)
      name = whole.getResultAttrOfType<StringAttr>(i, nn::kNameAttr);
    results.push_back(found->at(name ? name.str() : "output" + std::to_string(i)));
  }
  return results;
}

// Random models, meshes, ZeRO stages, microbatches, optimizers: losses, norms and
// all states after each of up to three steps, with padding that is NaN.
TEST(Step, LayoutsAgreeWithOneDevice) {
  registerAllPasses();
  Context setup;
  int count = volume(40, 400), loops = 0, steps = 0, staged = 0, inChunks = 0, moves = 0;
  int byZero[4] = {}, withTensor = 0, diverged = 0;
  double worst = 0;
  for (int seed = 0; seed < count; ++seed) {
    Random random(seed);
    TrainingCase test = randomTrainingCase(setup.context, random);
    ASSERT_TRUE(test.module) << "seed " << seed;
    std::string before = print(*test.module);
    OwningOpRef<ModuleOp> original(test.module->clone());
    static const char *const schedules[] = {"zb-h1", "zb-v", "interleaved:2", "interleaved:3"};
    test.layout.schedule = schedules[seed % 4];
    OwningOpRef<ModuleOp> projected;
    ASSERT_TRUE(distribute(test, projected)) << "seed " << seed << " " << test.layout.text() << "\n"
                                             << before;
    ++byZero[test.layout.zero];
    withTensor += StringRef(test.layout.mesh).contains("tp");
    test.module->walk([&](dist::RepeatOp) { ++loops; });
    staged += !test.layout.stages.empty();
    inChunks += test.module->getOperation()->hasAttr(dist::kPlaceAttr);
    test.module->walk([&](dist::MoveOp) { ++moves; });
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
      if (projected) {
        // What stages do on their own is what they do in lockstep.
        auto apart = runSteps(reference, arguments, times, [&](ArrayRef<HostTensor> inputs) {
          return runStages(*projected, function, inputs, &why);
        });
        ASSERT_EQ(apart.size(), found.size())
            << "seed " << seed << " " << test.layout.text() << ": " << why << "\n"
            << print(*projected);
        for (auto [index, a, b] : llvm::enumerate(apart, found))
          ASSERT_TRUE(a.reals == b.reals && a.integers == b.integers ||
                      !(std::fabs(b.reals[0]) < 1e6))
              << "seed " << seed << " " << test.layout.text() << ", " << function.getName().str()
              << ", result " << index;
      }
      ASSERT_EQ(found.size(), oracle.size())
          << "seed " << seed << " " << test.layout.text() << ": " << why << "\n"
          << print(*test.module);
      size_t comparable = countComparable(oracle, reference.getNumResults());
      diverged += comparable < oracle.size();
      for (auto [index, a, b] : llvm::enumerate(ArrayRef(found).take_front(comparable),
                                                ArrayRef(oracle).take_front(comparable))) {
        double error = stateErrorOf(a, b);
        worst = std::max(worst, error);
        ASSERT_LE(error, 1e-9) << "seed " << seed << " " << test.layout.text() << ", "
                               << function.getName().str() << ", result " << index << "\n"
                               << before << print(*test.module);
      }
    }
  }
  std::printf("training: %d seeds from 0 (%d, %d, %d, %d of ZeRO 0 to 3, %d with tp, %d with "
              "stages, %d of them with several chunks each), %d steps, %d loops, %d moves, "
              "worst error %g, %d ended early as they diverge\n",
              count, byZero[0], byZero[1], byZero[2], byZero[3], withTensor, staged, inChunks,
              steps, loops, moves, worst, diverged);
  EXPECT_LE(diverged, 1 + count / 100);
  EXPECT_GE(loops, count / 4);
  for (int zero : byZero)
    EXPECT_GE(zero, count / 20);
  EXPECT_GE(withTensor, count / 5);
  EXPECT_GE(staged, count / 5);
  EXPECT_GE(inChunks, count / 10);
  EXPECT_GE(moves, 4 * staged);
}

// A program that returns rows computes each microbatch on its own and puts its rows in place.
TEST(Step, RowsOfMicrobatchesArePutInPlace) {
  registerAllPasses();
  Context setup;
  int count = volume(30, 300), gathers = 0;
  double worst = 0;
  for (int seed = 0; seed < count; ++seed) {
    Random random(seed);
    TrainingLayout layout = randomTrainingCase(setup.context, random).layout;
    layout.microbatches = random.between(2, 4);
    layout.zero = 0;
    Mesh mesh = *Mesh::parse(layout.mesh);
    int64_t shards = mesh.groupSize(mesh.resolve("dp")) * layout.microbatches;
    auto module =
        randomModel(setup.context, random, shards * random.between(1, 2) + random.below(2));
    OwningOpRef<ModuleOp> original(module->clone());
    PassManager passes(&setup.context);
    ASSERT_TRUE(succeeded(parsePassPipeline(layout.pipeline(), passes)));
    ASSERT_TRUE(succeeded(passes.run(*module))) << "seed " << seed << " " << layout.text();
    auto function = *module->getOps<func::FuncOp>().begin(),
         reference = *original->getOps<func::FuncOp>().begin();
    // One loop: nothing is needed before and after it.
    auto loops = function.getOps<dist::RepeatOp>();
    ASSERT_EQ(std::distance(loops.begin(), loops.end()), 1) << print(*module);
    gathers += (*loops.begin()).getNumResults();
    std::vector<HostTensor> arguments = randomArguments(reference, random);
    auto oracle = interpret(reference, arguments);
    std::string why;
    auto found = interpretSpmd(function, arguments, 1e-10, &why);
    ASSERT_TRUE(succeeded(oracle) && found) << "seed " << seed << ": " << why << print(*module);
    for (auto [a, b] : llvm::zip_equal(*found, *oracle)) {
      double error = errorOf(a, b);
      worst = std::max(worst, error);
      ASSERT_LE(error, 1e-10) << "seed " << seed << " " << layout.text() << "\n" << print(*module);
    }
  }
  std::printf("rows: %d seeds from 0, %d results of loops, worst error %g\n", count, gathers,
              worst);
}

/// Elements that collectives move over data-parallel ranks, an all_reduce counted
/// twice and scalars not at all.
static int64_t payload(func::FuncOp function) {
  int64_t elements = 0;
  function.walk([&](TransitionOpInterface transition) {
    auto from = cast<RankedTensorType>(transition->getOperand(0).getType()),
         to = cast<RankedTensorType>(transition->getResult(0).getType());
    if (!transition.isCommunication() || to.getRank() == 0)
      return;
    int64_t whole = std::max(from.getNumElements(), to.getNumElements());
    elements += transition.getTransitionKind() == TransitionKind::AllReduce ? 2 * whole : whole;
  });
  return elements;
}

// Two elements a parameter for stages 0 to 2; for stage 3 a third for each one that
// gradients read, which first layers' weights and biases are not.
TEST(Step, PayloadIsThatOfTheZeroStages) {
  registerAllPasses();
  Context setup;
  int tested = 0, regathered = 0;
  for (int seed = 0; tested < 30; ++seed) {
    ASSERT_LT(seed, 1000);
    Random random(seed);
    TrainingCase test = randomTrainingCase(setup.context, random);
    auto step = *test.module->getOps<func::FuncOp>().begin();
    if (cast<RankedTensorType>(step.getArgumentTypes()[0]).getDimSize(0) < 2 ||
        test.options.frozen) // which has no gradient
      continue;
    ++tested;
    Mesh mesh = *Mesh::parse("dp=2");
    int64_t parameters = 0, again = 0;
    for (BlockArgument argument : step.getArguments()) {
      if (!step.getArgAttr(argument.getArgNumber(), "nn.source"))
        continue;
      auto type = cast<RankedTensorType>(argument.getType());
      parameters += type.getNumElements();
      Placement whole = Placement::replicated(type.getShape());
      bool read = llvm::any_of(argument.getUsers(), [](Operation *user) {
        auto role = user->getAttrOfType<StringAttr>("nn.role");
        return role && role.getValue() != "optimizer";
      });
      if (read && splitFurther(mesh, whole, {0}) != whole)
        again += type.getNumElements();
    }
    for (int zero = 0; zero < 4; ++zero) {
      OwningOpRef<ModuleOp> module(test.module->clone());
      PassManager passes(&setup.context);
      TrainingLayout layout;
      layout.mesh = "dp=2";
      layout.zero = zero;
      ASSERT_TRUE(succeeded(parsePassPipeline(layout.pipeline(), passes)) &&
                  succeeded(passes.run(*module)));
      EXPECT_EQ(payload(*module->getOps<func::FuncOp>().begin()),
                2 * parameters + (zero == 3 ? again : 0))
          << "seed " << seed << ", ZeRO-" << zero << "\n"
          << print(*module);
    }
    regathered += again > 0;
  }
  std::printf("payload: %d models at ZeRO 0 to 3, %d with parameters that gradients read\n", tested,
              regathered);
  EXPECT_GE(regathered, 10);
}
