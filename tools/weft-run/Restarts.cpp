// Attempts at a job, each from the last checkpoint of the one before.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Restarts.h"

#include "checkpoint/CheckpointFolder.h"

#include "weft/runtime/Terminal.h"

#include <cstdio>

using namespace weft::runtime;

std::vector<std::string> weft::runtime::commandOf(const std::string &executable,
                                                  const CommandLine &options,
                                                  const std::string &resume) {
  std::vector<std::string> command{executable};
  for (const FlagTable::Given &flag : options.given) {
    bool isOwn = flag.name == "--max-restarts", isReplaced = flag.name == "--resume";
    if (!isOwn && !(isReplaced && !resume.empty()))
      command.push_back(flag.alone ? flag.name : flag.name + "=" + flag.value);
  }
  if (!resume.empty())
    command.push_back("--resume=" + resume);
  return command;
}

bool Restarts::again(const Outcome &outcome) {
  if (!outcome.isAccident || done == options.maxRestarts)
    return false;
  ++done;
  std::vector<CheckpointCandidate> saved;
  (void)findCheckpoints(options.training.save, saved); // none, if there is no such folder yet
  int64_t step = -1;
  for (const CheckpointCandidate &candidate : saved)
    if (step < 0 && candidate.status.ok())
      step = candidate.step;
  folder = step < 0 ? "" : options.training.save;
  std::string why =
      outcome.text.empty() ? "exit code " + std::to_string(outcome.code) : outcome.text;
  std::string place =
      step < 0 ? "starting anew, as '" + options.training.save + "' holds no checkpoint yet"
               : "resuming after step " + std::to_string(step);
  std::fprintf(stderr, "weft: %srestart %ld of %ld: %s; %s\n", warningWord().c_str(), done,
               options.maxRestarts, why.c_str(), place.c_str());
  return true;
}

int Restarts::last(const Outcome &outcome) const {
  int code = tell(outcome);
  if (outcome.isAccident && done > 0)
    std::fprintf(stderr, "weft: it failed after %ld restarts, which is all of --max-restarts\n",
                 done);
  return code;
}
