// Opens files confined to a folder: openat2 where the kernel has it, else no link at all.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Support/ConfinedFile.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using llvm::createStringError;
using llvm::Error;
using weft::ConfinedFile;

char weft::MissingFile::ID;
char weft::LinkOutside::ID;

namespace {
/// Closes a descriptor at the end of its scope.
struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0)
      ::close(fd);
  }
};
} // namespace

/// The rule that `path` breaks as a text, or null.
static const char *brokenRule(llvm::StringRef path) {
  if (path.empty())
    return "the path must not be empty";
  if (path.contains('\0'))
    return "the path must not hold a zero byte";
  if (path.starts_with("/"))
    return "the path must be relative to the model's folder";
  llvm::SmallVector<llvm::StringRef> parts;
  path.split(parts, '/');
  if (llvm::is_contained(parts, ".."))
    return "the path must not contain '..'";
  return nullptr;
}

/// Opens step by step without following any link: for kernels without openat2.
static int openWithoutLinks(int folder, const std::string &path, int flags) {
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(path).split(parts, '/', -1, /*KeepEmpty=*/false);
  Descriptor current;
  for (size_t i = 0; i < parts.size(); ++i) {
    bool last = i + 1 == parts.size();
    int next = ::openat(current.fd < 0 ? folder : current.fd, parts[i].str().c_str(),
                        last ? flags | O_NOFOLLOW : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0)
      return -1;
    if (last)
      return next;
    if (current.fd >= 0)
      ::close(current.fd);
    current.fd = next;
  }
  errno = ENOENT;
  return -1;
}

static int openResolvedBeneath(int folder, const std::string &path, int flags) {
  struct open_how how = {};
  how.flags = flags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  int fd = ::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof(how));
  if (fd < 0 && errno == ENOSYS)
    return openWithoutLinks(folder, path, flags);
  return fd;
}

ConfinedFile::~ConfinedFile() {
  if (fd >= 0)
    ::close(fd);
}

/// What the system said last.
static Error systemError() { return createStringError(std::strerror(errno)); }

Error ConfinedFile::open(llvm::StringRef folder, llvm::StringRef path) {
  if (const char *rule = brokenRule(path))
    return createStringError(rule);
  std::string root = folder.empty() ? "." : folder.str();
  Descriptor directory{::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
  if (directory.fd < 0)
    return systemError();
  // O_PATH opens nothing: a pipe or device is seen for what it is untouched.
  Descriptor probe{openResolvedBeneath(directory.fd, path.str(), O_PATH | O_CLOEXEC)};
  if (probe.fd < 0) {
    if (errno == EXDEV || errno == ELOOP)
      return llvm::make_error<weft::LinkOutside>(
          "the path must not leave the model's folder through "
          "a link; put the file itself there",
          llvm::inconvertibleErrorCode());
    if (errno == ENOENT)
      return llvm::make_error<weft::MissingFile>(std::strerror(errno),
                                                 llvm::inconvertibleErrorCode());
    return systemError();
  }
  struct stat before, after;
  if (::fstat(probe.fd, &before) != 0)
    return systemError();
  if (!S_ISREG(before.st_mode))
    return createStringError("the path must name a regular file");
  int opened = openResolvedBeneath(directory.fd, path.str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (opened < 0 || ::fstat(opened, &after) != 0) {
    Error error = systemError();
    if (opened >= 0)
      ::close(opened);
    return error;
  }
  if (before.st_dev != after.st_dev || before.st_ino != after.st_ino) {
    ::close(opened);
    return createStringError("the file was exchanged while it was being opened");
  }
  if (fd >= 0)
    ::close(fd);
  fd = opened;
  size = after.st_size;
  return Error::success();
}

Error ConfinedFile::openBeside(llvm::StringRef model, llvm::StringRef location,
                               std::string &found) {
  namespace path = llvm::sys::path;
  llvm::StringRef folder = path::parent_path(model);
  llvm::SmallString<256> named(folder), realModel, real;
  path::append(named, location);
  found = named.str().str();
  Error wrong = open(folder, location);
  if (!wrong.isA<LinkOutside>() || llvm::sys::fs::real_path(model, realModel) ||
      llvm::sys::fs::real_path(named, real) ||
      path::parent_path(realModel) != path::parent_path(real))
    return wrong;
  llvm::consumeError(std::move(wrong));
  found = real.str().str();
  return open(path::parent_path(real), path::filename(real));
}

Error ConfinedFile::read(uint64_t offset, uint64_t length, char *out) const {
  while (length > 0) {
    ssize_t count =
        ::pread(fd, out, std::min<uint64_t>(length, 1u << 30), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return systemError();
    if (count == 0)
      return createStringError("the file ends too early");
    out += count;
    offset += count;
    length -= count;
  }
  return Error::success();
}
