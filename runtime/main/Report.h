// What a run tells: program info, output values, comparisons, timings.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_MAIN_REPORT_H
#define WEFT_RUNTIME_MAIN_REPORT_H

#include "CommandLine.h"

#include "weft/runtime/Runtime.h"

namespace weft::runtime {

/// One line on stderr, from one process of the job.
void say(bool speaks, const char *format, ...) __attribute__((format(printf, 2, 3)));

int64_t numElements(const std::vector<int64_t> &shape);

/// Text of --info; weights are looked for in `modelDirectory`.
std::string infoText(const ProgramView &program, const std::string &modelDirectory);

/// Text of --show-placement: who holds which slice of the states, inputs and
/// outputs of that name.
Status placementText(const ProgramView &program, const std::string &name, std::string &text);

/// Calls a C interface function that ends in a weft_status.
template <typename Call> Status checked(Call call) {
  weft_status status;
  status.code = 0;
  status.text[0] = 0;
  int32_t code = call(&status);
  return code == 0 ? Status() : Status{StatusCode(code), status.text};
}

/// Whether a file can be what an input is set to, judged by its header and, for
/// ids, by its values; and what an output is compared with.
Status checkInputFile(const ProgramView &program, const Port &input, const std::string &path);
Status checkExpectedFile(const ProgramView &program, const Port &output, const std::string &path);
/// Whether a file can be written where it is, or replaced by a new one, which
/// is written beside it. Nothing is left behind.
Status checkWritable(const char *flag, const std::string &path);
Status checkReplaceable(const char *flag, const std::string &path);

/// Prints shape, range and first values of an output, from the process that
/// speaks, which is the first one. Collective.
Status printOutput(weft_session *session, const ProgramView &program, const char *name,
                   const Port &port, bool speaks);

/// Compares an output with a file; a mismatch is a UserError.
Status compareOutput(weft_session *session, const ProgramView &program, const char *programName,
                     const Port &port, const std::string &path, const CommandLine &options,
                     bool speaks);

/// Times runs and prints the result to stdout.
Status bench(weft_session *session, const ProgramView &program, const char *programName,
             const CommandLine &options, bool speaks);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_MAIN_REPORT_H
