// Maps token files and arrays of samples.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/DataFile.h"

#include <sys/mman.h>
#include <unistd.h>
#include <utility>

using namespace weft::runtime;

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
  if (Status mapped = MappedFile::open(path, file->tokens); !mapped.ok()) {
    bool isMisspelt = path == spec && spec.find(':') != std::string::npos;
    return Status::user("token file " + mapped.text() +
                        (isMisspelt ? "; token types are :u16, :u32 and :byte" : ""));
  }
  unsigned bytes = dtypeBytes(file->type);
  size_t size = file->tokens.size();
  if (size % bytes != 0)
    return Status::user("token file '" + path + "' has " + std::to_string(size) +
                        " bytes, which is no multiple of the " + std::to_string(bytes) +
                        " of a token; say :u16, :u32 or :byte behind its name");
  file->data = file->tokens.data();
  file->elements = int64_t(size / bytes);
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
