// What the command line of weft-schedule asks for.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_SCHEDULE_REQUEST_H
#define WEFT_TOOLS_WEFT_SCHEDULE_REQUEST_H

#include "weft/Pipeline/Search.h"
#include "weft/runtime/Status.h"

namespace weft::schedule {

struct Request {
  /// A generator's name, "search", or "file"; with a file its path.
  std::string kind, file;
  int64_t ranks = 0, chunksPerRank = 0, microbatches = 0; // 0: not said
  /// Of a rank's share of the model.
  pipeline::ChunkCosts share;
  bool hasShare = false;
  std::string costsFile;
  double memoryLimit = -1; // negative: none
  pipeline::Objective objective = pipeline::Objective::Wall;
  int64_t evaluations = -1, threads = 0; // not said; 0 threads: one a core
  std::string output, plot;
  bool json = false;
  /// What --help and the like print; nothing else counts then.
  std::string answer;
};

runtime::Status parseRequest(const std::vector<std::string> &arguments, Request &request);

/// A schedule with what it was made for.
struct Result {
  std::string kind; // with its chunks: "interleaved:2"
  pipeline::Schedule schedule;
  pipeline::Costs costs;
  pipeline::Timing timing;
  pipeline::Bounds bounds;
};

/// Makes or reads the schedule, checks it and simulates it.
runtime::Status makeResult(const Request &request, Result &result);

} // namespace weft::schedule

#endif // WEFT_TOOLS_WEFT_SCHEDULE_REQUEST_H
