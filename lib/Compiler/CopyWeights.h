// The weights of a program in one file beside its executable.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_COMPILER_COPYWEIGHTS_H
#define WEFT_LIB_COMPILER_COPYWEIGHTS_H

#include "weft/Emit/Sources.h"
#include "weft/Support/OutputFile.h"

namespace weft {

/// Copies the bytes that states refer to, which `hashSources` has read, into `file`, which will be
/// `path`, and refers them, and their hashes, there.
llvm::Error copyWeights(mlir::ModuleOp module, emit::SourceFiles &sources,
                        emit::SourceHashes &hashes, const std::string &path, OutputFile &file);

} // namespace weft

#endif // WEFT_LIB_COMPILER_COPYWEIGHTS_H
