// The CPU's numbers, and what its library takes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Target/Cpu/CpuTarget.h"

#include "weft/Target/Cpu/KernelCompiler.h"
#include "weft/Target/Cpu/Processor.h"
#include "weft/Target/Executable.h"
#include "weft/runtime/Commands.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace weft;

namespace {

bool isEmpty(const LibraryTensor &tensor) { return llvm::is_contained(tensor.sizes, 0); }

bool isLibraryFloat(Type type) {
  return type.isF64() || type.isF32() || type.isBF16() || type.isF16();
}

/// One of the library's floats in all operands and results.
bool takesFloats(const LibraryLayout &layout) {
  Type first = layout.operands[0].element;
  auto isOfFirst = [&](const LibraryTensor &tensor) { return tensor.element == first; };
  return isLibraryFloat(first) && llvm::all_of(layout.operands, isOfFirst) &&
         llvm::all_of(layout.results, isOfFirst);
}

/// The same without the logarithms of sums, which have the type that sums have.
bool takesSummed(const LibraryLayout &layout) {
  LibraryLayout others = layout;
  bool isGradient = others.results.size() > 2;
  (isGradient ? others.operands : others.results).pop_back();
  return takesFloats(others);
}

/// Products of floats sum in f32 or f64, give the operands' type or the sum's, and add to it; those
/// of integers of at least 8 bits give the type that they sum in.
bool takesProduct(const LibraryLayout &layout) {
  Type lhs = layout.operands[0].element, result = layout.results[0].element;
  Type accumulate = cast<TypeAttr>(layout.call.attributes.get("accumulate")).getValue();
  // What the command has views for behind operands and result.
  const size_t mostAddends = runtime::viewRoles(runtime::Opcode::Gemm).most - runtime::kGemmAddend;
  if (layout.operands[1].element != lhs || layout.addends.size() > mostAddends)
    return false;
  if (isLibraryFloat(lhs)) {
    Type sum = lhs.isF64() ? lhs : Type(Float32Type::get(lhs.getContext()));
    return accumulate == sum && (result == lhs || (!lhs.isF64() && result == sum));
  }
  return (result.isSignlessInteger(32) || result.isSignlessInteger(64)) && accumulate == result &&
         lhs.getIntOrFloatBitWidth() >= 8;
}

/// One to three spatial dims; no dim both strided and dilated in its input.
bool takesConvolution(const LibraryLayout &layout) {
  size_t rank = layout.operands[0].sizes.size();
  auto list = [&](StringRef name) {
    return cast<DenseI64ArrayAttr>(layout.call.attributes.get(name)).asArrayRef();
  };
  return takesFloats(layout) && rank >= 3 && rank <= 5 &&
         llvm::all_of(llvm::zip(list("strides"), list("input_dilations")),
                      [](auto dim) { return std::get<0>(dim) == 1 || std::get<1>(dim) == 1; });
}

/// All numbers; the rows behind the first dim, and behind the indices' of updates, in one piece.
bool takesScatterAdd(const LibraryLayout &layout) {
  size_t width = layout.results[0].sizes.size() - 1;
  auto isPacked = [&](const LibraryTensor &tensor) {
    int64_t next = 1;
    for (size_t d = tensor.sizes.size(), end = d - width; d-- > end; next *= tensor.sizes[d])
      if (tensor.sizes[d] != 1 && tensor.strides[d] != next)
        return false;
    return true;
  };
  return isPacked(layout.operands[0]) && isPacked(layout.operands[2]) &&
         isPacked(layout.results[0]);
}

/// What the library does: commands, and the types and sizes of each.
struct Taken {
  StringLiteral command;
  bool (*takes)(const LibraryLayout &layout);
};
constexpr Taken kTaken[] = {{"gemm", takesProduct},
                            {"conv", takesConvolution},
                            {"attention", takesFloats},
                            {"attention_grad", takesFloats},
                            {"attention_with_sums", takesSummed},
                            {"attention_with_sums_grad", takesSummed},
                            {"scatter_add", takesScatterAdd}};

/// The numbers are those of a server's cores: 512 KiB of second-level cache a core, with room for
/// the stack of a kernel (cpu::kMaxStackBytes); 16 threads; cache lines and vectors of 64 bytes.
class CpuTarget : public Target {
public:
  StringRef name() const override { return "cpu"; }
  const TargetTraits &traits() const override { return numbers; }

  bool takes(const LibraryLayout &layout) const override {
    if (llvm::any_of(layout.operands, isEmpty) || llvm::any_of(layout.results, isEmpty))
      return false;
    return llvm::any_of(kTaken, [&](const Taken &row) {
      return row.command == layout.call.command && row.takes(layout);
    });
  }

  void registerDialects(DialectRegistry &registry) const override {
    cpu::registerKernelDialects(registry);
  }

  llvm::Error checkOptions(const KernelOptions &options) const override {
    return cpu::checkProcessor(options.processor);
  }

  FailureOr<KernelImages> compile(ModuleOp module, const KernelOptions &options) const override {
    auto kernels = cpu::compileKernels(module, options);
    if (failed(kernels))
      return failure();
    return cpu::imagesFor(options.processor, std::move(*kernels));
  }

  llvm::Error checkLink(const LinkOptions &options) const override { return checkLinker(options); }

  llvm::Error link(ArrayRef<uint8_t> blob, const KernelImages &kernels, const LinkOptions &options,
                   raw_ostream &out) const override {
    return linkExecutable(blob, {objectKernels(kernels), {}, {}}, options, out);
  }

private:
  TargetTraits numbers;
};

} // namespace

std::unique_ptr<Target> weft::cpu::createCpuTarget() { return std::make_unique<CpuTarget>(); }
