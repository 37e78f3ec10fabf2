// A step on a cluster: what its account takes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_COST_SIMULATESTEP_H
#define WEFT_COST_SIMULATESTEP_H

#include "weft/Cost/Rates.h"

#include <optional>

namespace weft::cost {

/// What a rank did: an action of the schedule, the sums of a chunk, or the updates.
struct Event {
  int64_t rank = 0, start = 0, end = 0; // in picoseconds
  std::string name;
};

struct Simulation {
  /// All ranks, one by one, instead of one for each stage: the same, but slower.
  bool everyRank = false;
  /// If it is there, gets what each simulated rank did.
  std::vector<Event> *events = nullptr;
};

/// Simulates a step. Each rank has three streams, which go through an action's items in order:
///
///   host       starts kernels and collectives, one after the other (Device::hostSeconds)
///   compute    a kernel starts when the one before has ended and the host has started it; what
///              follows an Exposed collective waits for it
///   network    a collective starts when all members have come to it and the one before on the
///              same stream has ended: an Exposed one or a GradientSum after the kernels before it,
///              a ParameterGather as soon as what follows the gather before it has begun
///
/// At the start of an action the host has nothing started yet. An action starts when the one before
/// it on its rank has ended and what it reads has come from the other stages
/// (weft/Pipeline/Simulate.h); updates when the rank's actions and sums are over. Ranks that differ
/// only in coordinates without stages do the same at the same time and are simulated as one.
/// Everything is a sum or maximum of integers, so that no order of additions shows.
///
/// Fails, saying why in `error`, if the account contradicts itself.
std::optional<Prediction> simulateStep(const StepAccount &account, const Cluster &cluster,
                                       const Simulation &options, std::string &error);

/// The events as a trace that Perfetto and chrome://tracing show.
std::string writeTrace(const std::vector<Event> &events);

} // namespace weft::cost

#endif // WEFT_COST_SIMULATESTEP_H
