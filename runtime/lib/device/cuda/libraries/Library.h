// NVIDIA's libraries, opened by their names when a program wants them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_LIBRARY_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_LIBRARY_H

#include <string>
#include <vector>

namespace weft::runtime::cuda {

/// The first of `names` that is in a folder of WEFT_CUDA_PATH (`:` between them), in its lib64 or
/// lib, or where the loader finds libraries. Null, with what was tried and why each failed, if
/// there is none. It stays open.
void *openLibrary(const std::vector<std::string> &names, std::string &tried);

/// The address of `symbol` in an open library; null if it has none.
void *findSymbol(void *library, const char *symbol);

/// Fills in functions of an open library, and remembers the first that it lacks.
class Symbols {
public:
  explicit Symbols(void *library) : library(library) {}

  template <typename Function> void find(Function &function, const char *symbol) {
    function = reinterpret_cast<Function>(findSymbol(library, symbol));
    if (!function && !firstMissing)
      firstMissing = symbol;
  }
  /// Null if all were there.
  const char *missing() const { return firstMissing; }

private:
  void *library;
  const char *firstMissing = nullptr;
};

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_LIBRARY_H
