// Opening NVIDIA's libraries by soname, where the system or a Python wheel put
// them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Library.h"
#include "Report.h"

#include <cstdlib>
#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <sstream>
#include <unistd.h>

namespace weft::gpukit {

std::vector<std::string> libraryFolders() {
  std::vector<std::string> folders;
  if (const char *given = std::getenv("WEFT_KIT_LIBRARY_PATH")) {
    std::istringstream stream(given);
    for (std::string folder; std::getline(stream, folder, ':');)
      if (!folder.empty())
        folders.push_back(folder);
  }
  std::vector<std::string> patterns;
  if (const char *environment = std::getenv("VIRTUAL_ENV"))
    patterns.push_back(std::string(environment) + "/lib/python3*/site-packages/nvidia/*/lib");
  patterns.insert(patterns.end(), {"/opt/*/.venv/lib/python3*/site-packages/nvidia/*/lib",
                                   "/usr/local/lib/python3*/*-packages/nvidia/*/lib",
                                   "/usr/lib/python3*/*-packages/nvidia/*/lib"});
  for (const std::string &pattern : patterns) {
    glob_t found = {};
    if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
      folders.insert(folders.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    globfree(&found);
  }
  return folders;
}

Library::Library(const std::vector<std::string> &sonames) {
  std::vector<std::string> reasons;
  auto open = [&](const std::string &name) {
    handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle)
      reasons.push_back(dlerror());
    return handle != nullptr;
  };
  auto openAny = [&] {
    for (const std::string &folder : libraryFolders())
      for (const std::string &soname : sonames) {
        std::string candidate = folder + "/" + soname;
        if (access(candidate.c_str(), R_OK) == 0 && open(candidate))
          return true;
      }
    for (const std::string &soname : sonames)
      if (open(soname))
        return true;
    return false;
  };
  if (!openAny()) {
    std::string message = "cannot open " + sonames.front();
    for (const std::string &reason : reasons)
      message += "; " + reason;
    throw Failure(message);
  }
  link_map *map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map)
    file = map->l_name;
}

void *Library::symbolOrNull(const char *name) const { return dlsym(handle, name); }

void *Library::symbol(const char *name) const {
  void *found = symbolOrNull(name);
  if (!found)
    throw Failure(format("%s has no %s", file.c_str(), name));
  return found;
}

} // namespace weft::gpukit
