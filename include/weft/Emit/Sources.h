// The files that states come from, as the compiler reads them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EMIT_SOURCES_H
#define WEFT_EMIT_SOURCES_H

#include "dialects/rt/IR/Rt.h"
#include "weft/Emit/Emit.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"

namespace weft::emit {

/// Opens each file once, and maps it. A file that a model names must lie in the
/// model's folder, and all must be regular.
class SourceFiles {
public:
  /// `modelName` is a file in `modelDirectory`, which the user named: it may be
  /// a link.
  SourceFiles(std::string modelDirectory, std::string modelName)
      : directory(std::move(modelDirectory)), modelName(std::move(modelName)) {}

  /// The bytes of a piece that is in a file.
  llvm::Expected<llvm::ArrayRef<char>> bytesOf(rt::PieceAttr piece);

private:
  using Mapping = llvm::sys::fs::mapped_file_region;
  llvm::Expected<const Mapping &> open(llvm::StringRef file);

  std::string directory, modelName;
  llvm::StringMap<std::unique_ptr<Mapping>> files;
};

/// Whether the piece is in a file that has bytes.
bool isInFile(rt::PieceAttr piece);

/// The states of all stages: what several of them hold is listed for each.
llvm::SmallVector<rt::StateOp> statesOf(mlir::ModuleOp module);

/// Hashes what the states of `module` refer to, on all threads of its context.
llvm::Error hashSources(mlir::ModuleOp module, SourceFiles &files, SourceHashes &hashes);

} // namespace weft::emit

#endif // WEFT_EMIT_SOURCES_H
