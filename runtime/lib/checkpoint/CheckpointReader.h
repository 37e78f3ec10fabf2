// Reads tensors of one checkpoint, every byte checked.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_CHECKPOINT_CHECKPOINTREADER_H
#define WEFT_RUNTIME_LIB_CHECKPOINT_CHECKPOINTREADER_H

#include "checkpoint/CheckpointManifest.h"

namespace weft::runtime {

/// Reads files of a checkpoint block by block and compares each block's
/// checksum before a byte of it is used. Keeps one block and one file open;
/// reads are cheap when they go forward in one file.
class CheckpointReader {
public:
  CheckpointReader(const CheckpointManifest &manifest, std::string path)
      : manifest(manifest), path(std::move(path)) {}
  ~CheckpointReader();
  CheckpointReader(const CheckpointReader &) = delete;

  Status read(uint32_t file, uint64_t offset, uint64_t bytes, char *target);
  /// Compares all checksums of a file.
  Status check(uint32_t file);

private:
  Status open(uint32_t file);
  Status fill(uint64_t block);

  const CheckpointManifest &manifest;
  std::string path;
  std::string name; // of the open file
  int descriptor = -1;
  uint32_t current = kNone;
  uint64_t currentBlock = ~uint64_t(0);
  std::vector<char> buffer;
};

/// Elements of a tensor that are wanted, and where they go.
class WantedElements {
public:
  WantedElements(const CheckpointManifest::Tensor &tensor, DType dtype, char *target,
                 int64_t numLocal)
      : tensor(tensor), dtype(dtype), target(target), seen(size_t(numLocal + 63) / 64) {}

  const CheckpointManifest::Tensor &source() const { return tensor; }
  /// Takes what `box` has of `count` elements from `global` on, which belong at
  /// `local` of the target, converted to its dtype. An element that another
  /// box gave already is an error.
  Status take(CheckpointReader &reader, const CheckpointManifest::Box &box, int64_t global,
              int64_t local, int64_t count);
  int64_t taken() const { return count; }

private:
  bool mark(int64_t begin, int64_t end);

  const CheckpointManifest::Tensor &tensor;
  DType dtype;
  char *target;
  std::vector<uint64_t> seen; // a bit for each element of the target
  int64_t count = 0;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_CHECKPOINT_CHECKPOINTREADER_H
