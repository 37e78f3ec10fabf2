// What is CUDA's of cuda:host, and what this processor's.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Target/Twin/TwinTarget.h"

#include "weft/Target/Cpu/Processor.h"
#include "weft/Target/Executable.h"
#include "weft/Target/Twin/KernelCompiler.h"

using namespace mlir;
using namespace weft;

/// Of the runtime's folder; where CMake finds no Boost.Context it is not built.
static constexpr llvm::StringRef kEmulator = "weft_emulator";

namespace {
class TwinTarget : public Target {
public:
  TwinTarget(const Target &cuda, const Target &host) : cuda(cuda), host(host) {}

  StringRef name() const override { return "cuda:host"; }
  const TargetTraits &traits() const override { return cuda.traits(); }

  bool takes(const LibraryLayout &layout) const override {
    return cuda.takes(layout) && host.takes(layout);
  }

  void registerDialects(DialectRegistry &registry) const override {
    twin::registerKernelDialects(registry);
  }

  bool checkOptions(const KernelOptions &options, std::string &error) const override {
    return host.checkOptions(options, error);
  }

  FailureOr<KernelImages> compile(ModuleOp module, const KernelOptions &options) const override {
    auto kernels = twin::compileKernels(module, options);
    if (failed(kernels))
      return failure();
    std::string features = kernels->empty() ? "" : cpu::neededFeatures(options.processor);
    return KernelImages{std::move(*kernels), cpu::resolveProcessor(options.processor).name,
                        std::move(features)};
  }

  bool checkLink(const LinkOptions &options, std::string &error) const override {
    return checkLinker(options, error, {kEmulator});
  }

  bool link(ArrayRef<uint8_t> blob, const KernelImages &kernels, const LinkOptions &options,
            raw_ostream &out, std::string &error) const override {
    return linkExecutable(blob, kernels.kernels, options, out, error, {kEmulator});
  }

private:
  const Target &cuda, &host;
};
} // namespace

std::unique_ptr<Target> weft::twin::createTwinTarget(const Target &cuda, const Target &host) {
  return std::make_unique<TwinTarget>(cuda, host);
}
