// Files that appear under their names when they are complete, or not at all.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_OUTPUTFILE_H
#define WEFT_RUNTIME_OUTPUTFILE_H

#include "weft/runtime/Status.h"

#include <cstdio>
#include <string>
#include <vector>

namespace weft::runtime {

/// What the name of a file that several processes write has behind it meanwhile, which one of them
/// asks for and tells the others: no other file has it, so that nobody writes into what is there
/// from before. Empty for a device or a pipe, which stays what it is.
std::string partialSuffix(const std::string &path);

/// Puts what was written as `path` with `suffix` on the disk and gives it its
/// name; gives it up if `written` is not ok.
Status settlePartial(const std::string &path, const std::string &suffix, Status written);

/// A signal that ends the process removes what an OutputFile has not committed. For `main` of tools
/// of one thread: a library that is embedded leaves signals alone.
void removePartialsAtSignals();

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
