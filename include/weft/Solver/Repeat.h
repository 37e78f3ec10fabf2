// What L equal blocks in a row cost.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SOLVER_REPEAT_H
#define WEFT_SOLVER_REPEAT_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::solver {

/// Power of a matrix in the min-plus algebra, where a product takes the least of sums: the cheapest
/// way through `count` equal blocks, each of which leads from one of `states` borders to another
/// (a border is, for one, the placements of what passes from layer to layer).
///
/// By repeated squaring: about states^3 log2(count) steps, and exact.
/// For two states, where staying costs 3 and 5 and changing 0 there and 1 back,
///   block = {3, 0,    the cheapest way through 4 blocks from state 0 to state 0 is 0 1 0 1 0
///            1, 5}    and costs 0 + 1 + 0 + 1 = 2; `path` returns these five states.
class MinPlusPower {
public:
  /// `block[from * states + to]` is the cost of one block, 0 or more, or `kForbidden`; the largest
  /// finite one times `count` is at most `kMostSum`. `count` is 1 or more.
  MinPlusPower(const std::vector<int64_t> &block, int32_t states, int64_t count);

  /// Of all blocks; `kForbidden`, where there is no way.
  int64_t cost(int32_t from, int32_t to) const { return whole.back().cost[from * states + to]; }
  /// The states before the first block, between blocks and behind the last: count + 1 of them, from
  /// `from` to `to`; of equally cheap ways always the same one. Empty, where there is no way.
  std::vector<int32_t> path(int32_t from, int32_t to) const;

private:
  struct Matrix {
    std::vector<int64_t> cost;
    std::vector<int32_t> middle; // the state between the two factors; empty for a single block
  };
  Matrix product(const Matrix &left, const Matrix &right) const;
  /// Appends the states behind `from` on the way through 2^`power` blocks.
  void walk(size_t power, int32_t from, int32_t to, std::vector<int32_t> &states) const;

  int32_t states;
  std::vector<Matrix> squares; // of 2^k blocks
  std::vector<Matrix> whole;   // products of the squares that `count` is made of
  std::vector<size_t> powers;  // k of each
};

} // namespace weft::solver

#endif // WEFT_SOLVER_REPEAT_H
