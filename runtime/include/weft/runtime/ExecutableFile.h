// Executables of weft-compile as files: told from others, and checked.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_EXECUTABLEFILE_H
#define WEFT_RUNTIME_EXECUTABLEFILE_H

#include "weft/runtime/Program.h"

namespace weft::runtime {

/// A whole and undamaged executable, opened and mapped; nothing of it was run.
class ExecutableFile {
public:
  ExecutableFile() = default;
  ExecutableFile(const ExecutableFile &) = delete;
  ~ExecutableFile();

  /// On failure the status tells what `path` is and what to do with it.
  static Status open(const std::string &path, ExecutableFile &file);
  /// The same for the file that this process executes.
  static Status checkOwn();

  /// To be executed: whatever becomes of the name, it is what was checked.
  int descriptor() const { return file; }
  const ProgramView &program() const { return view; }

private:
  Status map(const std::string &path);

  int file = -1;
  void *mapping = nullptr;
  uint64_t bytes = 0;
  ProgramView view;
};

/// Fails if this machine's processor lacks a feature that the program's kernels need; says which,
/// and the flag to compile with.
Status checkProcessor(const ProgramView &program);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTABLEFILE_H
