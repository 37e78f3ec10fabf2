// Saves and loads the state of a session, from any layout to any other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A checkpoint is a directory `DIR/step-00000123` with one file
// `rank-00000.safetensors` for each rank that wrote something and
// `manifest.json`, which says where every tensor's elements lie and holds the
// checksums (docs/checkpoints.md). `DIR/latest` names the newest for people;
// loading does not trust it.
//
// Every function here is collective: all processes of the job call it in the
// same order, between runs, and get the same status. Typical use:
//
//   std::unique_ptr<CheckpointWriter> writer;
//   WEFT_TRY(CheckpointWriter::open(session, "ckpt", {}, writer));
//   if (resume) {
//     std::vector<std::string> warnings;
//     WEFT_TRY(loadCheckpoint(session, "ckpt", {}, info, warnings));
//   }
//   for (; info.step < steps;) {
//     ... weft_run(session, "step") ...; ++info.step; info.samples += batch;
//     if (info.step % every == 0)
//       if (Status failed = writer->save(info); !failed.ok())
//         say(failed.text()); // training goes on, the last good one stays
//   }
//   WEFT_TRY(writer->finish());
#ifndef WEFT_RUNTIME_CHECKPOINT_H
#define WEFT_RUNTIME_CHECKPOINT_H

#include "weft/runtime/Runtime.h"
#include "weft/runtime/Status.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weft::runtime {

/// The state of a training beside its tensors, with which it goes on as if it never stopped.
/// Random numbers are counter-based, so a seed and the step are their state.
struct CheckpointInfo {
  int64_t step = 0;    // steps done; the next one has this number
  int64_t samples = 0; // the data cursor: index of the next global sample
  uint64_t seed = 0;
  /// Whatever else the caller wants back: at most 256 entries of 64 KiB.
  std::map<std::string, std::string> notes;
};

/// A test's answer to a file operation. `operation` is one of "mkdir",
/// "create", "write", "fsync", "fsyncdir", "rename", "unlink", "rmdir". Zero
/// lets it happen, an errno value makes it fail without happening.
/// Called by several threads at once.
using FileHook = std::function<int(const char *operation, const std::string &path)>;

struct CheckpointOptions {
  int64_t keep = 3; // how many stay, the newest ones; at least 1
  /// Write while the next steps run, from a snapshot that `open` allocates;
  /// otherwise `save` returns when the checkpoint is on disk.
  bool asynchronous = true;
  /// Checksums are of so many bytes each, the least that is read; a power of
  /// two from 4 KiB to 64 MiB. 0 = 1 MiB, more for terabytes.
  uint64_t blockBytes = 0;
  FileHook hook; // for tests
};

class CheckpointWriter {
public:
  /// Makes `directory` if need be, checks that it can be written and allocates
  /// the snapshot. Takes a lock: one job at a time saves in a directory.
  static Status open(weft_session *session, const std::string &directory,
                     const CheckpointOptions &options, std::unique_ptr<CheckpointWriter> &writer);
  /// Waits for the write in work, whose failure is lost unless `finish` was
  /// called. Close it before the session.
  ~CheckpointWriter();

  /// Copies the state and starts writing it; waits first for a write that is
  /// still in work. A failure, also one of the write before this, names the
  /// step, the file and the remedy; the directory then holds what it held
  /// before, and the next `save` tries again.
  Status save(const CheckpointInfo &info);

  /// Waits for the write in work and tells how it ended.
  Status finish();

  /// Memory of this process that the snapshot takes.
  uint64_t snapshotBytes() const;
  /// Directory of the last checkpoint known to be complete, empty = none yet.
  const std::string &lastCommitted() const;

private:
  class Implementation;
  explicit CheckpointWriter(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> implementation;
};

struct LoadOptions {
  int64_t step = -1; // this one or none; -1 = the newest that is sound
  /// Take parameters only; optimizer state and the step counter keep their
  /// values (of weft_load_state) and `info` is not filled in: fine-tuning.
  bool parametersOnly = false;
};

/// Fills every state of `session` from `path`: the folder given to
/// CheckpointWriter, or one `step-...` folder in it. Mesh, placements and
/// number of ranks may differ from those that wrote it; each rank reads only
/// the blocks that hold its own elements, and checks them.
///
/// Unless one checkpoint was asked for, a damaged or incomplete one is passed
/// over with a warning that names it and what is wrong. A state that is
/// missing, superfluous or has another shape is an error, listing all of them,
/// and then no state has been changed. Floating-point states are converted
/// where dtypes differ; a parameter whose stored dtype differs is taken from
/// its `#master` copy if there is one, and a missing `#master` from the
/// parameter. An executable without optimizer state ignores that of the
/// checkpoint. weft_load_state need not be called before, except for
/// `parametersOnly`.
Status loadCheckpoint(weft_session *session, const std::string &path, const LoadOptions &options,
                      CheckpointInfo &info, std::vector<std::string> &warnings);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_CHECKPOINT_H
