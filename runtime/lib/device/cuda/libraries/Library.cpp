// Looks for shared libraries.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/libraries/Library.h"

#include <cstdlib>
#include <dlfcn.h>
#include <sstream>

using namespace weft::runtime;

void *cuda::findSymbol(void *library, const char *symbol) { return dlsym(library, symbol); }

void *cuda::openLibrary(const std::vector<std::string> &names, std::string &tried) {
  std::vector<std::string> paths;
  if (const char *folders = std::getenv("WEFT_CUDA_PATH")) {
    std::istringstream list(folders);
    for (std::string folder; std::getline(list, folder, ':');)
      for (const char *below : {"/", "/lib64/", "/lib/"})
        for (const std::string &name : names)
          paths.push_back(folder + below + name);
  }
  paths.insert(paths.end(), names.begin(), names.end());
  for (const std::string &path : paths) {
    if (void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return library;
    tried += (tried.empty() ? "" : "; ") + std::string(dlerror());
  }
  return nullptr;
}
