// Reads states from their sources, transformed on the way.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_STATELOADER_H
#define WEFT_RUNTIME_LIB_STATELOADER_H

#include "weft/runtime/Placement.h"

#include <map>
#include <mutex>
#include <string>

namespace weft::runtime {

/// Files mapped once and shared by the ranks of a process.
class FileCache {
public:
  ~FileCache();
  Status get(const std::string &path, const uint8_t *&data, uint64_t &bytes);
  /// Gives the pages that were read back to the page cache, so that files do
  /// not add to the memory that the process is seen to hold.
  void release();

private:
  struct Mapping {
    void *data = nullptr;
    uint64_t bytes = 0;
  };
  std::mutex mutex;
  std::map<std::string, Mapping> files;
};

/// Fills `target`, the state's local buffer on the rank of `map`. Only the
/// source bytes of this rank's elements are read, except that `checkHashes`
/// reads whole sources to compare their hash.
Status loadState(const ProgramView &program, const State &state,
                 const ShardMap &map, const std::string &modelDirectory,
                 bool checkHashes, FileCache &files, char *target);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_STATELOADER_H
