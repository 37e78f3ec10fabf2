// Field by field.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ApplyLayout.h"

#include "llvm/ADT/STLExtras.h"

using namespace weft;
using namespace weft::choosing;

std::string choosing::stagesOf(const planner::Candidate &candidate) {
  const std::vector<int64_t> &counts = candidate.chunkBlocks;
  if (counts.size() < 2 || llvm::is_contained(counts, 0))
    return "";
  std::string text = "blocks:";
  for (int64_t count : counts)
    text += (text.back() == ':' ? "" : ",") + std::to_string(count);
  return text;
}

void choosing::applyLayout(const planner::Candidate &candidate, PhaseOptions &phases) {
  const planner::Layout &layout = candidate.layout;
  std::string mesh = layout.mesh();
  phases.mesh = mesh.empty() ? Mesh() : *Mesh::parse(mesh);
  phases.microbatches = layout.microbatches;
  phases.schedule = layout.schedule;
  phases.zero = {unsigned(layout.zero), ""};
  phases.recompute = layout.recompute;
  phases.sequenceParallel = layout.sequenceParallel;
  // Where a person did not say it.
  if (phases.stages.empty())
    phases.stages = stagesOf(candidate);
}
