// Named tensors from which a model's weights can be taken.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_WEIGHTS_TENSORSTORE_H
#define WEFT_PYTHON_FREE_FRONTEND_WEIGHTS_TENSORSTORE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weft::weights {

class TensorStore {
public:
  struct Entry {
    std::string dtype; // as safetensors name them: F32, BF16, I64, ...
    std::vector<int64_t> dims;
    bool optimizer = false; // not part of the model
  };

  virtual ~TensorStore() = default;

  const std::map<std::string, Entry> &entries() const { return table; }
  /// The elements of an entry, row-major and little-endian.
  virtual llvm::Error read(const std::string &name, std::string &bytes) = 0;

protected:
  std::map<std::string, Entry> table;
};

/// The tensors of one or more .safetensors files, or of all in a folder.
/// Nothing in the files is trusted; a name that two files hold is an error.
llvm::Expected<std::unique_ptr<TensorStore>> openSafetensors(const std::vector<std::string> &paths);

} // namespace weft::weights

#endif // WEFT_PYTHON_FREE_FRONTEND_WEIGHTS_TENSORSTORE_H
