// Printing of diagnostics with the names of a model's nodes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Support/Diagnostics.h"

#include "weft/runtime/Terminal.h"

#include "llvm/ADT/StringExtras.h"

#include <thread>

using namespace mlir;
using weft::NodeLocation;

NodeLocation weft::describeLocation(Location loc) {
  NodeLocation result;
  // Pre-order: the node's name comes before the operator's inside it, and a
  // fused location's first part before the others.
  loc->walk([&](Location part) {
    if (auto name = dyn_cast<NameLoc>(part)) {
      result.node = name.getName().getValue();
      Location child = name.getChildLoc();
      if (auto inner = dyn_cast<NameLoc>(child)) {
        result.opType = inner.getName().getValue();
        child = inner.getChildLoc();
      }
      if (auto file = child->findInstanceOf<FileLineColLoc>())
        result.file = file.getFilename().getValue();
      return WalkResult::interrupt();
    }
    if (auto file = dyn_cast<FileLineColLoc>(part))
      if (result.file.empty()) {
        result.file = file.getFilename().getValue();
        result.line = file.getLine();
        result.column = file.getColumn();
      }
    return WalkResult::advance();
  });
  return result;
}

std::string weft::nodeName(Operation *op) {
  StringRef name = nodeName(op->getLoc());
  return (name.empty() ? op->getName().getStringRef() : name).str();
}

static llvm::StringRef nameOf(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Note:
    return "note";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Remark:
    return "remark";
  }
  llvm_unreachable("unknown severity");
}

void weft::writeSafely(llvm::StringRef text, llvm::raw_ostream &out) {
  out << runtime::listingText(text);
}

static void printLine(const Diagnostic &diagnostic, llvm::raw_ostream &stream) {
  std::string text;
  llvm::raw_string_ostream out(text);
  NodeLocation where = weft::describeLocation(diagnostic.getLocation());
  if (!where.file.empty()) {
    out << where.file;
    if (where.node.empty() && where.line)
      out << ':' << where.line << ':' << where.column;
    out << ": ";
  }
  if (!where.node.empty())
    out << "node '" << where.node << "'";
  if (!where.opType.empty())
    out << " (" << where.opType << ')';
  if (!where.node.empty())
    out << ": ";
  std::string said = diagnostic.str();
  // A note may be an operation as MLIR prints it, on several lines.
  if (diagnostic.getSeverity() == DiagnosticSeverity::Note)
    said = llvm::join(llvm::split(said, '\n'), "\n  ");
  // Bounded apart, so that a long name leaves what is said.
  stream << weft::runtime::messageText(text) << nameOf(diagnostic.getSeverity()) << ": "
         << weft::runtime::messageText(said) << '\n';
}

void weft::printDiagnostic(const Diagnostic &diagnostic, llvm::raw_ostream &out) {
  printLine(diagnostic, out);
  for (const Diagnostic &note : diagnostic.getNotes())
    printLine(note, out);
  out.flush();
}

weft::DiagnosticHandler::DiagnosticHandler(MLIRContext *context, llvm::raw_ostream &out)
    : ScopedDiagnosticHandler(context) {
  setHandler([&out](Diagnostic &diagnostic) {
    printDiagnostic(diagnostic, out);
    return success();
  });
}

weft::OwnDiagnosticHandler::OwnDiagnosticHandler(MLIRContext *context,
                                                 std::function<LogicalResult(Diagnostic &)> hear)
    : ScopedDiagnosticHandler(context) {
  setHandler([hear = std::move(hear), own = std::this_thread::get_id()](Diagnostic &diagnostic) {
    return std::this_thread::get_id() == own ? hear(diagnostic) : failure();
  });
}

void weft::printNodeDiagnostics(MLIRContext *context, llvm::raw_ostream &out) {
  context->getDiagEngine().registerHandler([&out](Diagnostic &diagnostic) {
    if (describeLocation(diagnostic.getLocation()).node.empty())
      return failure();
    printDiagnostic(diagnostic, out);
    return success();
  });
}
