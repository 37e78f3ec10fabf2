// Sources of state in files are hashed in blocks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_SOURCEBLOCKS_H
#define WEFT_RUNTIME_SOURCEBLOCKS_H

#include "weft/runtime/Program.h"

namespace weft::runtime {

/// So that a rank checks what it reads and nothing else.
constexpr uint64_t kSourceBlockBytes = 1 << 20;

/// Blocks that a source of so many bytes is hashed in.
inline uint64_t numSourceBlocks(uint64_t bytes) {
  return bytes / kSourceBlockBytes + (bytes % kSourceBlockBytes != 0);
}

/// The hash of block `block` of a source; the last block may be short.
inline uint64_t hashSourceBlock(const void *source, uint64_t bytes, uint64_t block) {
  uint64_t begin = block * kSourceBlockBytes;
  uint64_t count = bytes - begin < kSourceBlockBytes ? bytes - begin : kSourceBlockBytes;
  return hashBytes(static_cast<const uint8_t *>(source) + begin, count);
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_SOURCEBLOCKS_H
