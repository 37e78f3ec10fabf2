// Bytes of memory that commands read and write.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_EXPLAIN_MOVEDBYTES_H
#define WEFT_LIB_EXPLAIN_MOVEDBYTES_H

#include "dialects/rt/IR/Rt.h"
#include "weft/Explain/Document.h"

namespace weft::explain {

/// Sets `moved`, `arena`, `units` and `unit` of `program`. A command reads each element of its
/// views once and writes each once, however often it comes back to it (that is the cache's); of
/// what a kernel only looks up (embeddings, slices) it reads what its ops touch. Calls count as
/// often as they are made.
void collectMovedBytes(rt::ProgramOp from, const mlir::SymbolTable &symbols, Program &program);

} // namespace weft::explain

#endif // WEFT_LIB_EXPLAIN_MOVEDBYTES_H
