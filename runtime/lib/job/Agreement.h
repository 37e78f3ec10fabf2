// What all processes of a job must have alike, compared before it matters.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_JOB_AGREEMENT_H
#define WEFT_RUNTIME_LIB_JOB_AGREEMENT_H

#include "session/Session.h"

namespace weft::runtime {

/// Fails on all processes alike if one was given something else than the first
/// one; names the rank, what it is and both values. `lines` are
/// "name\tvalue\n", each name once. Collective.
Status agreeOn(weft_session &session, const std::string &lines);

/// The difference of two such texts in words; empty = none.
std::string differenceOf(const std::string &first, const std::string &other, int64_t otherRank);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_JOB_AGREEMENT_H
