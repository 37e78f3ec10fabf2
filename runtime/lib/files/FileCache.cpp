// Opens weights without following what a model must not name, and maps them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/FileCache.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

using namespace weft::runtime;

namespace {

/// Closes a descriptor at the end of its scope.
struct Descriptor {
  int value = -1;
  ~Descriptor() {
    if (value >= 0)
      close(value);
  }
};

Status cannotRead(const std::string &path, const std::string &why) {
  return Status::user("weights '" + path + "' cannot be read: " + why +
                      "; give their folder with --model-dir");
}

/// Opens `path` beneath `folder`; without openat2 no link is followed at all.
int openBeneath(int folder, const std::string &path, int flags) {
  open_how how{};
  how.flags = uint64_t(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  long opened = syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how);
  // Containers of old rules answer an unknown call with EPERM.
  if (opened >= 0 || (errno != ENOSYS && errno != EPERM))
    return int(opened);
  Descriptor current{fcntl(folder, F_DUPFD_CLOEXEC, 0)};
  for (size_t at = 0; current.value >= 0;) {
    size_t slash = path.find('/', at);
    std::string part = path.substr(at, slash - at);
    bool isLast = slash == std::string::npos;
    if (part == "..") {
      errno = EXDEV;
      return -1;
    }
    int next = openat(current.value, part.c_str(),
                      isLast ? flags | O_NOFOLLOW : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (isLast)
      return next;
    close(current.value);
    current.value = next;
    at = slash + 1;
  }
  return -1;
}

int openSource(const std::string &directory, const std::string &path, bool confined, int flags) {
  if (!confined)
    return open(FileCache::join(directory, path).c_str(), flags);
  const char *root = directory.empty() ? "." : directory.c_str();
  Descriptor folder{open(root, O_PATH | O_DIRECTORY | O_CLOEXEC)};
  return folder.value < 0 ? -1 : openBeneath(folder.value, path, flags);
}

/// Opens a regular file. The probe opens nothing, so that no pipe or device is
/// touched to see what it is.
Status openRegular(const std::string &directory, const std::string &path, bool confined,
                   Descriptor &opened, struct stat &info) {
  std::string full = FileCache::join(directory, path);
  Descriptor probe{openSource(directory, path, confined, O_PATH | O_CLOEXEC)};
  if (probe.value < 0 && (errno == EXDEV || errno == ELOOP) && confined)
    return cannotRead(full, "a file that a model names must not lie outside of "
                            "the model's folder, by a link or otherwise");
  if (probe.value < 0 || fstat(probe.value, &info) != 0)
    return cannotRead(full, std::strerror(errno));
  if (!S_ISREG(info.st_mode))
    return cannotRead(full, "it is not a regular file");
  opened.value = openSource(directory, path, confined, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat now{};
  if (opened.value < 0 || fstat(opened.value, &now) != 0)
    return cannotRead(full, std::strerror(errno));
  if (now.st_dev != info.st_dev || now.st_ino != info.st_ino)
    return cannotRead(full, "it was exchanged while it was being opened");
  info = now;
  return {};
}

} // namespace

std::string FileCache::join(const std::string &directory, const std::string &path) {
  if (directory.empty() || (!path.empty() && path[0] == '/'))
    return path;
  return directory + "/" + path;
}

Status FileCache::get(const std::string &directory, const std::string &path, bool confined,
                      const uint8_t *&data, uint64_t &bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  std::string full = join(directory, path);
  auto found = files.find(full);
  if (found == files.end()) {
    Descriptor opened;
    struct stat info{};
    WEFT_TRY(openRegular(directory, path, confined, opened, info));
    MappedFile mapped;
    if (!mapped.map(opened.value, size_t(info.st_size), full))
      return Status::user("weights '" + full + "' are empty or cannot be mapped");
    found = files.emplace(full, std::move(mapped)).first;
  }
  data = reinterpret_cast<const uint8_t *>(found->second.data());
  bytes = found->second.size();
  return {};
}

FileCache::Claim *FileCache::claims(const StatePiece *piece, uint64_t blocks) {
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Claim[]> &entry = claimed[piece];
  if (!entry)
    entry.reset(new Claim[blocks]());
  return entry.get();
}

void FileCache::forgetClaims() {
  std::lock_guard<std::mutex> lock(mutex);
  claimed.clear();
}

void FileCache::release() {
  std::lock_guard<std::mutex> lock(mutex);
  for (auto &[path, file] : files)
    file.release();
}
