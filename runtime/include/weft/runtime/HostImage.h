// The image of a kernel that a driver which emulates a GPU loads: a function of this process.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_HOSTIMAGE_H
#define WEFT_RUNTIME_HOSTIMAGE_H

#include "weft/runtime/Program.h"

#include <cstring>

namespace weft::runtime {

/// Where a cubin has its ELF header. A launch is of `blocks` blocks of `threads` threads, and runs
/// iterations [0, extent) in pieces of `grain`, in a drawn order. Its parameters are the pointers,
/// then the scalars, 8 bytes each; with a `table` the pointers are one, an array. A program that is
/// compiled for such a driver has constants of this form (lib/Target/Twin).
struct HostImage {
  static constexpr char kMagic[16] = "weft host image";

  char magic[16];
  weft_kernel_fn function = nullptr;
  const char *name = nullptr;
  int64_t extent = 0, grain = 1;
  uint32_t blocks = 1, threads = 1;
  uint32_t pointers = 0, scalars = 0;
  uint32_t chip = 0; // 90 of sm_90; 0 = any
  uint32_t table = 0;

  HostImage() { std::memcpy(magic, kMagic, sizeof magic); }
  bool isOne() const { return std::memcmp(magic, kMagic, sizeof magic) == 0; }
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_HOSTIMAGE_H
