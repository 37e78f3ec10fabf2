// Makes limits of files, and what is lost of the standard output, errors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/FailedWrites.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

using namespace weft::runtime;

void weft::runtime::surviveFailedWrites() { std::signal(SIGXFSZ, SIG_IGN); }

Status weft::runtime::outputFailed(int error) {
  return Status::user(std::string("the standard output cannot be written: ") +
                      std::strerror(error));
}

Status weft::runtime::flushStandardOutput() {
  bool good = std::fflush(stdout) == 0 && !std::ferror(stdout);
  return good ? Status() : outputFailed(errno);
}
