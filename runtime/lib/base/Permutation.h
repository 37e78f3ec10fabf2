// The order in which samples are visited: in file order, or shuffled.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_BASE_PERMUTATION_H
#define WEFT_RUNTIME_LIB_BASE_PERMUTATION_H

#include <cstdint>

namespace weft::runtime {

/// A random bijection of [0, size), computed and not stored, the same on every
/// layout. A Feistel network with Philox as its round function permutes the
/// next power of two; values outside are permuted again until they fall inside
/// (cycle walking: fewer than two rounds on average).
class Permutation {
public:
  Permutation(uint64_t size, uint64_t seed, uint64_t number);
  /// The sample at `index` < size.
  uint64_t operator()(uint64_t index) const;

private:
  uint64_t once(uint64_t value) const;

  uint64_t size, seed, number;
  unsigned lowBits = 1, highBits = 1;
};

/// Which sample the running position `p` (0, 1, 2, ... over all epochs) takes.
/// Unshuffled: p mod samples. Shuffled: each epoch its own permutation.
class SampleOrder {
public:
  SampleOrder() = default;
  SampleOrder(uint64_t samples, bool shuffled, uint64_t seed)
      : samples(samples), shuffled(shuffled), seed(seed) {}

  uint64_t operator()(uint64_t position) const {
    uint64_t index = position % samples;
    return shuffled ? Permutation(samples, seed, position / samples)(index) : index;
  }

private:
  uint64_t samples = 1;
  bool shuffled = false;
  uint64_t seed = 0;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_BASE_PERMUTATION_H
