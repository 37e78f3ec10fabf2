// Mapping of model files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/wire/MappedFile.h"

#include "llvm/ADT/ScopeExit.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using weft::onnx::MappedFile;

MappedFile::~MappedFile() {
  if (!bytes.empty())
    ::munmap(const_cast<char *>(bytes.data()), bytes.size());
}

static llvm::Error systemError() { return llvm::createStringError(std::strerror(errno)); }

llvm::Error MappedFile::open(llvm::StringRef path) {
  // Without O_NONBLOCK a pipe would make us wait for a writer.
  int fd = ::open(path.str().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0)
    return systemError();
  auto close = llvm::scope_exit([&] { ::close(fd); });
  struct stat status;
  if (::fstat(fd, &status) != 0)
    return systemError();
  if (!S_ISREG(status.st_mode))
    return llvm::createStringError("not a regular file");
  if (status.st_size == 0)
    return llvm::createStringError("the file is empty");
  void *data = ::mmap(nullptr, status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (data == MAP_FAILED)
    return systemError();
  bytes = llvm::StringRef(static_cast<char *>(data), status.st_size);
  return llvm::Error::success();
}
