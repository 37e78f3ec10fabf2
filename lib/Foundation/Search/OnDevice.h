// How much of a value and of an op one device has before the searched axis splits it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_SEARCH_ONDEVICE_H
#define WEFT_LIB_FOUNDATION_SEARCH_ONDEVICE_H

#include "weft/Interfaces/FactorRule.h"
#include "weft/Search/AxisSearch.h"

namespace weft {

/// One device's part of a value, by the splits of the other axes (AxisSearchOptions::placed).
struct ValueOnDevice {
  double bytes = 0; ///< in one microbatch; 0 if it is no tensor
  /// Microbatches in which it is another value, so that a collective runs as often. A sum over them
  /// is added up first.
  int64_t times = 1;
};
ValueOnDevice onDevice(const AxisSearchOptions &options, mlir::Value value);

/// Points of the op's iteration space that one device computes, in all microbatches.
double pointsOnDevice(const AxisSearchOptions &options, mlir::Operation *op,
                      const FactorRule &rule);

/// A collective over the searched axis as often as it happens.
struct CollectivePrice {
  double seconds = 0; ///< the penalty for each collective included
  double bytes = 0;   ///< that a device sends
  unsigned collectives = 0;
};
/// `operandPart` and `resultPart` are the parts of `value` before and after it.
CollectivePrice priceOf(const AxisSearchOptions &options, TransitionKind kind,
                        const ValueOnDevice &value, double operandPart, double resultPart);

} // namespace weft

#endif // WEFT_LIB_FOUNDATION_SEARCH_ONDEVICE_H
