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

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_LIBRARY_H
