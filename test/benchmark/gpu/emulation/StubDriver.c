// A driver that loads any kernel and runs none: with it and saved device
// properties cuDNN builds whole execution plans on a machine without a GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

// Every other function of the driver, generated from the toolkit's own stub:
// each of them succeeds and does nothing.
#define OTHER(name)                                                                                \
  int name(void) { return 0; }
#include "other-driver-functions.inc"

enum { stubError = 34 };

int cuInit(unsigned flags) {
  (void)flags;
  return 0;
}
// The CUDA runtime asks for private tables here and must not find them: it then
// says that there is no driver, while cuDNN, which asks for less, goes on.
int cuGetExportTable(const void **table, const void *id) {
  (void)table;
  (void)id;
  return stubError;
}
int cuDriverGetVersion(int *version) {
  *version = 13000;
  return 0;
}

static int give(void **handle) {
  static int object;
  *handle = &object;
  return 0;
}
int cuLibraryLoadData(void **library) { return give(library); }
int cuLibraryGetKernel(void **kernel) { return give(kernel); }
int cuKernelGetFunction(void **function) { return give(function); }
int cuModuleLoadData(void **module) { return give(module); }
int cuModuleLoadDataEx(void **module) { return give(module); }
int cuModuleGetFunction(void **function) { return give(function); }

static int one(int *value) {
  *value = 1;
  return 0;
}
int cuFuncGetAttribute(int *value) { return one(value); }
int cuKernelGetAttribute(int *value) { return one(value); }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n) { return one(n); }
int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n) { return one(n); }

int cuGetProcAddress_v2(const char *name, void **function, int version, unsigned long long flags,
                        int *status) {
  (void)version;
  (void)flags;
  Dl_info self;
  void *library = dladdr((void *)&give, &self) ? dlopen(self.dli_fname, RTLD_NOW) : NULL;
  *function = library ? dlsym(library, name) : NULL;
  if (status)
    *status = *function ? 0 : 1;
  return *function ? 0 : 500;
}
int cuGetProcAddress(const char *name, void **function, int version, unsigned long long flags) {
  return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
