// Maps token files and arrays of samples.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/DataFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace weft::runtime;

DataFile::~DataFile() {
  if (mapping)
    munmap(mapping, mappedBytes);
}

Status DataFile::openArray(const std::string &path, std::unique_ptr<DataFile> &file) {
  file = std::make_unique<DataFile>();
  WEFT_TRY(NpyFile::open(path, file->array));
  file->name = path;
  file->type = file->array.dtype();
  file->data = static_cast<const char *>(file->array.data());
  file->elements = file->array.numElements();
  file->avoidHugePages();
  if (file->shape().empty() || file->shape()[0] < 1)
    return Status::user("'" + path + "' is " + shapeText(file->shape()) +
                        " and holds no sample: the first dimension of data "
                        "counts samples");
  return {};
}

DataFile::TokenFile DataFile::tokenFile(const std::string &spec) {
  static constexpr std::pair<const char *, DType> kTypes[] = {
      {"u16", DType::U16}, {"u32", DType::U32}, {"byte", DType::U8}};
  size_t colon = spec.rfind(':');
  for (const auto &[word, type] : kTypes)
    if (colon != std::string::npos && spec.substr(colon + 1) == word)
      return {spec.substr(0, colon), type};
  return {spec, DType::U16};
}

Status DataFile::openTokens(const std::string &spec, std::unique_ptr<DataFile> &file) {
  file = std::make_unique<DataFile>();
  TokenFile named = tokenFile(spec);
  file->type = named.type;
  file->name = named.path;
  const std::string &path = file->name;
  int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0)
    return Status::user("token file '" + path + "' cannot be read: " + std::strerror(errno) +
                        (path == spec && spec.find(':') != std::string::npos
                             ? "; token types are :u16, :u32 and :byte"
                             : ""));
  struct stat info;
  bool isRegular = fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode);
  if (isRegular && info.st_size > 0) {
    file->mappedBytes = size_t(info.st_size);
    void *memory = mmap(nullptr, file->mappedBytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
    file->mapping = memory == MAP_FAILED ? nullptr : memory;
  }
  close(descriptor);
  if (!isRegular)
    return Status::user("token file '" + path +
                        "' is not a regular file; write what it gives into one");
  if (!file->mapping)
    return Status::user("token file '" + path + "' is empty or cannot be mapped");
  unsigned bytes = dtypeBytes(file->type);
  if (file->mappedBytes % bytes != 0)
    return Status::user("token file '" + path + "' has " + std::to_string(file->mappedBytes) +
                        " bytes, which is no multiple of the " + std::to_string(bytes) +
                        " of a token; say :u16, :u32 or :byte behind its name");
  file->data = static_cast<const char *>(file->mapping);
  file->elements = int64_t(file->mappedBytes / bytes);
  file->avoidHugePages();
  return {};
}

void DataFile::advise(int advice) const {
  auto first = reinterpret_cast<uintptr_t>(data);
  uintptr_t page = first & ~uintptr_t(sysconf(_SC_PAGESIZE) - 1);
  madvise(reinterpret_cast<void *>(page),
          size_t(first - page) + size_t(elements) * dtypeBytes(type), advice);
}

/// A sample of some bytes must not bring in two megabytes (tmpfs would).
void DataFile::avoidHugePages() const { advise(MADV_NOHUGEPAGE); }

void DataFile::release() const { advise(MADV_DONTNEED); }
