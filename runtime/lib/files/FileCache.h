// The files that weights come from, mapped.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_FILES_FILECACHE_H
#define WEFT_RUNTIME_LIB_FILES_FILECACHE_H

#include "files/MappedFile.h"
#include "weft/runtime/Program.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

namespace weft::runtime {

/// Files mapped once and shared by the ranks of a process.
class FileCache {
public:
  /// Set by the rank that compares a block's hash.
  using Claim = std::atomic<uint8_t>;

  /// Maps a regular file; nothing else is opened. `confined`: it must lie
  /// beneath `directory`, whatever links the path goes through.
  Status get(const std::string &directory, const std::string &path, bool confined,
             const uint8_t *&data, uint64_t &bytes);
  /// One for each of a source's blocks.
  Claim *claims(const StatePiece *piece, uint64_t blocks);
  /// Sources are compared anew; no rank must be reading.
  void forgetClaims();
  /// Gives the pages that were read back to the page cache, so that files do
  /// not add to the memory that the process is seen to hold.
  void release();

  /// `path`, from `directory` unless it is absolute.
  static std::string join(const std::string &directory, const std::string &path);

private:
  std::mutex mutex;
  std::map<std::string, MappedFile> files;
  std::map<const StatePiece *, std::unique_ptr<Claim[]>> claimed;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_FILES_FILECACHE_H
