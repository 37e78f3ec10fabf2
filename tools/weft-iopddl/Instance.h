// Instances of the ASPLOS/EuroSys 2025 contest on intra-operator parallelism.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_IOPDDL_INSTANCE_H
#define WEFT_TOOLS_WEFT_IOPDDL_INSTANCE_H

#include "weft/Solver/Problem.h"
#include "weft/runtime/Status.h"

namespace weft::iopddl {

/// Costs from here on say in instances that a strategy or a pair is forbidden.
constexpr int64_t kContestInfinity = 1000000000000000000;

/// Reads an instance (github.com/google/iopddl):
///   {"problem": {"name": ..., "usage_limit": L,
///    "nodes": {"intervals": [[begin, end], ...], "costs": [[...], ...], "usages": [[...], ...]},
///    "edges": {"nodes": [[u, v], ...], "costs": [[...], ...]}}}
/// The file is read as a stream; equal tables are kept once. An error names the place in it.
runtime::Status readInstance(const std::string &path, solver::Problem &problem);

} // namespace weft::iopddl

#endif // WEFT_TOOLS_WEFT_IOPDDL_INSTANCE_H
