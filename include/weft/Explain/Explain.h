// Fills the document of a compilation from its phases, and writes it down.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EXPLAIN_EXPLAIN_H
#define WEFT_EXPLAIN_EXPLAIN_H

#include "weft/Explain/Document.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace weft::explain {

/// Placements, collectives and states of a module whose programs are partitioned and not yet fused.
void collectPlacement(mlir::ModuleOp module, Document &document);

/// The chunks of a module that is cut for a pipeline.
void collectChunks(mlir::ModuleOp module, Document &document);

/// Commands, buckets and memory of a scheduled module.
void collectSchedule(mlir::ModuleOp module, Document &document);

enum class Detail {
  Classes, // one screen: repeated layers are one line
  Full     // every node, collective and state
};

/// With `nodes` (a regular expression, checked by the caller) everything that concerns nodes and
/// states whose name matches, and nothing else.
void printText(const Document &document, Detail detail, llvm::StringRef nodes,
               llvm::raw_ostream &out);

/// Why a collective is there: `'/c_proj/Gemm' sums over 3072{tp}; '/ln_2' needs it whole`.
std::string reasonText(const Collective &collective, const std::vector<std::string> &readers,
                       int64_t readerCount);

/// Flags that would change which bytes move, as sentences; repeated layers share one.
std::vector<std::string> hintsOf(const Document &document);

/// Memory by class, and the largest buffers when most is alive.
void printMemory(const Memory &memory, llvm::raw_ostream &out);

/// Two kinds of lines for an overview: what each program sends over which axes, and memory by
/// class.
void printSummary(const Document &document, llvm::raw_ostream &out);

/// A line for each, or for those that are alike.
void printChunks(llvm::ArrayRef<Chunk> chunks, Detail detail, llvm::raw_ostream &out);

/// The attribute `chunks` of the object that is open, an array; nothing if there are none.
void printChunks(llvm::ArrayRef<Chunk> chunks, llvm::json::OStream &json);

/// One JSON document; docs/explain.md describes it. Without `indent` on one line.
void printJson(const Document &document, bool indent, llvm::raw_ostream &out);

/// A page that needs nothing else: the document, its tables and pictures.
void printHtml(const Document &document, llvm::raw_ostream &out);

} // namespace weft::explain

#endif // WEFT_EXPLAIN_EXPLAIN_H
