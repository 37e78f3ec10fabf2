// Numbers that the processes of a job tell each other between runs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_JOB_PROCESSES_H
#define WEFT_RUNTIME_LIB_JOB_PROCESSES_H

#include "session/Session.h"

namespace weft::runtime {

/// Small exchanges among all processes that do not allocate. With one process
/// it does nothing.
class Processes {
public:
  Processes() = default;
  Processes(const Processes &) = delete;

  /// `capacity`: most numbers of one exchange.
  void open(weft_session &session, size_t capacity);

  int64_t count() const { return number; }
  int64_t me() const { return self; }

  /// Collective: everyone gives `values`; of(p) is then what process p gave,
  /// until the next exchange.
  Status exchange(const double *values, size_t size);
  const double *of(int64_t process) const { return storage.data() + size_t(process) * stride; }

private:
  weft_session *session = nullptr;
  int64_t number = 1, self = 0;
  size_t stride = 0;
  std::vector<double> storage; // by process
  std::vector<weft_block> sends, staging;
  std::vector<weft_message> sendMessages, stagingMessages; // of these
  std::vector<const void *> received;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_JOB_PROCESSES_H
