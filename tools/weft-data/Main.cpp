// weft-data: makes arrays and training data without another program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Request.h"

#include "weft/runtime/FailedWrites.h"
#include "weft/runtime/OutputFile.h"
#include "weft/runtime/Terminal.h"

#include <cstdio>

using namespace weft;

int main(int argc, char **argv) {
  runtime::surviveFailedWrites();
  runtime::removePartialsAtSignals();
  data::Request request;
  runtime::Status status = data::parseRequest({argv + 1, argv + argc}, request);
  if (status.ok() && !request.answer.empty())
    std::fputs(request.answer.c_str(), stdout);
  else if (status.ok())
    status = data::runCommand(request);
  if (status.ok())
    status = runtime::flushStandardOutput();
  if (!status.ok())
    runtime::tellError("weft-data", status.text());
  return int(status.code());
}
