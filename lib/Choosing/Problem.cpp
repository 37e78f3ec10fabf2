// Searches beside the one for the choice.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Problem.h"

using namespace weft;
using namespace weft::choosing;

planner::Result Problem::search(const planner::Space &where, const planner::Options &how,
                                planner::Unpriced &unpriced) const {
  planner::Result found = planner::search(where, cluster, models, how);
  unpriced.merge(found.unpriced);
  return found;
}

std::optional<planner::Candidate> Problem::simulate(const planner::Space &where,
                                                    const planner::Layout &layout,
                                                    planner::Unpriced &unpriced) const {
  return planner::simulate(where, layout, cluster, models, options, unpriced);
}
