// Low precision: master weights, types of gradients, dynamic loss scaling.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "LinearModel.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::test;

namespace {

step::StepMakeTrainingOptions adamw() {
  step::StepMakeTrainingOptions options;
  options.loss = "mse:y,target";
  options.optimizer = "adamw:lr=0.01";
  return options;
}

StatefulRun::Tensors batch(Programs &programs, double scale) {
  Random random{std::mt19937_64(11)};
  StatefulRun::Tensors inputs;
  inputs["x"] = programs.tensor({kRows, kInputs}, random.numbers(kRows * kInputs));
  inputs["target"] = programs.tensor({kRows, kOutputs}, random.numbers(kRows * kOutputs, scale));
  return inputs;
}

TEST(Precision, SmallParametersHaveMasters) {
  Programs programs(kLinear);
  ASSERT_TRUE(programs.make(adamw(), "bf16")) << programs.errors;
  StatefulRun run;
  func::FuncOp program = programs.program("step");
  ASSERT_TRUE(succeeded(run.start(program, "")));
  EXPECT_TRUE(run.states["w"].elementType.isBF16());
  for (const char *name : {"w#master", "w#exp_avg", "w#exp_avg_sq"})
    EXPECT_TRUE(run.states[name].elementType.isF32()) << name;
  double first = 0, last = 0;
  for (int k = 0; k < 40; ++k) {
    auto results = run.run(program, batch(programs, 1));
    ASSERT_TRUE(succeeded(results));
    last = results->lookup("loss").reals[0];
    first = k == 0 ? last : first;
    HostTensor rounded = run.states["w#master"];
    rounded.elementType = run.states["w"].elementType;
    roundToOwnType(rounded);
    EXPECT_EQ(run.states["w"].reals, rounded.reals);
  }
  EXPECT_LT(last, 0.8 * first);
}

/// Weights' gradients come out of the product in f32: no bf16 in between.
TEST(Precision, GradientsAreNotRoundedToTheSmallType) {
  Programs programs(kLinear);
  ASSERT_TRUE(programs.make(adamw(), "bf16")) << programs.errors;
  unsigned wide = 0;
  programs.program("step").walk([&](Operation *op) {
    auto role = op->getAttrOfType<StringAttr>("nn.role");
    if (!role || role.getValue() != "weight_gradient")
      return;
    for (Type type : op->getResultTypes())
      EXPECT_FALSE(getElementTypeOrSelf(type).isBF16()) << op->getName().getStringRef().str();
    ++wide;
  });
  EXPECT_GE(wide, 2u);
}

TEST(Scaling, AStepThatIsNotFiniteChangesNothing) {
  Programs programs(kLinear);
  ASSERT_TRUE(programs.make(adamw(), "f16")) << programs.errors;
  StatefulRun run;
  func::FuncOp program = programs.program("step");
  ASSERT_TRUE(succeeded(run.start(program, "")));
  EXPECT_EQ(run.states["weft.loss_scale"].reals[0], 65536);
  // Gradients of the scaled loss overflow.
  StatefulRun::Tensors before;
  for (auto &state : run.states)
    before[state.getKey()] = state.getValue();
  StatefulRun::Tensors spoiled = batch(programs, 1);
  spoiled["target"].reals[0] = 60000;
  auto results = run.run(program, spoiled);
  ASSERT_TRUE(succeeded(results));
  EXPECT_FALSE(std::isfinite(results->lookup("grad_norm").reals[0]));
  for (auto &state : run.states) {
    if (state.getKey() == "weft.loss_scale")
      continue;
    EXPECT_EQ(state.getValue().reals, before[state.getKey()].reals) << state.getKey().str();
    EXPECT_EQ(state.getValue().integers, before[state.getKey()].integers) << state.getKey().str();
  }
  EXPECT_EQ(run.states["weft.loss_scale"].reals[0], 32768);
  // However often that happens, a scale is left.
  spoiled["target"].reals[0] = INFINITY;
  for (auto [from, to] : {std::pair(1.0, 0.5), std::pair(0x1p-64, 0x1p-64)}) {
    run.states["weft.loss_scale"].reals[0] = from;
    ASSERT_TRUE(succeeded(run.run(program, spoiled)));
    EXPECT_EQ(run.states["weft.loss_scale"].reals[0], to);
  }

  // The next one trains, with the gradient of the loss without scale.
  StatefulRun::Tensors inputs = batch(programs, 0.5);
  run.states["weft.loss_scale"].reals[0] = 256;
  run.states["weft.loss_scale_steps"].integers[0] = 1999;
  results = run.run(program, inputs);
  ASSERT_TRUE(succeeded(results));
  HandModel hand{Numbers(kInputs * kOutputs, 0.5), Numbers(kOutputs, 0.25)};
  OutputLoss loss = meanSquare(hand.forward(inputs["x"].reals), inputs["target"].reals);
  auto [dw, db] = hand.backward(inputs["x"].reals, loss.gradient);
  double norm = 0;
  for (double g : dw)
    norm += g * g;
  for (double g : db)
    norm += g * g;
  // Ten bits of fp16 in operands and outputs.
  EXPECT_NEAR(results->lookup("grad_norm").reals[0], std::sqrt(norm), 1e-2 * std::sqrt(norm));
  EXPECT_EQ(run.states["weft.step"].integers[0], 1);
  EXPECT_NE(run.states["w#master"].reals, before["w#master"].reals);
  EXPECT_EQ(run.states["weft.loss_scale"].reals[0], 512);
  EXPECT_EQ(run.states["weft.loss_scale_steps"].integers[0], 0);

  // Nor does a scale grow for ever, though gradients of zero never overflow.
  inputs["target"].reals.assign(inputs["target"].reals.size(), 0);
  for (auto [from, to] : {std::pair(0x1p31, 0x1p32), std::pair(0x1p32, 0x1p32)}) {
    for (const char *name : {"w", "w#master", "b", "b#master"})
      run.states[name].reals.assign(run.states[name].reals.size(), 0);
    run.states["weft.loss_scale"].reals[0] = from;
    run.states["weft.loss_scale_steps"].integers[0] = 1999;
    results = run.run(program, inputs);
    ASSERT_TRUE(succeeded(results));
    EXPECT_EQ(results->lookup("grad_norm").reals[0], 0);
    EXPECT_EQ(run.states["weft.loss_scale"].reals[0], to);
  }
}

} // namespace
