// LLVM's pass pipeline and code generator for NVIDIA's GPUs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PtxEmitter.h"

#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

#include <mutex>

using namespace weft::cuda;

static std::unique_ptr<llvm::TargetMachine> makeMachine(const Chip &chip, unsigned optLevel) {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string why;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, why);
  assert(target && "the LLVM that we are linked with has NVPTX");
  llvm::TargetOptions options;
  // Products and sums fuse only where a body allows it for itself.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, chip.name, chip.ptx, options, std::nullopt, std::nullopt,
      optLevel >= 2 ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::Less));
}

std::string weft::cuda::emitPtx(llvm::Module &module, const Chip &chip, unsigned optLevel) {
  std::unique_ptr<llvm::TargetMachine> machine = makeMachine(chip, optLevel);
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());

  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  // Lanes are unrolled already; more would cost registers and the time of the assembler.
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = false;
  llvm::PassBuilder passes(machine.get(), tuning);
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(graphs);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::OptimizationLevel level = optLevel >= 3   ? llvm::OptimizationLevel::O3
                                  : optLevel == 2 ? llvm::OptimizationLevel::O2
                                                  : llvm::OptimizationLevel::O1;
  passes.buildPerModuleDefaultPipeline(level).run(module, modules);

  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager codegen;
  bool wrong =
      machine->addPassesToEmitFile(codegen, stream, nullptr, llvm::CodeGenFileType::AssemblyFile);
  assert(!wrong && "NVPTX writes PTX");
  (void)wrong;
  codegen.run(module);
  return text.str().str();
}
