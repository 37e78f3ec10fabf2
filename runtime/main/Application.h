// What an executable does with its command line, once its program is open.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_MAIN_APPLICATION_H
#define WEFT_RUNTIME_MAIN_APPLICATION_H

#include "Report.h"

namespace weft::runtime {

/// Where the weights' files are: as told, or as the executable says, from where
/// it is itself.
std::string modelDirectory(const CommandLine &options, const ProgramView &program);

/// An error if `path`, which `flag` says to write, is a file that the run reads: the program,
/// weights, inputs, data.
Status checkOutput(const char *flag, const std::string &path, const CommandLine &options,
                   const ProgramView &program);

/// The exit code of `status`; says why on stderr if this process speaks.
int finish(const Status &status, bool speaks);

/// Runs, times or trains `program`, and ends the job with it: the exit code. `speaks`: this process
/// tells results and errors of the job; `tells`: what may be wrong on its machine alone.
int execute(const CommandLine &options, const ProgramView &program, bool speaks, bool tells);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_MAIN_APPLICATION_H
