// Attempts at a job, each from the last checkpoint of the one before.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Restarts.h"

#include "checkpoint/CheckpointFolder.h"

#include "weft/runtime/OutputFile.h"
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

/// Those in --save that can be read, the newest save first; none, if there is no
/// such folder yet.
static std::vector<CheckpointCandidate> savedCheckpoints(const CommandLine &options) {
  std::vector<CheckpointCandidate> all, sound;
  (void)findCheckpoints(options.training.save, all);
  for (const CheckpointCandidate &candidate : all)
    if (candidate.status.ok())
      sound.push_back(candidate);
  return sound;
}

Restarts::Restarts(const CommandLine &options) : options(options) {
  if (options.maxRestarts == 0)
    return;
  std::vector<CheckpointCandidate> saved = savedCheckpoints(options);
  newest = saved.empty() ? 0 : saved.front().ordinal;
}

bool Restarts::again(const Outcome &outcome) {
  if (!outcome.isAccident || done == options.maxRestarts)
    return false;
  ++done;
  // What another job left there is not where this one was.
  std::vector<CheckpointCandidate> saved = savedCheckpoints(options);
  bool isOwn = !saved.empty() && saved.front().ordinal > newest;
  const TrainingOptions &training = options.training;
  folder = isOwn ? training.save : "";
  // As the training itself decides it.
  bool resumes =
      !training.resume.empty() && (!isSamePlace(training.resume, training.save) || newest > 0);
  std::string why =
      outcome.text.empty() ? "exit code " + std::to_string(outcome.code) : outcome.text;
  std::string place =
      isOwn     ? "resuming after step " + std::to_string(saved.front().step)
      : resumes ? "resuming from '" + training.resume + "' again"
                : "starting anew, as the job saved no checkpoint in '" + training.save + "' yet";
  tellWarning("weft", "restart " + std::to_string(done) + " of " +
                          std::to_string(options.maxRestarts) + ": " + why + "; " + place);
  return true;
}

int Restarts::last(const Outcome &outcome) const {
  int code = tell(outcome);
  if (outcome.isAccident && done > 0)
    std::fprintf(stderr, "weft: it failed after %ld restarts, which is all of --max-restarts\n",
                 done);
  return code;
}
