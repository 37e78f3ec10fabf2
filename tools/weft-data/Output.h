// A file that is either written as a whole or not there.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_DATA_OUTPUT_H
#define WEFT_TOOLS_WEFT_DATA_OUTPUT_H

#include "weft/runtime/Status.h"

#include <cstdio>

namespace weft::data {

/// Bytes go to a file beside `path`, which takes its name when all are there;
/// to a device or a pipe they go at once.
class Output {
public:
  explicit Output(std::string path);
  ~Output();
  Output(const Output &) = delete;
  Output &operator=(const Output &) = delete;

  runtime::Status write(const void *data, size_t bytes);
  runtime::Status finish();

private:
  runtime::Status failure() const;

  std::string path, temporary;
  std::FILE *file;
};

} // namespace weft::data

#endif // WEFT_TOOLS_WEFT_DATA_OUTPUT_H
