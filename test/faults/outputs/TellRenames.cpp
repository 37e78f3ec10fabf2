// Preloaded into a program: tells of each file that a rename names whether it was synced before.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <set>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace {

using File = std::pair<dev_t, ino_t>;
std::mutex mutex;
std::set<File> synced;

template <typename Function> Function *next(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

} // namespace

extern "C" {
int fsync(int descriptor) {
  int result = next<int(int)>("fsync")(descriptor);
  struct stat info{};
  if (result == 0 && fstat(descriptor, &info) == 0) {
    std::lock_guard<std::mutex> lock(mutex);
    synced.insert({info.st_dev, info.st_ino});
  }
  return result;
}

// A line "synced NAME" or "unsynced NAME" to the file that WEFT_RENAMES names.
int rename(const char *from, const char *to) {
  struct stat info{};
  const char *list = std::getenv("WEFT_RENAMES");
  if (list && stat(from, &info) == 0 && S_ISREG(info.st_mode)) {
    std::lock_guard<std::mutex> lock(mutex);
    if (std::FILE *file = std::fopen(list, "a")) {
      bool isSynced = synced.count({info.st_dev, info.st_ino}) != 0;
      std::fprintf(file, "%s %s\n", isSynced ? "synced" : "unsynced", to);
      std::fclose(file);
    }
  }
  return next<int(const char *, const char *)>("rename")(from, to);
}
}
