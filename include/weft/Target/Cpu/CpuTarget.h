// The CPU as a target: this process's kind of machine, threads as its parallel units.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_CPU_CPUTARGET_H
#define WEFT_TARGET_CPU_CPUTARGET_H

#include "weft/Target/Target.h"

namespace weft::cpu {

/// Target "cpu": images are relocatable objects, `link` makes one ELF file that starts by itself.
std::unique_ptr<Target> createCpuTarget();

} // namespace weft::cpu

#endif // WEFT_TARGET_CPU_CPUTARGET_H
