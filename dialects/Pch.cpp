// Gives the precompiled header a library to be built in.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
