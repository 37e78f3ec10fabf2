// The manifest of a checkpoint: which file holds what, and the checksums.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_CHECKPOINT_CHECKPOINTMANIFEST_H
#define WEFT_RUNTIME_LIB_CHECKPOINT_CHECKPOINTMANIFEST_H

#include "checkpoint/CheckpointBox.h"

#include "weft/runtime/Checkpoint.h"

namespace weft::runtime {

constexpr const char *kManifestName = "manifest.json";
constexpr uint64_t kManifestLimit = 1u << 30; // bytes
constexpr uint64_t kLeastBlock = 1 << 12, kMostBlock = 1 << 26;

struct CheckpointManifest {
  /// `bytes` of the whole file; XXH3 of each block of `blockBytes` bytes of it,
  /// the header included. A file of no bytes was not written.
  struct File {
    uint64_t bytes = 0;
    std::vector<uint64_t> hashes;
  };
  struct Box : CheckpointBox {
    uint32_t file = 0;   // files
    uint64_t offset = 0; // bytes from the start of the file
  };
  struct Tensor {
    std::string name;
    DType dtype = DType::F32;
    bool optimizer = false; // not part of the model
    std::vector<int64_t> shape;
    std::vector<Box> boxes;

    int64_t numElements() const;
  };

  CheckpointInfo info;
  /// Counts the saves in a folder: steps may repeat when training goes back.
  uint64_t ordinal = 0;
  std::vector<std::pair<std::string, int64_t>> mesh; // that wrote it
  std::string model, executable;                     // name; checksum of the program
  uint64_t blockBytes = 0;
  std::vector<File> files; // by rank
  std::vector<Tensor> tensors;
};

/// "rank-00003.safetensors"
std::string checkpointFileName(uint64_t rank);

std::string writeManifest(const CheckpointManifest &manifest);

/// Reads what writeManifest wrote. Nothing in `text` is trusted: its checksum,
/// then every size, index and range is checked, and memory stays within a
/// small multiple of its length. The text says what is wrong.
Status parseManifest(const std::string &text, CheckpointManifest &manifest);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_CHECKPOINT_CHECKPOINTMANIFEST_H
