// The Feistel network behind shuffled samples.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/Permutation.h"

#include "base/Philox.h"

using namespace weft::runtime;

// Four rounds make a Feistel network a pseudo-random permutation; the halves of
// a small domain hold few bits, so there are twice as many.
static constexpr uint32_t kRounds = 8;

Permutation::Permutation(uint64_t size, uint64_t seed, uint64_t number)
    : size(size), seed(seed), number(number) {
  unsigned bits = 2;
  while (bits < 64 && (uint64_t(1) << bits) < size)
    ++bits;
  lowBits = bits / 2;
  highBits = bits - lowBits;
}

uint64_t Permutation::once(uint64_t value) const {
  auto mask = [](unsigned bits) { return uint32_t((uint64_t(1) << bits) - 1); };
  uint32_t low = uint32_t(value) & mask(lowBits);
  uint32_t high = uint32_t(value >> lowBits);
  std::array<uint32_t, 2> key{uint32_t(seed), uint32_t(seed >> 32)};
  // The halves keep their widths and take turns, so odd numbers of bits work.
  for (uint32_t round = 0; round < kRounds; ++round) {
    bool even = round % 2 == 0;
    uint32_t random =
        philox({even ? low : high, round, uint32_t(number), uint32_t(number >> 32)}, key)[0];
    if (even)
      high ^= random & mask(highBits);
    else
      low ^= random & mask(lowBits);
  }
  return uint64_t(high) << lowBits | low;
}

uint64_t Permutation::operator()(uint64_t index) const {
  if (size < 2)
    return 0;
  do
    index = once(index);
  while (index >= size);
  return index;
}
