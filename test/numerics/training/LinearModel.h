// A linear model trained by the compiler's programs and by hand.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_NUMERICS_TRAINING_LINEARMODEL_H
#define WEFT_TEST_NUMERICS_TRAINING_LINEARMODEL_H

#include "passes/nn/step/Passes.h"
#include "weft/Testing/Interpreter/StatefulRun.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <random>

namespace weft::test {

using Numbers = std::vector<double>;

/// y = x w + b with x 4x3, w 3x2, b 2.
inline constexpr int64_t kRows = 4, kInputs = 3, kOutputs = 2;

/// A forward pass and the programs made from it.
class Programs {
public:
  /// `text` is a module with @forward.
  explicit Programs(llvm::StringRef text);
  /// Runs `step-make-training`; false if it fails, with `errors` set.
  bool make(const step::StepMakeTrainingOptions &options, llvm::StringRef precision = "f64");

  mlir::func::FuncOp program(llvm::StringRef name);
  /// The state of that name, or the input made from numbers.
  HostTensor tensor(llvm::ArrayRef<int64_t> shape, const Numbers &values);
  HostTensor labels(llvm::ArrayRef<int64_t> values);

  std::string errors;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// The forward pass of the linear model as text.
extern const char *const kLinear;

/// What the loss says of the outputs: its value and gradient.
struct OutputLoss {
  double value = 0;
  Numbers gradient;
};

/// Weights as numbers, trained by hand.
struct HandModel {
  Numbers w, b;

  Numbers forward(const Numbers &x) const;
  /// Gradients of w and b.
  std::pair<Numbers, Numbers> backward(const Numbers &x, const Numbers &outputGradient) const;
};

struct Random {
  std::mt19937_64 engine;
  Numbers numbers(size_t count, double deviation = 1) {
    std::normal_distribution<double> normal(0, deviation);
    Numbers values(count);
    for (double &value : values)
      value = normal(engine);
    return values;
  }
};

OutputLoss meanSquare(const Numbers &outputs, const Numbers &targets);
/// Labels of `ignored` or -100 do not count; all classes share `smoothing` of what is expected.
OutputLoss crossEntropy(const Numbers &logits, llvm::ArrayRef<int64_t> labels,
                        int64_t ignored = -100, double smoothing = 0);

/// max |a - b| / max(1, max |b|).
double errorOf(const Numbers &found, const Numbers &expected);

} // namespace weft::test

#endif // WEFT_TEST_NUMERICS_TRAINING_LINEARMODEL_H
