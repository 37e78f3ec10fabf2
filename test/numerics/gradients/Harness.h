// Directional derivatives of programs, by autodiff and by differences, in fp64.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_NUMERICS_GRADIENTS_HARNESS_H
#define WEFT_TEST_NUMERICS_GRADIENTS_HARNESS_H

#include "weft/Testing/Interpreter/Interpreter.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <string>
#include <vector>

namespace weft::test {

using Tensors = std::vector<HostTensor>;

/// A scalar of a program's results, and its gradient with respect to them.
struct Loss {
  /// Adds to `gradient`, if it is not null, which has the results' shapes.
  std::function<double(llvm::ArrayRef<HostTensor> results, Tensors *gradient)> value;
};
/// The sum of the finite elements of float results, each times its weight.
Loss weightedSum(Tensors weights);
/// The mean over all elements of the squared distance of one result.
Loss meanSquare(unsigned result, HostTensor target);

/// A function and its gradients: the results of the gradient program are one
/// tensor for each argument in `withRespectTo`.
class Differentiated {
public:
  Differentiated(mlir::func::FuncOp function, std::vector<unsigned> withRespectTo);
  bool isValid() const { return static_cast<bool>(module); }

  /// One an entry of withRespectTo.
  Tensors gradients(const Tensors &inputs, const Loss &loss) const;
  double loss(const Tensors &inputs, const Loss &loss) const;

  mlir::func::FuncOp forward, backward;
  std::vector<unsigned> withRespectTo;

private:
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// What a comparison in one direction gave.
struct Comparison {
  enum Verdict {
    Agree,
    Differ,
    /// The differences do not converge: a kink is near.
    Rejected
  } verdict;
  double found, expected;
  std::string text() const;
};

/// Compares the derivative along `direction` (one tensor an entry of
/// withRespectTo; empty ones are zero) with that which `gradients` promise, to
/// `tolerance` of its size, which is what a random direction would give.
Comparison compare(const Differentiated &program, const Tensors &inputs, const Loss &loss,
                   const Tensors &gradients, const Tensors &direction, double tolerance);

} // namespace weft::test

#endif // WEFT_TEST_NUMERICS_GRADIENTS_HARNESS_H
