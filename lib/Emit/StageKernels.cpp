// Shares and renames the kernels of stages.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "StageKernels.h"

#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace weft;
using namespace weft::emit;

namespace {

bool isKernel(func::FuncOp function) {
  return !function.isExternal() && function.isPrivate() && !function->hasAttr(rt::kSpecAttr);
}

/// What two functions have in common if they are equal but for their names; locations, by which
/// messages name nodes, do not count.
std::string contentOf(func::FuncOp function) {
  OwningOpRef<func::FuncOp> copy = function.clone();
  copy->setSymName("kernel");
  std::string text;
  llvm::raw_string_ostream out(text);
  copy->print(out, OpPrintingFlags().useLocalScope());
  return text;
}

} // namespace

StageKernels::StageKernels(ArrayRef<ModuleOp> stages) : names(stages.size()) {
  llvm::StringMap<std::string> known; // names, by content, of the stages before
  llvm::StringSet<> taken;
  for (auto [stage, holder] : llvm::enumerate(stages)) {
    ModuleOp module = holder;
    std::vector<std::pair<std::string, std::string>> own;
    for (auto kernel : module.getOps<func::FuncOp>()) {
      if (!isKernel(kernel))
        continue;
      StringRef symbol = kernel.getSymName();
      std::string content = stages.size() > 1 ? contentOf(kernel) : std::string();
      if (auto found = known.find(content); found != known.end()) {
        names[stage][symbol] = found->second;
        continue;
      }
      std::string name = symbol.str();
      for (unsigned number = 1; !taken.insert(name).second; ++number)
        name = symbol.str() + "_" + std::to_string(number);
      names[stage][symbol] = name;
      kernels.push_back({kernel, name});
      own.push_back({std::move(content), std::move(name)});
    }
    for (auto &[content, name] : own)
      known.try_emplace(content, std::move(name));
  }
}

OwningOpRef<ModuleOp> StageKernels::makeModule(Location loc) const {
  OwningOpRef<ModuleOp> bodies = ModuleOp::create(loc);
  for (auto [kernel, name] : kernels) {
    func::FuncOp copy = kernel.clone();
    copy.setSymName(name);
    bodies->push_back(copy);
  }
  return bodies;
}
