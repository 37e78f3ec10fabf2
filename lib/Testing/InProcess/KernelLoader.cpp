// Loads objects with LLVM's JIT linker.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Testing/InProcess/KernelLoader.h"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"

using namespace weft::cpu;

struct KernelLoader::Impl {
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::string why;
};

KernelLoader::KernelLoader() : impl(std::make_unique<Impl>()) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit)
    impl->why = llvm::toString(jit.takeError());
  else
    impl->jit = std::move(*jit);
}

KernelLoader::~KernelLoader() = default;

mlir::LogicalResult KernelLoader::add(llvm::ArrayRef<weft::KernelImage> kernels, std::string &why) {
  why = impl->why;
  if (!impl->jit)
    return mlir::failure();
  for (const weft::KernelImage &kernel : kernels) {
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(
        llvm::StringRef(kernel.bytes.data(), kernel.bytes.size()), kernel.symbol);
    if (llvm::Error error = impl->jit->addObjectFile(std::move(buffer))) {
      why = llvm::toString(std::move(error));
      return mlir::failure();
    }
  }
  return mlir::success();
}

KernelLoader::Function KernelLoader::find(llvm::StringRef symbol) {
  if (!impl->jit)
    return nullptr;
  auto address = impl->jit->lookup(symbol);
  if (!address) {
    llvm::consumeError(address.takeError());
    return nullptr;
  }
  return address->toPtr<Function>();
}
