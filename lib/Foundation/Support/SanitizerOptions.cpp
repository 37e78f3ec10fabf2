// Defaults for tools that are built with the address sanitizer.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's arena poisons its slabs in code that is instrumented; the packaged
// libraries, which are not, then write into them.
extern "C" const char *__asan_default_options() { return "allow_user_poisoning=0:detect_leaks=0"; }
