// Training data: files that are mapped and read sample by sample.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_FILES_DATAFILE_H
#define WEFT_RUNTIME_LIB_FILES_DATAFILE_H

#include "files/MappedFile.h"
#include "weft/runtime/Npy.h"

#include <memory>

namespace weft::runtime {

/// Samples of one array: sample i is the `stride` apart, `offset` shifted run
/// of elements that starts at element i * stride + offset.
class DataFile {
public:
  DataFile() = default;
  DataFile(const DataFile &) = delete;

  /// An array whose first dimension counts samples.
  static Status openArray(const std::string &path, std::unique_ptr<DataFile> &file);
  struct TokenFile {
    std::string path;
    DType type;
  };
  /// What `spec` names: FILE, FILE:u16, FILE:u32 or FILE:byte; without a word tokens are u16.
  static TokenFile tokenFile(const std::string &spec);
  /// A file of plain token ids, as tokenFile has it.
  static Status openTokens(const std::string &spec, std::unique_ptr<DataFile> &file);

  const std::string &path() const { return name; }
  DType dtype() const { return type; }
  /// Arrays only: all dimensions, samples first.
  const std::vector<int64_t> &shape() const { return array.shape(); }
  int64_t numElements() const { return elements; }
  bool holdsBytes() const { return type == DType::U8; }

  const char *at(int64_t element) const { return data + element * int64_t(dtypeBytes(type)); }
  /// Gives the pages read so far back to the page cache, so that data does not
  /// count as memory that this process holds.
  void release() const;

private:
  void advise(int advice) const;
  void avoidHugePages() const;

  std::string name;
  DType type = DType::U8;
  const char *data = nullptr;
  int64_t elements = 0;
  NpyFile array;
  MappedFile tokens;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_FILES_DATAFILE_H
