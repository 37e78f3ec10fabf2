// Compiles kernels and emits the blob; loads kernels into this process.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/rt/IR/Rt.h"
#include "weft/Emit/Emit.h"
#include "weft/runtime/Program.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;
using namespace weft;
using namespace weft::emit;

FailureOr<Artifact> emit::emitArtifact(ModuleOp module, const cpu::KernelOptions &kernelOptions,
                                       const BlobOptions &options) {
  // Kernels are compiled from a module that holds nothing else.
  OwningOpRef<ModuleOp> bodies = ModuleOp::create(module.getLoc());
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() && function.isPrivate() && !function->hasAttr(rt::kSpecAttr))
      bodies->push_back(function.clone());
  auto kernels = cpu::compileKernels(*bodies, kernelOptions);
  if (failed(kernels))
    return failure();
  llvm::StringMap<KernelShape> shapes;
  for (const cpu::CompiledKernel &kernel : *kernels)
    shapes[kernel.symbol] = {kernel.extent, kernel.grain};
  auto blob = emitBlob(module, shapes, options);
  if (failed(blob))
    return failure();
  return Artifact{std::move(*blob), std::move(*kernels)};
}

struct LoadedKernels::Impl {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::vector<std::string> names;
  std::vector<weft_kernel_entry> entries;
};

LoadedKernels::LoadedKernels() : impl(std::make_unique<Impl>()) {}
LoadedKernels::~LoadedKernels() = default;

ArrayRef<weft_kernel_entry> LoadedKernels::table() const { return impl->entries; }

std::unique_ptr<LoadedKernels> LoadedKernels::load(ArrayRef<cpu::CompiledKernel> kernels, std::string &error) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  std::unique_ptr<LoadedKernels> loaded(new LoadedKernels);
  Impl &impl = *loaded->impl;
  auto fail = [&](llvm::Error e) {
    error = llvm::toString(std::move(e));
    return nullptr;
  };
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit)
    return fail(jit.takeError());
  impl.jit = std::move(*jit);
  auto process =
      llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(impl.jit->getDataLayout().getGlobalPrefix());
  if (!process)
    return fail(process.takeError());
  impl.jit->getMainJITDylib().addGenerator(std::move(*process));
  for (const cpu::CompiledKernel &kernel : kernels) {
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(StringRef(kernel.object.data(), kernel.object.size()),
                                                       kernel.symbol);
    if (auto e = impl.jit->addObjectFile(std::move(buffer)))
      return fail(std::move(e));
    impl.names.push_back(kernel.symbol);
  }
  for (const std::string &name : impl.names) {
    auto address = impl.jit->lookup(name);
    if (!address)
      return fail(address.takeError());
    impl.entries.push_back({name.c_str(), address->toPtr<weft_kernel_fn>()});
  }
  return loaded;
}
