// What ranks do in a step, item by item, with the time that each takes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_COST_STEPPROGRAM_H
#define WEFT_LIB_FOUNDATION_COST_STEPPROGRAM_H

#include "weft/Cost/Rates.h"

namespace weft::cost {

/// One kernel or collective.
struct Entry {
  int64_t picoseconds = 0;
  /// What the host starts.
  int64_t launches = 1;
  bool isWork = true;
  /// The host starts it when all before has ended.
  bool hostWaits = false;
  /// Of work its Shape::Kind, of collectives the first of their axes.
  uint8_t kind = 0;
  uint16_t axis = 0;
  Role role = Role::Exposed;
  /// Of collectives, the number of their set of axes.
  uint32_t axes = 0;
};
using Entries = std::vector<Entry>;

/// The lists of one chunk.
struct ChunkProgram {
  Entries forward, backward, weight, both, update, sums;
  /// To the next chunk and from it, in picoseconds; 0 on the same rank.
  int64_t forwardTransfer = 0, backwardTransfer = 0;

  const Entries &of(pipeline::Kind kind) const;
};

struct StepProgram {
  std::vector<ChunkProgram> chunks;
  /// The axes of collectives, sorted, by number.
  std::vector<std::vector<int32_t>> axesOf;
  std::vector<std::string> remarks;
  /// Bytes that a device of each stage sends over each axis in a step.
  std::vector<std::vector<double>> bytes;
  /// Of these over the axis of stages, those to each stage; empty without such an axis.
  std::vector<std::vector<double>> bytesBetweenStages;
};

/// Prices everything once.
StepProgram priceStep(const StepAccount &account, const Cluster &cluster);

} // namespace weft::cost

#endif // WEFT_LIB_FOUNDATION_COST_STEPPROGRAM_H
