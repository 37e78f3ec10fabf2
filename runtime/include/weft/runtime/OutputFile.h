// Files that appear under their names when they are complete, or not at all.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_OUTPUTFILE_H
#define WEFT_RUNTIME_OUTPUTFILE_H

#include "weft/runtime/Status.h"

#include <cstdio>
#include <string>
#include <vector>

namespace weft::runtime {

/// The name beside `path` that a file has while several processes write it;
/// `path` itself for a device or a pipe, which stays what it is.
std::string partialName(const std::string &path);

/// Puts what was written as `partialName(path)` on the disk and gives it its
/// name; gives it up if `written` is not ok.
Status settlePartial(const std::string &path, Status written);

/// Whether both are names of one file that is there; a device may be read and written.
bool isSameFile(const std::string &a, const std::string &b);
/// Whether both name one place, however they are spelled, be there a file or not yet.
bool isSamePlace(const std::string &a, const std::string &b);
/// An error if `path`, which `flag` says to write, is one of the files that are read, by whatever
/// name.
Status checkNotRead(const std::string &flag, const std::string &path,
                    const std::vector<std::string> &read);

/// A stream into such a file, by one process. "-" is the standard output.
class OutputFile {
public:
  explicit OutputFile(std::string path) : path(std::move(path)) {}
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;

  Status open();
  std::FILE *stream() { return file; }
  Status write(const void *data, size_t bytes);
  Status commit();

private:
  std::string path, partial; // while it is written
  std::FILE *file = nullptr;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_OUTPUTFILE_H
