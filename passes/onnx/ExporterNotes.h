// What PyTorch's exporter says of a graph's initializers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_ONNX_EXPORTERNOTES_H
#define WEFT_PASSES_ONNX_EXPORTERNOTES_H

#include "dialects/onnx/IR/Onnx.h"

#include "llvm/ADT/StringMap.h"

namespace weft::onnx {

/// `torch.onnx.export` stores each number of a program, such as an epsilon or an exponent, as an
/// initializer like those of parameters. The metadata of its values say which are parameters, and
/// of which values others were folded, as a weight that is transposed.
class ExporterNotes {
public:
  explicit ExporterNotes(GraphAttr graph);

  /// Whether an initializer is a number of the program, or made of such numbers alone.
  bool isConstant(llvm::StringRef initializer) const;

private:
  /// Of a value.
  struct Note {
    bool isInput = false; // of the exported program: a parameter or a buffer
    llvm::StringRef foldedFrom;
  };
  llvm::StringMap<Note> notes;
  bool isOfExporter = false;
};

} // namespace weft::onnx

#endif // WEFT_PASSES_ONNX_EXPORTERNOTES_H
