// What `--zero STAGE[:AXIS]` says.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_COMPILER_ZEROSTAGE_H
#define WEFT_COMPILER_ZEROSTAGE_H

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace weft {

/// How much of the training state is split: nothing (0), the optimizer's state (1), gradients too
/// (2), parameters too (3).
struct ZeroStage {
  unsigned stage = 0;
  /// Over which axis or sub-axis; empty: the batch's.
  std::string axis;

  /// Reads `0` to `3`, or with an axis `2:dp.1`.
  static std::optional<ZeroStage> parse(llvm::StringRef text) {
    auto [stage, axis] = text.split(':');
    bool isStage = stage.size() == 1 && stage[0] >= '0' && stage[0] <= '3';
    if (!isStage || (text.contains(':') && axis.empty()))
      return std::nullopt;
    return ZeroStage{unsigned(stage[0] - '0'), axis.str()};
  }
};

} // namespace weft

#endif // WEFT_COMPILER_ZEROSTAGE_H
