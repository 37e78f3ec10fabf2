// The folder with checkpoints of many steps: what is in it, and what is sound.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names in the folder, N being eight digits or more:
//   step-N       complete when it has a manifest that matches its checksum
//   step-N.tmp   being written or removed; never read
//   step-N.old   replaced by a new step-N; counts while that is missing
//   latest       name of the newest, for people
//   .lock        held by the job that writes
#ifndef WEFT_RUNTIME_LIB_CHECKPOINT_CHECKPOINTFOLDER_H
#define WEFT_RUNTIME_LIB_CHECKPOINT_CHECKPOINTFOLDER_H

#include "checkpoint/CheckpointManifest.h"

namespace weft::runtime {

struct CheckpointCandidate {
  std::string path;
  int64_t step = -1;
  uint64_t ordinal = 0; // 0 = not known: the manifest cannot be read
  std::string manifest; // its text
  Status status;        // what is wrong with it
};

/// "step-00000123"
std::string checkpointName(int64_t step);

/// The step of a checkpoint at this path; -1 for what has another name.
int64_t checkpointStepOf(const std::string &path);

/// Reads and checks the manifest in `path`, and the sizes of its files.
CheckpointCandidate inspectCheckpoint(const std::string &path);

/// All in `directory`, sound or not, the newest save first and the unreadable
/// ones before those, by step. Without the texts of the manifests.
Status findCheckpoints(const std::string &directory, std::vector<CheckpointCandidate> &candidates);

/// Those to try for `path` (see loadCheckpoint), the best first.
Status chooseCheckpoints(const std::string &path, int64_t step,
                         std::vector<CheckpointCandidate> &candidates);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_CHECKPOINT_CHECKPOINTFOLDER_H
