// Makes a private function of each kernel fusion, equal ones shared.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/rt/IR/Actions.h"
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/Passes.h"
#include "weft/Support/Diagnostics.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <unordered_map>

namespace weft::rt {
#define GEN_PASS_DEF_RTOUTLINEKERNELS
#include "passes/rt/Passes.h.inc"
} // namespace weft::rt

using namespace mlir;
using namespace weft::rt;

namespace {

class Outliner {
public:
  explicit Outliner(ModuleOp module) : module(module), builder(module.getContext()) {
    for (Operation &op : module.getOps())
      if (auto name = op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()))
        taken.insert(name.getValue());
  }

  void outline(FusionOp fusion) {
    builder.setInsertionPointToEnd(module.getBody());
    auto type =
        builder.getFunctionType(fusion.getBody().getArgumentTypes(),
                                fusion.getBody().front().getTerminator()->getOperandTypes());
    auto kernel = func::FuncOp::create(builder, fusion.getLoc(), "kernel", type);
    kernel.setPrivate();
    kernel->setAttr(kKernelAttr, builder.getUnitAttr());
    kernel.getBody().takeBody(fusion.getBody());
    Operation *yield = kernel.getBody().front().getTerminator();
    builder.setInsertionPoint(yield);
    func::ReturnOp::create(builder, yield->getLoc(), yield->getOperands());
    yield->erase();

    if (func::FuncOp known = findEqual(kernel)) {
      kernel.erase();
      kernel = known;
    } else {
      kernel.setSymName(uniqueName(weft::nodeName(fusion.getLoc())));
    }
    builder.setInsertionPoint(fusion);
    auto call = CallOp::create(builder, fusion.getLoc(), fusion.getResultTypes(),
                               kernel.getSymName(), fusion.getInputs());
    for (StringRef name : {StringRef(kRolesAttr), StringRef(kActionAttr)})
      if (Attribute value = fusion->getAttr(name))
        call->setAttr(name, value);
    fusion.replaceAllUsesWith(call.getOutputs());
    fusion.erase();
  }

private:
  static constexpr auto kNoPlaces = OperationEquivalence::IgnoreLocations;

  /// The kernel that was met before and does the same; else this one is met.
  func::FuncOp findEqual(func::FuncOp kernel) {
    llvm::hash_code hash = llvm::hash_value(kernel.getFunctionType().getAsOpaquePointer());
    kernel.getBody().walk([&](Operation *op) {
      hash = llvm::hash_combine(hash, OperationEquivalence::computeHash(
                                          op, OperationEquivalence::ignoreHashValue,
                                          OperationEquivalence::ignoreHashValue, kNoPlaces));
    });
    SmallVector<func::FuncOp, 1> &alike = kernels[hash];
    for (func::FuncOp other : alike)
      if (OperationEquivalence::isRegionEquivalentTo(&kernel.getBody(), &other.getBody(),
                                                     kNoPlaces))
        return other;
    alike.push_back(kernel);
    return {};
  }

  /// A C identifier, as kernels are symbols of an object file.
  std::string uniqueName(StringRef node) {
    std::string base = "k_";
    for (char c : node)
      base += llvm::isAlnum(c) ? c : '_';
    if (node.empty())
      base += "kernel";
    std::string name = base;
    for (unsigned i = 1; !taken.insert(name).second; ++i)
      name = base + "_" + std::to_string(i);
    return name;
  }

  ModuleOp module;
  OpBuilder builder;
  llvm::StringSet<> taken;
  std::unordered_map<size_t, SmallVector<func::FuncOp, 1>> kernels; // by hash
};

struct OutlineKernels : weft::rt::impl::RtOutlineKernelsBase<OutlineKernels> {
  void runOnOperation() override {
    Outliner outliner(getOperation());
    SmallVector<FusionOp> fusions;
    getOperation().walk([&](FusionOp fusion) {
      if (fusion.getKind() == FusionKind::Kernel)
        fusions.push_back(fusion);
    });
    for (FusionOp fusion : fusions)
      outliner.outline(fusion);
  }
};

} // namespace
