// What the command line of weft-iopddl asks for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_IOPDDL_REQUEST_H
#define WEFT_TOOLS_WEFT_IOPDDL_REQUEST_H

#include "weft/runtime/Status.h"

#include <vector>

namespace weft::iopddl {

struct Request {
  std::string file, output;
  double seconds = -1;            // not said
  int64_t work = -1, threads = 0; // not said; 0 threads: one a core
  uint64_t seed = 1;
  /// What --help and the like print; nothing else counts then.
  std::string answer;
};

runtime::Status parseRequest(const std::vector<std::string> &arguments, Request &request);

} // namespace weft::iopddl

#endif // WEFT_TOOLS_WEFT_IOPDDL_REQUEST_H
