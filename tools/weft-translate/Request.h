// What the command line of weft-translate asks for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_TRANSLATE_REQUEST_H
#define WEFT_TOOLS_WEFT_TRANSLATE_REQUEST_H

#include "python_free_frontend/builders/Command.h"
#include "python_free_frontend/translate/Command.h"
#include "python_free_frontend/weights/Command.h"

namespace weft {

struct Request {
  std::string command; // the flag that says which translation is meant
  std::vector<std::string> files;
  std::string output;
  std::string spec; // of --build
  builders::BuildOptions build;
  onnx::TranslateOptions translate;
  weights::WeightFiles weights;
  weights::ReplaceOptions replace;
};

/// Reads the command line. What --help or --version prints is in `answer`; returns what is wrong
/// with the command line (exit code 2), or nothing.
std::string readRequest(const std::vector<std::string> &arguments, Request &request,
                        std::string &answer);

} // namespace weft

#endif // WEFT_TOOLS_WEFT_TRANSLATE_REQUEST_H
