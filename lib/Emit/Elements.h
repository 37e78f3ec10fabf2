// Elements of tensors as the runtime has them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_EMIT_ELEMENTS_H
#define WEFT_LIB_EMIT_ELEMENTS_H

#include "weft/runtime/Program.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <optional>
#include <vector>

namespace weft::emit {

/// The runtime's element type; nothing if it has none.
std::optional<runtime::DType> dtypeOf(mlir::Type type);

/// Row-major little-endian bytes; a bool is one byte.
std::vector<uint8_t> rawBytes(mlir::ElementsAttr value);

} // namespace weft::emit

#endif // WEFT_LIB_EMIT_ELEMENTS_H
