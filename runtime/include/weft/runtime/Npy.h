// Reads slices of .npy files and writes slices of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_NPY_H
#define WEFT_RUNTIME_NPY_H

#include "weft/runtime/Program.h"
#include "weft/runtime/Status.h"

#include <memory>
#include <string>
#include <vector>

namespace weft::runtime {

class MappedFile;

/// A row-major little-endian .npy file, mapped read-only.
/// bfloat16 has no numpy name: files hold it as '<V2' (or '|V2', or '<u2' where
/// bf16 is asked for), as ml_dtypes and others do.
class NpyFile {
public:
  NpyFile();
  NpyFile(NpyFile &&other) noexcept;
  NpyFile &operator=(NpyFile &&other) noexcept;
  ~NpyFile();

  static Status open(const std::string &path, NpyFile &file);

  DType dtype() const { return type; }
  const std::vector<int64_t> &shape() const { return dims; }
  int64_t numElements() const;
  const void *data() const { return elements; }

private:
  DType type = DType::F32;
  std::vector<int64_t> dims;
  const void *elements = nullptr;
  std::unique_ptr<MappedFile> mapping;
};

/// The header of a .npy file, padded to a multiple of 64 bytes.
std::string npyHeader(DType type, const std::vector<int64_t> &shape);

/// Creates or empties `path` and gives it a header and its full length; ranks
/// then write their runs behind `headerBytes`.
Status createNpy(const std::string &path, DType type, const std::vector<int64_t> &shape);

/// "2x3" or "scalar".
std::string shapeText(const std::vector<int64_t> &shape);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_NPY_H
