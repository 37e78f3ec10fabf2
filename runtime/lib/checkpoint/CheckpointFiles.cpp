// File operations of checkpoints: complete or refused, and open to tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checkpoint/CheckpointFiles.h"

#include "weft/runtime/Program.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace weft::runtime;

static Status failure(const std::string &path, const char *what, int error) {
  return Status::user("'" + path + "' cannot be " + what + ": " + std::strerror(error));
}

Status CheckpointFiles::makeDirectory(const std::string &path) const {
  int error = ask("mkdir", path);
  if (error == 0 && ::mkdir(path.c_str(), 0777) != 0)
    error = errno;
  return error == 0 ? Status() : failure(path, "made", error);
}

Status CheckpointFiles::writeFile(const std::string &path, const char *data, uint64_t bytes,
                                  uint64_t blockBytes, uint64_t *hashes) const {
  if (int error = ask("create", path))
    return failure(path, "created", error);
  int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return failure(path, "created", errno);
  int error = 0;
  for (uint64_t at = 0; at < bytes && error == 0; at += blockBytes) {
    uint64_t count = std::min(blockBytes, bytes - at);
    if (hashes)
      hashes[at / blockBytes] = hashBytes(data + at, count);
    error = ask("write", path);
    for (uint64_t done = 0; done < count && error == 0;) {
      ssize_t n = ::write(descriptor, data + at + done, count - done);
      if (n > 0)
        done += uint64_t(n);
      else if (n == 0)
        error = ENOSPC;
      else if (errno != EINTR)
        error = errno;
    }
  }
  if (error == 0)
    error = ask("fsync", path);
  if (error == 0 && ::fsync(descriptor) != 0)
    error = errno;
  // Some file systems tell only here that the space is used up.
  if (::close(descriptor) != 0 && error == 0)
    error = errno;
  return error == 0 ? Status() : failure(path, "written", error);
}

Status CheckpointFiles::rename(const std::string &from, const std::string &to) const {
  int error = ask("rename", from);
  if (error == 0 && ::rename(from.c_str(), to.c_str()) != 0)
    error = errno;
  return error == 0 ? Status() : failure(from, "renamed", error);
}

Status CheckpointFiles::syncDirectory(const std::string &path) const {
  int error = ask("fsyncdir", path);
  if (error != 0)
    return failure(path, "written", error);
  int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return failure(path, "opened", errno);
  // File systems that cannot do this say so with EINVAL.
  if (::fsync(descriptor) != 0 && errno != EINVAL)
    error = errno;
  ::close(descriptor);
  return error == 0 ? Status() : failure(path, "written", error);
}

Status CheckpointFiles::unlink(const std::string &path) const {
  int error = ask("unlink", path);
  if (error == 0 && ::unlink(path.c_str()) != 0 && errno != ENOENT)
    error = errno;
  return error == 0 ? Status() : failure(path, "removed", error);
}

/// A file that checkpoints put into their folders.
static bool isOurs(const std::string &name) {
  return name.compare(0, 5, "rank-") == 0 || name.compare(0, 8, "manifest") == 0;
}

bool weft::runtime::holdsOthers(const std::string &path) {
  std::vector<std::string> names;
  return !listDirectory(path, names).ok() || !std::all_of(names.begin(), names.end(), isOurs);
}

Status CheckpointFiles::removeTree(const std::string &path) const {
  // What a link leads to is somebody else's.
  if (isLink(path))
    return unlink(path);
  if (!isDirectory(path))
    return {};
  std::vector<std::string> names;
  WEFT_TRY(listDirectory(path, names));
  for (const std::string &name : names)
    if (isOurs(name))
      WEFT_TRY(unlink(path + "/" + name));
  int error = ask("rmdir", path);
  if (error == 0 && ::rmdir(path.c_str()) != 0)
    error = errno;
  if (error == ENOTEMPTY || error == EEXIST)
    return setAside(path);
  return error == 0 ? Status() : failure(path, "removed", error);
}

Status CheckpointFiles::setAside(const std::string &path) const {
  size_t name = path.find_last_of('/') + 1;
  std::string base = path.substr(0, name) + "kept-" + path.substr(name), kept = base;
  struct stat info;
  for (int number = 2; ::lstat(kept.c_str(), &info) == 0; ++number)
    kept = base + "." + std::to_string(number);
  return rename(path, kept);
}

Status weft::runtime::listDirectory(const std::string &path, std::vector<std::string> &names) {
  DIR *directory = ::opendir(path.c_str());
  if (!directory)
    return failure(path, "opened", errno);
  while (struct dirent *entry = ::readdir(directory)) {
    std::string name = entry->d_name;
    if (name != "." && name != "..")
      names.push_back(name);
  }
  ::closedir(directory);
  std::sort(names.begin(), names.end());
  return {};
}

bool weft::runtime::isDirectory(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

bool weft::runtime::isLink(const std::string &path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

Status weft::runtime::readFile(const std::string &path, uint64_t limit, std::string &text) {
  // Not to wait for ever should this be a pipe.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0)
    return failure(path, "read", errno);
  struct stat info;
  Status status;
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode))
    status = Status::user("'" + path + "' is not a file");
  else if (uint64_t(info.st_size) > limit)
    status = Status::user("'" + path + "' has " + std::to_string(info.st_size) +
                          " bytes, more than can be right");
  if (status.ok()) {
    text.resize(size_t(info.st_size));
    size_t done = 0;
    while (done < text.size()) {
      ssize_t n = ::read(descriptor, text.data() + done, text.size() - done);
      if (n < 0 && errno == EINTR)
        continue;
      if (n < 0)
        status = failure(path, "read", errno);
      if (n <= 0)
        break;
      done += size_t(n);
    }
    text.resize(done);
  }
  ::close(descriptor);
  return status;
}
