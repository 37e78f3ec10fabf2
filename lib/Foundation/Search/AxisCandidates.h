// The splits of values and op strategies among which the axis search chooses.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_SEARCH_AXISCANDIDATES_H
#define WEFT_LIB_FOUNDATION_SEARCH_AXISCANDIDATES_H

#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Search/AxisSearch.h"

#include <cmath>

namespace weft {

/// Costs as the search adds them up, in 2^-64 s: exactly, so that equal ways cost the same wherever
/// in a program they begin, beside penalties of hours.
using Ticks = __int128;
inline Ticks ticksOf(double seconds) { return static_cast<Ticks>(std::ldexp(seconds, 64)); }

/// One way to run an op on the axis: states (indices into the values' candidate
/// lists) that operands must have and results get, and what it costs.
struct AxisStrategy {
  llvm::SmallVector<unsigned, 3> operands, results;
  Ticks cost = 0; // penalties included
};

/// Candidate states of every value and strategies of every op of a program.
/// State 0 of a value is replicated, state 1 partial(sum).
class AxisCandidates {
public:
  AxisCandidates(mlir::Block &program, const AxisSearchOptions &options);

  llvm::ArrayRef<AxisSplit> states(mlir::Value value) const;
  /// The state of a value that a person placed.
  std::optional<unsigned> fixedState(mlir::Value value) const;
  llvm::SmallVector<AxisStrategy, 8> strategies(mlir::Operation *op) const;
  /// The states, one bit each, in which a value from outside exists; 0: none.
  uint32_t existingStates(mlir::Value value) const { return existing.lookup(value); }
  /// The state that readers outside want, if it is one.
  std::optional<unsigned> wantedState(mlir::Value value) const;
  bool includes(mlir::Operation *op) const { return !options.include || options.include(op); }

private:
  /// A piece `size` of a dim or factor, after `outer` blocks.
  struct Cut {
    int64_t outer, size;
    bool operator==(const Cut &o) const { return outer == o.outer && size == o.size; }
  };
  using Cuts = llvm::SmallVector<Cut, 4>;

  void listStates(mlir::Value value);
  void seedCuts(mlir::Value value);
  void closeCuts(mlir::Block &program);
  bool propagateThrough(mlir::Operation *op);
  bool addFromFactor(Cuts &dimCuts, const FactorRule &rule, const DimFactors &dim, int factor,
                     Cut cut, int64_t dimSize) const;
  bool addToFactors(const FactorRule &rule, const DimFactors &dim, Cut cut, int64_t dimSize,
                    llvm::MutableArrayRef<Cuts> factorCuts) const;
  Cut canonical(Cut cut, int64_t dimSize) const;
  bool isPossible(mlir::Operation *op, const FactorRule &rule, const AxisStrategy &strategy) const;
  unsigned stateOf(mlir::Value value, const AxisSplit &split) const;
  bool cutStates(const FactorRule &rule, const TensorFactors &tensor, mlir::Value value, int factor,
                 Cut cut, unsigned &state) const;

  const AxisSearchOptions &options;
  llvm::DenseMap<mlir::Operation *, FactorRule> rules;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Cuts, 8>> factorCuts;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Cuts, 4>> valueCuts;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<AxisSplit, 8>> valueStates;
  llvm::DenseMap<mlir::Value, unsigned> fixedStates;
  llvm::DenseMap<mlir::Value, uint32_t> existing;
};

} // namespace weft

#endif // WEFT_LIB_FOUNDATION_SEARCH_AXISCANDIDATES_H
