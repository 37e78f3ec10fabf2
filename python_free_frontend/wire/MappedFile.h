// A regular file mapped for reading.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_WIRE_MAPPEDFILE_H
#define WEFT_PYTHON_FREE_FRONTEND_WIRE_MAPPEDFILE_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace weft::onnx {

/// Maps a whole file; pages that are never looked at are never read.
class MappedFile {
public:
  MappedFile() = default;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  /// False, with a reason, if `path` is not a readable regular file.
  bool open(llvm::StringRef path, std::string &error);

  llvm::StringRef getBytes() const { return bytes; }

private:
  llvm::StringRef bytes;
};

} // namespace weft::onnx

#endif // WEFT_PYTHON_FREE_FRONTEND_WIRE_MAPPEDFILE_H
