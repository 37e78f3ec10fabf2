// The one form in which our tools print diagnostics.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SUPPORT_DIAGNOSTICS_H
#define WEFT_SUPPORT_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/Operation.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>

namespace weft {

/// The node of the model that a location goes back to.
struct NodeLocation {
  llvm::StringRef file, node, opType;
  unsigned line = 0, column = 0;
};

/// Reads locations of the form NameLoc(node, NameLoc(op type, file:index)),
/// which the importer makes and passes keep; the inner name may be missing, and
/// fused locations speak for their first part that has a name.
NodeLocation describeLocation(mlir::Location loc);

/// The name of the node that a location goes back to, or "".
inline llvm::StringRef nodeName(mlir::Location loc) { return describeLocation(loc).node; }
/// The name of the node that an op comes from, or the op's own.
std::string nodeName(mlir::Operation *op);

/// Writes lines whose names may come from a hostile file, as runtime::listingText has them.
void writeSafely(llvm::StringRef text, llvm::raw_ostream &out);

/// Prints a diagnostic and its notes, one line each:
/// `FILE: node 'NAME' (OpType): error: text`, or `FILE:LINE:COLUMN: ...` for a
/// place in a text file.
void printDiagnostic(const mlir::Diagnostic &diagnostic, llvm::raw_ostream &out);

/// Prints every diagnostic of a context while it lives.
class DiagnosticHandler : public mlir::ScopedDiagnosticHandler {
public:
  explicit DiagnosticHandler(mlir::MLIRContext *context, llvm::raw_ostream &out = llvm::errs());
};

/// Hears what its own thread says while it lives, and nothing of what runs beside it. What a pass
/// manager does on threads of the pool is said by the thread that runs it.
class OwnDiagnosticHandler : public mlir::ScopedDiagnosticHandler {
public:
  OwnDiagnosticHandler(mlir::MLIRContext *context,
                       std::function<llvm::LogicalResult(mlir::Diagnostic &)> hear);
};

/// For tools whose driver has a handler of its own: from now on prints those
/// diagnostics of `context` that name a node and leaves the rest to it.
void printNodeDiagnostics(mlir::MLIRContext *context, llvm::raw_ostream &out = llvm::errs());

} // namespace weft

#endif // WEFT_SUPPORT_DIAGNOSTICS_H
