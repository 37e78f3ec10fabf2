// Inputs that have one value in all runs of training.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "training/FixedInputs.h"

#include "files/InputFile.h"
#include "session/Session.h"

using namespace weft::runtime;

Status FixedInputs::read(const std::string &name, const TrainingOptions::Files &files) {
  const ProgramView &p = session.view();
  uint32_t program = 0;
  WEFT_TRY(findProgram(p, name.c_str(), program));
  for (const auto &[input, path] : files)
    for (const Port &port : p.Ports().slice(p.Programs()[program].inputs))
      if (p.string(port.name) == input) {
        NpyFile file;
        WEFT_TRY(openInputFile(p, port, path, file));
        auto *from = static_cast<const char *>(file.data());
        values[name][input].assign(from,
                                   from + size_t(file.numElements()) * dtypeBytes(file.dtype()));
      }
  return {};
}

Status FixedInputs::put(const std::string &name) {
  if (name == last)
    return {};
  last = name;
  for (auto &[input, value] : values[name])
    WEFT_TRY(commCall([&, input = input, value = &value](weft_status *status) {
      return weft_set_input(&session, name.c_str(), input.c_str(), value->data(), value->size(),
                            status);
    }));
  return {};
}
