// A file that is either written as a whole or not there.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Output.h"

#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

using namespace weft::data;
using weft::runtime::Status;

Output::Output(std::string path) : path(std::move(path)) {
  struct stat status;
  // A device or a pipe must stay what it is.
  if (stat(this->path.c_str(), &status) != 0 || S_ISREG(status.st_mode))
    temporary = this->path + "." + std::to_string(getpid()) + ".tmp";
  file = std::fopen((temporary.empty() ? this->path : temporary).c_str(), "wb");
}

Output::~Output() {
  if (file)
    std::fclose(file);
  if (!temporary.empty())
    unlink(temporary.c_str());
}

Status Output::failure() const {
  return Status::user("'" + path + "' cannot be written: " + std::strerror(errno));
}

Status Output::write(const void *data, size_t bytes) {
  if (!file || std::fwrite(data, 1, bytes, file) != bytes)
    return failure();
  return {};
}

Status Output::finish() {
  if (!file)
    return failure();
  bool closed = std::fclose(std::exchange(file, nullptr)) == 0;
  if (!closed || (!temporary.empty() &&
                  std::rename(temporary.c_str(), path.c_str()) != 0))
    return failure();
  temporary.clear();
  return {};
}
