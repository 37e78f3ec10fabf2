// Reads whole tensors of a checkpoint without a session, for tools.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_CHECKPOINTFILE_H
#define WEFT_RUNTIME_CHECKPOINTFILE_H

#include "weft/runtime/Checkpoint.h"
#include "weft/runtime/Program.h"

namespace weft::runtime {

class CheckpointFile {
public:
  struct Tensor {
    std::string name;
    DType dtype;
    std::vector<int64_t> shape; // global
    bool optimizer;             // not part of the model
  };

  /// Opens the newest sound checkpoint of `path`, or that of `step`, under the
  /// rules of loadCheckpoint. Every byte of every file is checked now.
  static Status open(const std::string &path, int64_t step, std::unique_ptr<CheckpointFile> &file,
                     std::vector<std::string> &warnings);
  ~CheckpointFile();

  const std::string &path() const;
  const CheckpointInfo &info() const;
  const std::vector<Tensor> &tensors() const;
  /// Fills `target` with the elements of a tensor, row-major.
  Status read(size_t tensor, char *target) const;

private:
  class Implementation;
  explicit CheckpointFile(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CHECKPOINTFILE_H
