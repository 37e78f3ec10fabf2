// A GPU's numbers, and what its libraries take.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Target/Cuda/CudaTarget.h"

#include "Assembler.h"
#include "KernelCompiler.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace weft;
using namespace weft::cuda;

namespace {

/// 256 bytes are what cuBLASLt assumes of operands. A piece is a row that stays in a block's
/// registers and workgroup memory; memory gives a byte in the time of some 15 operations (67e12 f32
/// a second to 4.3e12 bytes). Enough pieces and parts are those that give each of about 130
/// multiprocessors some blocks.
TargetTraits makeTraits() {
  TargetTraits traits;
  traits.alignment = 256;
  traits.onChipBytes = 256 << 10;
  traits.flopsPerByte = 15;
  traits.leastPieces = 64;
  traits.leastSumParts = 528;
  return traits;
}

bool isFloat(Type type) { return type.isF64() || type.isF32() || type.isBF16() || type.isF16(); }

class CudaTarget : public Target {
public:
  CudaTarget(const Chip &chip, std::string name) : chip(chip), ownName(std::move(name)) {}

  StringRef name() const override { return ownName; }
  const TargetTraits &traits() const override { return numbers; }

  bool takes(const LibraryLayout &layout) const override {
    auto isPlain = [&](const LibraryTensor &tensor) {
      return isFloat(tensor.element) && !llvm::is_contained(tensor.sizes, 0);
    };
    return llvm::is_contained({"gemm", "conv", "attention", "attention_grad"},
                              layout.call.command) &&
           llvm::all_of(layout.operands, isPlain) && llvm::all_of(layout.results, isPlain);
  }

  void registerDialects(DialectRegistry &registry) const override {
    registerKernelDialects(registry);
  }

  llvm::Error checkOptions(const KernelOptions &options) const override {
    if (options.processor != "native")
      return llvm::createStringError("'" + options.processor +
                                     "': the chip is a part of --target, as in cuda:sm_90");
    return findAssembler().takeError();
  }

  FailureOr<KernelImages> compile(ModuleOp module, const KernelOptions &options) const override {
    auto kernels = compileKernels(module, chip, options);
    if (failed(kernels))
      return failure();
    return KernelImages{std::move(*kernels), chip.name.str(), ""};
  }

  llvm::Error checkLink(const LinkOptions &) const override {
    return llvm::createStringError(
        "no executable for '" + ownName +
        "' yet: the runtime has no device for it; --compile-to scheduled gives its commands");
  }

  llvm::Error link(ArrayRef<uint8_t>, const KernelImages &, const LinkOptions &options,
                   raw_ostream &) const override {
    return checkLink(options);
  }

private:
  const Chip &chip;
  std::string ownName;
  TargetTraits numbers = makeTraits();
};

} // namespace

std::vector<std::unique_ptr<Target>> weft::cuda::createCudaTargets() {
  std::vector<std::unique_ptr<Target>> targets;
  targets.push_back(std::make_unique<CudaTarget>(kDefaultChip, "cuda"));
  for (const Chip &chip : kChips)
    targets.push_back(std::make_unique<CudaTarget>(chip, ("cuda:" + chip.name).str()));
  return targets;
}
