// What a transport provides: groups, exchanges, sends.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transport only moves bytes, from memory of the host to memory of the host,
// and knows neither devices nor reductions. The collectives are algorithms above
// it (lib/comm/collectives), so that all transports reduce in the same order
// and agree bit for bit. A library that does collectives as a whole, in the
// memory of devices, is not a transport but another CollectiveProvider.
#ifndef WEFT_RUNTIME_COMMUNICATOR_H
#define WEFT_RUNTIME_COMMUNICATOR_H

#include "weft/runtime/CollectiveFacts.h"
#include "weft/runtime/Runtime.h"

extern "C" {

constexpr uint32_t kWeftCommunicatorVersion = 4;

/// A run of bytes.
struct weft_block {
  const void *data;
  uint64_t bytes;
};
/// A message from one member to another: blocks that travel together, so that many
/// small tensors cost one exchange and need not be copied next to each other.
struct weft_message {
  const weft_block *blocks;
  uint64_t count;
};

/// Functions of the runtime that a backend may call.
struct weft_comm_host {
  void *context;
  /// Non-zero once a local rank failed: give up waiting.
  int32_t (*aborted)(void *context);
  /// How long a wait may last; it may be another number each time.
  double (*timeout_seconds)(void *context);
};

/// One rank's end of a group of ranks. Calls on it come from one thread at a
/// time, in the same order on all members. Codes are those of Status.h.
struct weft_comm_vtable {
  uint32_t version;
  const char *name;
  void (*destroy)(void *backend);

  /// Collective over the members, which call it in the same order. `id`
  /// distinguishes groups of the same members. `ranks` are process ranks.
  int32_t (*create_group)(void *backend, uint32_t id, const int64_t *ranks, int64_t members,
                          int64_t me, void **group, weft_status *status);
  void (*destroy_group)(void *group);

  /// Gives sends[j] to member j and makes `received`, one pointer a block of
  /// staging[0], staging[1], ..., point to what member j gave: into
  /// `staging[j]`, or right at the giver's memory. Blocks are of the same sizes
  /// on both sides. The pointers hold, and nothing in `sends` may change, until
  /// exchange_end. Member `me` included; its staging has no memory.
  int32_t (*exchange_begin)(void *group, const weft_message *sends, const weft_message *staging,
                            const void **received, weft_status *status);
  int32_t (*exchange_end)(void *group, weft_status *status);

  /// Rendezvous of two members; the others do not take part.
  int32_t (*send)(void *group, int64_t to, const void *data, uint64_t bytes, weft_status *status);
  int32_t (*recv)(void *group, int64_t from, void *data, uint64_t bytes, weft_status *status);

  /// What this end of the group has sent and received so far, counted where the bytes are handed
  /// over and not from what was asked for.
  weft::runtime::Traffic (*traffic)(const void *group);

  /// Ends the job on all processes with `code`; returns where there are none
  /// other.
  void (*abort_job)(void *backend, int32_t code);
  int64_t (*num_processes)(void *backend);
  int64_t (*process)(void *backend);
};

/// A plugin exports this under the name `weft_communicator_open`.
typedef int32_t (*weft_communicator_open_fn)(const weft_comm_host *host,
                                             const weft_comm_vtable **vtable, void **backend,
                                             weft_status *status);
}

#endif // WEFT_RUNTIME_COMMUNICATOR_H
