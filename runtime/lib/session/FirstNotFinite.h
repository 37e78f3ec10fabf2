// Where in a job numbers stopped being finite.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_SESSION_FIRSTNOTFINITE_H
#define WEFT_RUNTIME_LIB_SESSION_FIRSTNOTFINITE_H

#include "session/Session.h"

namespace weft::runtime {

/// Of a session that looks at numbers (weft_options::check_numbers): the command of all ranks that
/// wrote the first NaN, and what it was that made numbers infinite before, in words; without a NaN
/// the latter alone; "" if all were finite. The same on all processes. Collective.
Status firstNotFinite(weft_session &session, std::string &text);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_SESSION_FIRSTNOTFINITE_H
