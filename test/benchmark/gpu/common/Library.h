// Opening NVIDIA's libraries by soname, where the system or a Python wheel put
// them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

namespace weft::gpukit {

/// Folders searched before the loader's own path, in this order: those of the
/// environment variable WEFT_KIT_LIBRARY_PATH (colon-separated), then
/// nvidia/*/lib of every Python site-packages found.
std::vector<std::string> libraryFolders();

class Library {
public:
  /// Opens the first of `sonames` that any folder holds, else what the loader
  /// finds. Throws Failure with every reason.
  explicit Library(const std::vector<std::string> &sonames);

  /// The symbol, or a Failure that names it and the file it was missing from.
  void *symbol(const char *name) const;
  /// The symbol, or null: for calls that older versions lack.
  void *symbolOrNull(const char *name) const;
  /// The file that the loader opened.
  const std::string &path() const { return file; }

  template <typename Function> void load(Function *&function, const char *name) const {
    function = reinterpret_cast<Function *>(symbol(name));
  }
  template <typename Function> void loadOrNull(Function *&function, const char *name) const {
    function = reinterpret_cast<Function *>(symbolOrNull(name));
  }

private:
  void *handle = nullptr;
  std::string file;
};

} // namespace weft::gpukit
