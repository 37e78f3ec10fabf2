// Programs with calls of routines as programs without, for tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_UNIT_LIB_EMIT_FLATTEN_H
#define WEFT_TEST_UNIT_LIB_EMIT_FLATTEN_H

#include "mlir/IR/BuiltinOps.h"

namespace weft::test {

/// At `scheduled`: the commands of each routine stand where it was invoked, on the bytes that the
/// call gives them; the same for the functions that programs are judged by.
void flattenCalls(mlir::ModuleOp module);

} // namespace weft::test

#endif // WEFT_TEST_UNIT_LIB_EMIT_FLATTEN_H
