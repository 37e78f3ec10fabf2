// What the axis search asks of values at every candidate, worked out once a value.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_SEARCH_SEARCHEDVALUES_H
#define WEFT_LIB_FOUNDATION_SEARCH_SEARCHEDVALUES_H

#include "AxisCandidates.h"

#include <memory>

namespace weft {

/// States 0 and 1 of every value are whole and partial.
constexpr uint32_t kWholeBit = 1, kPartialBit = 2;

void appendTicks(llvm::SmallVectorImpl<int64_t> &key, Ticks ticks);

/// What brings a value from one state to another.
struct Move {
  Ticks cost = 0;
  double bytes = 0;
  unsigned collectives = 0;
};

struct SearchedValue {
  mlir::Value value;
  llvm::ArrayRef<AxisSplit> states;
  /// The state that a person placed, and the one that readers outside want.
  std::optional<unsigned> fixed, wanted;
  /// The states, one bit each, in which a value from outside exists; 0: none.
  uint32_t existing = 0;
  /// The collectives on the axis; to be asked by `move`.
  Move allReduce, reduceScatter, allToAll, allGather;
  /// An all_reduce of which every device reads its part becomes a reduce_scatter where nobody reads
  /// the whole: of equals it is the one to take, by one tick.
  Move allReduceForParts;
  /// The penalty for keeping it whole on every device, if it is state.
  Ticks costOfWhole = 0;
  /// Of making a whole value partial (TransitionKind::Partialize), so that it joins a sum that is
  /// still due.
  Ticks costOfPartialize = 0;
  /// It leaves the program as the new value of state that rests as it is made.
  bool isUpdate = false;
  /// The last of the searched ops that reads it.
  mlir::Operation *lastReader = nullptr;
  /// Only others read it.
  bool leaves() const { return !lastReader && !value.use_empty(); }
  /// All that the search asks of it, as a key: values of one key are the same to it.
  void describe(llvm::SmallVectorImpl<int64_t> &key) const;

  /// The cheapest move from one of the `available` states to another state, if there is one.
  std::optional<Move> move(uint32_t available, unsigned to, bool sequenceParallel) const;
};

class SearchedValues {
public:
  SearchedValues(const AxisSearchOptions &options, const AxisCandidates &candidates)
      : options(options), candidates(candidates) {}

  /// Stays where it is.
  SearchedValue &of(mlir::Value value);

private:
  void setPrices(SearchedValue &value);
  double priceOfWhole(mlir::Value value);

  const AxisSearchOptions &options;
  const AxisCandidates &candidates;
  llvm::DenseMap<mlir::Value, std::unique_ptr<SearchedValue>> known;
  llvm::DenseMap<mlir::Value, double> wholePrices;
};

} // namespace weft

#endif // WEFT_LIB_FOUNDATION_SEARCH_SEARCHEDVALUES_H
