// What weft-data was asked for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_DATA_REQUEST_H
#define WEFT_TOOLS_WEFT_DATA_REQUEST_H

#include "Idx.h"
#include "Make.h"
#include "Plot.h"

#include <string>
#include <vector>

namespace weft::data {

/// What is done, of which files, and what each command takes.
struct Request {
  std::string command, output;
  /// The text that --help and its like ask for, instead of anything done.
  std::string answer;
  std::vector<std::string> files;
  bool hasShape = false;
  IdxOptions idx;
  NpyOptions npy;
  TokenOptions tokens;
  PlotOptions plot;
};

/// Reads a command line; fails (Usage) where a flag is wrong, or is none of its command.
runtime::Status parseRequest(const std::vector<std::string> &arguments, Request &request);

/// The command that makes an array of an IDX file, which is a flag, too.
inline constexpr const char *kIdx = "--idx-to-npy";

bool isCommand(const std::string &name);
/// Does what is asked for; fails where the command is none, or lacks something.
runtime::Status runCommand(Request &request);

/// A wrong command line, of which `what` tells.
runtime::Status usage(const std::string &what);

} // namespace weft::data

#endif // WEFT_TOOLS_WEFT_DATA_REQUEST_H
