// A GPU's numbers, and what its libraries take.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Target/Cuda/CudaTarget.h"

#include "Assembler.h"
#include "KernelCompiler.h"
#include "passes/cuda/Passes.h"
#include "weft/Interfaces/HostTensor.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Target/Cuda/Image.h"
#include "weft/Target/Executable.h"
#include "weft/runtime/CopyRows.h"
#include "weft/runtime/CublasProduct.h"
#include "weft/runtime/CudnnAttention.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

#include <optional>

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
  traits.kernelAlignment = kAccessBytes;
  traits.onChipBytes = 256 << 10;
  traits.keptBytes = kWorkgroupBytes - kExchangeBytes;
  traits.rowGroupBytes = 64 << 10;
  traits.flopsPerByte = 15;
  traits.leastPieces = 64;
  traits.leastSumParts = 528;
  traits.columnsAtATime = 64;
  // 4 KiB of parameters, an address each, are what every driver takes.
  traits.mostPointers = 512;
  // Where cuDNN does it alone: kernels of ours would have the scores in memory, too.
  traits.hasAttention = false;
  // As cuDNN's does.
  traits.readsLogSums = true;
  return traits;
}

/// Of the runtime's folder.
constexpr llvm::StringRef kDevice = "weft_cuda";

std::optional<runtime::DType> floatOf(Type type) {
  if (type.isF64())
    return runtime::DType::F64;
  if (type.isF32())
    return runtime::DType::F32;
  if (type.isBF16())
    return runtime::DType::BF16;
  if (type.isF16())
    return runtime::DType::F16;
  return std::nullopt;
}

std::optional<runtime::ProductTensor> productTensor(const LibraryTensor &tensor) {
  std::optional<runtime::DType> type = floatOf(tensor.element);
  if (!type)
    return std::nullopt;
  return runtime::ProductTensor{*type,
                                {tensor.sizes.begin(), tensor.sizes.end()},
                                {tensor.strides.begin(), tensor.strides.end()}};
}

/// Floats that are summed in f32 or f64, of which the result has the operands' type or the sum's;
/// where they lie as cuBLASLt wants.
bool takesProduct(const LibraryLayout &layout) {
  auto lhs = productTensor(layout.operands[0]), rhs = productTensor(layout.operands[1]),
       result = productTensor(layout.results[0]);
  if (!lhs || !rhs || !result || lhs->dtype != rhs->dtype)
    return false;
  std::vector<runtime::ProductTensor> addends;
  for (const LibraryTensor &tensor : layout.addends)
    if (auto addend = productTensor(tensor))
      addends.push_back(*addend);
    else
      return false;
  bool isWide = lhs->dtype == runtime::DType::F64;
  auto sum = isWide ? runtime::DType::F64 : runtime::DType::F32;
  runtime::CublasProduct product;
  return floatOf(cast<TypeAttr>(layout.call.attributes.get("accumulate")).getValue()) == sum &&
         (result->dtype == lhs->dtype || result->dtype == sum) &&
         runtime::planCublasProduct(*lhs, *rhs, *result, addends, product).empty();
}

/// Of tensors of four dims, in the order of the command's; a mask may be among them.
bool takesAttention(const LibraryLayout &layout, ArrayRef<LibraryTensor> operands,
                    ArrayRef<LibraryTensor> results, bool hasMask) {
  const NamedAttrList &attributes = layout.call.attributes;
  runtime::AttentionCall call;
  call.causal = attributes.get("causal") != Attribute();
  call.hasMask = hasMask;
  call.softcap = cast<FloatAttr>(attributes.get("softcap")).getValueAsDouble();
  for (const LibraryTensor &tensor : llvm::concat<const LibraryTensor>(operands, results)) {
    std::optional<runtime::DType> type = floatOf(tensor.element);
    if (!type)
      return false;
    call.tensors.push_back({*type,
                            {tensor.sizes.begin(), tensor.sizes.end()},
                            {tensor.strides.begin(), tensor.strides.end()}});
  }
  return runtime::whyNotCudnn(call).empty();
}
/// Of `operands` tensors and perhaps a mask.
template <size_t operands> bool takesAttention(const LibraryLayout &layout) {
  return takesAttention(layout, ArrayRef(layout.operands).take_front(operands), layout.results,
                        layout.operands.size() > operands);
}
/// An f32 for each row, without gaps.
bool areLogSums(const LibraryTensor &sums) {
  return sums.element.isF32() && llvm::equal(rowMajorStrides(sums.sizes), sums.strides);
}
bool takesAttentionWithSums(const LibraryLayout &layout) {
  return areLogSums(layout.results.back()) &&
         takesAttention(layout, layout.operands, ArrayRef(layout.results).drop_back(), false);
}
bool takesAttentionWithSumsGradient(const LibraryLayout &layout) {
  return areLogSums(layout.operands.back()) &&
         takesAttention(layout, ArrayRef(layout.operands).drop_back(), layout.results, false);
}

/// What the runtime's CUDA device does (runtime/lib/device/cuda/commands): commands, and the types
/// and sizes of each.
struct Taken {
  StringLiteral command;
  bool (*takes)(const LibraryLayout &layout);
};
constexpr Taken kTaken[] = {{"gemm", takesProduct},
                            {"attention", takesAttention<3>},
                            {"attention_grad", takesAttention<5>},
                            {"attention_with_sums", takesAttentionWithSums},
                            {"attention_with_sums_grad", takesAttentionWithSumsGradient}};

class CudaTarget : public Target {
public:
  CudaTarget(const Chip &chip, std::string name) : chip(chip), ownName(std::move(name)) {}

  StringRef name() const override { return ownName; }
  const TargetTraits &traits() const override { return numbers; }

  bool takes(const LibraryLayout &layout) const override {
    return llvm::any_of(kTaken, [&](const Taken &row) {
      return row.command == layout.call.command && row.takes(layout);
    });
  }

  /// In one call of the driver: a kernel is one launch, however the view lies.
  bool copies(const LibraryTensor &view) const override {
    std::vector<int64_t> sizes(view.sizes.begin(), view.sizes.end()),
        from(view.strides.begin(), view.strides.end()), to(sizes.size(), 1);
    for (size_t d = sizes.size(); d-- > 1;)
      to[d - 1] = to[d] * sizes[d];
    return runtime::planCopyRows(elementBytes(view.element), sizes, from, to).copies <= 1;
  }

  void registerDialects(DialectRegistry &registry) const override {
    registerKernelDialects(registry);
  }

  llvm::Error checkOptions(const KernelOptions &options) const override {
    if (options.processor != "native")
      return llvm::createStringError("'" + options.processor +
                                     "': the chip is a part of --target, as in cuda:sm_90");
    return llvm::Error::success();
  }

  FailureOr<KernelImages> compile(ModuleOp module, const KernelOptions &options) const override {
    auto kernels = compileKernels(module, chip, options);
    if (failed(kernels))
      return failure();
    return KernelImages{std::move(*kernels), chip.name.str(), "", "cuda"};
  }

  llvm::Error checkLink(const LinkOptions &options) const override {
    return checkLinker(options, {{}, {}, {kDevice}});
  }

  llvm::Error link(ArrayRef<uint8_t> blob, const KernelImages &kernels, const LinkOptions &options,
                   raw_ostream &out) const override {
    std::vector<Image> images;
    for (const KernelImage &kernel : kernels.kernels) {
      auto image = readImage(llvm::StringRef(kernel.bytes.data(), kernel.bytes.size()));
      if (!image)
        return llvm::createStringError("kernel '" + kernel.symbol +
                                       "' is no image of a GPU's kernel: it was compiled for "
                                       "another target than '" +
                                       ownName + "'");
      images.push_back(std::move(*image));
    }
    ExecutableParts parts{{}, {}, {kDevice}};
    for (auto [kernel, image] : llvm::zip(kernels.kernels, images))
      parts.kernels.push_back({kernel.symbol, "", false,
                               DeviceCode{image.cubin, image.ptx, image.chip, image.threads,
                                          Image::kAlignment, image.takesTable}});
    return linkExecutable(blob, parts, options, out);
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
