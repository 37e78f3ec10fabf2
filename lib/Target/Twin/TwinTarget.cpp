// What is CUDA's of cuda:host, and what this processor's.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Target/Twin/TwinTarget.h"

#include "weft/Target/Cpu/KernelCompiler.h"
#include "weft/Target/Executable.h"
#include "weft/Target/Twin/KernelCompiler.h"

using namespace mlir;
using namespace weft;

/// Of the runtime's folder; where CMake finds no Boost.Context it is not built.
static constexpr llvm::StringRef kEmulator = "weft_emulator", kDevice = "weft_cuda";

namespace {
class TwinTarget : public Target {
public:
  TwinTarget(const Target &cuda, const Target &host) : cuda(cuda), host(host) {}

  StringRef name() const override { return "cuda:host"; }
  const TargetTraits &traits() const override { return cuda.traits(); }

  bool takes(const LibraryLayout &layout) const override {
    return cuda.takes(layout) && host.takes(layout);
  }

  bool copies(const LibraryTensor &view) const override { return cuda.copies(view); }

  void registerDialects(DialectRegistry &registry) const override {
    twin::registerKernelDialects(registry);
  }

  llvm::Error checkOptions(const KernelOptions &options) const override {
    return host.checkOptions(options);
  }

  FailureOr<KernelImages> compile(ModuleOp module, const KernelOptions &options) const override {
    auto kernels = twin::compileKernels(module, options);
    if (failed(kernels))
      return failure();
    return cpu::imagesFor(options.processor, std::move(*kernels));
  }

  llvm::Error checkLink(const LinkOptions &options) const override {
    return checkLinker(options, parts());
  }

  llvm::Error link(ArrayRef<uint8_t> blob, const KernelImages &kernels, const LinkOptions &options,
                   raw_ostream &out) const override {
    ExecutableParts linked = parts();
    linked.kernels = objectKernels(kernels);
    for (ExecutableKernel &kernel : linked.kernels)
      kernel.objectHasImage = true;
    return linkExecutable(blob, linked, options, out);
  }

private:
  /// With the CUDA device, which an emulated driver gives these kernels to.
  static ExecutableParts parts() { return {{}, {kEmulator}, {kDevice}}; }

  const Target &cuda, &host;
};
} // namespace

std::unique_ptr<Target> weft::twin::createTwinTarget(const Target &cuda, const Target &host) {
  return std::make_unique<TwinTarget>(cuda, host);
}
