// What tests tell the emulated driver.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_EMULATION_CUDA_RESTART_H
#define WEFT_TEST_EMULATION_CUDA_RESTART_H

#include <gtest/gtest.h>

#include <cstdlib>
#include <dlfcn.h>

namespace weft::emulated {

/// Orders of `seed` from here on, and which call of which function fails how (Gpu::restart).
inline void restart(uint64_t seed, const char *symbol = "", uint64_t call = 0, int code = 0) {
  std::string path = std::string(std::getenv("WEFT_CUDA_PATH")) + "/libcuda.so.1";
  void *library = dlopen(path.c_str(), RTLD_NOW);
  ASSERT_NE(library, nullptr) << dlerror();
  using Restart = void (*)(uint64_t, const char *, uint64_t, int);
  reinterpret_cast<Restart>(dlsym(library, "weft_emulated_restart"))(seed, symbol, call, code);
}

} // namespace weft::emulated

#endif // WEFT_TEST_EMULATION_CUDA_RESTART_H
