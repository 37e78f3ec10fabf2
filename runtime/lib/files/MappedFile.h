// The bytes of a file, mapped read-only.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_FILES_MAPPEDFILE_H
#define WEFT_RUNTIME_LIB_FILES_MAPPEDFILE_H

#include "weft/runtime/Status.h"

#include <cstddef>
#include <memory>
#include <string>

namespace weft::runtime {

/// A file that is mapped whole. What a process maps it does not own: that somebody else makes the
/// file shorter, or that its disk fails, is seen where its bytes are read, as a signal.
/// `tellLostFiles` makes that an error which names the file.
class MappedFile {
public:
  /// Maps a regular file; nothing else is opened for longer than to see what it is.
  static Status open(const std::string &path, MappedFile &file);
  /// Maps `bytes` bytes of an open file, which messages call `path`; false if there are none or
  /// they cannot be mapped.
  bool map(int descriptor, size_t bytes, const std::string &path);

  const char *data() const { return region ? static_cast<const char *>(region->memory) : nullptr; }
  /// Gives the pages that were read back to the page cache.
  void release() const;
  size_t size() const { return region ? region->bytes : 0; }

private:
  /// Known to the handler of signals.
  struct Region {
    Region(void *memory, size_t bytes, std::string path);
    Region(const Region &) = delete;
    ~Region();

    void *memory;
    size_t bytes;
    std::string path;
    int slot;
  };
  std::unique_ptr<Region> region;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_FILES_MAPPEDFILE_H
