// Directional derivatives of programs, by autodiff and by differences, in fp64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Harness.h"

#include "passes/nn/step/Autodiff.h"

#include "mlir/IR/Verifier.h"

#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;

namespace weft::test {

Loss weightedSum(Tensors weights) {
  return {[weights = std::move(weights)](ArrayRef<HostTensor> results, Tensors *gradient) {
    double sum = 0;
    for (auto [index, result] : llvm::enumerate(results))
      for (size_t i = 0; i < result.reals.size(); ++i) {
        // What is infinite is so because nothing was there to combine.
        if (!std::isfinite(result.reals[i]))
          continue;
        sum += result.reals[i] * weights[index].reals[i];
        if (gradient)
          (*gradient)[index].reals[i] += weights[index].reals[i];
      }
    return sum;
  }};
}

Loss meanSquare(unsigned index, HostTensor target) {
  return {[index, target = std::move(target)](ArrayRef<HostTensor> results, Tensors *gradient) {
    double sum = 0, count = target.reals.size();
    for (size_t i = 0; i < target.reals.size(); ++i) {
      double distance = results[index].reals[i] - target.reals[i];
      sum += distance * distance / count;
      if (gradient)
        (*gradient)[index].reals[i] += 2 * distance / count;
    }
    return sum;
  }};
}

//===----------------------------------------------------------------------===//
// Differentiated
//===----------------------------------------------------------------------===//

Differentiated::Differentiated(func::FuncOp function, std::vector<unsigned> wanted)
    : withRespectTo(std::move(wanted)) {
  OwningOpRef<ModuleOp> made = ModuleOp::create(function.getLoc());
  forward = function.clone();
  backward = function.clone();
  backward.setName("backward");
  made->push_back(forward);
  made->push_back(backward);

  Block &body = backward.getBody().front();
  Operation *end = body.getTerminator();
  SmallVector<step::Seed> seeds;
  for (Value result : end->getOperands()) {
    auto type = cast<RankedTensorType>(result.getType());
    if (!isa<FloatType>(type.getElementType()))
      continue;
    unsigned last = backward.getNumArguments();
    (void)backward.insertArgument(last, type, {}, result.getLoc());
    seeds.push_back({result, body.getArgument(last)});
  }
  SmallVector<Value> values;
  for (unsigned index : withRespectTo)
    values.push_back(body.getArgument(index));
  auto gradients = step::differentiate(backward, seeds, values);
  if (failed(gradients))
    return;
  end->setOperands(*gradients);
  backward.setType(
      backward.getFunctionType().clone(body.getArgumentTypes(), TypeRange(ValueRange(*gradients))));
  backward.setAllResultAttrs(
      SmallVector<DictionaryAttr>(gradients->size(), DictionaryAttr::get(function.getContext())));
  if (succeeded(verify(*made)))
    module = std::move(made);
}

static SmallVector<HostTensor> run(func::FuncOp function, Tensors inputs) {
  auto results = interpret(function, std::move(inputs));
  assert(succeeded(results) && "every nn op has a reference");
  return std::move(*results);
}

Tensors Differentiated::gradients(const Tensors &inputs, const Loss &loss) const {
  auto results = run(forward, inputs);
  Tensors upper;
  for (const HostTensor &result : results)
    upper.emplace_back(RankedTensorType::get(result.shape, result.elementType));
  loss.value(results, &upper);
  Tensors arguments = inputs;
  for (HostTensor &tensor : upper)
    if (tensor.isFloat())
      arguments.push_back(std::move(tensor));
  auto gradients = run(backward, std::move(arguments));
  return Tensors(gradients.begin(), gradients.end());
}

double Differentiated::loss(const Tensors &inputs, const Loss &loss) const {
  return loss.value(run(forward, inputs), nullptr);
}

//===----------------------------------------------------------------------===//
// compare
//===----------------------------------------------------------------------===//

std::string Comparison::text() const {
  std::string text;
  llvm::raw_string_ostream(text) << "the gradient says " << llvm::format("%.12g", found)
                                 << ", differences say " << llvm::format("%.12g", expected);
  return text;
}

Comparison compare(const Differentiated &program, const Tensors &inputs, const Loss &loss,
                   const Tensors &gradients, const Tensors &direction, double tolerance) {
  double found = 0, gradientSquare = 0, greatest = 1e-30;
  for (auto [gradient, along] : llvm::zip_equal(gradients, direction))
    for (size_t i = 0; i < along.reals.size(); ++i) {
      found += gradient.reals[i] * along.reals[i];
      gradientSquare += std::pow(gradient.reals[i] * along.reals[i], 2);
      greatest = std::max(greatest, std::abs(along.reals[i]));
    }
  auto at = [&](double step) {
    Tensors moved = inputs;
    for (auto [index, along] : llvm::zip_equal(program.withRespectTo, direction))
      for (size_t i = 0; i < along.reals.size(); ++i)
        moved[index].reals[i] += step * along.reals[i];
    return program.loss(moved, loss);
  };
  // Central differences at h, h/2 and h/4, extrapolated twice (Richardson).
  double h = 2e-4 / greatest, first[3];
  for (int i = 0; i < 3; ++i, h /= 2)
    first[i] = (at(h) - at(-h)) / (2 * h);
  double second[] = {(4 * first[1] - first[0]) / 3, (4 * first[2] - first[1]) / 3};
  double expected = (16 * second[1] - second[0]) / 15;
  double size = std::max({std::abs(expected), std::abs(found), std::sqrt(gradientSquare)});
  // Rounding of the loss, which the small step magnifies.
  double noise = 1e-10 * (1 + std::abs(at(0)));
  Comparison result{Comparison::Agree, found, expected};
  if (std::abs(second[1] - second[0]) > 0.1 * tolerance * size + noise || !std::isfinite(expected))
    result.verdict = Comparison::Rejected;
  else if (!(std::abs(found - expected) <= tolerance * size + noise))
    result.verdict = Comparison::Differ;
  return result;
}

} // namespace weft::test
