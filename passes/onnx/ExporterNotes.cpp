// Reads metadata that PyTorch's exporter and its optimizer (onnxscript) write.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/ExporterNotes.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace weft::onnx;

static constexpr llvm::StringLiteral kInputKind = "pkg.torch.export.graph_signature.InputSpec.kind";
/// The names of values, as Python writes a list of strings.
static constexpr llvm::StringLiteral kFoldedFrom = "pkg.onnxscript.optimizer.folded_from";

ExporterNotes::ExporterNotes(GraphAttr graph) {
  if (!graph || !graph.getValueInfo())
    return;
  for (auto info : graph.getValueInfo().getAsRange<ValueInfoAttr>()) {
    if (!info.getName() || !info.getMetadata())
      continue;
    Note &note = notes[info.getName().getValue()];
    for (auto entry : info.getMetadata().getAsRange<EntryAttr>()) {
      if (!entry.getKey() || !entry.getValue())
        continue;
      note.isInput |= entry.getKey() == kInputKind;
      if (entry.getKey() == kFoldedFrom)
        note.foldedFrom = entry.getValue().getValue();
      isOfExporter |= entry.getKey() == kInputKind || entry.getKey() == kFoldedFrom;
    }
  }
}

/// Names that the exporter gives to numbers. Those of parameters are a module's, and those of what
/// is computed an operator's, who may have had a parameter.
static bool isNameOfNumber(llvm::StringRef name) {
  static constexpr const char *kStarts[] = {"val_", "scalar_tensor", "int64_"};
  return llvm::any_of(kStarts, [&](const char *start) { return name.starts_with(start); });
}

bool ExporterNotes::isConstant(llvm::StringRef initializer) const {
  if (!isOfExporter)
    return false;
  Note note = notes.lookup(initializer);
  if (note.isInput)
    return false;
  if (note.foldedFrom.empty())
    return isNameOfNumber(initializer);
  llvm::SmallVector<llvm::StringRef> parts;
  note.foldedFrom.split(parts, '\'');
  // Names stand between quotes.
  for (size_t i = 1; i < parts.size(); i += 2)
    if (!isNameOfNumber(parts[i]))
      return false;
  return true;
}
