// Philox4x32-10: random numbers that are a function of key and counter.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_BASE_PHILOX_H
#define WEFT_RUNTIME_LIB_BASE_PHILOX_H

#include <array>
#include <cstdint>

namespace weft::runtime {

/// Four random words. Constants and rounds as published (Salmon et al., SC11),
/// so that known answers hold.
inline std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter,
                                      std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t(0xD2511F53u) * counter[0];
    uint64_t b = uint64_t(0xCD9E8D57u) * counter[2];
    counter = {uint32_t(b >> 32) ^ counter[1] ^ key[0], uint32_t(b),
               uint32_t(a >> 32) ^ counter[3] ^ key[1], uint32_t(a)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_BASE_PHILOX_H
