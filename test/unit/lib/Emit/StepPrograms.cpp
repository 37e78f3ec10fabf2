// Training steps written by hand: states, updates, gradients of a small MLP.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StepPrograms.h"

#include "dialects/nn/IR/Nn.h"
#include "weft/Testing/Interpreter/Interpreter.h"
#include "weft/Testing/Interpreter/StateSource.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <fstream>
#include <random>
#include <unistd.h>

using namespace mlir;
using namespace weft;
using namespace weft::test;

/// AdamW on w1 and momentum on w2, a mean squared error; dW is computed before
/// the weight is read for dX, so that an update in place must wait.
static const char *const kStepText = R"(
func.func @step(
    %w1: tensor<16x12xf64> {nn.name = "w1", nn.source = #nn.source<file = "FILE", offset = 0, length = 1536>},
    %w2: tensor<4x16xf64> {nn.name = "w2", nn.source = #nn.source<file = "FILE", offset = 1536, length = 512>},
    %m: tensor<16x12xf64> {nn.name = "w1#exp_avg", nn.of = "w1", nn.class = "optimizer", nn.initial = 0.0 : f64},
    %v: tensor<16x12xf64> {nn.name = "w1#exp_avg_sq", nn.of = "w1", nn.class = "optimizer", nn.initial = 0.125 : f64},
    %u: tensor<4x16xf64> {nn.name = "w2#momentum_buffer", nn.of = "w2", nn.class = "optimizer", nn.initial = 0.0 : f64},
    %k: tensor<i64> {nn.name = "weft.step", nn.class = "optimizer", nn.initial = 3 : i64},
    %x: tensor<8x12xf64> {nn.name = "x"}, %t: tensor<8x4xf64> {nn.name = "t"})
    -> (tensor<f64> {nn.name = "loss"}, tensor<f64> {nn.name = "lr"},
        tensor<16x12xf64> {nn.updates = "w1"}, tensor<4x16xf64> {nn.updates = "w2"},
        tensor<16x12xf64> {nn.updates = "w1#exp_avg"}, tensor<16x12xf64> {nn.updates = "w1#exp_avg_sq"},
        tensor<4x16xf64> {nn.updates = "w2#momentum_buffer"}, tensor<i64> {nn.updates = "weft.step"}) {
  %h = nn.contract %x, %w1 lhs = [0, 2] rhs = [1, 2] result = [0, 1] accumulate = f64 : (tensor<8x12xf64>, tensor<16x12xf64>) -> tensor<8x16xf64>
  %zero = nn.constant dense<0.0> : tensor<8x16xf64> : tensor<8x16xf64>
  %a = nn.max %h, %zero : (tensor<8x16xf64>, tensor<8x16xf64>) -> tensor<8x16xf64>
  %y = nn.contract %a, %w2 lhs = [0, 2] rhs = [1, 2] result = [0, 1] accumulate = f64 : (tensor<8x16xf64>, tensor<4x16xf64>) -> tensor<8x4xf64>
  %d = nn.sub %y, %t : (tensor<8x4xf64>, tensor<8x4xf64>) -> tensor<8x4xf64>
  %dd = nn.mul %d, %d : (tensor<8x4xf64>, tensor<8x4xf64>) -> tensor<8x4xf64>
  %sum = nn.reduce sum %dd dims = [0, 1] : tensor<8x4xf64> -> tensor<f64>
  %n = nn.constant dense<0.03125> : tensor<f64> : tensor<f64>
  %loss = nn.mul %sum, %n : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %two = nn.constant dense<0.0625> : tensor<8x4xf64> : tensor<8x4xf64>
  %dy = nn.mul %d, %two {nn.role = "input_gradient"} : (tensor<8x4xf64>, tensor<8x4xf64>) -> tensor<8x4xf64>
  %g2 = nn.contract %dy, %a lhs = [0, 1] rhs = [0, 2] result = [1, 2] accumulate = f64 {nn.role = "weight_gradient"} : (tensor<8x4xf64>, tensor<8x16xf64>) -> tensor<4x16xf64>
  %da = nn.contract %dy, %w2 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f64 {nn.role = "input_gradient"} : (tensor<8x4xf64>, tensor<4x16xf64>) -> tensor<8x16xf64>
  %on = nn.compare gt %h, %zero : (tensor<8x16xf64>, tensor<8x16xf64>) -> tensor<8x16xi1>
  %dh = nn.select %on, %da, %zero {nn.role = "input_gradient"} : (tensor<8x16xi1>, tensor<8x16xf64>, tensor<8x16xf64>) -> tensor<8x16xf64>
  %g1 = nn.contract %dh, %x lhs = [0, 1] rhs = [0, 2] result = [1, 2] accumulate = f64 {nn.role = "weight_gradient"} : (tensor<8x16xf64>, tensor<8x12xf64>) -> tensor<16x12xf64>
  %one = nn.constant dense<1> : tensor<i64> : tensor<i64>
  %k1 = nn.add %k, %one {nn.role = "optimizer"} : (tensor<i64>, tensor<i64>) -> tensor<i64>
  %tf = nn.cast %k1 {nn.role = "optimizer"} : (tensor<i64>) -> tensor<f64>
  %onef = nn.constant dense<1.0> : tensor<f64> : tensor<f64>
  %b1 = nn.constant dense<0.9> : tensor<f64> : tensor<f64>
  %b2 = nn.constant dense<0.99> : tensor<f64> : tensor<f64>
  %p1 = nn.pow %b1, %tf {nn.role = "optimizer"} : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %p2 = nn.pow %b2, %tf {nn.role = "optimizer"} : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %c1 = nn.sub %onef, %p1 {nn.role = "optimizer"} : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %c2 = nn.sub %onef, %p2 {nn.role = "optimizer"} : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %base = nn.constant dense<0.05> : tensor<f64> : tensor<f64>
  %lr = nn.div %base, %tf {nn.role = "optimizer"} : (tensor<f64>, tensor<f64>) -> tensor<f64>
  %B1 = nn.broadcast %b1 dims = [] : tensor<f64> -> tensor<16x12xf64>
  %B2 = nn.broadcast %b2 dims = [] : tensor<f64> -> tensor<16x12xf64>
  %ob1 = nn.constant dense<0.1> : tensor<16x12xf64> : tensor<16x12xf64>
  %ob2 = nn.constant dense<0.01> : tensor<16x12xf64> : tensor<16x12xf64>
  %m0 = nn.mul %m, %B1 {nn.role = "optimizer"} : (tensor<16x12xf64>, tensor<16x12xf64>) -> tensor<16x12xf64>
  %m1 = nn.mul %g1, %ob1 {nn.role = "optimizer"} : (tensor<16x12xf64>, tensor<16x12xf64>) -> tensor<16x12xf64>
  %mn = nn.add %m0, %m1 {nn.role = "optimizer"} : (tensor<16x12xf64>, tensor<16x12xf64>) -> tensor<16x12xf64>
  %gg = nn.mul %g1, %g1 {nn.role = "optimizer"} : (tensor<16x12xf64>, tensor<16x12xf64>) -> tensor<16x12xf64>
  %v0 = nn.mul %v, %B2 {nn.role = "optimizer"} : (tensor<16x12xf64>, tensor<16x12xf64>) -> tensor<16x12xf64>
  %v1 = nn.mul %gg, %ob2 {nn.role = "optimizer"} : (tensor<16x12xf64>, tensor<16x12xf64>) -> tensor<16x12xf64>
  %vn = nn.add %v0, %v1 {nn.role = "optimizer"} : (tensor<16x12xf64>, tensor<16x12xf64>) -> tensor<16x12xf64>
  %C1 = nn.broadcast %c1 dims = [] : tensor<f64> -> tensor<16x12xf64>
  %C2 = nn.broadcast %c2 dims = [] : tensor<f64> -> tensor<16x12xf64>
  %L1 = nn.broadcast %lr dims = [] : tensor<f64> -> tensor<16x12xf64>
  %mh = nn.div %mn, %C1 {nn.role = "optimizer"} : (tensor<16x12xf64>, tensor<16x12xf64>) -> tensor<16x12xf64>
  %vh = nn.div %vn, %C2 {nn.role = "optimizer"} : (tensor<16x12xf64>, tensor<16x12xf64>) -> tensor<16x12xf64>
  %s = nn.sqrt %vh {nn.role = "optimizer"} : (tensor<16x12xf64>) -> tensor<16x12xf64>
  %eps = nn.constant dense<1.0e-8> : tensor<16x12xf64> : tensor<16x12xf64>
  %se = nn.add %s, %eps {nn.role = "optimizer"} : (tensor<16x12xf64>, tensor<16x12xf64>) -> tensor<16x12xf64>
  %up = nn.div %mh, %se {nn.role = "optimizer"} : (tensor<16x12xf64>, tensor<16x12xf64>) -> tensor<16x12xf64>
  %lu = nn.mul %up, %L1 {nn.role = "optimizer"} : (tensor<16x12xf64>, tensor<16x12xf64>) -> tensor<16x12xf64>
  %wd = nn.constant dense<0.999> : tensor<16x12xf64> : tensor<16x12xf64>
  %wp = nn.mul %w1, %wd {nn.role = "optimizer"} : (tensor<16x12xf64>, tensor<16x12xf64>) -> tensor<16x12xf64>
  %w1n = nn.sub %wp, %lu {nn.role = "optimizer"} : (tensor<16x12xf64>, tensor<16x12xf64>) -> tensor<16x12xf64>
  %mu = nn.constant dense<0.8> : tensor<4x16xf64> : tensor<4x16xf64>
  %u0 = nn.mul %u, %mu {nn.role = "optimizer"} : (tensor<4x16xf64>, tensor<4x16xf64>) -> tensor<4x16xf64>
  %un = nn.add %u0, %g2 {nn.role = "optimizer"} : (tensor<4x16xf64>, tensor<4x16xf64>) -> tensor<4x16xf64>
  %L2 = nn.broadcast %lr dims = [] : tensor<f64> -> tensor<4x16xf64>
  %lu2 = nn.mul %un, %L2 {nn.role = "optimizer"} : (tensor<4x16xf64>, tensor<4x16xf64>) -> tensor<4x16xf64>
  %w2n = nn.sub %w2, %lu2 {nn.role = "optimizer"} : (tensor<4x16xf64>, tensor<4x16xf64>) -> tensor<4x16xf64>
  return %loss, %lr, %w1n, %w2n, %mn, %vn, %un, %k1 : tensor<f64>, tensor<f64>, tensor<16x12xf64>, tensor<4x16xf64>, tensor<16x12xf64>, tensor<16x12xf64>, tensor<4x16xf64>, tensor<i64>
}
func.func @eval(
    %w1: tensor<16x12xf64> {nn.name = "w1", nn.source = #nn.source<file = "FILE", offset = 0, length = 1536>},
    %w2: tensor<4x16xf64> {nn.name = "w2", nn.source = #nn.source<file = "FILE", offset = 1536, length = 512>},
    %x: tensor<8x12xf64> {nn.name = "x"}) -> (tensor<8x4xf64> {nn.name = "y"}) {
  %h = nn.contract %x, %w1 lhs = [0, 2] rhs = [1, 2] result = [0, 1] accumulate = f64 : (tensor<8x12xf64>, tensor<16x12xf64>) -> tensor<8x16xf64>
  %zero = nn.constant dense<0.0> : tensor<8x16xf64> : tensor<8x16xf64>
  %a = nn.max %h, %zero : (tensor<8x16xf64>, tensor<8x16xf64>) -> tensor<8x16xf64>
  %y = nn.contract %a, %w2 lhs = [0, 2] rhs = [1, 2] result = [0, 1] accumulate = f64 : (tensor<8x16xf64>, tensor<4x16xf64>) -> tensor<8x4xf64>
  return %y : tensor<8x4xf64>
}
)";

namespace {

HostTensor randomTensor(RankedTensorType type, std::mt19937 &random) {
  HostTensor tensor(type);
  for (double &value : tensor.reals)
    value = double(int(random() % 2001) - 1000) / 1000;
  for (int64_t &value : tensor.integers)
    value = random() % 2;
  return tensor;
}

} // namespace

HostTensor weft::test::initialState(func::FuncOp function, unsigned argument) {
  auto type = cast<RankedTensorType>(function.getArgumentTypes()[argument]);
  if (auto source = function.getArgAttrOfType<nn::SourceAttr>(argument, nn::kSourceAttr)) {
    auto tensor = readSource(source, type, "",
                             [&] { return function.emitError() << "state " << argument << ' '; });
    return succeeded(tensor) ? std::move(*tensor) : HostTensor(type);
  }
  Attribute number = function.getArgAttr(argument, nn::kInitialAttr);
  return toHostTensor(DenseElementsAttr::get(type, number));
}

Training weft::test::makeTraining(unsigned seed, unsigned steps) {
  std::mt19937 random(seed);
  Training training;
  training.file = (testing::TempDir() + "weft-step-" + std::to_string(getpid()) + "-" +
                   std::to_string(seed) + ".bin");
  std::ofstream out(training.file, std::ios::binary);
  for (unsigned i = 0; i < 256; ++i) {
    double value = double(int(random() % 2001) - 1000) / 2000;
    out.write(reinterpret_cast<const char *>(&value), sizeof value);
  }
  out.close();
  std::string text = kStepText;
  for (size_t at; (at = text.find("FILE")) != std::string::npos;)
    text.replace(at, 4, training.file);
  training.module = parseSourceString<ModuleOp>(text, &context());
  assert(training.module && "the step parses");
  auto step = training.module->lookupSymbol<func::FuncOp>("step");
  for (unsigned i = 0; i < steps; ++i) {
    training.batches.emplace_back();
    for (unsigned a = 0; a < step.getNumArguments(); ++a)
      if (!step.getArgAttr(a, nn::kSourceAttr) && !step.getArgAttr(a, nn::kInitialAttr))
        training.batches.back().push_back(
            randomTensor(cast<RankedTensorType>(step.getArgumentTypes()[a]), random));
  }
  training.expected = runOracle(step, training.batches);
  return training;
}

TrainingRun weft::test::runOracle(func::FuncOp step,
                                  const std::vector<std::vector<HostTensor>> &batches) {
  TrainingRun run;
  std::vector<HostTensor> arguments(step.getNumArguments());
  llvm::StringMap<unsigned> states;
  SmallVector<unsigned> inputs;
  for (unsigned a = 0; a < step.getNumArguments(); ++a) {
    if (!step.getArgAttr(a, nn::kSourceAttr) && !step.getArgAttr(a, nn::kInitialAttr)) {
      inputs.push_back(a);
      continue;
    }
    states[step.getArgAttrOfType<StringAttr>(a, nn::kNameAttr).getValue()] = a;
    arguments[a] = initialState(step, a);
  }
  for (const std::vector<HostTensor> &batch : batches) {
    for (auto [a, tensor] : llvm::zip_equal(inputs, batch))
      arguments[a] = tensor;
    auto results = interpret(step, arguments);
    assert(succeeded(results) && "the oracle runs the step");
    run.outputs.emplace_back();
    for (auto [i, result] : llvm::enumerate(*results))
      if (auto state = step.getResultAttrOfType<StringAttr>(i, nn::kUpdatesAttr))
        arguments[states.lookup(state.getValue())] = result;
      else
        run.outputs.back().push_back(result);
  }
  for (auto &state : states)
    run.states[state.getKey().str()] = arguments[state.getValue()];
  return run;
}

bool weft::test::runCompiled(emit::InProcessProgram &program, func::FuncOp step,
                             const std::vector<std::vector<HostTensor>> &batches, TrainingRun &run,
                             std::string &error) {
  SmallVector<RankedTensorType> types;
  for (unsigned i = 0; i < step.getNumResults(); ++i)
    if (!step.getResultAttr(i, nn::kUpdatesAttr))
      types.push_back(cast<RankedTensorType>(step.getResultTypes()[i]));
  for (const std::vector<HostTensor> &batch : batches) {
    run.outputs.emplace_back();
    if (!program.run("step", batch, types, run.outputs.back(), error))
      return false;
  }
  for (unsigned a = 0; a < step.getNumArguments(); ++a)
    if (step.getArgAttr(a, nn::kSourceAttr) || step.getArgAttr(a, nn::kInitialAttr)) {
      std::string name = step.getArgAttrOfType<StringAttr>(a, nn::kNameAttr).str();
      if (!program.getState(name, cast<RankedTensorType>(step.getArgumentTypes()[a]),
                            run.states[name], error))
        return false;
    }
  return true;
}

double weft::test::distance(const TrainingRun &found, const TrainingRun &expected) {
  double worst = 0;
  if (found.outputs.size() != expected.outputs.size() ||
      found.states.size() != expected.states.size())
    return INFINITY;
  for (auto [a, b] : llvm::zip_equal(found.outputs, expected.outputs))
    worst = std::max(worst, distance(a, b));
  for (auto &[name, tensor] : expected.states) {
    auto other = found.states.find(name);
    if (other == found.states.end() || other->second.integers != tensor.integers)
      return INFINITY;
    worst = std::max(worst, distance({other->second}, {tensor}));
  }
  return worst;
}
