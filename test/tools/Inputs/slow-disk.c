// A disk that takes SLOW_DISK seconds to write anything out; preloaded by tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

int fsync(int descriptor) {
  const char *seconds = getenv("SLOW_DISK");
  usleep(seconds ? (useconds_t)(atof(seconds) * 1e6) : 0);
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
  return real(descriptor);
}
