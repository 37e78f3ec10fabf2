// A regular file mapped for reading.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_WIRE_MAPPEDFILE_H
#define WEFT_PYTHON_FREE_FRONTEND_WIRE_MAPPEDFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace weft::onnx {

/// Maps a whole file; pages that are never looked at are never read.
class MappedFile {
public:
  MappedFile() = default;
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  ~MappedFile();

  /// An error if `path` is not a readable regular file.
  llvm::Error open(llvm::StringRef path);

  llvm::StringRef getBytes() const { return bytes; }

private:
  llvm::StringRef bytes;
};

} // namespace weft::onnx

#endif // WEFT_PYTHON_FREE_FRONTEND_WIRE_MAPPEDFILE_H
