// What the processes of a job tell each other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_SESSION_AMONGPROCESSES_H
#define WEFT_RUNTIME_LIB_SESSION_AMONGPROCESSES_H

#include "session/Session.h"

namespace weft::runtime {

/// The same status on all processes: the one of the first that failed, with
/// its rank. Collective, a barrier too.
Status agree(weft_session &session, const Status &own);

/// The name of the machine, for messages.
std::string hostOfProcess();

/// Gives every process's text to the first one; `all` is empty on the others.
/// Collective.
Status gatherTexts(weft_session &session, const std::string &text, std::vector<std::string> &all);

/// Gives the first process's text to all. Collective.
Status broadcast(weft_session &session, std::string &text);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_SESSION_AMONGPROCESSES_H
