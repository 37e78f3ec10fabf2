// Writes placements and reasons for people.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Reason.h"

#include "dialects/rt/IR/CallNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace weft;

/// Without quotes around the names of axes.
static std::string plain(std::string text) {
  llvm::erase(text, '"');
  return text;
}

std::string weft::explain::placementText(const Mesh &mesh, const Placement &placement) {
  return placement.isReplicated() ? "whole" : plain(toString(mesh, placement));
}

std::string weft::explain::placementText(Type type) {
  auto local = dist::getLocal(type);
  return local ? placementText(local.getMesh().getValue(), local.getValue()) : "whole";
}

std::string weft::explain::typeText(Type type) {
  auto tensor = cast<RankedTensorType>(dist::globalType(type));
  std::string text;
  llvm::raw_string_ostream out(text);
  for (int64_t size : tensor.getShape())
    out << size << 'x';
  out << tensor.getElementType();
  return text;
}

std::vector<int64_t> weft::explain::sizesOf(const Mesh &mesh, llvm::ArrayRef<AxisId> axes) {
  std::vector<int64_t> sizes;
  for (AxisId axis : axes)
    sizes.push_back(mesh.size(axis));
  return sizes;
}

void weft::explain::describeReason(const Mesh &mesh, llvm::ArrayRef<AxisId> axes,
                                   dist::ReasonAttr reason, std::optional<StringRef> label,
                                   Collective &collective) {
  collective.role = reason.getRole().str();
  collective.maker = rt::nameInCall(reason.getMaker(), label);
  for (StringRef reader : reason.getReaders().getAsValueRange<StringAttr>())
    collective.readers.push_back(rt::nameInCall(reader, label));
  collective.readerCount = reason.getReaderCount();
  const Placement &made = reason.getFrom().getValue(), &wanted = reason.getTo().getValue();
  collective.made = placementText(mesh, made);
  if (!made.partial.empty())
    collective.reduction = stringifyReduceKind(made.partial.front().kind).str();
  if (dist::PlacementAttr summed = reason.getSummed()) {
    llvm::raw_string_ostream out(collective.summed);
    llvm::interleave(
        summed.getValue().dims, out, [&](const DimPlacement &dim) { printDim(mesh, dim, out); },
        " x ");
  }
  collective.summed = plain(collective.summed);
  collective.wanted = placementText(mesh, wanted);
  AxisList kept = wanted.usedAxes();
  collective.wantedWhole =
      llvm::none_of(axes, [&](AxisId axis) { return llvm::is_contained(kept, axis); });
}
