// C interface of the runtime: open a program, bind inputs, run, read outputs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A session holds this process's ranks of one program: all of them under
// `inproc`, one under `mpi` and `tcp`. Calls on one session must not overlap. Each
// returns a code of Status.h (0 = ok) and writes its message to `status` if not
// null. After a rank failed or hung (codes 3, 4) only weft_close may follow.
#ifndef WEFT_RUNTIME_RUNTIME_H
#define WEFT_RUNTIME_RUNTIME_H

#include "weft/runtime/Program.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_session weft_session;

typedef struct weft_status {
  int32_t code;
  char text[2044];
} weft_status;

typedef struct weft_options {
  const char *comm;          // "inproc" (default, also null), "mpi", "tcp" or "nccl"
  uint32_t threads_per_rank; // 0 = the program's, else cores / local ranks
  double timeout_seconds; // a rank waits this long for others; 0 = 600, less in steps of training
  const char *model_directory; // null = the program's
  uint32_t trace_commands;     // room for so many trace events a stream; 0 = off
  int64_t inject_rank;         // for tests of failures: this rank fails or stalls
  int64_t inject_command;      // before this command of a run; -1 = never
  uint32_t inject_stall;       // stall for ever instead of failing
  int64_t inject_flip;         // or flips a bit of a state before this step; -1 = never
  uint32_t no_pin;             // let the system move ranks' threads between cores
  /* Lines "name<TAB>value" that all processes must have alike, beside the
     program itself; null = none. weft_open fails where they differ. */
  const char *agreement;
  const char *pretend;    // null, or a file: actions of a pipeline sleep as it says (Pretend.h)
  uint32_t check_numbers; // look at what each command writes (NumberCheck.h), which takes time
} weft_options;

/// Fills in the defaults.
void weft_options_init(weft_options *options);

/// Opens the blob, which must stay alive as the kernels must, and makes rank contexts: threads,
/// arena, library primitives, communicators. Does not read weights. After a
/// failure `session` may be set all the same; then weft_abort_job and
/// weft_close are the only calls left for it.
int32_t weft_open(const void *blob, uint64_t bytes, const weft_kernel_entry *kernels,
                  uint64_t num_kernels, const weft_options *options, weft_session **session,
                  weft_status *status);
/// Ends the session's threads and frees what it has. But where a rank did not come
/// back behind a failure (of a hang the message says that it "does not react"), its
/// thread cannot be ended and still uses the session: that is kept, and blob and
/// kernels must stay for the life of the process.
void weft_close(weft_session *session);
/// After a failure: ends the processes of a job that spans several with exit
/// code `code`. Does nothing under `inproc`.
void weft_abort_job(weft_session *session, int32_t code);
/// After a failure: prints it on stderr, as one process of those that a machine
/// runs; or leaves it to weft-run if that started the job.
void weft_tell_failure(weft_session *session, int32_t code, const char *text);

/// All ranks of the program, and those of this process.
int64_t weft_num_ranks(const weft_session *session);
int64_t weft_num_local_ranks(const weft_session *session);
int64_t weft_first_local_rank(const weft_session *session);

/// Reads every state from its source; each rank only its own bytes.
int32_t weft_load_state(weft_session *session, weft_status *status);

/// Copies each local rank's part of a global row-major tensor of `bytes` bytes.
int32_t weft_set_input(weft_session *session, const char *program, const char *name,
                       const void *data, uint64_t bytes, weft_status *status);
/// The same from a .npy file, of which each rank reads only its part.
int32_t weft_set_input_file(weft_session *session, const char *program, const char *name,
                            const char *path, weft_status *status);

/// Runs a program on all local ranks and waits for them.
int32_t weft_run(weft_session *session, const char *program, weft_status *status);

/// Puts the local ranks' parts of an output into a global row-major tensor;
/// elements of other processes are left alone.
int32_t weft_get_output(weft_session *session, const char *program, const char *name, void *data,
                        uint64_t bytes, weft_status *status);
/// The same, and on the first process all elements of all others; on these `data` may be null.
/// Collective.
int32_t weft_gather_output(weft_session *session, const char *program, const char *name, void *data,
                           uint64_t bytes, weft_status *status);
/// The same as weft_get_output for a state, in its stored dtype.
int32_t weft_get_state(weft_session *session, const char *name, void *data, uint64_t bytes,
                       weft_status *status);
/// Creates a .npy file; every process writes its part. Collective.
int32_t weft_write_output(weft_session *session, const char *program, const char *name,
                          const char *path, weft_status *status);

typedef struct weft_statistics {
  uint64_t arena_bytes;   // per rank, of the largest local rank
  uint64_t scratch_bytes; // of these: library scratch added at load
  uint32_t threads_per_rank;
  uint32_t pinned_cores; // that a local rank has to itself; 0 = not pinned
  uint32_t num_threads;  // all threads the session made, without library teams
  uint64_t runs;
  double run_seconds;           // of the slowest local rank, summed over runs
  double communication_seconds; // of these: stream 0 waited or communicated
  /* Means over local ranks, summed over runs: while collectives were under way,
     and of these while the rank computed as well. */
  double collective_seconds;
  double hidden_seconds;
} weft_statistics;
void weft_get_statistics(const weft_session *session, weft_statistics *statistics);

/// Largest value of `local` over all processes; a barrier too.
int32_t weft_reduce_max(weft_session *session, double local, double *result, weft_status *status);

/// Writes the collected trace of all ranks as Chrome/Perfetto JSON, from the
/// first process. Collective.
int32_t weft_write_trace(weft_session *session, const char *path, weft_status *status);

#ifdef __cplusplus
}
#endif

#endif // WEFT_RUNTIME_RUNTIME_H
