// What ops in the bodies of kernels cost.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelPrices.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

double weft::cpu::operationCost(Operation &op) {
  if (isa<math::AbsFOp, math::AbsIOp, math::FloorOp, math::CeilOp, math::RoundEvenOp>(op))
    return 1;
  if (isa<math::MathDialect>(op.getDialect()))
    return 12;
  if (isa<arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp,
          arith::RemFOp>(op))
    return 4;
  if (isa<arith::ConstantOp, linalg::IndexOp>(op) || op.hasTrait<OpTrait::IsTerminator>())
    return 0;
  return 1;
}
