// Arithmetic that bodies of ops on floats share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/NnFloatBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace weft::nn {

Value subtract(ScalarBuilder s, Value a, Value b) {
  return arith::SubFOp::create(s.builder, s.loc, a, b);
}
Value divide(ScalarBuilder s, Value a, Value b) {
  return arith::DivFOp::create(s.builder, s.loc, a, b);
}
Value isEqual(ScalarBuilder s, Value a, double b) {
  return arith::CmpFOp::create(s.builder, s.loc, arith::CmpFPredicate::OEQ, a,
                               s.constant(a.getType(), b));
}

} // namespace weft::nn
