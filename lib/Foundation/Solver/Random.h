// Numbers by chance that are the same with every library and processor.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_FOUNDATION_SOLVER_RANDOM_H
#define WEFT_LIB_FOUNDATION_SOLVER_RANDOM_H

#include <cstdint>

namespace weft::solver {

/// SplitMix64 (Steele, Lea, Flood 2014).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t value = state += 0x9e3779b97f4a7c15ull;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
    return value ^ (value >> 31);
  }
  /// In [0, count).
  int32_t below(int32_t count) { return int32_t(next() % uint64_t(count)); }
  /// In [0, 1).
  double unit() { return double(next() >> 11) * 0x1p-53; }

private:
  uint64_t state;
};

} // namespace weft::solver

#endif // WEFT_LIB_FOUNDATION_SOLVER_RANDOM_H
