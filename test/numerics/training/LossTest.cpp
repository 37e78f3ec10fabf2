// Losses and what they do to weights, against plain loops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "LinearModel.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::test;

namespace {

/// One step of SGD with rate 1 moves weights by their gradient.
void checkCrossEntropy(const std::string &loss, llvm::ArrayRef<int64_t> labels, int64_t ignored,
                       double smoothing = 0) {
  SCOPED_TRACE(loss);
  Programs programs(kLinear);
  step::StepMakeTrainingOptions options;
  options.loss = loss;
  options.optimizer = "sgd:lr=1";
  ASSERT_TRUE(programs.make(options)) << programs.errors;
  Random random{std::mt19937_64(3)};
  HandModel hand{random.numbers(kInputs * kOutputs), random.numbers(kOutputs)};
  Numbers x = random.numbers(kRows * kInputs, 4);
  StatefulRun run;
  ASSERT_TRUE(succeeded(run.start(programs.program("step"), "")));
  run.states["w"].reals = hand.w;
  run.states["b"].reals = hand.b;
  StatefulRun::Tensors inputs;
  inputs["x"] = programs.tensor({kRows, kInputs}, x);
  inputs["labels"] = programs.labels(labels);
  auto evaluated = run.run(programs.program("eval"), inputs);
  auto results = run.run(programs.program("step"), inputs);
  ASSERT_TRUE(succeeded(results) && succeeded(evaluated));
  OutputLoss expected = crossEntropy(hand.forward(x), labels, ignored, smoothing);
  auto [dw, db] = hand.backward(x, expected.gradient);
  EXPECT_NEAR(results->lookup("loss").reals[0], expected.value, 1e-12);
  EXPECT_NEAR(evaluated->lookup("loss").reals[0], expected.value, 1e-12);
  for (size_t i = 0; i < dw.size(); ++i)
    EXPECT_NEAR(run.states["w"].reals[i], hand.w[i] - dw[i], 1e-12);
  for (size_t i = 0; i < db.size(); ++i)
    EXPECT_NEAR(run.states["b"].reals[i], hand.b[i] - db[i], 1e-12);
}

TEST(Loss, CrossEntropyIsTheMeanOverWhatCounts) {
  checkCrossEntropy("softmax_cross_entropy:y,labels", {0, 1, 1, 0}, -100);
  checkCrossEntropy("softmax_cross_entropy:y,labels", {0, -100, 1, -100}, -100);
  checkCrossEntropy("softmax_cross_entropy:y,labels,ignore=1", {0, 1, -100, 0}, 1);
  checkCrossEntropy("softmax_cross_entropy:y,labels,smoothing=0.1", {0, -100, 1, 0}, -100, 0.1);
  checkCrossEntropy("softmax_cross_entropy:y,labels,dim=-1,smoothing=1", {0, 1, 1, 0}, -100, 1);
  // Nothing counts: no loss and no gradient, rather than 0/0.
  checkCrossEntropy("softmax_cross_entropy:y,labels", {-100, -100, -100, -100}, -100);
}

/// w multiplies on both sides of the model: one argument whose gradients add up.
TEST(Loss, TiedWeightsAddTheirGradients) {
  Programs programs(R"(
    func.func @forward(%x: tensor<3xf32> {nn.name = "x"}, %w: tensor<3xf32> {nn.name = "w", nn.initial = 2.0 : f32})
        -> (tensor<f32> {nn.name = "out"}) {
      %0 = nn.mul %x, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      %1 = nn.mul %0, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      %2 = nn.reduce sum %1 dims = [0] : tensor<3xf32> -> tensor<f32>
      return %2 : tensor<f32>
    })");
  step::StepMakeTrainingOptions options;
  options.loss = "out";
  options.optimizer = "sgd:lr=1";
  ASSERT_TRUE(programs.make(options)) << programs.errors;
  StatefulRun run;
  ASSERT_TRUE(succeeded(run.start(programs.program("step"), "")));
  StatefulRun::Tensors inputs;
  inputs["x"] = programs.tensor({3}, {1, -2, 0.5});
  auto results = run.run(programs.program("step"), inputs);
  ASSERT_TRUE(succeeded(results));
  EXPECT_DOUBLE_EQ(results->lookup("loss").reals[0], 4 * (1 - 2 + 0.5));
  EXPECT_EQ(run.states["w"].reals, (Numbers{2 - 4 * 1, 2 + 4 * 2, 2 - 4 * 0.5}));
}

TEST(Loss, WhatTheLossDoesNotSeeIsNotTrained) {
  Programs programs(R"(
    func.func @forward(%x: tensor<3xf32> {nn.name = "x"}, %w: tensor<3xf32> {nn.name = "w", nn.initial = 2.0 : f32},
                       %v: tensor<3xf32> {nn.name = "v", nn.initial = 2.0 : f32})
        -> (tensor<3xf32> {nn.name = "a"}, tensor<3xf32> {nn.name = "b"}) {
      %0 = nn.mul %x, %w : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      %1 = nn.mul %x, %v : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      return %0, %1 : tensor<3xf32>, tensor<3xf32>
    })");
  step::StepMakeTrainingOptions options;
  options.loss = "mse:a,t";
  options.optimizer = "adamw:weight_decay=0.5,decay=all";
  ASSERT_TRUE(programs.make(options)) << programs.errors;
  StatefulRun run;
  ASSERT_TRUE(succeeded(run.start(programs.program("step"), "")));
  EXPECT_TRUE(run.states.contains("w#exp_avg"));
  EXPECT_FALSE(run.states.contains("v#exp_avg"));
}

TEST(Loss, WhatDoesNotFitIsAnError) {
  for (auto [loss, message] :
       {std::pair("mse:z,t", "the model has no output 'z'; its outputs are 'y'"),
        std::pair("y", "but a loss is one number; write mse:y,TARGET or "
                       "softmax_cross_entropy:y,LABELS to compare it"),
        std::pair("mse:y,w", "'w' is a weight of the model, not an input"),
        std::pair("softmax_cross_entropy:y,x",
                  "need integers of their shape without the dim of classes")}) {
    Programs programs(kLinear);
    step::StepMakeTrainingOptions options;
    options.loss = loss;
    options.optimizer = "sgd";
    EXPECT_FALSE(programs.make(options));
    EXPECT_NE(programs.errors.find(message), std::string::npos) << programs.errors;
  }
}

} // namespace
