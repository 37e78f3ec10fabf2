// Prices that are not times: what steers a search where times alone would mislead it, each with its
// unit and reason.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_COST_PENALTIES_H
#define WEFT_COST_PENALTIES_H

/// Penalties in bytes become seconds by CostModel::secondsOfPenalty, over the links of the axis in
/// question: what they must outweigh, or must not, is communication over it.
namespace weft::penalty {

//===----------------------------------------------------------------------===//
// The axis search: what makes an axis do its job
//===----------------------------------------------------------------------===//

/// Bytes per byte of a weight that a contraction reads and every device keeps whole. The axis is
/// there to split weights, and the search knows nothing of memory: a batch would need this many
/// times more elements than the weight for splitting the batch to look better.
constexpr double kWholeWeight = 1e4;
/// Bytes per byte of a table that is looked up and kept whole: it costs memory, not work.
constexpr double kWholeTable = 16;
/// Bytes per byte of a vector, or of what is only added or multiplied, kept whole: decides ties.
constexpr double kWholeVector = 1e-3;
/// Bytes per operation of a contraction or attention that every device of the axis repeats instead
/// of sharing. Above what any collective of the result costs as soon as the summed dim has 8
/// elements, so that work is split wherever it can be, whatever the batch; its time alone would
/// let small models be computed by every device.
constexpr double kRepeatedArithmetic = 8;
/// Bytes per element that other ops compute on every device, where norms and residuals are to be
/// split (sequence parallelism), and per element of padding: that of one f32, since whoever shares
/// the work must send it.
constexpr double kRepeatedElement = 4;
/// Bytes per element of such ops where they are not to be split: decides ties.
constexpr double kRepeatedMove = 1e-6;
/// Bytes per collective that the search sees, instead of a collective's overhead. It takes two
/// collectives of half the bytes for one only as far as this: it sees each on its own, while the
/// passes that follow merge neighbours and hide what can wait. With the overhead itself plans have
/// fewer collectives and, in programs whose weights are placed by another, more bytes.
constexpr double kSearchedCollective = 1024;

//===----------------------------------------------------------------------===//
// Reshards: local transitions take no time worth counting, but fewer are better
//===----------------------------------------------------------------------===//

/// Bytes per slice, mask or value made partial.
constexpr double kLocalTransition = 1;
/// Bytes per accumulation over microbatches: local work too, on the whole value.
constexpr double kAccumulation = 2;
/// Bytes per value of which all microbatches are kept. It costs the memory that microbatches are
/// there to save, which no time says: above whatever a plan may move instead.
constexpr double kKeptMicrobatches = 1e12;

/// Bytes up to which a result is so small that one reduction less is worth a pass over a value that
/// could do without: it joins a sum that is still due. Far below what a collective's overhead would
/// allow, because the value that joins may be larger than the result.
constexpr double kSmallReduction = 1024;

//===----------------------------------------------------------------------===//
// Recomputation
//===----------------------------------------------------------------------===//

/// Operations per element that an op moves and computes nothing with. Recomputed moves are fused
/// into the kernel that reads them, so they take index arithmetic rather than a pass over memory.
constexpr double kMovedElement = 0.25;

} // namespace weft::penalty

#endif // WEFT_COST_PENALTIES_H
