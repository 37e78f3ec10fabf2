// Makes and checks seals.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/Seal.h"

#include "weft/runtime/Program.h"

#include <cstring>

// Included in place: it is not linked.
#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace weft::runtime;

/// Of the file before the seal, and of the seal up to its checksum.
static uint64_t checksumOf(const void *file, const Seal &seal) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, file, seal.bytes - sizeof seal);
  XXH3_64bits_update(&state, &seal, offsetof(Seal, checksum));
  return XXH3_64bits_digest(&state);
}

Seal weft::runtime::makeSeal(const void *file, uint64_t bytes, uint64_t blobOffset,
                             uint64_t blobBytes) {
  Seal seal{kSealMagic, kProgramVersion, 0, blobOffset, blobBytes, bytes + sizeof seal, 0};
  seal.checksum = checksumOf(file, seal);
  return seal;
}

Status weft::runtime::checkSeal(const void *file, uint64_t bytes, Seal &seal) {
  const char *remedy = "; copy it again, or compile the model again";
  if (bytes > sizeof seal)
    std::memcpy(&seal, static_cast<const char *>(file) + bytes - sizeof seal, sizeof seal);
  if (bytes <= sizeof seal || seal.magic != kSealMagic)
    return Status::user("does not end as executables of weft-compile do: it is "
                        "cut off, was changed (stripped, for one), or is none" +
                        std::string(remedy));
  if (seal.version != kProgramVersion)
    return Status::user("is an executable of another version of weft, format " +
                        std::to_string(seal.version) + " instead of " +
                        std::to_string(kProgramVersion) + "; compile the model again");
  if (seal.bytes != bytes || seal.blobBytes > bytes || seal.blobOffset > bytes - seal.blobBytes)
    return Status::user("has " + std::to_string(bytes) + " bytes instead of " +
                        std::to_string(seal.bytes) + remedy);
  if (checksumOf(file, seal) != seal.checksum)
    return Status::user("is damaged: its checksum does not match its content" +
                        std::string(remedy));
  return {};
}
