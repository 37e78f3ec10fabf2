// Mapping of model files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/wire/MappedFile.h"
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

bool MappedFile::open(llvm::StringRef path, std::string &error) {
  // Without O_NONBLOCK a pipe would make us wait for a writer.
  int fd = ::open(path.str().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {
    error = std::strerror(errno);
    return false;
  }
  struct stat status;
  void *data = nullptr;
  if (::fstat(fd, &status) != 0) {
    error = std::strerror(errno);
  } else if (!S_ISREG(status.st_mode)) {
    error = "not a regular file";
  } else if (status.st_size == 0) {
    error = "the file is empty";
  } else {
    data = ::mmap(nullptr, status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED) {
      error = std::strerror(errno);
      data = nullptr;
    } else {
      bytes = llvm::StringRef(static_cast<char *>(data), status.st_size);
    }
  }
  ::close(fd);
  return data != nullptr;
}
