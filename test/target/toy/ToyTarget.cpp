// The toy's numbers, its images and its executables.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ToyTarget.h"

#include "passes/kernels/Passes.h"
#include "weft/runtime/Program.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace weft;

namespace {

TargetTraits makeTraits() {
  TargetTraits traits;
  traits.alignment = 4096;
  traits.onChipBytes = 4 << 10;
  traits.mostKernelOps = 6;
  traits.leastPieces = 2;
  traits.smallElements = 64;
  traits.leastSumParts = 4;
  traits.mostSumParts = 256;
  traits.streams = {StreamKind::Compute};
  return traits;
}

/// A unit is an element of the first result.
LaunchShape shapeOf(func::FuncOp kernel) {
  auto result = cast<RankedTensorType>(kernel.getResultTypes().front());
  return {std::max<int64_t>(1, result.getNumElements()), 1};
}

class ToyTarget : public Target {
public:
  StringRef name() const override { return "toy"; }
  const TargetTraits &traits() const override { return numbers; }
  bool takes(const LibraryLayout &) const override { return false; }

  void registerDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                    math::MathDialect, scf::SCFDialect, tensor::TensorDialect>();
  }

  llvm::Error checkOptions(const KernelOptions &options) const override {
    if (options.processor != "native")
      return llvm::createStringError("'" + options.processor +
                                     "' is no processor; the toy has none");
    return llvm::Error::success();
  }

  FailureOr<KernelImages> compile(ModuleOp module, const KernelOptions &) const override {
    OwningOpRef<ModuleOp> copy(module.clone());
    PassManager pm(module.getContext());
    pm.enableVerifier(false); // see convert-nn-to-linalg
    pm.addNestedPass<func::FuncOp>(kernels::createConvertNnToLinalg());
    pm.addNestedPass<func::FuncOp>(createCSEPass());
    if (failed(pm.run(*copy)))
      return failure();
    KernelImages images;
    images.processor = "toy";
    for (auto kernel : copy->getOps<func::FuncOp>()) {
      KernelImage image{kernel.getName().str(), shapeOf(kernel), {}};
      llvm::raw_svector_ostream text(image.bytes);
      kernel->print(text, OpPrintingFlags().assumeVerified().useLocalScope());
      text << '\n';
      images.kernels.push_back(std::move(image));
    }
    return images;
  }

  llvm::Error checkLink(const LinkOptions &) const override { return llvm::Error::success(); }

  llvm::Error link(ArrayRef<uint8_t> blob, const KernelImages &images, const LinkOptions &,
                   raw_ostream &out) const override {
    // The program format is one for all targets; its reader wants aligned bytes.
    std::vector<uint64_t> words((blob.size() + 7) / 8);
    std::memcpy(words.data(), blob.data(), blob.size());
    runtime::ProgramView view;
    if (auto status = runtime::ProgramView::open(words.data(), blob.size(), view); !status.ok())
      return llvm::createStringError(status.text());
    out << "toy program, " << view.numRanks() << " ranks, " << blob.size() << " bytes of commands, "
        << images.kernels.size() << " kernels\n";
    for (const KernelImage &kernel : images.kernels)
      out << "toy image of " << kernel.symbol << ", " << kernel.shape.extent << " units\n"
          << StringRef(kernel.bytes.data(), kernel.bytes.size());
    return llvm::Error::success();
  }

private:
  TargetTraits numbers = makeTraits();
};

/// A toy that cannot compile what passes made for it, and says so or not.
class FaultyTarget : public ToyTarget {
public:
  explicit FaultyTarget(bool speaks) : speaks(speaks) {}
  StringRef name() const override { return speaks ? "faulty" : "mute"; }
  FailureOr<KernelImages> compile(ModuleOp module, const KernelOptions &) const override {
    if (speaks)
      module.emitError("the toy is broken");
    return failure();
  }

private:
  bool speaks;
};

} // namespace

std::unique_ptr<Target> weft::toy::createToyTarget() { return std::make_unique<ToyTarget>(); }

std::unique_ptr<Target> weft::toy::createFaultyTarget(bool speaks) {
  return std::make_unique<FaultyTarget>(speaks);
}
