// libnccl.so.2 without GPUs: what Weft calls of it, as work of the emulated ones' streams, between
// threads or processes of one machine.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A group of calls is work that posts what others need, and work that waits for what they post and
// writes results. Members are added in an order that changes from group to group, in the type that
// moves; all members have to make the same calls. A communicator does not block: joining, leaving
// and now and then a group are in progress until somebody asks.
//
// WEFT_EMULATED_NCCL plants a failure: "hang:M:N" lets group N of a communicator's member M (both
// from 0) never come, "error:M:N" ends it with a lost peer, of which only who asks hears, and
// "fault:M:N" so with an error of the system.
#include "Gpu.h"
#include "Meeting.h"

#include "base/Convert.h"
#include "device/cuda/libraries/NcclApi.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

using namespace weft;
using namespace weft::emulated;
using namespace weft::runtime;
using namespace weft::runtime::cuda;

namespace {

enum class Kind { AllReduce, Broadcast, AllGather, ReduceScatter, Send, Recv };

struct Call {
  Kind kind;
  uint64_t from, to; // addresses on the device
  size_t count;
  NcclType type;
  NcclReduction reduction;
  int peer;
  char *fromBytes = nullptr, *toBytes = nullptr;

  bool isCollective() const { return kind != Kind::Send && kind != Kind::Recv; }
  uint64_t bytes() const { return count * ncclBytes(type); }
  /// What the member reads and writes.
  uint64_t bytesIn(int members, int me) const {
    return kind == Kind::Recv || (kind == Kind::Broadcast && peer != me) ? 0
           : kind == Kind::ReduceScatter ? bytes() * uint64_t(members)
                                         : bytes();
  }
  uint64_t bytesOut(int members) const {
    return kind == Kind::Send ? 0 : kind == Kind::AllGather ? bytes() * uint64_t(members) : bytes();
  }
};

/// What must be alike at all members.
uint64_t mixed(uint64_t hash, const Call &call) {
  for (uint64_t word : {uint64_t(call.kind), uint64_t(call.count), uint64_t(call.type),
                        uint64_t(call.reduction), uint64_t(call.peer)})
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
  return hash;
}

struct Comm {
  std::unique_ptr<Meeting> meeting;
  std::atomic<int> error{NcclSuccess};
  std::atomic<bool> aborted{false};
  bool isLeaving = false;
  uint64_t groups = 0;                                 // so far
  std::shared_ptr<int> user = std::make_shared<int>(); // graphs have it, too
  // A group that is in progress.
  std::vector<Call> late;
  Stream lateStream = nullptr;
  uint64_t polls = 0;

  bool isOver() const { return aborted || error != NcclSuccess; }
};
using CommPtr = std::shared_ptr<Comm>;

CommPtr &of(NcclComm comm) { return *reinterpret_cast<CommPtr *>(comm); }

thread_local int depth = 0;
thread_local std::vector<Call> calls;
thread_local CommPtr callsComm;
thread_local Stream callsStream = nullptr;
thread_local bool callsDiffer = false;

/// Whether this is the member and the group that shall fail so.
bool isPlanted(const char *how, const Comm &comm, uint64_t group) {
  const char *wish = std::getenv("WEFT_EMULATED_NCCL");
  char word[16] = "";
  int member = -1;
  unsigned long long number = 0;
  return wish && std::sscanf(wish, "%15[a-z]:%d:%llu", word, &member, &number) == 3 &&
         std::strcmp(word, how) == 0 && member == comm.meeting->me && number == group;
}

template <typename T> T combined(NcclReduction reduction, T a, T b) {
  using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t,
                                  std::conditional_t<std::is_same_v<T, double>, double, float>>;
  switch (reduction) {
  case NcclSum:
    return T(Wide(a) + Wide(b));
  case NcclProduct:
    return T(Wide(a) * Wide(b));
  case NcclMax: // which is not a NaN where one of both is a number
    return Wide(b) != Wide(b) || b < a ? a : b;
  case NcclMin:
    return Wide(b) != Wide(b) || a < b ? a : b;
  }
  return a;
}

template <typename T>
void reduceAs(NcclReduction reduction, const std::vector<const char *> &members, size_t count,
              char *to) {
  for (size_t i = 0; i < count; ++i) {
    T sum, next;
    std::memcpy(&sum, members[0] + i * sizeof(T), sizeof(T));
    for (size_t m = 1; m < members.size(); ++m) {
      std::memcpy(&next, members[m] + i * sizeof(T), sizeof(T));
      sum = combined(reduction, sum, next);
    }
    std::memcpy(to + i * sizeof(T), &sum, sizeof(T));
  }
}

void reduce(const Call &call, const std::vector<const char *> &members) {
  switch (call.type) {
  case NcclI8:
    return reduceAs<int8_t>(call.reduction, members, call.count, call.toBytes);
  case NcclU8:
    return reduceAs<uint8_t>(call.reduction, members, call.count, call.toBytes);
  case NcclI32:
    return reduceAs<int32_t>(call.reduction, members, call.count, call.toBytes);
  case NcclI64:
    return reduceAs<int64_t>(call.reduction, members, call.count, call.toBytes);
  case NcclF16:
    return reduceAs<Float16>(call.reduction, members, call.count, call.toBytes);
  case NcclBF16:
    return reduceAs<BFloat16>(call.reduction, members, call.count, call.toBytes);
  case NcclF32:
    return reduceAs<float>(call.reduction, members, call.count, call.toBytes);
  case NcclF64:
    return reduceAs<double>(call.reduction, members, call.count, call.toBytes);
  }
}

void append(std::vector<char> &bytes, const char *from, uint64_t count) {
  bytes.insert(bytes.end(), from, from + count);
}

void fail(const std::string &text) {
  auto held = Gpu::get().lock();
  Gpu::get().fail(text);
}

/// A group of calls of one communicator.
class Group {
public:
  Group(CommPtr comm, std::vector<Call> calls)
      : comm(std::move(comm)), calls(std::move(calls)), number(this->comm->groups++),
        members(this->comm->meeting->members), me(this->comm->meeting->me) {
    for (const Call &call : this->calls) {
      hasCollectives |= call.isCollective();
      if (call.kind == Kind::Send)
        sendsTo[size_t(call.peer)] = true;
      if (call.kind == Kind::Recv)
        receivesFrom[size_t(call.peer)] = true;
    }
  }

  bool mayPost() const {
    if (comm->aborted)
      return true;
    if (isPlanted("hang", *comm, number))
      return false;
    if (isPlanted("error", *comm, number))
      comm->error = NcclRemoteError;
    if (isPlanted("fault", *comm, number))
      comm->error = NcclSystemError;
    if (comm->error != NcclSuccess)
      return false;
    bool free = !hasCollectives || comm->meeting->isFree(Meeting::kAll);
    for (int m = 0; m < members; ++m)
      free &= !sendsTo[size_t(m)] || comm->meeting->isFree(m);
    return free;
  }

  void post() const {
    if (comm->isOver())
      return;
    std::vector<char> bytes;
    uint64_t what = 1;
    for (const Call &call : calls)
      if (call.isCollective()) {
        append(bytes, call.fromBytes, call.bytesIn(members, me));
        what = mixed(what, call);
      }
    if (hasCollectives)
      comm->meeting->post(Meeting::kAll, bytes, what);
    for (int m = 0; m < members; ++m) {
      bytes.clear();
      for (const Call &call : calls)
        if (call.kind == Kind::Send && call.peer == m)
          append(bytes, call.fromBytes, call.bytes());
      if (sendsTo[size_t(m)])
        comm->meeting->post(m, bytes, 0);
    }
  }

  bool mayTake() const {
    if (comm->aborted)
      return true;
    if (comm->error != NcclSuccess)
      return false;
    for (int m = 0; m < members; ++m)
      if ((hasCollectives && !comm->meeting->hasCome(m, Meeting::kAll)) ||
          (receivesFrom[size_t(m)] && !comm->meeting->hasCome(m, me)))
        return false;
    return true;
  }

  void take() const {
    if (comm->isOver())
      return;
    if (hasCollectives)
      takeCollectives();
    for (int m = 0; m < members; ++m) {
      if (!receivesFrom[size_t(m)])
        continue;
      uint64_t what = 0, at = 0;
      std::vector<char> bytes = comm->meeting->read(m, me, what);
      for (const Call &call : calls) {
        if (call.kind != Kind::Recv || call.peer != m)
          continue;
        if (at + call.bytes() <= bytes.size())
          std::memcpy(call.toBytes, bytes.data() + at, call.bytes());
        at += call.bytes();
      }
      if (at != bytes.size())
        fail("member " + std::to_string(m) + " sends " + std::to_string(bytes.size()) +
             " bytes where " + std::to_string(at) + " are received");
    }
  }

  /// Whether what was sent has been received.
  bool isSent() const {
    bool free = true;
    for (int m = 0; m < members; ++m)
      free &= !sendsTo[size_t(m)] || comm->meeting->isFree(m);
    return free || comm->aborted;
  }
  bool sends() const {
    return std::any_of(std::begin(sendsTo), std::end(sendsTo), [](bool sends) { return sends; });
  }

  const std::vector<Call> &all() const { return calls; }

private:
  void takeCollectives() const {
    std::vector<std::vector<char>> given;
    uint64_t own = 1;
    for (const Call &call : calls)
      own = call.isCollective() ? mixed(own, call) : own;
    for (int m = 0; m < members; ++m) {
      uint64_t what = 0;
      given.push_back(comm->meeting->read(m, Meeting::kAll, what));
      if (what != own)
        return fail("member " + std::to_string(m) + " of an NCCL group makes other calls");
    }
    std::vector<uint64_t> at(given.size());
    for (const Call &call : calls)
      if (call.isCollective())
        takeOne(call, given, at);
  }

  /// `at`: where the call's bytes begin in what each member gave.
  void takeOne(const Call &call, const std::vector<std::vector<char>> &given,
               std::vector<uint64_t> &at) const {
    std::vector<const char *> places;
    for (size_t i = 0; i < given.size(); ++i) {
      // Another order in each group, forwards and backwards.
      size_t n = given.size(), m = (i + number) % n;
      m = number / n % 2 ? n - 1 - m : m;
      uint64_t mine = call.kind == Kind::ReduceScatter ? uint64_t(me) * call.bytes() : 0;
      places.push_back(given[m].data() + at[m] + mine);
    }
    if (call.kind == Kind::AllReduce || call.kind == Kind::ReduceScatter)
      reduce(call, places);
    for (int m = 0; m < members; ++m) {
      const char *from = given[size_t(m)].data() + at[size_t(m)];
      if (call.kind == Kind::AllGather)
        std::memcpy(call.toBytes + uint64_t(m) * call.bytes(), from, call.bytes());
      if (call.kind == Kind::Broadcast && m == call.peer)
        std::memcpy(call.toBytes, from, call.bytes());
      at[size_t(m)] += call.bytesIn(members, m);
    }
  }

  const CommPtr comm;
  const std::vector<Call> calls;
  const uint64_t number;
  const int members, me;
  bool hasCollectives = false;
  bool sendsTo[Meeting::kMost] = {}, receivesFrom[Meeting::kMost] = {};
};

/// A group of calls as work of a stream. With the GPU's lock.
Result pushGroup(const CommPtr &comm, std::vector<Call> calls, StreamState &state) {
  Gpu &gpu = Gpu::get();
  int members = comm->meeting->members, me = comm->meeting->me;
  Work post, take;
  post.label = take.label = "NCCL's calls";
  for (Call &call : calls) {
    uint64_t in = call.bytesIn(members, me), out = call.bytesOut(members);
    if (in > 0)
      post.touches.push_back({call.from, in, false});
    if (out > 0)
      take.touches.push_back({call.to, out, true});
    call.fromBytes = in > 0 ? gpu.bytesAt(call.from) : nullptr;
    call.toBytes = out > 0 ? gpu.bytesAt(call.to) : nullptr;
  }
  auto group = std::make_shared<Group>(comm, std::move(calls));
  post.ready = [group] { return group->mayPost(); };
  post.run = [group] { group->post(); };
  take.ready = [group] { return group->mayTake(); };
  take.run = [group] { group->take(); };
  Result result = gpu.push(state, std::move(post));
  if (result == Success)
    result = gpu.push(state, std::move(take));
  if (result == Success && group->sends()) {
    Work sent;
    sent.label = "NCCL's sends";
    sent.ready = [group] { return group->isSent(); };
    result = gpu.push(state, std::move(sent));
  }
  return result;
}

NcclResult enqueue(const CommPtr &comm, const std::vector<Call> &calls, Stream stream) {
  auto put = [comm, calls, user = comm->user](StreamState &state) {
    return pushGroup(comm, calls, state);
  };
  Result result = Gpu::get().put(*reinterpret_cast<StreamState *>(stream), put);
  return result == Success ? NcclSuccess : NcclUnhandledCudaError;
}

NcclResult add(NcclComm comm, Stream stream, const Call &call) {
  if (depth == 0 || of(comm)->isLeaving || call.peer < 0 || call.peer >= of(comm)->meeting->members)
    return NcclInvalidUsage;
  callsDiffer |= !calls.empty() && (callsComm != of(comm) || callsStream != stream);
  callsComm = of(comm);
  callsStream = stream;
  calls.push_back(call);
  return NcclSuccess;
}

uint64_t addressOf(const void *pointer) { return uint64_t(uintptr_t(pointer)); }

} // namespace

#define WEFT_ENTER(SYMBOL)                                                                         \
  auto held = Gpu::get().lock();                                                                   \
  if (Result enteredResult = Gpu::get().enter(SYMBOL))                                             \
  return NcclResult(int(enteredResult) == LaunchFailed ? NcclUnhandledCudaError                    \
                                                       : NcclResult(int(enteredResult)))

extern "C" {

const char *ncclGetErrorString(NcclResult result) {
  return result == NcclUnhandledCudaError ? "unhandled cuda error"
         : result == NcclRemoteError      ? "remote process exited or there was a network error"
         : result == NcclInvalidUsage     ? "invalid usage"
         : result == NcclSystemError      ? "unhandled system error"
                                          : "an emulated error";
}
const char *ncclGetLastError(NcclComm) { return "of an emulated NCCL"; }

NcclResult ncclGetVersion(int *version) {
  WEFT_ENTER("ncclGetVersion");
  const char *wish = std::getenv("WEFT_EMULATED_NCCL_VERSION");
  *version = wish ? std::atoi(wish) : 22809;
  return NcclSuccess;
}

NcclResult ncclGetUniqueId(NcclUniqueId *id) {
  WEFT_ENTER("ncclGetUniqueId");
  *id = {};
  Meeting::makeName().copy(id->internal, sizeof id->internal - 1);
  return NcclSuccess;
}

NcclResult ncclCommInitRankConfig(NcclComm *comm, int members, NcclUniqueId id, int me,
                                  NcclConfig *config) {
  WEFT_ENTER("ncclCommInitRankConfig");
  // Callers that block are not emulated.
  if (config->size < sizeof(NcclConfig) || config->magic != NcclConfig().magic ||
      config->blocking != 0 || me < 0 || me >= members || members > Meeting::kMost)
    return NcclInvalidArgument;
  auto made = std::make_shared<Comm>();
  made->meeting.reset(Meeting::open(id.internal, members, me));
  if (!made->meeting)
    return NcclSystemError;
  // Two members on one GPU are a mistake, unless they name two machines; threads have one each.
  const char *host = std::getenv("NCCL_HOSTID");
  uint64_t identity = std::hash<std::string>()(host ? host : std::to_string(getpid())) | 1;
  bool isTwin = host && made->meeting->isTwin(identity);
  *comm = reinterpret_cast<NcclComm>(new CommPtr(std::move(made)));
  return isTwin ? NcclInvalidUsage : NcclInProgress;
}

NcclResult ncclCommGetAsyncError(NcclComm comm, NcclResult *result) {
  WEFT_ENTER("ncclCommGetAsyncError");
  Comm &state = *of(comm);
  *result = NcclResult(state.error.load());
  if (state.error != NcclSuccess)
    return NcclSuccess;
  if (!state.meeting->haveAllCome() || (state.isLeaving && !state.meeting->haveAllLeft()))
    *result = NcclInProgress;
  if (state.polls > 0 && --state.polls > 0)
    *result = NcclInProgress;
  if (state.polls == 0 && !state.late.empty())
    return enqueue(of(comm), std::exchange(state.late, {}), state.lateStream);
  return NcclSuccess;
}

NcclResult ncclCommFinalize(NcclComm comm) {
  WEFT_ENTER("ncclCommFinalize");
  // It waits for graphs with its work, for ever if the caller has not destroyed them before.
  if (of(comm)->user.use_count() > 1) {
    Gpu::get().fail("a communicator is left while graphs have its work");
    return NcclInvalidUsage;
  }
  of(comm)->isLeaving = true;
  of(comm)->meeting->leave();
  return NcclInProgress;
}
NcclResult ncclCommDestroy(NcclComm comm) {
  WEFT_ENTER("ncclCommDestroy");
  // Without leaving first it would wait for the others.
  if (!of(comm)->isLeaving || !of(comm)->meeting->haveAllLeft())
    return NcclInvalidUsage;
  delete &of(comm);
  return NcclSuccess;
}
NcclResult ncclCommAbort(NcclComm comm) {
  auto held = Gpu::get().lock();
  if (of(comm)->user.use_count() > 1)
    Gpu::get().fail("a communicator is aborted while graphs have its work");
  of(comm)->aborted = true;
  delete &of(comm); // work that is on streams still has it
  return NcclSuccess;
}

NcclResult ncclGroupStart() {
  WEFT_ENTER("ncclGroupStart");
  if (depth++ == 0)
    callsDiffer = false;
  return NcclSuccess;
}
NcclResult ncclGroupEnd() {
  WEFT_ENTER("ncclGroupEnd");
  if (depth == 0)
    return NcclInvalidUsage;
  if (--depth > 0)
    return NcclSuccess;
  std::vector<Call> all = std::exchange(calls, {});
  CommPtr comm = std::exchange(callsComm, nullptr);
  if (all.empty())
    return NcclSuccess;
  // Several communicators or streams in a group are not emulated; nor may two groups be in
  // progress.
  if (callsDiffer || !comm->late.empty())
    return NcclInvalidUsage;
  if (Gpu::get().draw(4) != 0)
    return enqueue(comm, std::move(all), callsStream);
  comm->late = std::move(all);
  comm->lateStream = callsStream;
  comm->polls = 1 + Gpu::get().draw(3);
  return NcclInProgress;
}

NcclResult ncclAllReduce(const void *from, void *to, size_t count, NcclType type,
                         NcclReduction reduction, NcclComm comm, Stream stream) {
  WEFT_ENTER("ncclAllReduce");
  return add(comm, stream,
             {Kind::AllReduce, addressOf(from), addressOf(to), count, type, reduction, 0});
}
NcclResult ncclBroadcast(const void *from, void *to, size_t count, NcclType type, int root,
                         NcclComm comm, Stream stream) {
  WEFT_ENTER("ncclBroadcast");
  return add(comm, stream,
             {Kind::Broadcast, addressOf(from), addressOf(to), count, type, NcclSum, root});
}
NcclResult ncclAllGather(const void *from, void *to, size_t count, NcclType type, NcclComm comm,
                         Stream stream) {
  WEFT_ENTER("ncclAllGather");
  return add(comm, stream,
             {Kind::AllGather, addressOf(from), addressOf(to), count, type, NcclSum, 0});
}
NcclResult ncclReduceScatter(const void *from, void *to, size_t count, NcclType type,
                             NcclReduction reduction, NcclComm comm, Stream stream) {
  WEFT_ENTER("ncclReduceScatter");
  return add(comm, stream,
             {Kind::ReduceScatter, addressOf(from), addressOf(to), count, type, reduction, 0});
}
NcclResult ncclSend(const void *from, size_t count, NcclType type, int peer, NcclComm comm,
                    Stream stream) {
  WEFT_ENTER("ncclSend");
  return add(comm, stream, {Kind::Send, addressOf(from), 0, count, type, NcclSum, peer});
}
NcclResult ncclRecv(void *to, size_t count, NcclType type, int peer, NcclComm comm, Stream stream) {
  WEFT_ENTER("ncclRecv");
  return add(comm, stream, {Kind::Recv, 0, addressOf(to), count, type, NcclSum, peer});
}

} // extern "C"
