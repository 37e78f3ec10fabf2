// Reads .safetensors files, trusting nothing in them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_BUILDERS_SAFETENSORS_H
#define WEFT_PYTHON_FREE_FRONTEND_BUILDERS_SAFETENSORS_H

#include "python_free_frontend/wire/MappedFile.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weft::builders {

/// One tensor of a file: `bytes` lies inside the mapped file and has exactly
/// the length that type and shape ask for.
struct StoredTensor {
  std::string dtype; // as in the file: F32, BF16, I64, ...
  std::vector<int64_t> dims;
  llvm::StringRef bytes;
};

/// A mapped file. Every tensor was checked when it was opened: sizes fit,
/// ranges lie in the file, do not overlap and leave no hole.
class SafeTensors {
public:
  static llvm::Expected<SafeTensors> open(llvm::StringRef path);
  /// The same for bytes in memory; `name` is used in errors.
  static llvm::Expected<SafeTensors> read(std::unique_ptr<llvm::MemoryBuffer> buffer,
                                          llvm::StringRef name);

  const std::map<std::string, StoredTensor> &tensors() const { return table; }
  const std::string &path() const { return name; }

private:
  std::unique_ptr<onnx::MappedFile> mapped; // what `buffer` is of; null for bytes in memory
  std::unique_ptr<llvm::MemoryBuffer> buffer;
  std::string name;
  std::map<std::string, StoredTensor> table;
};

/// Element `index` of a floating-point tensor, or nothing useful for others:
/// ask `isFloat` first.
double elementOf(const StoredTensor &tensor, int64_t index);
bool isFloat(const StoredTensor &tensor);

} // namespace weft::builders

#endif // WEFT_PYTHON_FREE_FRONTEND_BUILDERS_SAFETENSORS_H
