// The linear model in plain loops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "LinearModel.h"

#include "../../support/Distance.h"
#include "weft/Registration/Registration.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::test;

const char *const weft::test::kLinear = R"(
func.func @forward(%x: tensor<4x3xf32> {nn.name = "x", nn.dims = ["batch", ""]},
                   %w: tensor<3x2xf32> {nn.name = "w", nn.initial = 0.5 : f32},
                   %b: tensor<2xf32> {nn.name = "b", nn.initial = 0.25 : f32}) -> (tensor<4x2xf32> {nn.name = "y"}) {
  %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
    : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
  %1 = nn.broadcast %b dims = [1] : tensor<2xf32> -> tensor<4x2xf32>
  %2 = nn.add %0, %1 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return %2 : tensor<4x2xf32>
}
)";

static DialectRegistry registry() {
  DialectRegistry result;
  registerAllDialects(result);
  return result;
}

Programs::Programs(StringRef text)
    : context(registry()), module(parseSourceString<ModuleOp>(text, &context)) {}

bool Programs::make(const step::StepMakeTrainingOptions &options, StringRef precision) {
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      errors += diagnostic.str();
    return success();
  });
  PassManager passes(&context);
  passes.addNestedPass<func::FuncOp>(step::createStepSetPrecision({precision.str()}));
  passes.addPass(step::createStepMakeTraining(options));
  passes.addNestedPass<func::FuncOp>(step::createStepWidenGradients());
  return succeeded(passes.run(*module));
}

func::FuncOp Programs::program(StringRef name) { return module->lookupSymbol<func::FuncOp>(name); }

HostTensor Programs::tensor(ArrayRef<int64_t> shape, const Numbers &values) {
  HostTensor result(RankedTensorType::get(shape, Float32Type::get(&context)));
  result.reals = values;
  return result;
}

HostTensor Programs::labels(ArrayRef<int64_t> values) {
  HostTensor result(
      RankedTensorType::get({int64_t(values.size())}, IntegerType::get(&context, 64)));
  result.integers.assign(values.begin(), values.end());
  return result;
}

Numbers HandModel::forward(const Numbers &x) const {
  Numbers y(kRows * kOutputs);
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t o = 0; o < kOutputs; ++o) {
      y[r * kOutputs + o] = b[o];
      for (int64_t i = 0; i < kInputs; ++i)
        y[r * kOutputs + o] += x[r * kInputs + i] * w[i * kOutputs + o];
    }
  return y;
}

std::pair<Numbers, Numbers> HandModel::backward(const Numbers &x,
                                                const Numbers &outputGradient) const {
  Numbers dw(w.size()), db(b.size());
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t o = 0; o < kOutputs; ++o) {
      double upper = outputGradient[r * kOutputs + o];
      db[o] += upper;
      for (int64_t i = 0; i < kInputs; ++i)
        dw[i * kOutputs + o] += x[r * kInputs + i] * upper;
    }
  return {dw, db};
}

OutputLoss weft::test::meanSquare(const Numbers &outputs, const Numbers &targets) {
  OutputLoss loss;
  for (size_t i = 0; i < outputs.size(); ++i) {
    double difference = outputs[i] - targets[i];
    loss.value += difference * difference / double(outputs.size());
    loss.gradient.push_back(2 * difference / double(outputs.size()));
  }
  return loss;
}

OutputLoss weft::test::crossEntropy(const Numbers &logits, ArrayRef<int64_t> labels,
                                    int64_t ignored, double smoothing) {
  OutputLoss loss;
  loss.gradient.resize(logits.size());
  size_t classes = logits.size() / labels.size();
  double counted = 0;
  for (int64_t label : labels)
    counted += label != -100 && label != ignored;
  for (size_t row = 0; row < labels.size(); ++row) {
    if (labels[row] == -100 || labels[row] == ignored)
      continue;
    double sum = 0;
    for (size_t k = 0; k < classes; ++k)
      sum += std::exp(logits[row * classes + k]);
    for (size_t k = 0; k < classes; ++k) {
      bool isLabel = int64_t(k) == labels[row];
      double probability = std::exp(logits[row * classes + k]) / sum;
      double expected = (isLabel ? 1 - smoothing : 0) + smoothing / double(classes);
      loss.gradient[row * classes + k] = (probability - expected) / counted;
      loss.value -= expected * std::log(probability) / counted;
    }
  }
  return loss;
}

double weft::test::errorOf(const Numbers &found, const Numbers &expected) {
  if (found.size() != expected.size())
    return INFINITY;
  Distance distance(Specials::AreWrong, 1);
  for (size_t i = 0; i < found.size(); ++i)
    distance.add(found[i], expected[i]);
  return distance.relative();
}
