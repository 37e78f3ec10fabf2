// File operations of checkpoints: complete or refused, and open to tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_CHECKPOINT_CHECKPOINTFILES_H
#define WEFT_RUNTIME_LIB_CHECKPOINT_CHECKPOINTFILES_H

#include "weft/runtime/Checkpoint.h"

#include <string>
#include <vector>

namespace weft::runtime {

/// Messages name the path and the system's reason.
class CheckpointFiles {
public:
  explicit CheckpointFiles(FileHook hook = {}) : hook(std::move(hook)) {}

  Status makeDirectory(const std::string &path) const;
  /// Creates `path`, writes `bytes` in blocks, and waits until they are on
  /// disk. `hashes`, if not null, gets the XXH3 of each block; it must have
  /// the room.
  Status writeFile(const std::string &path, const char *data, uint64_t bytes, uint64_t blockBytes,
                   uint64_t *hashes) const;
  Status rename(const std::string &from, const std::string &to) const;
  Status syncDirectory(const std::string &path) const;
  Status unlink(const std::string &path) const;
  /// A checkpoint's folder and what checkpoints put in it. What somebody else has put there stays,
  /// in a folder `kept-...` beside it. A folder that is not there is fine; of a symbolic link the
  /// link alone is removed.
  Status removeTree(const std::string &path) const;

private:
  Status setAside(const std::string &path) const;
  int ask(const char *operation, const std::string &path) const {
    return hook ? hook(operation, path) : 0;
  }
  FileHook hook;
};

/// Whether there is anything in a checkpoint's folder that checkpoints do not put there, or that
/// cannot be told.
bool holdsOthers(const std::string &path);

/// The names in a folder, sorted; an error if it cannot be read.
Status listDirectory(const std::string &path, std::vector<std::string> &names);
/// Whether it is a folder, or leads to one.
bool isDirectory(const std::string &path);
bool isLink(const std::string &path);

/// The whole of a regular file of at most `limit` bytes.
Status readFile(const std::string &path, uint64_t limit, std::string &text);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_CHECKPOINT_CHECKPOINTFILES_H
