// Every optimizer over twelve steps against its formula, with schedules, groups, clipping.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "LinearModel.h"

#include "gtest/gtest.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace weft;
using namespace weft::test;

namespace {

constexpr int kSteps = 12;

/// The formulas as PyTorch's documentation states them, one number at a time.
struct HandOptimizer {
  std::string kind;
  double lr, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, momentum = 0.9, decay = 0;
  std::map<std::string, Numbers> slots = {};

  void update(Numbers &p, const Numbers &gradient, int t, double rate) {
    auto slot = [&](const char *name) -> Numbers & {
      Numbers &values = slots[name];
      values.resize(p.size());
      return values;
    };
    for (size_t i = 0; i < p.size(); ++i) {
      double g = gradient[i];
      if (kind == "adamw" || kind == "lion")
        p[i] -= rate * decay * p[i];
      else
        g += decay * p[i];
      if (kind == "sgd") {
        p[i] -= rate * g;
      } else if (kind == "momentum" || kind == "nesterov") {
        double &v = slot("momentum_buffer")[i];
        v = t == 1 ? g : momentum * v + g;
        p[i] -= rate * (kind == "nesterov" ? g + momentum * v : v);
      } else if (kind == "adam" || kind == "adamw") {
        double &m = slot("exp_avg")[i], &v = slot("exp_avg_sq")[i];
        m += (g - m) * (1 - beta1);
        v = v * beta2 + (1 - beta2) * g * g;
        double denominator = std::sqrt(v) / std::sqrt(1 - std::pow(beta2, t)) + eps;
        p[i] -= rate / (1 - std::pow(beta1, t)) * m / denominator;
      } else if (kind == "adagrad") {
        double &sum = slot("sum")[i];
        sum += g * g;
        p[i] -= rate * g / (std::sqrt(sum) + eps);
      } else {
        double &m = slot("exp_avg")[i], direction = beta1 * m + (1 - beta1) * g;
        p[i] -= rate * (direction > 0 ? 1 : direction < 0 ? -1 : 0);
        m = beta2 * m + (1 - beta2) * g;
      }
    }
  }
};

struct Case {
  std::string text;
  HandOptimizer w, b;
  double clip = 0;
  /// The factor on the rate at step k.
  std::function<double(int)> schedule = [](int) { return 1.0; };
  std::string groups = {}, freeze = {};
  bool bIsFrozen = false;
};

void check(const Case &test) {
  SCOPED_TRACE(test.text);
  Programs programs(kLinear);
  step::StepMakeTrainingOptions options;
  options.loss = "mse:y,target";
  options.optimizer = test.text;
  options.paramGroups = test.groups;
  options.freeze = test.freeze;
  ASSERT_TRUE(programs.make(options)) << programs.errors;
  Random random{std::mt19937_64(7)};
  HandModel hand{random.numbers(kInputs * kOutputs), random.numbers(kOutputs)};
  HandOptimizer w = test.w, b = test.b;
  StatefulRun run;
  func::FuncOp program = programs.program("step");
  ASSERT_TRUE(succeeded(run.start(program, "")));
  run.states["w"].reals = hand.w;
  run.states["b"].reals = hand.b;
  for (int k = 0; k < kSteps; ++k) {
    Numbers x = random.numbers(kRows * kInputs), target = random.numbers(kRows * kOutputs, 3);
    StatefulRun::Tensors inputs;
    inputs["x"] = programs.tensor({kRows, kInputs}, x);
    inputs["target"] = programs.tensor({kRows, kOutputs}, target);
    auto results = run.run(program, inputs);
    ASSERT_TRUE(succeeded(results));

    OutputLoss loss = meanSquare(hand.forward(x), target);
    auto [dw, db] = hand.backward(x, loss.gradient);
    double norm = 0;
    for (double g : dw)
      norm += g * g;
    for (double g : test.bIsFrozen ? Numbers() : db)
      norm += g * g;
    norm = std::sqrt(norm);
    if (double factor = test.clip / (norm + 1e-6); test.clip > 0 && factor < 1)
      for (Numbers *gradient : {&dw, &db})
        for (double &g : *gradient)
          g *= factor;
    double factor = test.schedule(k);
    w.update(hand.w, dw, k + 1, w.lr * factor);
    if (!test.bIsFrozen)
      b.update(hand.b, db, k + 1, b.lr * factor);

    EXPECT_NEAR(results->lookup("loss").reals[0], loss.value, 1e-11 * std::max(1.0, loss.value));
    EXPECT_NEAR(results->lookup("grad_norm").reals[0], norm, 1e-11 * std::max(1.0, norm));
    EXPECT_NEAR(results->lookup("lr").reals[0], w.lr * factor, 1e-14);
    EXPECT_LE(errorOf(run.states["w"].reals, hand.w), 1e-11) << "step " << k;
    EXPECT_LE(errorOf(run.states["b"].reals, hand.b), 1e-11) << "step " << k;
    for (auto &[name, values] : w.slots)
      EXPECT_LE(errorOf(run.states["w#" + name].reals, values), 1e-11) << name;
    EXPECT_EQ(run.states["weft.step"].integers[0], k + 1);
  }
}

HandOptimizer hand(const char *kind, double lr, double decay = 0) {
  HandOptimizer optimizer{kind, lr};
  optimizer.decay = decay;
  if (optimizer.kind == "lion")
    optimizer.beta2 = 0.99;
  if (optimizer.kind == "adagrad")
    optimizer.eps = 1e-10;
  return optimizer;
}

TEST(Optimizer, EachFollowsItsFormula) {
  for (const char *kind : {"sgd", "momentum", "nesterov", "adam", "adamw", "adagrad", "lion"})
    check({std::string(kind) + ":lr=0.05,weight_decay=0.1,decay=all", hand(kind, 0.05, 0.1),
           hand(kind, 0.05, 0.1)});
}

TEST(Optimizer, DefaultsArePyTorchs) {
  check({"sgd", hand("sgd", 1e-3), hand("sgd", 1e-3)});
  check({"adam", hand("adam", 1e-3), hand("adam", 1e-3)});
  check({"adamw", hand("adamw", 1e-3, 1e-2), hand("adamw", 1e-3)});
  check({"adagrad", hand("adagrad", 1e-2), hand("adagrad", 1e-2)});
  check({"sgd:momentum=0.9", hand("momentum", 1e-3), hand("momentum", 1e-3)});
}

TEST(Optimizer, VectorsDoNotDecayByDefault) {
  check({"adamw:lr=0.05,weight_decay=0.3", hand("adamw", 0.05, 0.3), hand("adamw", 0.05, 0)});
}

TEST(Optimizer, GroupsHaveTheirOwnHyperParameters) {
  Case test{"adamw:lr=0.05,weight_decay=0.3", hand("adamw", 0.05, 0.3), hand("adamw", 0.005, 0.2)};
  test.b.beta1 = 0.5;
  // Of w the second holds, of b, which it matches as well, the first.
  test.w = hand("adamw", 0.05, 0.1);
  test.groups = "^b$:lr_scale=0.1,weight_decay=0.2,beta1=0.5;^(w|b)$:weight_decay=0.1";
  check(test);
}

TEST(Optimizer, FrozenWeightsStay) {
  Case test{"momentum:lr=0.05", hand("momentum", 0.05), hand("momentum", 0.05)};
  test.freeze = "^b$";
  test.bIsFrozen = true;
  check(test);
}

TEST(Optimizer, ClipsTheGlobalNorm) {
  Case test{"sgd:lr=0.05,clip=0.5", hand("sgd", 0.05), hand("sgd", 0.05)};
  test.clip = 0.5;
  check(test);
  test.text = "adamw:lr=0.05,clip=3";
  test.w = hand("adamw", 0.05, 0.01);
  test.b = hand("adamw", 0.05);
  test.clip = 3;
  check(test);
}

TEST(Optimizer, SchedulesTheRate) {
  Case test{"sgd:lr=0.05,warmup=4", hand("sgd", 0.05), hand("sgd", 0.05)};
  test.schedule = [](int k) { return std::min(1.0, (k + 1) / 4.0); };
  check(test);
  test.text = "sgd:lr=0.05,schedule=linear,warmup=4,total=10";
  test.schedule = [](int k) { return k < 4 ? (k + 1) / 4.0 : std::max(0.0, 1 - (k - 4) / 6.0); };
  check(test);
  test.text = "sgd:lr=0.05,schedule=cosine,warmup=2,total=10,min_lr=0.005";
  test.schedule = [](int k) {
    double progress = std::min(1.0, (k - 2) / 8.0);
    return k < 2 ? (k + 1) / 2.0 : 0.1 + 0.9 * (1 + std::cos(M_PI * progress)) / 2;
  };
  check(test);
}

TEST(Optimizer, NamesThatMatchNothingAreErrors) {
  Programs programs(kLinear);
  step::StepMakeTrainingOptions options;
  options.loss = "mse:y,target";
  options.optimizer = "sgd";
  options.freeze = "bias";
  EXPECT_FALSE(programs.make(options));
  EXPECT_NE(
      programs.errors.find("--freeze 'bias' matches no weight; weights have names as 'w', 'b'"),
      std::string::npos)
      << programs.errors;
}

} // namespace
