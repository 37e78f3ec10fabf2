// The registry of targets.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Target/Target.h"

#include "weft/Interfaces/HostTensor.h"
#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Support/Nearest.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace weft;

using Registry = std::map<std::string, std::unique_ptr<Target>, std::less<>>;

static Registry &registry() {
  static Registry targets;
  return targets;
}

Target::~Target() = default;

unsigned TargetTraits::streamFor(StreamKind kind) const {
  const StreamKind *found = llvm::find(streams, kind);
  return found == streams.end() ? 0 : unsigned(found - streams.begin());
}

bool Target::takesDense(Operation *op) const {
  auto kernel = dyn_cast<KernelOpInterface>(op);
  std::optional<LibraryCall> call = kernel ? kernel.getLibraryCall() : std::nullopt;
  if (!call)
    return false;
  auto dense = [](TypeRange types) {
    return llvm::map_to_vector(types, [](Type each) {
      auto type = cast<RankedTensorType>(each);
      return LibraryTensor{type.getElementType(), llvm::to_vector(type.getShape()),
                           llvm::to_vector(rowMajorStrides(type.getShape()))};
    });
  };
  LibraryLayout layout{*call, {}, {}};
  llvm::append_range(layout.operands, dense(op->getOperandTypes()));
  llvm::append_range(layout.results, dense(op->getResultTypes()));
  return takes(layout);
}

void weft::registerTarget(std::unique_ptr<Target> target) {
  // Tools and tests may register the same list twice; the first stays.
  std::string name = target->name().str();
  registry().try_emplace(std::move(name), std::move(target));
}

const Target *weft::lookupTarget(llvm::StringRef name) {
  auto found = registry().find(name.str());
  return found == registry().end() ? nullptr : found->second.get();
}

std::string weft::targetNames() { return llvm::join(llvm::make_first_range(registry()), ", "); }

void weft::registerTargetDialects(DialectRegistry &dialects) {
  for (const auto &entry : registry())
    entry.second->registerDialects(dialects);
}

const Target *weft::targetOf(ModuleOp module) {
  // The module of one stage is for the target of the whole.
  Attribute attribute;
  for (Operation *at = module; at && !attribute; at = at->getParentOp())
    attribute = at->getAttr(kTargetAttr);
  auto name = dyn_cast_if_present<StringAttr>(attribute);
  if (attribute && !name) {
    module.emitError() << "'" << kTargetAttr << "' must be a string, not " << attribute;
    return nullptr;
  }
  llvm::StringRef wanted = name ? name.getValue() : llvm::StringRef(kDefaultTarget);
  const Target *target = lookupTarget(wanted);
  if (!target)
    module.emitError() << "the program is for target '" << wanted
                       << "', which is not one of: " << targetNames()
                       << didYouMean(wanted, llvm::to_vector(llvm::make_first_range(registry())));
  return target;
}
