// Counts accesses of kernels as blocks and threads, and of their PTX.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CountAccesses.h"

#include "passes/cuda/Members.h"
#include "passes/cuda/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace weft::cuda;

Accesses weft::cuda::accessesOf(llvm::StringRef ptx) {
  llvm::Regex access("(ld|st)\\.global[.a-zA-Z_:0-9]*");
  Accesses seen;
  llvm::SmallVector<llvm::StringRef> lines;
  ptx.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    llvm::SmallVector<llvm::StringRef> match;
    if (!access.match(line, &match))
      continue;
    llvm::SmallVector<llvm::StringRef> words;
    match[0].split(words, '.');
    int64_t bits = 0, count = 1;
    llvm::to_integer(words.back().drop_front(1), bits);
    for (llvm::StringRef word : words)
      if (word == "v2" || word == "v4" || word == "v8")
        llvm::to_integer(word.drop_front(1), count);
    int64_t bytes = bits / 8 * count;
    seen.all += bytes;
    seen.wide += bytes >= 16 ? bytes : 0;
    seen.wideOnes += bytes / 16;
  }
  return seen;
}

static std::optional<int64_t> numberOf(Value value) {
  llvm::APInt number;
  return matchPattern(value, m_ConstantInt(&number)) ? std::optional(number.getSExtValue())
                                                     : std::nullopt;
}

namespace {

class Counter {
public:
  explicit Counter(gpu::GPUFuncOp kernel)
      : threads(kernel.getKnownBlockSize()->front()),
        blocks(kernel->getAttrOfType<IntegerAttr>(kGridAttr).getInt()) {
    std::optional<Members> members = Members::of(kernel);
    ownThreads = threads * blocks / (members ? members->count : 1);
    visit(kernel.getBody().front(), threads * blocks);
  }

  Accesses seen;

private:
  double threads, blocks, ownThreads; // ownThreads: of one member
  /// Values that differ between threads.
  llvm::DenseSet<Value> varying;

  bool varies(Value value) const { return varying.contains(value); }

  /// What is read anew from the same place may be known still: of these one access has to stand.
  llvm::DenseSet<std::pair<Value, Value>> places;

  void access(Value memory, ValueRange indices, Type type, double times, bool isStore) {
    if (cast<MemRefType>(memory.getType()).getMemorySpace())
      return;
    auto vector = dyn_cast<VectorType>(type);
    Type element = vector ? vector.getElementType() : type;
    double bytes = element.getIntOrFloatBitWidth() / 8 * (vector ? vector.getNumElements() : 1);
    bool isSame = llvm::none_of(indices, [&](Value index) { return varies(index); });
    double moved = bytes * times / (isSame ? 32 : 1);
    seen.all += moved;
    seen.wide += bytes >= 16 ? moved : 0;
    if (isStore || places.insert({memory, indices.front()}).second)
      seen.wideOnes += int64_t(bytes) / 16;
  }

  void visit(Block &block, double times) {
    for (Operation &op : block) {
      // Threads of a warp have one row, but for those on its border.
      auto quotient = dyn_cast<arith::DivUIOp>(op);
      if (quotient && numberOf(quotient.getRhs()).value_or(0) >= 32)
        continue;
      if (isa<gpu::ThreadIdOp>(op) ||
          llvm::any_of(op.getOperands(), [&](Value value) { return varies(value); }))
        varying.insert(op.result_begin(), op.result_end());
      if (auto load = dyn_cast<memref::LoadOp>(op))
        access(load.getMemRef(), load.getIndices(), load.getType(), times, /*isStore=*/false);
      else if (auto store = dyn_cast<memref::StoreOp>(op))
        access(store.getMemRef(), store.getIndices(), store.getValue().getType(), times,
               /*isStore=*/true);
      else if (auto load = dyn_cast<vector::LoadOp>(op))
        access(load.getBase(), load.getIndices(), load.getType(), times, /*isStore=*/false);
      else if (auto store = dyn_cast<vector::StoreOp>(op))
        access(store.getBase(), store.getIndices(), store.getValueToStore().getType(), times,
               /*isStore=*/true);
      else if (auto loop = dyn_cast<scf::ForOp>(op))
        visitLoop(loop, times);
      else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        visit(*branch.thenBlock(), times * shareOf(branch.getCondition()));
        if (branch.elseBlock())
          visit(*branch.elseBlock(), times);
      }
    }
  }

  void visitLoop(scf::ForOp loop, double times) {
    if (varies(loop.getLowerBound()) || varies(loop.getUpperBound()))
      varying.insert(loop.getInductionVar());
    auto upper = numberOf(loop.getUpperBound()), step = numberOf(loop.getStep());
    double low = numberOf(loop.getLowerBound()).value_or(0);
    visit(*loop.getBody(), upper && step ? times * (*upper - low) / *step : times);
  }

  /// The share of threads that a comparison of their number selects; 1 if it is another.
  double shareOf(Value condition) {
    auto compare = condition.getDefiningOp<arith::CmpIOp>();
    auto bound = compare ? numberOf(compare.getRhs()) : std::nullopt;
    Operation *number = compare ? compare.getLhs().getDefiningOp() : nullptr;
    if (!bound || !number || !varies(compare.getLhs()))
      return 1;
    // Numbers in the block, in the grid (block * threads + thread), or in the warp.
    double count = isa<gpu::ThreadIdOp>(number) ? threads
                   : isa<arith::AddIOp>(number) ? ownThreads
                                                : 32;
    if (compare.getPredicate() == arith::CmpIPredicate::eq)
      return 1 / count;
    return compare.getPredicate() == arith::CmpIPredicate::ult ? std::min(1.0, *bound / count) : 1;
  }
};

} // namespace

llvm::StringMap<Accesses> weft::cuda::countAccesses(ModuleOp kernels) {
  OwningOpRef<ModuleOp> copy(kernels.clone());
  PassManager manager(kernels.getContext());
  manager.enableVerifier(false);
  buildGpuPipeline(manager);
  llvm::StringMap<Accesses> counted;
  if (succeeded(manager.run(*copy)))
    copy->walk([&](gpu::GPUFuncOp kernel) { counted[kernel.getName()] = Counter(kernel).seen; });
  return counted;
}
