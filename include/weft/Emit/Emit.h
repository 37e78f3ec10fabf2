// From scheduled commands to the executable: blob, kernels, one ELF file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_EMIT_EMIT_H
#define WEFT_EMIT_EMIT_H

#include "weft/Target/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <cstdint>
#include <string>
#include <vector>

namespace weft::emit {

/// XXH3 of each block of a source (weft::runtime::kSourceBlockBytes), by the
/// rt.piece that names it.
using SourceHashes = llvm::DenseMap<mlir::Attribute, std::vector<uint64_t>>;

struct BlobOptions {
  std::string modelName;
  /// Where relative paths of weights start.
  std::string modelDirectory;
  /// 0: cores / local ranks.
  unsigned threadsPerRank = 0;
  std::string version;
  /// The command line, for people to read.
  std::string commandLine;
  /// The target, the device that runs its programs, what its kernels are compiled for, and those of
  /// its features that a machine may lack; emitArtifact fills them in.
  std::string target = kDefaultTarget.str(), device, processor, features;
  /// Of the sources in files. What has none is not checked when it is loaded.
  SourceHashes hashes = SourceHashes();
  /// Floats of several ranks are added in the order of ranks, whoever does it.
  bool deterministic = false;
  /// The file that weights were copied into. It and the model's own file, which
  /// the user named, may be links that leave the folder; what the model names not.
  std::string bundle;
};

/// The programs, states and tables of `module` as the runtime's blob. Equal
/// modules give equal bytes. Emits an error at what cannot be told.
mlir::FailureOr<std::vector<uint8_t>> emitBlob(mlir::ModuleOp module,
                                               const llvm::StringMap<LaunchShape> &kernels,
                                               const BlobOptions &options);

/// All that an executable is made of.
struct Artifact {
  const Target *target;
  std::vector<uint8_t> blob;
  KernelImages images;
};

/// Compiles the kernels of `module` (private functions with a body that are no
/// program's spec) for its target and emits its blob.
mlir::FailureOr<Artifact> emitArtifact(mlir::ModuleOp module, const KernelOptions &kernels,
                                       const BlobOptions &options);

/// Writes the executable, as the artifact's target makes it. An error says what to do.
llvm::Error linkExecutable(const Artifact &artifact, llvm::raw_ostream &out,
                           const LinkOptions &options);

} // namespace weft::emit

#endif // WEFT_EMIT_EMIT_H
