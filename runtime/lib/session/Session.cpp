// The C interface: opens, runs and closes sessions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "session/Session.h"
#include "base/Cores.h"
#include "device/Devices.h"
#include "job/Agreement.h"
#include "program/ProgramText.h"
#include "terminal/Printer.h"

#include "weft/runtime/Terminal.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <unistd.h>

using namespace weft::runtime;

namespace {

/// More ranks than this as threads are a mistake, or a hostile file.
constexpr int64_t kMaxLocalRanks = 1024;

void failIfNotOk(weft_session &session, RankContext &rank) {
  if (!rank.status.ok() && !session.world.aborted())
    session.world.abort(rank.judged(rank.status));
}

void prepareJob(weft_session &session, RankContext &rank) {
  rank.status = rank.prepare();
  failIfNotOk(session, rank);
}
void loadJob(weft_session &session, RankContext &rank) {
  rank.status = rank.loadState();
  failIfNotOk(session, rank);
}
void partJob(weft_session &session, RankContext &rank) {
  rank.status = rank.part();
  failIfNotOk(session, rank);
}
void runJob(weft_session &session, RankContext &rank) { rank.status = session.runOn(rank); }

Status bindKernels(const ProgramView &p, const weft_kernel_entry *kernels, uint64_t count,
                   std::vector<const weft_kernel_entry *> &result) {
  std::map<std::string_view, const weft_kernel_entry *> byName;
  for (uint64_t i = 0; i < count; ++i)
    byName.emplace(kernels[i].name, &kernels[i]);
  for (const Kernel &kernel : p.Kernels()) {
    auto found = byName.find(p.string(kernel.symbol));
    if (found == byName.end() || (!found->second->function && !found->second->image))
      return Status::internal("the executable has no kernel '" +
                              std::string(p.string(kernel.symbol)) + "'");
    result.push_back(found->second);
  }
  return {};
}

/// What `local` is on each process; nothing if there is but this one.
template <typename T>
Status gatherFromProcesses(weft_session &session, const T &local, std::vector<T> &values) {
  const CommBackend &comm = session.shared.comm;
  if (comm.everyRankIsLocal)
    return {};
  values.assign(size_t(comm.vtable->num_processes(comm.backend)), local);
  std::vector<weft_block> received;
  for (T &value : values)
    received.push_back({&value, sizeof value});
  return exchangeOnce(session, {&local, sizeof local}, received);
}

/// One group for all that processes tell each other while the session lives:
/// one made for every word would cost more, and wait in more places.
Status openProcessGroup(weft_session &session) {
  const CommBackend &comm = session.shared.comm;
  std::vector<int64_t> ranks(size_t(comm.vtable->num_processes(comm.backend)));
  std::iota(ranks.begin(), ranks.end(), 0);
  return commCall([&](weft_status *status) {
    return comm.vtable->create_group(comm.backend, kNone, ranks.data(), int64_t(ranks.size()),
                                     session.firstRank, &session.processGroup, status);
  });
}

/// The processes that the launcher told of.
Status openLaunchedTcp(const weft_comm_host &host, CommBackend &comm) {
  Launcher launch;
  WEFT_TRY(detectLauncher(launch));
  if (launch.kind == Launcher::Kind::Tcp)
    return openTcp(launch.job, host, comm);
  return {StatusCode::Usage, "tcp ranks are started by torchrun, srun or weft-run --comm tcp; or "
                             "one by one, with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT set"};
}

/// Puts this process's rank on the board, and watches it there.
void enter(weft_session &session, Board board, int64_t rank, Presence presence) {
  session.watch.reset();
  session.shared.board = std::move(board);
  BoardSlot &slot = session.shared.board.slot(rank);
  slot.enter();
  slot.beat.store(sinceBoot());
  slot.host.store(Doing::Computing);
  slot.presence.store(presence);
  session.watch =
      std::make_unique<Watch>(session.shared.board, session.view(), session.world, rank);
}

/// Of ranks that no weft-run started.
Status makeBoard(int64_t ranks, Launcher::Kind kind, Board &board) {
  WEFT_TRY(Board::make(ranks, board));
  if (kind == Launcher::Kind::Mpi)
    board.header().setLauncher(getppid());
  return {};
}

/// Before the processes meet: on weft-run's board if it started them.
Status enterBoard(weft_session &session, const Launcher &launch) {
  int64_t ranks = session.view().numRanks();
  session.firstRank = launch.job.rank;
  const char *address = std::getenv(kBoardVariable);
  Board board;
  if (!address || session.firstRank >= ranks || !Board::open(address, ranks, board))
    WEFT_TRY(makeBoard(std::max(ranks, session.firstRank + 1), launch.kind, board));
  enter(session, std::move(board), session.firstRank, Presence::Meeting);
  return {};
}

/// Ranks that no weft-run started share the board of rank 0, as far as they are
/// on its machine.
Status shareBoard(weft_session &session, int64_t processes, Launcher::Kind kind) {
  struct Address {
    char text[128];
  } mine{};
  SessionShared &shared = session.shared;
  Board board;
  bool alone = shared.board.header().supervisor == 0;
  if (alone) {
    WEFT_TRY(makeBoard(processes, kind, board));
    enter(session, std::move(board), session.firstRank, Presence::Meeting);
  }
  std::snprintf(mine.text, sizeof mine.text, "%s", shared.board.address().c_str());
  std::vector<Address> all;
  WEFT_TRY(gatherFromProcesses(session, mine, all));
  Board first;
  if (alone && session.firstRank != 0 && Board::open(all[0].text, processes, first))
    enter(session, std::move(first), session.firstRank, Presence::Meeting);
  shared.board.slot(session.firstRank).presence.store(Presence::Working);
  return {};
}

/// A line for agreeOn.
std::string describeProgram(const ProgramView &p) {
  std::string mesh;
  for (const MeshAxis &axis : p.MeshAxes())
    mesh += (mesh.empty() ? "" : ",") + std::string(p.string(axis.name)) + "=" +
            std::to_string(axis.size);
  return "the program\t" + checksumText(p) + " (model '" +
         std::string(p.string(p.info().modelName)) + "', mesh " +
         (mesh.empty() ? "of one rank" : mesh) + ")\n";
}

/// Of each rank, what its process sees of its machine.
struct Reports {
  std::vector<CoreReport> cores;
  std::vector<uint64_t> hosts;
  std::vector<UnitReport> units;
};

Status gatherReports(weft_session &session, const std::string &device, Reports &reports) {
  struct Report {
    CoreReport cores;
    UnitReport units;
  } mine{reportCores(), {}};
  WEFT_TRY(lookForUnits(device, mine.units));
  std::vector<Report> told;
  WEFT_TRY(gatherFromProcesses(session, mine, told));
  if (told.empty())
    told.assign(size_t(session.view().numRanks()), mine);
  for (const Report &report : told) {
    reports.cores.push_back(report.cores);
    reports.hosts.push_back(report.cores.host);
    reports.units.push_back(report.units);
  }
  return {};
}

Status otherNumber(const ProgramView &p, int64_t started, const std::string &comm) {
  return {StatusCode::Usage, "the program is for " + std::to_string(p.numRanks()) +
                                 (p.numRanks() == 1 ? " rank, " : " ranks, ") +
                                 std::to_string(started) + " were started; start " +
                                 (comm == "mpi" ? "it with mpirun -n " : "") +
                                 std::to_string(p.numRanks())};
}

/// A process a rank: they meet over `comm`, and agree.
Status meetProcesses(weft_session &session, const std::string &comm, const Launcher &launch,
                     const char *agreement) {
  SessionShared &shared = session.shared;
  const ProgramView &p = shared.program;
  weft_comm_host host{
      &session.world,
      [](void *context) { return int32_t(static_cast<World *>(context)->aborted()); },
      [](void *context) { return static_cast<World *>(context)->timeoutSeconds(); }};
  // Who is not there yet will not come, either.
  if (comm == "tcp" && launch.job.processes > 1 && launch.job.processes != p.numRanks()) {
    session.silent = launch.job.rank != 0;
    return otherNumber(p, launch.job.processes, comm);
  }
  WEFT_TRY(enterBoard(session, launch));
  if (comm == "tcp")
    WEFT_TRY(openLaunchedTcp(host, shared.comm));
  else
    WEFT_TRY(openPlugin(comm, host, shared.comm));
  int64_t processes = shared.comm.vtable->num_processes(shared.comm.backend);
  session.firstRank = shared.comm.vtable->process(shared.comm.backend);
  if (comm == "mpi" && launch.job.processes > 1 && processes == 1) {
    session.silent = launch.job.rank != 0;
    return {StatusCode::Usage, "the launcher started " + std::to_string(launch.job.processes) +
                                   " ranks, but the MPI that weft was built with sees 1: the "
                                   "launcher is of another MPI; start with the mpirun of the "
                                   "MPI that libweft_mpi.so is linked with, or without MPI: "
                                   "weft-run --comm tcp"};
  }
  WEFT_TRY(openProcessGroup(session));
  WEFT_TRY(shareBoard(session, processes, launch.kind));
  // Before anything else is: what differs may be how much is exchanged.
  WEFT_TRY(agreeOn(session, describeProgram(p) + (agreement ? agreement : "")));
  if (processes != p.numRanks())
    return otherNumber(p, processes, comm);
  return {};
}

Status openSession(const void *blob, uint64_t bytes, const weft_kernel_entry *kernels,
                   uint64_t numKernels, const weft_options &options,
                   std::unique_ptr<weft_session> &session) {
  double timeout = options.timeout_seconds > 0 ? options.timeout_seconds : kLongestWait;
  session = std::make_unique<weft_session>(timeout);
  SessionShared &shared = session->shared;
  session->options = options;
  session->options.model_directory = session->options.comm = session->options.agreement = nullptr;
  session->options.pretend = nullptr;
  WEFT_TRY(ProgramView::open(blob, bytes, shared.program));
  const ProgramView &p = shared.program;
  WEFT_TRY(bindKernels(p, kernels, numKernels, shared.kernels));
  shared.modelDirectory = options.model_directory ? options.model_directory
                                                  : std::string(p.string(p.info().modelDirectory));
  shared.traceCapacity = options.trace_commands;
  shared.checksNumbers = options.check_numbers != 0;
  if (options.pretend) {
    shared.pretended = std::make_unique<PretendedCosts>();
    WEFT_TRY(PretendedCosts::read(options.pretend, *shared.pretended));
  }
  std::string comm = options.comm ? options.comm : "inproc";
  // Before MPI is: it changes the variables.
  Launcher launch;
  if (comm != "inproc")
    WEFT_TRY(detectLauncher(launch));
  if (comm == "nccl") {
    shared.collectivesBy = CollectivesBy::Nccl;
    comm = transportOf(launch);
  }
  int64_t local = p.numRanks();
  if (comm == "inproc" && local > kMaxLocalRanks)
    return Status::user("the program is for " + std::to_string(local) +
                        " ranks; one process runs at most " + std::to_string(kMaxLocalRanks) +
                        ", use --comm mpi");
  if (comm == "inproc") {
    WEFT_TRY(Board::make(p.numRanks(), shared.board));
    for (int64_t rank = 0; rank < p.numRanks(); ++rank)
      shared.board.slot(rank).presence.store(Presence::Working);
    shared.comm = openInproc(session->world, p.numRanks());
  } else {
    WEFT_TRY(meetProcesses(*session, comm, launch, options.agreement));
    local = 1;
  }
  std::string device = deviceOf(p);
  Reports reports;
  WEFT_TRY(gatherReports(*session, device, reports));
  CoreShare share = shareCores(reports.cores, session->firstRank);
  shared.numLocalRanks = share.localRanks;
  shared.numProcessRanks = local;
  unsigned threads = options.threads_per_rank ? options.threads_per_rank : p.info().threadsPerRank;
  if (threads == 0)
    threads = share.each();
  shared.threadsPerRank = threads;
  // Threads that share cores must not be kept from moving, nor wait actively.
  bool fits = threads * share.sharers <= share.cores;
  bool pin = fits && !options.no_pin;
  shared.spin = fits;
  unsigned streams = 1;
  for (const Body &body : p.Bodies())
    streams = std::max(streams, body.streams);
  session->world.setSpin((threads + streams - 1) * share.sharers <= share.cores);
  for (int64_t rank = session->firstRank; rank < session->firstRank + local; ++rank) {
    share = shareCores(reports.cores, rank);
    session->ranks.push_back(
        std::make_unique<RankContext>(shared, rank, shareUnits(reports.hosts, reports.units, rank),
                                      pin ? share.own : std::vector<int>()));
    WEFT_TRY(session->ranks.back()->open(device));
    if (shared.checksNumbers && p.Stages().size() > 1 && !session->ranks.back()->device().blocks())
      return Status::user("--check-numbers waits for each command before the next one, which the "
                          "stages of a pipeline on GPUs cannot, as they wait for each other; "
                          "compile without stages");
  }
  session->statistics.pinned_cores = pin ? uint32_t(share.own.size()) : 0;
  session->posted.resize(session->ranks.size() * Worker::kMostJobs);
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
  auto mark = [session](Presence presence) {
    if (session->watch)
      session->shared.board.slot(session->firstRank).presence.store(presence);
  };
  mark(Presence::Leaving);
  if (session->shared.collectivesBy == CollectivesBy::Nccl && !session->world.aborted())
    (void)session->onRanks<partJob>();
  session->ranks.clear(); // gives back their groups
  if (session->processGroup)
    comm.vtable->destroy_group(session->processGroup);
  if (comm.vtable)
    comm.vtable->destroy(comm.backend);
  mark(Presence::Gone);
  delete session;
}
} // namespace

void weft_session::setTimeout(double seconds) {
  world.setTimeout(seconds > 0 ? seconds : world.mostSeconds());
  // Who is stopped between two steps is no more at work than within one.
  if (seconds > 0)
    shared.board.header().timeout.store(seconds, std::memory_order_relaxed);
}

void weft_session::post(RankJob job, void *context) {
  Posted *slots = &posted[turn++ % Worker::kMostJobs * ranks.size()];
  ++inWork;
  for (size_t i = 0; i < ranks.size(); ++i) {
    slots[i] = {this, ranks[i].get(), job, context};
    ranks[i]->slot().host.store(Doing::Nothing);
    ranks[i]->thread().post(
        [](void *argument) {
          auto *own = static_cast<Posted *>(argument);
          auto &doing = own->rank->slot().streams[0].doing;
          doing.store(Doing::Computing);
          own->job(*own->session, *own->rank, own->context);
          doing.store(Doing::Nothing);
        },
        &slots[i]);
  }
}

Status weft_session::await(unsigned left) {
  Clock::time_point failed{};
  std::optional<Waited> waiting;
  for (std::unique_ptr<RankContext> &rank : ranks)
    rank->slot().host.store(Doing::Nothing);
  for (std::unique_ptr<RankContext> &rank : ranks)
    while (!rank->thread().waitFor(0.1, left)) {
      if (!world.aborted()) {
        abortIfLate(waiting, left);
        continue;
      }
      if (failed == Clock::time_point{})
        failed = Clock::now();
      if (secondsSince(failed) > kGraceSeconds) {
        broken = true;
        Status status = world.failure();
        // Behind another failure it may just be at work.
        if (status.code() != StatusCode::Hang)
          return status;
        std::string place = describePlace(view(), rank->slot());
        return {status.code(), status.text() + "; rank " + std::to_string(rank->rank()) +
                                   " does not react" + (place.empty() ? "" : " in " + place)};
      }
    }
  inWork = std::min(inWork, left);
  if (world.aborted())
    return world.failure();
  for (std::unique_ptr<RankContext> &rank : ranks)
    rank->slot().host.store(hostDoing(Doing::Computing));
  return {};
}

void weft_session::abortIfLate(std::optional<Waited> &waited, unsigned left) {
  auto done = std::find_if(ranks.begin(), ranks.end(),
                           [&](const auto &rank) { return rank->thread().waitFor(0, left); });
  if (done == ranks.end())
    return;
  if (!waited)
    waited.emplace();
  if (waited->seconds() > world.timeoutSeconds())
    world.abort((*done)->judged({StatusCode::Hang, "the other ranks did not end in time"}));
}

Status weft_session::runOn(RankContext &rank) {
  Injection injection;
  if (options.inject_rank == rank.rank()) {
    injection.command = options.inject_command;
    injection.stall = options.inject_stall != 0;
    if (rank.slot().steps.load() == options.inject_flip + 1)
      rank.flipOnce();
  }
  return rank.runProgram(program, injection);
}

void weft_session::count(const RunFigures &run) {
  statistics.runs += 1;
  statistics.run_seconds += run.seconds;
  statistics.communication_seconds += run.communication;
  statistics.collective_seconds += run.overlap.communication / double(ranks.size());
  statistics.hidden_seconds += run.overlap.hidden / double(ranks.size());
}

uint64_t weft::runtime::stateBytes(const weft_session &session) {
  const ProgramView &p = session.view();
  uint64_t bytes = 0;
  for (const std::unique_ptr<RankContext> &rank : session.ranks)
    for (const State &state : p.States())
      if (rank->holds(state))
        bytes += rank->buffer(state).bytes;
  return bytes;
}

Status weft::runtime::findProgram(const ProgramView &p, const char *name, uint32_t &index) {
  for (index = 0; index < p.Programs().size(); ++index)
    if (p.string(p.Programs()[index].name) == name)
      return {};
  std::string known; // the common way must not allocate
  for (const Program &entry : p.Programs())
    known += (known.empty() ? "'" : ", '") + std::string(p.string(entry.name)) + "'";
  return Status::user(std::string("there is no program '") + name + "'; there is " + known);
}

/// Of both there is one for each process: what it is sent, and room for what it
/// sends.
static Status exchangeBlocks(weft_session &session, const std::vector<weft_block> &sends,
                             const std::vector<weft_block> &received) {
  const weft_comm_vtable &vtable = *session.shared.comm.vtable;
  void *group = session.processGroup;
  std::vector<const void *> places(received.size());
  WEFT_TRY(session.waiting([&](weft_status *s) {
    return vtable.exchange_begin(group, messagesOf(sends).data(), messagesOf(received).data(),
                                 places.data(), s);
  }));
  for (size_t i = 0; i < received.size(); ++i)
    if (received[i].bytes > 0)
      std::memmove(const_cast<void *>(received[i].data), places[i], received[i].bytes);
  return session.waiting([&](weft_status *s) { return vtable.exchange_end(group, s); });
}

Status weft::runtime::exchangeOnce(weft_session &session, weft_block sent,
                                   const std::vector<weft_block> &received) {
  return exchangeBlocks(session, std::vector<weft_block>(received.size(), sent), received);
}

Status weft::runtime::gatherOnce(weft_session &session, weft_block sent,
                                 const std::vector<weft_block> &received) {
  const CommBackend &comm = session.shared.comm;
  std::vector<weft_block> sends(size_t(comm.vtable->num_processes(comm.backend))), room = received;
  sends[0] = sent;
  room.resize(sends.size());
  return exchangeBlocks(session, sends, room);
}

Status weft::runtime::reduceMax(weft_session &session, double local, double &result) {
  result = local;
  std::vector<double> values;
  WEFT_TRY(gatherFromProcesses(session, local, values));
  for (double value : values)
    result = std::max(result, value);
  return {};
}

void weft_options_init(weft_options *options) {
  *options = {};
  options->inject_rank = options->inject_command = options->inject_flip = -1;
}

int32_t weft_open(const void *blob, uint64_t bytes, const weft_kernel_entry *kernels,
                  uint64_t num_kernels, const weft_options *options, weft_session **session,
                  weft_status *status) {
  weft_options defaults;
  weft_options_init(&defaults);
  std::unique_ptr<weft_session> opened;
  Status result =
      openSession(blob, bytes, kernels, num_kernels, options ? *options : defaults, opened);
  *session = opened.release();
  return report(result, status);
}

void weft_close(weft_session *session) {
  if (!session)
    return;
  // A thread that does not come back still uses the session: it must stay.
  for (std::unique_ptr<RankContext> &rank : session->ranks)
    if (session->broken && !rank->thread().waitFor(0))
      return;
  closeSession(session);
}

void weft_abort_job(weft_session *session, int32_t code) {
  const CommBackend &comm = session->shared.comm;
  // Who is on the same board notices by itself, more quietly.
  const Board &board = session->shared.board;
  bool all = bool(board);
  for (int64_t rank = 0; all && rank < board.ranks(); ++rank)
    all = board.slot(rank).pid.load() != 0;
  if (comm.vtable && !all && comm.vtable->num_processes(comm.backend) > 1)
    comm.vtable->abort_job(comm.backend, code);
}

void weft_tell_failure(weft_session *session, int32_t code, const char *text) {
  if (session->silent)
    return;
  const weft_options &options = session->options;
  bool injected = options.inject_rank == session->firstRank && options.inject_command >= 0 &&
                  options.inject_stall == 0;
  bool consequence = code == int32_t(StatusCode::RankFailed) && !injected;
  // The board of a weft-run that started all ranks in one process has room for one.
  const char *address = std::getenv(kBoardVariable);
  Board ofProcess;
  if (session->watch)
    return tellFailure(session->shared.board, session->firstRank, {StatusCode(code), text},
                       consequence);
  isEmitted(kReaderSeconds);
  if (address && *text && Board::open(address, 1, ofProcess))
    ofProcess.put(0, code, text, /*consequence=*/false);
  else if (*text)
    tellError("weft", text);
}

int32_t weft::runtime::exitCodeOf(const weft_session &session, int32_t code) {
  const Board &board = session.shared.board;
  return board ? exitCodeOf(board, session.firstRank, code) : code;
}

int64_t weft_num_ranks(const weft_session *session) { return session->view().numRanks(); }
int64_t weft_num_local_ranks(const weft_session *session) { return int64_t(session->ranks.size()); }
int64_t weft_first_local_rank(const weft_session *session) { return session->firstRank; }

int32_t weft_load_state(weft_session *session, weft_status *status) {
  session->shared.files.forgetClaims();
  return report(session->onRanks<loadJob>(), status);
}

int32_t weft_run(weft_session *session, const char *program, weft_status *status) {
  uint32_t index = 0;
  Status found = findProgram(session->view(), program, index);
  if (!found.ok())
    return report(found, status);
  if (session->world.aborted()) // perhaps by a rank whose thread still reads what to run
    return report(session->world.failure(), status);
  session->program = index;
  Status result = session->onRanks<runJob>();
  if (!result.ok()) // a rank's thread may still write what is read below
    return report(result, status);
  RunFigures run;
  for (std::unique_ptr<RankContext> &rank : session->ranks)
    run.add(rank->lastRun());
  session->count(run);
  return report({}, status);
}

void weft_get_statistics(const weft_session *session, weft_statistics *statistics) {
  *statistics = session->statistics;
}

int32_t weft_reduce_max(weft_session *session, double local, double *result, weft_status *status) {
  return report(reduceMax(*session, local, *result), status);
}
