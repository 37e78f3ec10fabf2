// Compiling as a library: a program, how it is to be compiled, and how far it is.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_COMPILER_COMPILATION_H
#define WEFT_COMPILER_COMPILATION_H

#include "weft/Compiler/Pipelines.h"
#include "weft/Target/Target.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <functional>
#include <string>

namespace weft {

/// All that decides what a program is compiled to. Whoever fills it has parsed it.
struct CompileOptions {
  PhaseOptions phases;
  KernelOptions kernels;
  /// 0: cores / local ranks.
  unsigned threadsPerRank = 0;
  /// Bytes of one process that the choice of a schedule and `Recompute::Auto` keep to; 0: no
  /// limit.
  int64_t memoryLimit = 0;
};

/// Where an executable goes, and what it is made with.
struct EmitOptions {
  std::string output;
  /// Put the weights beside `output` (OUTPUT.weights) instead of referring to them where they are.
  bool copyWeights = false;
  /// As BlobOptions has it.
  bool deterministic = false;
  /// As LinkOptions has them.
  std::string linker, runtimeDirectory;
  /// How it was compiled, for people to read.
  std::string commandLine;
};

/// The dialects and interfaces that a context needs in which programs are compiled.
mlir::DialectRegistry compilerRegistry();

/// A program on its way from `import` to `executable`.
///
///   auto compilation = Compilation::load("gpt2.onnx", context);
///   compilation->options.phases.bindings.dims = {{"batch", 8}, {"seq", 128}};
///   compilation->runTo(Phase::Graph);
///   Compilation other = compilation->clone();     // tries another mesh
///   other.options.phases.mesh = *Mesh::parse("dp=2,tp=2");
///   FailureOr<int64_t> bytes = other.measureMemory();
///
/// Whatever fails has told why through the diagnostics of the context, at the node concerned where
/// there is one. After a failed `runTo` the program is of no phase: drop the compilation.
class Compilation {
public:
  /// Reads a model (*.onnx), or the text of a program as `printProgram` writes it, which says
  /// itself at which phase it is. `allowMissingData`: weights need not be where the model says.
  static mlir::FailureOr<Compilation> load(llvm::StringRef path, mlir::MLIRContext &context,
                                           bool allowMissingData = false);
  /// A program that was made in this process and stands at `phase`.
  Compilation(mlir::OwningOpRef<mlir::ModuleOp> module, Phase phase, CompileOptions options = {});

  mlir::ModuleOp getModule() const { return const_cast<Compilation *>(this)->module.get(); }
  mlir::MLIRContext &getContext() const { return *getModule().getContext(); }
  Phase getPhase() const { return phase; }
  /// The file of the model that the program was made of.
  const std::string &getModelPath() const { return modelPath; }

  /// The same program at the same phase, on its own from here. What listens does not.
  Compilation clone() const;

  /// Runs the phases up to `last`, at most `scheduled`; one that is reached already is left alone.
  mlir::LogicalResult runTo(Phase last);
  /// Checks what a person may have edited and no later phase would: commands at `scheduled`.
  mlir::LogicalResult verify();
  /// Whether what `phases.place` says fits the program, on the mesh of the options.
  mlir::LogicalResult checkPlaces() const;

  /// Exact bytes of one process's arena. A program that is not scheduled is, on a copy whose
  /// options `change` may set.
  mlir::FailureOr<int64_t> measureMemory(llvm::function_ref<void(CompileOptions &)> change = {});
  /// Shows a copy as it is within `local`, between partitioning and fusion: there collectives are
  /// known and still in terms of nodes.
  mlir::LogicalResult inspectPartitioned(llvm::function_ref<void(mlir::ModuleOp)> inspect);
  /// Shows a copy as it is before kernels are formed, with two microbatches if there are that many:
  /// the second does what all behind it do, the first begins sums that the others add to. Not of a
  /// program that is past `staged`.
  mlir::LogicalResult inspectFusible(llvm::function_ref<void(mlir::ModuleOp)> inspect) &;
  /// The same of what is of no use behind it, without a copy.
  mlir::LogicalResult inspectFusible(llvm::function_ref<void(mlir::ModuleOp)> inspect) &&;

  /// Compiles the kernels of a scheduled program and writes the executable.
  mlir::LogicalResult emitExecutable(const EmitOptions &emit);

  /// Of what failed: whether nobody but the compiler can have broken the rule. Up to `staged` a
  /// failure is the input's; later so, unless the program was loaded as a text, which a person may
  /// have edited.
  bool compilerIsToBlame() const { return broken; }

  /// May change as long as what it says has not acted; docs/architecture.md tells when.
  CompileOptions options;
  /// Print the time of each pass on stderr.
  bool timesPasses = false;
  /// Called on the way, each if it is set: within `local` as `inspectPartitioned` does, after each
  /// trial of recomputation with its mode, share and bytes of a process, and after each trial of a
  /// schedule with its name and such bytes.
  std::function<void(mlir::ModuleOp)> onPartitioned;
  std::function<void(Recompute mode, double share, int64_t bytes)> onRecomputeTrial;
  std::function<void(llvm::StringRef schedule, int64_t bytes)> onScheduleTrial;

private:
  mlir::LogicalResult runPasses(llvm::function_ref<void(mlir::OpPassManager &)> build);
  mlir::LogicalResult runNext();
  mlir::LogicalResult runLocal();
  mlir::LogicalResult showWithin(llvm::function_ref<void(mlir::OpPassManager &)> build,
                                 llvm::function_ref<void(mlir::ModuleOp)> inspect);
  mlir::LogicalResult inspectWithin(llvm::function_ref<void(mlir::OpPassManager &)> build,
                                    llvm::function_ref<void(mlir::ModuleOp)> inspect);
  /// Of a failure on the way to `failed`.
  void blame(Phase failed) { broken = failed > Phase::Staged && start == Phase::Import; }

  mlir::OwningOpRef<mlir::ModuleOp> module;
  Phase phase, start;
  bool broken = false;
  std::string modelPath;
};

/// Whether the file is a model, by its name, and not the text of a program.
bool isModelFile(llvm::StringRef path);

/// Prints a program so that `load` reads it back from any folder: with locations, which hold the
/// names of nodes, and with files by their absolute path.
void printProgram(mlir::ModuleOp module, llvm::raw_ostream &out);

} // namespace weft

#endif // WEFT_COMPILER_COMPILATION_H
