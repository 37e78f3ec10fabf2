// The end of an executable, by which it is known to be whole.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_SEAL_H
#define WEFT_RUNTIME_SEAL_H

#include "weft/runtime/Status.h"

#include <cstddef>
#include <cstdint>

namespace weft::runtime {

/// The last bytes of the file, behind all that the system loads. `strip` and
/// the like take them away.
struct Seal {
  uint64_t magic;
  uint32_t version; // kProgramVersion
  uint32_t reserved;
  uint64_t blobOffset, blobBytes; // the program's place in the file
  uint64_t bytes;                 // of the whole file, this included
  uint64_t checksum;              // XXH3_64bits of all bytes before this member
};

constexpr uint64_t kSealMagic = 0x4c41455354464557ull; // "WEFTSEAL"

/// The seal for a file of `bytes` bytes, to be written behind them.
Seal makeSeal(const void *file, uint64_t bytes, uint64_t blobOffset, uint64_t blobBytes);

/// Whether the `bytes` at `file` are an executable as it was compiled: its
/// length, and its checksum at the speed of memory. Tells what it is otherwise.
Status checkSeal(const void *file, uint64_t bytes, Seal &seal);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SEAL_H
