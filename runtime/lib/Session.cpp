// The C interface: sessions, inputs, runs, outputs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Libraries.h"
#include "RankContext.h"

#include "weft/runtime/Npy.h"
#include "weft/runtime/Runtime.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

using namespace weft::runtime;

/// After a failure the others get this long to notice it and stop.
static constexpr double kGraceSeconds = 2.0;

struct weft_session {
  explicit weft_session(double timeout) : world(timeout) {
    shared.world = &world;
    shared.libraries = &libraries;
  }

  World world;
  Libraries libraries;
  SessionShared shared;
  std::vector<std::unique_ptr<RankContext>> ranks;
  int64_t firstRank = 0;
  bool broken = false; // a rank's thread did not come back
  weft_options options{};
  weft_statistics statistics{};
  // The job that all local ranks do; set before it is posted.
  uint32_t program = 0;

  const ProgramView &view() const { return shared.program; }

  /// Runs `job` on every rank's own thread and waits for all.
  template <void (*Function)(weft_session &, RankContext &)> Status onRanks() {
    for (size_t i = 0; i < ranks.size(); ++i) {
      pairs[i] = {this, ranks[i].get()};
      ranks[i]->thread().post(
          [](void *argument) {
            auto *pair = static_cast<PairSlot *>(argument);
            Function(*pair->session, *pair->rank);
          },
          &pairs[i]);
    }
    Clock::time_point failed{};
    for (std::unique_ptr<RankContext> &rank : ranks)
      while (!rank->thread().waitFor(0.1)) {
        if (!world.aborted())
          continue;
        if (failed == Clock::time_point{})
          failed = Clock::now();
        if (secondsSince(failed) > kGraceSeconds) {
          broken = true;
          Status status = world.failure();
          return {status.code(),
                  status.text() + "; " + rank->where() + " does not react"};
        }
      }
    if (world.aborted())
      return world.failure();
    for (std::unique_ptr<RankContext> &rank : ranks)
      if (!rank->status.ok())
        return rank->status;
    return {};
  }

  struct PairSlot {
    weft_session *session;
    RankContext *rank;
  };
  std::vector<PairSlot> pairs;
};

namespace {

int32_t report(const Status &status, weft_status *result) {
  if (result) {
    result->code = int32_t(status.code());
    std::snprintf(result->text, sizeof result->text, "%s",
                  status.text().c_str());
  }
  return int32_t(status.code());
}

void failIfNotOk(weft_session &session, RankContext &rank) {
  if (!rank.status.ok() && !session.world.aborted())
    session.world.abort(
        Status(rank.status).prefix("rank " + std::to_string(rank.rank())));
}

void prepareJob(weft_session &session, RankContext &rank) {
  rank.status = rank.prepare();
  failIfNotOk(session, rank);
}
void loadJob(weft_session &session, RankContext &rank) {
  rank.status = rank.loadState();
  failIfNotOk(session, rank);
}
void runJob(weft_session &session, RankContext &rank) {
  PreparedBody::Injection injection;
  if (session.options.inject_rank == rank.rank()) {
    injection.command = session.options.inject_command;
    injection.stall = session.options.inject_stall != 0;
  }
  rank.status = rank.runProgram(session.program, injection);
}

unsigned usableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return unsigned(std::max(1, CPU_COUNT(&set)));
  return std::max(1u, std::thread::hardware_concurrency());
}

Status bindKernels(const ProgramView &p, const weft_kernel_entry *kernels,
                   uint64_t count,
                   std::vector<const weft_kernel_entry *> &result) {
  std::map<std::string_view, const weft_kernel_entry *> byName;
  for (uint64_t i = 0; i < count; ++i)
    byName.emplace(kernels[i].name, &kernels[i]);
  for (const Kernel &kernel : p.Kernels()) {
    auto found = byName.find(p.string(kernel.symbol));
    if (found == byName.end() || !found->second->function)
      return Status::internal("the executable has no kernel '" +
                              std::string(p.string(kernel.symbol)) + "'");
    result.push_back(found->second);
  }
  return {};
}

Status openSession(const void *blob, uint64_t bytes,
                   const weft_kernel_entry *kernels, uint64_t numKernels,
                   const weft_options &options,
                   std::unique_ptr<weft_session> &session) {
  double timeout = options.timeout_seconds > 0 ? options.timeout_seconds : 600;
  session = std::make_unique<weft_session>(timeout);
  SessionShared &shared = session->shared;
  session->options = options;
  session->options.model_directory = session->options.comm = nullptr;
  WEFT_TRY(ProgramView::open(blob, bytes, shared.program));
  const ProgramView &p = shared.program;
  WEFT_TRY(bindKernels(p, kernels, numKernels, shared.kernels));
  shared.modelDirectory = options.model_directory
                              ? options.model_directory
                              : std::string(p.string(p.info().modelDirectory));
  shared.traceCapacity = options.trace_commands;
  std::string comm = options.comm ? options.comm : "inproc";
  int64_t local = p.numRanks();
  if (comm == "inproc") {
    shared.comm = openInproc(session->world, p.numRanks());
  } else {
    weft_comm_host host{&session->world,
                        [](void *context) {
                          return int32_t(
                              static_cast<World *>(context)->aborted());
                        },
                        timeout};
    WEFT_TRY(openPlugin(comm, host, shared.comm));
    int64_t processes = shared.comm.vtable->num_processes(shared.comm.backend);
    session->firstRank = shared.comm.vtable->process(shared.comm.backend);
    if (processes != p.numRanks())
      return {StatusCode::Usage, "the program is for " +
                                     std::to_string(p.numRanks()) + " ranks, " +
                                     std::to_string(processes) +
                                     " were started; start it with mpirun -n " +
                                     std::to_string(p.numRanks())};
    local = 1;
  }
  shared.numLocalRanks = local;
  unsigned cores = usableCores();
  // Under mpi the launcher tells how many ranks share this machine.
  if (const char *size = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE"))
    if (comm != "inproc")
      shared.numLocalRanks = std::max(1, std::atoi(size));
  unsigned threads = options.threads_per_rank ? options.threads_per_rank
                                              : p.info().threadsPerRank;
  if (threads == 0)
    threads = std::max<unsigned>(1, cores / unsigned(shared.numLocalRanks));
  shared.threadsPerRank = threads;
  shared.spin = threads * shared.numLocalRanks <= cores;
  for (int64_t i = 0; i < local; ++i)
    session->ranks.push_back(
        std::make_unique<RankContext>(shared, session->firstRank + i));
  session->pairs.resize(session->ranks.size());
  WEFT_TRY(session->onRanks<prepareJob>());
  weft_statistics &s = session->statistics;
  s.threads_per_rank = threads;
  for (const std::unique_ptr<RankContext> &rank : session->ranks) {
    s.arena_bytes = std::max(s.arena_bytes, rank->arenaBytes());
    s.scratch_bytes = std::max(s.scratch_bytes, rank->scratchBytes());
    s.num_threads += rank->numThreads();
  }
  return {};
}

void closeSession(weft_session *session) {
  CommBackend comm = session->shared.comm;
  session->ranks.clear(); // gives back their groups
  if (comm.vtable)
    comm.vtable->destroy(comm.backend);
  delete session;
}

std::string names(const ProgramView &p, Range ports) {
  std::string text;
  for (const Port &port : p.Ports().slice(ports))
    text +=
        (text.empty() ? "'" : ", '") + std::string(p.string(port.name)) + "'";
  return text.empty() ? "none" : text;
}

Status findProgram(const ProgramView &p, const char *name, uint32_t &index) {
  std::string known;
  for (uint32_t i = 0; i < p.Programs().size(); ++i) {
    std::string_view found = p.string(p.Programs()[i].name);
    if (found == name) {
      index = i;
      return {};
    }
    known += (known.empty() ? "'" : ", '") + std::string(found) + "'";
  }
  return Status::user(std::string("there is no program '") + name +
                      "'; there is " + known);
}

Status findPort(const ProgramView &p, const char *program, const char *name,
                bool input, const Port *&result) {
  uint32_t index = 0;
  WEFT_TRY(findProgram(p, program, index));
  Range range =
      input ? p.Programs()[index].inputs : p.Programs()[index].outputs;
  for (const Port &port : p.Ports().slice(range))
    if (p.string(port.name) == name) {
      result = &port;
      return {};
    }
  return Status::user(std::string("program '") + program + "' has no " +
                      (input ? "input" : "output") + " '" + name +
                      "'; it has " + names(p, range));
}

std::vector<int64_t> shapeOf(const ProgramView &p, Range shape) {
  return {p.ints(shape).begin(), p.ints(shape).end()};
}

uint64_t globalBytes(const ProgramView &p, DType dtype, Range shape) {
  uint64_t bytes = dtypeBytes(dtype);
  for (int64_t size : p.ints(shape))
    bytes *= uint64_t(size);
  return bytes;
}

Status checkBytes(const char *name, uint64_t expected, uint64_t found) {
  if (expected == found)
    return {};
  return Status::user(std::string("'") + name + "' has " +
                      std::to_string(expected) +
                      " bytes, the caller's buffer " + std::to_string(found));
}

/// Copies between global memory and the local ranks' shards.
void scatter(weft_session &session, const Port &port, const void *data) {
  uint64_t bytes = dtypeBytes(port.dtype);
  for (std::unique_ptr<RankContext> &rank : session.ranks) {
    if (!rank->holds(port.stage))
      continue;
    const ShardMap &map = rank->map(port.placement);
    char *to = rank->buffer(port.buffer);
    if (map.numValid() != map.numLocal())
      std::memset(to, 0, size_t(map.numLocal()) * bytes);
    map.forEachRun([&](const ShardMap::Run &run) {
      std::memcpy(to + run.local * bytes,
                  static_cast<const char *>(data) + run.global * bytes,
                  size_t(run.count) * bytes);
    });
  }
}

void gather(weft_session &session, DType dtype, Id placement, Id buffer,
            uint32_t stage, void *data) {
  uint64_t bytes = dtypeBytes(dtype);
  for (std::unique_ptr<RankContext> &rank : session.ranks) {
    if (!rank->holds(stage) || !rank->map(placement).isWriter())
      continue;
    const char *from = rank->buffer(buffer);
    rank->map(placement).forEachRun([&](const ShardMap::Run &run) {
      std::memcpy(static_cast<char *>(data) + run.global * bytes,
                  from + run.local * bytes, size_t(run.count) * bytes);
    });
  }
}

Status setInputFile(weft_session &session, const char *program,
                    const char *name, const char *path) {
  const ProgramView &p = session.view();
  const Port *port = nullptr;
  WEFT_TRY(findPort(p, program, name, true, port));
  NpyFile file;
  WEFT_TRY(NpyFile::open(path, file));
  bool sameType = file.dtype() == port->dtype ||
                  (file.dtype() == DType::U16 && port->dtype == DType::BF16) ||
                  (file.dtype() == DType::BF16 && port->dtype == DType::U16);
  std::vector<int64_t> shape = shapeOf(p, port->shape);
  if (!sameType || file.shape() != shape)
    return Status::user(std::string("input '") + name + "' must be " +
                        shapeText(shape) + " " + dtypeName(port->dtype) +
                        ", but '" + path + "' is " + shapeText(file.shape()) +
                        " " + dtypeName(file.dtype()) +
                        (sameType ? "; bind the sizes when compiling (--bind)"
                                  : "; convert the file"));
  scatter(session, *port, file.data());
  return {};
}

Status writeRuns(RankContext &rank, const Port &port, const char *path,
                 size_t headerBytes) {
  int descriptor = ::open(path, O_WRONLY | O_CLOEXEC);
  if (descriptor < 0)
    return Status::user(std::string("'") + path +
                        "' cannot be written: " + std::strerror(errno));
  int64_t bytes = dtypeBytes(port.dtype);
  const char *from = rank.buffer(port.buffer);
  bool good = true;
  rank.map(port.placement).forEachRun([&](const ShardMap::Run &run) {
    int64_t done = 0, total = run.count * bytes;
    while (good && done < total) {
      ssize_t n = pwrite(
          descriptor, from + run.local * bytes + done, size_t(total - done),
          off_t(int64_t(headerBytes) + run.global * bytes + done));
      if (n < 0 && errno == EINTR)
        continue;
      good = n > 0;
      done += n;
    }
  });
  int error = errno;
  close(descriptor);
  if (!good)
    return Status::user(std::string("'") + path +
                        "' cannot be written: " + std::strerror(error));
  return {};
}

Status reduceMax(weft_session &session, double local, double &result) {
  result = local;
  const CommBackend &comm = session.shared.comm;
  if (comm.everyRankIsLocal)
    return {};
  // A group of all processes, made for this call: it is not on a fast path.
  int64_t processes = comm.vtable->num_processes(comm.backend);
  std::vector<int64_t> ranks(processes);
  for (int64_t i = 0; i < processes; ++i)
    ranks[i] = i;
  void *group = nullptr;
  WEFT_TRY(commCall([&](weft_status *status) {
    return comm.vtable->create_group(comm.backend, kNone, ranks.data(),
                                     processes, session.firstRank, &group,
                                     status);
  }));
  std::vector<weft_block> sends(processes, {&local, sizeof local});
  std::vector<double> values(processes);
  std::vector<weft_block> staging;
  for (double &value : values)
    staging.push_back({&value, sizeof value});
  std::vector<const void *> received(processes);
  Status status = commCall([&](weft_status *s) {
    return comm.vtable->exchange_begin(group, sends.data(), staging.data(),
                                       received.data(), s);
  });
  if (status.ok()) {
    for (const void *value : received)
      result = std::max(result, *static_cast<const double *>(value));
    status = commCall(
        [&](weft_status *s) { return comm.vtable->exchange_end(group, s); });
  }
  comm.vtable->destroy_group(group);
  return status;
}

Status writeOutput(weft_session &session, const char *program, const char *name,
                   const char *path) {
  const ProgramView &p = session.view();
  const Port *port = nullptr;
  WEFT_TRY(findPort(p, program, name, false, port));
  std::vector<int64_t> shape = shapeOf(p, port->shape);
  Status status;
  if (session.firstRank == 0)
    status = createNpy(path, port->dtype, shape);
  // The others wait for the file, and learn whether it is there.
  double worst = 0;
  WEFT_TRY(reduceMax(session, status.ok() ? 0 : 1, worst));
  if (worst > 0)
    return status.ok()
               ? Status::user(std::string("rank 0 cannot write '") + path + "'")
               : status;
  size_t header = npyHeader(port->dtype, shape).size();
  for (std::unique_ptr<RankContext> &rank : session.ranks)
    if (rank->holds(port->stage) && rank->map(port->placement).isWriter())
      WEFT_TRY(writeRuns(*rank, *port, path, header));
  return reduceMax(session, 0, worst);
}

Status findScalar(const ProgramView &p, const char *name, uint32_t &index) {
  for (uint32_t i = 0; i < p.Scalars().size(); ++i)
    if (p.string(p.Scalars()[i].name) == name) {
      index = i;
      return {};
    }
  return Status::user(std::string("the program has no scalar '") + name + "'");
}

} // namespace

void weft_options_init(weft_options *options) {
  *options = {};
  options->inject_rank = options->inject_command = -1;
}

int32_t weft_open(const void *blob, uint64_t bytes,
                  const weft_kernel_entry *kernels, uint64_t num_kernels,
                  const weft_options *options, weft_session **session,
                  weft_status *status) {
  weft_options defaults;
  weft_options_init(&defaults);
  std::unique_ptr<weft_session> opened;
  Status result = openSession(blob, bytes, kernels, num_kernels,
                              options ? *options : defaults, opened);
  *session = opened.release();
  return report(result, status);
}

void weft_close(weft_session *session) {
  if (!session || session->broken)
    return; // a thread that never comes back still uses it
  closeSession(session);
}

void weft_abort_job(weft_session *session, int32_t code) {
  const CommBackend &comm = session->shared.comm;
  if (comm.vtable)
    comm.vtable->abort_job(comm.backend, code);
}

int64_t weft_num_ranks(const weft_session *session) {
  return session->view().numRanks();
}
int64_t weft_num_local_ranks(const weft_session *session) {
  return int64_t(session->ranks.size());
}
int64_t weft_first_local_rank(const weft_session *session) {
  return session->firstRank;
}

int32_t weft_load_state(weft_session *session, weft_status *status) {
  return report(session->onRanks<loadJob>(), status);
}

int32_t weft_set_input(weft_session *session, const char *program,
                       const char *name, const void *data, uint64_t bytes,
                       weft_status *status) {
  const Port *port = nullptr;
  Status result = findPort(session->view(), program, name, true, port);
  if (result.ok())
    result = checkBytes(
        name, globalBytes(session->view(), port->dtype, port->shape), bytes);
  if (result.ok())
    scatter(*session, *port, data);
  return report(result, status);
}

int32_t weft_set_input_file(weft_session *session, const char *program,
                            const char *name, const char *path,
                            weft_status *status) {
  return report(setInputFile(*session, program, name, path), status);
}

int32_t weft_run(weft_session *session, const char *program,
                 weft_status *status) {
  Status found = findProgram(session->view(), program, session->program);
  if (!found.ok())
    return report(found, status);
  Status result = session->onRanks<runJob>();
  double slowest = 0, communication = 0;
  for (std::unique_ptr<RankContext> &rank : session->ranks)
    if (rank->lastSeconds() > slowest) {
      slowest = rank->lastSeconds();
      communication = rank->lastCommunicationSeconds();
    }
  session->statistics.runs += 1;
  session->statistics.run_seconds += slowest;
  session->statistics.communication_seconds += communication;
  return report(result, status);
}

int32_t weft_get_output(weft_session *session, const char *program,
                        const char *name, void *data, uint64_t bytes,
                        weft_status *status) {
  const Port *port = nullptr;
  Status result = findPort(session->view(), program, name, false, port);
  if (result.ok())
    result = checkBytes(
        name, globalBytes(session->view(), port->dtype, port->shape), bytes);
  if (result.ok())
    gather(*session, port->dtype, port->placement, port->buffer, port->stage,
           data);
  return report(result, status);
}

int32_t weft_get_state(weft_session *session, const char *name, void *data,
                       uint64_t bytes, weft_status *status) {
  const ProgramView &p = session->view();
  for (const State &state : p.States()) {
    if (p.string(state.name) != name)
      continue;
    Status result =
        checkBytes(name, globalBytes(p, state.dtype, state.shape), bytes);
    if (result.ok())
      gather(*session, state.dtype, state.placement, state.buffer, state.stage,
             data);
    return report(result, status);
  }
  return report(
      Status::user(std::string("the program has no state '") + name + "'"),
      status);
}

int32_t weft_write_output(weft_session *session, const char *program,
                          const char *name, const char *path,
                          weft_status *status) {
  return report(writeOutput(*session, program, name, path), status);
}

int32_t weft_set_scalar(weft_session *session, const char *name, uint64_t bits,
                        weft_status *status) {
  uint32_t index = 0;
  Status result = findScalar(session->view(), name, index);
  if (result.ok())
    for (std::unique_ptr<RankContext> &rank : session->ranks)
      rank->scalars()[index] = bits;
  return report(result, status);
}

int32_t weft_get_scalar(weft_session *session, const char *name, uint64_t *bits,
                        weft_status *status) {
  uint32_t index = 0;
  Status result = findScalar(session->view(), name, index);
  if (result.ok())
    *bits = session->ranks[0]->scalars()[index];
  return report(result, status);
}

void weft_get_statistics(const weft_session *session,
                         weft_statistics *statistics) {
  *statistics = session->statistics;
}

int32_t weft_reduce_max(weft_session *session, double local, double *result,
                        weft_status *status) {
  return report(reduceMax(*session, local, *result), status);
}

int32_t weft_write_trace(const weft_session *session, const char *path,
                         weft_status *status) {
  const ProgramView &p = session->view();
  std::FILE *file = std::fopen(path, "w");
  if (!file)
    return report(Status::user(std::string("'") + path +
                               "' cannot be written: " + std::strerror(errno)),
                  status);
  auto quoted = [](std::string_view text) {
    std::string result;
    for (char c : text) {
      if (c == '"' || c == '\\')
        result += '\\';
      result += unsigned(c) < 0x20 ? ' ' : c;
    }
    return result;
  };
  std::fprintf(file, "{\"traceEvents\":[");
  const char *separator = "\n";
  for (const std::unique_ptr<RankContext> &rank : session->ranks) {
    const auto &streams = rank->streamContexts();
    for (size_t s = 0; s < streams.size(); ++s)
      for (const TraceEvent &event : streams[s].trace) {
        const Program &program = p.Programs()[event.program];
        const Body &body = p.Bodies()[program.bodies.begin + rank->stage()];
        const Command &command =
            p.Commands()[body.commands.begin + event.command];
        std::string name = opcodeName(command.opcode);
        if (command.opcode == Opcode::Launch)
          name = std::string(p.string(
              p.Kernels()[p.Launches()[command.params].kernel].symbol));
        else if (command.opcode == Opcode::Collective)
          name = collectiveKindName(p.Collectives()[command.params].kind);
        std::fprintf(
            file,
            "%s{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":%lld,"
            "\"tid\":%zu,\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"node\":\"%s\","
            "\"command\":%u}}",
            separator, quoted(name).c_str(), opcodeName(command.opcode),
            static_cast<long long>(rank->rank()), s, event.begin * 1e6,
            (event.end - event.begin) * 1e6,
            quoted(p.string(command.node)).c_str(), event.command);
        separator = ",\n";
      }
  }
  std::fprintf(file, "\n],\"displayTimeUnit\":\"ms\"}\n");
  bool good = std::fclose(file) == 0;
  return report(
      good ? Status()
           : Status::user(std::string("'") + path + "' cannot be written"),
      status);
}
