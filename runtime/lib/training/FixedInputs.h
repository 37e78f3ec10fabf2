// Inputs that have one value in all runs of training.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_TRAINING_FIXEDINPUTS_H
#define WEFT_RUNTIME_LIB_TRAINING_FIXEDINPUTS_H

#include "weft/runtime/Training.h"

#include <map>

namespace weft::runtime {

class FixedInputs {
public:
  explicit FixedInputs(weft_session &session) : session(session) {}

  /// Reads what the program has of them, once: files may change or go while it runs.
  Status read(const std::string &program, const TrainingOptions::Files &files);
  /// Puts them there before the program's first run, and behind one of another program: programs
  /// share their memory.
  Status put(const std::string &program);

private:
  weft_session &session;
  /// By program and input.
  std::map<std::string, std::map<std::string, std::vector<char>>> values;
  std::string last; // whose values are there
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_TRAINING_FIXEDINPUTS_H
