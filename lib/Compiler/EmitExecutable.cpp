// From a scheduled program to an executable and, where asked for, its weights beside it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Compiler/Compilation.h"

#include "CopyWeights.h"
#include "dialects/rt/IR/OrderOfSums.h"
#include "dialects/rt/IR/Rt.h"
#include "weft/Emit/Emit.h"
#include "weft/Target/Target.h"
#include "weft/runtime/Flags.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace weft;

/// `folder` as an executable in another names it: what lies beside it or below it moves with it,
/// and the executable's bytes do not depend on where both are.
static std::string seenFrom(StringRef executableFolder, StringRef folder) {
  SmallString<256> from, to;
  if (llvm::sys::fs::real_path(executableFolder, from) || llvm::sys::fs::real_path(folder, to))
    return folder.str();
  StringRef rest = to.str();
  if (rest == from.str())
    return ".";
  if (rest.consume_front(from.str()) && rest.consume_front("/"))
    return rest.str();
  return to.str().str();
}

namespace {

class Emission {
public:
  Emission(Compilation &compilation, const EmitOptions &emit)
      : compilation(compilation), module(compilation.getModule()), emit(emit) {}

  /// Ties the program to its weights: where they are, and the hashes of their bytes.
  llvm::Error settleSources() {
    SmallString<256> model(compilation.getModelPath());
    if (std::error_code code = llvm::sys::fs::make_absolute(model))
      return llvm::createFileError(model, code);
    blob.modelName = llvm::sys::path::filename(model).str();
    blob.modelDirectory = llvm::sys::path::parent_path(model).str();
    emit::SourceFiles sources(blob.modelDirectory, blob.modelName);
    if (llvm::Error wrong = emit::hashSources(module, sources, blob.hashes))
      return wrong;
    SmallString<256> output(emit.output);
    if (std::error_code code = llvm::sys::fs::make_absolute(output))
      return llvm::createFileError(output, code);
    StringRef outputDirectory = llvm::sys::path::parent_path(output);
    if (emit.copyWeights) {
      SmallString<256> path{StringRef(output), ".weights"};
      blob.bundle = llvm::sys::path::filename(path).str();
      blob.modelDirectory = outputDirectory.str();
      if (llvm::Error wrong =
              copyWeights(module, sources, blob.hashes, path.str().str(), bundle.emplace()))
        return wrong;
    }
    blob.modelDirectory = seenFrom(outputDirectory, blob.modelDirectory);
    return llvm::Error::success();
  }

  FailureOr<emit::Artifact> makeArtifact() {
    blob.commandLine = emit.commandLine;
    blob.deterministic = emit.deterministic;
    blob.threadsPerRank = compilation.options.threadsPerRank;
    blob.version = runtime::weftVersion();
    return emit::emitArtifact(module, compilation.options.kernels, blob);
  }

  llvm::Error link(const emit::Artifact &artifact) {
    OutputFile executable;
    if (llvm::Error wrong = executable.open(emit.output, /*isProgram=*/true))
      return wrong;
    if (llvm::Error wrong =
            emit::linkExecutable(artifact, executable.os(), {emit.linker, emit.runtimeDirectory}))
      return wrong;
    // The weights first: an executable never names those of another one.
    if (bundle)
      if (llvm::Error wrong = bundle->commit())
        return wrong;
    return executable.commit();
  }

private:
  Compilation &compilation;
  ModuleOp module;
  const EmitOptions &emit;
  emit::BlobOptions blob;
  std::optional<OutputFile> bundle; ///< until the executable is there
};

} // namespace

/// Where --deterministic was given late, or a model leaves no choice, commands may be left that a
/// target's library computes in no fixed order.
static LogicalResult checkOrderOfSums(ModuleOp module) {
  const Target *target = targetOf(module);
  if (!target || target->traits().hasAttention)
    return success();
  WalkResult found = module.walk([&](Operation *command) {
    StringRef instead = rt::orderedFormOf(command);
    if (instead.empty())
      return WalkResult::advance();
    command->emitError("has other bits in every run on target '")
        << target->name() << "', and --deterministic asks for the same; leave the flag out, or "
        << "compile with it, from the start, a model that says " << instead;
    return WalkResult::interrupt();
  });
  return failure(found.wasInterrupted());
}

LogicalResult Compilation::emitExecutable(const EmitOptions &emit) {
  assert(phase == Phase::Scheduled && "only a scheduled program has commands");
  auto fail = [&](llvm::Error wrong) {
    return emitError(UnknownLoc::get(&getContext())) << llvm::toString(std::move(wrong));
  };
  if (emit.deterministic && failed(checkOrderOfSums(getModule()))) {
    blame(Phase::Executable);
    return failure();
  }
  Emission emission(*this, emit);
  if (llvm::Error wrong = emission.settleSources())
    return fail(std::move(wrong));
  FailureOr<emit::Artifact> artifact = emission.makeArtifact();
  if (failed(artifact)) {
    blame(Phase::Executable);
    return failure();
  }
  if (llvm::Error wrong = emission.link(*artifact))
    return fail(std::move(wrong));
  phase = Phase::Executable;
  return success();
}
