// Directives of the assembly formats in NnElementwise.td; only for NnDialect.cpp.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_DIALECTS_NN_IR_NNASSEMBLY_H
#define WEFT_DIALECTS_NN_IR_NNASSEMBLY_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpImplementation.h"

namespace weft::nn {

/// One type where operands and result have the same, as they mostly do; else that of a
/// function: placements make types long.
template <typename... Types>
void printOneType(mlir::OpAsmPrinter &printer, mlir::Operation *op, Types... types) {
  bool isOne = llvm::all_equal({mlir::Type(types)...});
  if (isOne)
    printer << op->getResult(0).getType();
  else
    printer.printFunctionalType(op);
}

inline mlir::ParseResult parseOneTypeInto(mlir::OpAsmParser &parser,
                                          llvm::ArrayRef<mlir::Type *> operands,
                                          mlir::Type &result) {
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseType(result))
    return mlir::failure();
  auto function = llvm::dyn_cast<mlir::FunctionType>(result);
  if (!function) {
    for (mlir::Type *operand : operands)
      *operand = result;
    return mlir::success();
  }
  if (function.getNumInputs() != operands.size() || function.getNumResults() != 1)
    return parser.emitError(loc) << "expected " << operands.size()
                                 << " operand types and one result type";
  for (auto [operand, type] : llvm::zip_equal(operands, function.getInputs()))
    *operand = type;
  result = function.getResult(0);
  return mlir::success();
}

inline mlir::ParseResult parseOneType(mlir::OpAsmParser &parser, mlir::Type &operand,
                                      mlir::Type &result) {
  return parseOneTypeInto(parser, {&operand}, result);
}
inline mlir::ParseResult parseOneType(mlir::OpAsmParser &parser, mlir::Type &lhs, mlir::Type &rhs,
                                      mlir::Type &result) {
  return parseOneTypeInto(parser, {&lhs, &rhs}, result);
}

} // namespace weft::nn

#endif // WEFT_DIALECTS_NN_IR_NNASSEMBLY_H
