// Makes a private function of each kernel fusion, equal ones shared.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/rt/IR/Actions.h"
#include "dialects/rt/IR/Rt.h"
#include "passes/rt/Passes.h"
#include "weft/Support/Diagnostics.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

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
    IRMapping map;
    fusion.getBody().cloneInto(&kernel.getBody(), map);
    Operation *yield = kernel.getBody().front().getTerminator();
    builder.setInsertionPoint(yield);
    func::ReturnOp::create(builder, yield->getLoc(), yield->getOperands());
    yield->erase();

    // Printed without locations the text is equal exactly for equal kernels.
    std::string text;
    llvm::raw_string_ostream(text) << *kernel;
    auto [found, isNew] = byText.try_emplace(text, "");
    if (isNew) {
      found->second = uniqueName(weft::nodeName(fusion.getLoc()));
      kernel.setSymName(found->second);
    } else {
      kernel.erase();
    }
    builder.setInsertionPoint(fusion);
    auto call = CallOp::create(builder, fusion.getLoc(), fusion.getResultTypes(), found->second,
                               fusion.getInputs());
    for (StringRef name : {StringRef(kRolesAttr), StringRef(kActionAttr)})
      if (Attribute value = fusion->getAttr(name))
        call->setAttr(name, value);
    fusion.replaceAllUsesWith(call.getOutputs());
    fusion.erase();
  }

private:
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
  llvm::StringMap<std::string> byText;
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
