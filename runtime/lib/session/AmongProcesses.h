// What the processes of a job tell each other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_SESSION_AMONGPROCESSES_H
#define WEFT_RUNTIME_LIB_SESSION_AMONGPROCESSES_H

#include "session/Session.h"

#include <functional>

namespace weft::runtime {

/// The same status on all processes: the one of the first that failed, with
/// its rank. Collective, a barrier too.
Status agree(weft_session &session, const Status &own);

/// Waits until it is done on all processes, in rounds: what a slow disk takes is no silence, which
/// --timeout bounds. `isDone` waits so long at most. Collective.
Status waitForAll(weft_session &session, const std::function<bool(double seconds)> &isDone);

/// Does the work on a thread while the processes wait for each other so; then all have the same
/// status, as `agree` gives it. Collective.
Status workTogether(weft_session &session, const std::function<Status()> &work);

/// The name of the machine, for messages.
std::string hostOfProcess();

/// Gives every process's text to the first one; `all` is empty on the others.
/// Collective.
Status gatherTexts(weft_session &session, const std::string &text, std::vector<std::string> &all);

/// Gives the first process's text to all. Collective.
Status broadcast(weft_session &session, std::string &text);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_SESSION_AMONGPROCESSES_H
