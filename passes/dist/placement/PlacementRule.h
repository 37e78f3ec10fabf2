// What a person says of how values are split, before there is a program or a mesh to hold it to.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_PLACEMENT_PLACEMENTRULE_H
#define WEFT_PASSES_DIST_PLACEMENT_PLACEMENTRULE_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace weft::dist {

/// `REGEX=dim0:tp,dim1:3*dp+tp,dim2:-`: how to split values whose name has a match.
struct PlacementRule {
  /// A part of a dim: of a size of its own, or of what is left, which the axes split.
  struct PlacedFactor {
    int64_t size = 0;
    llvm::SmallVector<std::string, 2> axes;
  };
  struct Dim {
    unsigned dim;
    llvm::SmallVector<PlacedFactor, 2> parts;
  };

  /// As it was written.
  std::string text;
  std::string pattern;
  llvm::SmallVector<Dim> dims;

  static llvm::Expected<PlacementRule> parse(llvm::StringRef text);
  /// Reads what stands behind `=`.
  static llvm::Expected<llvm::SmallVector<Dim>> parseDims(llvm::StringRef text);
};

/// Appends rules, which `;` separates, up to one that is wrong.
llvm::Error appendRules(llvm::StringRef text, std::vector<PlacementRule> &rules);

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_PLACEMENT_PLACEMENTRULE_H
