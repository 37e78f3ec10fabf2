// Opening files that a model names, without leaving the model's folder.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SUPPORT_CONFINEDFILE_H
#define WEFT_SUPPORT_CONFINEDFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <utility>

namespace weft {

/// The error of a path at which nothing is.
class MissingFile : public llvm::ErrorInfo<MissingFile, llvm::StringError> {
public:
  using ErrorInfo::ErrorInfo;
  static char ID;
};

/// The error of a path that leads out of its folder through a link.
class LinkOutside : public llvm::ErrorInfo<LinkOutside, llvm::StringError> {
public:
  using ErrorInfo::ErrorInfo;
  static char ID;
};

/// An open regular file that lies beneath a folder, whatever links its path
/// goes through. A name that comes from a file format is untrusted: it must not
/// make us read what the owner of the folder did not put there, nor block on a
/// pipe or touch a device.
class ConfinedFile {
public:
  ConfinedFile() = default;
  ConfinedFile(ConfinedFile &&other) : fd(std::exchange(other.fd, -1)), size(other.size) {}
  ConfinedFile &operator=(ConfinedFile &&other) {
    std::swap(fd, other.fd);
    size = other.size;
    return *this;
  }
  ConfinedFile(const ConfinedFile &) = delete;
  ConfinedFile &operator=(const ConfinedFile &) = delete;
  ~ConfinedFile();

  /// Opens `path`, relative to `folder` ("" is the working directory), for
  /// reading. Errors say which rule was broken or what the system said, without
  /// naming the path.
  llvm::Error open(llvm::StringRef folder, llvm::StringRef path);

  /// Opens what the model file `model` names `location`: in the folder of `model`, or, if both are
  /// links, as in the caches of model hubs, in the one where the files lie that they lead to.
  /// `found` is the path of it.
  llvm::Error openBeside(llvm::StringRef model, llvm::StringRef location, std::string &found);

  /// Of the open file, for mapping it.
  int getDescriptor() const { return fd; }

  /// The size when it was opened.
  uint64_t getSize() const { return size; }

  /// Reads exactly `length` bytes at `offset`; an error if the file is shorter or
  /// cannot be read.
  llvm::Error read(uint64_t offset, uint64_t length, char *out) const;

private:
  int fd = -1;
  uint64_t size = 0;
};

} // namespace weft

#endif // WEFT_SUPPORT_CONFINEDFILE_H
