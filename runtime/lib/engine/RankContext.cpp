// Prepares and runs one rank's programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/RankContext.h"

#include "job/Judge.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>

using namespace weft::runtime;

namespace {

uint64_t alignUp(uint64_t value) { return (value + 63) / 64 * 64; }

/// MemAvailable of this machine in bytes; 0 = not known.
uint64_t availableMemory() {
  std::FILE *file = std::fopen("/proc/meminfo", "r");
  if (!file)
    return 0;
  char line[256];
  unsigned long long kib = 0;
  while (std::fgets(line, sizeof line, file))
    if (std::sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
      break;
  std::fclose(file);
  return uint64_t(kib) * 1024;
}

std::string gibibytes(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f GiB", double(bytes) / (1024.0 * 1024 * 1024));
  return text;
}

} // namespace

RankContext::RankContext(SessionShared &shared, int64_t rank, const std::vector<int> &cores)
    : shared(shared), processRank(rank), cores(cores),
      position(coordinatesOf(shared.program, rank)), groups(shared.comm),
      pool(shared.threadsPerRank, shared.spin, cores), serial(1, false), worker(cores) {
  stageIndex = unsigned(
      indexAlong(shared.program, shared.program.axes(shared.program.info().stageAxes), position));
  for (const Scalar &scalar : shared.program.Scalars())
    values.push_back(scalar.initial);
}

RankContext::~RankContext() {
  if (arena)
    munmap(arena, std::max<uint64_t>(totalBytes, 64));
}

Status RankContext::allocate(uint64_t bytes) {
  totalBytes = bytes;
  uint64_t available = availableMemory();
  uint64_t wanted = bytes * uint64_t(shared.numLocalRanks);
  if (available != 0 && wanted > available)
    return {StatusCode::DoesNotFit,
            "the program needs " + gibibytes(bytes) + " for each of " +
                std::to_string(shared.numLocalRanks) + " ranks on this machine, which has " +
                gibibytes(available) +
                " available; use more machines, more ranks per model copy, or "
                "a lower precision"};
  void *memory = mmap(nullptr, std::max<uint64_t>(bytes, 64), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return {StatusCode::DoesNotFit,
            "an arena of " + gibibytes(bytes) + " cannot be allocated: " + std::strerror(errno)};
  arena = static_cast<char *>(memory);
  return {};
}

void RankContext::touchArena() {
  constexpr uint64_t kPage = 4096;
  for (uint64_t at = 0; at < totalBytes; at += kPage) {
    volatile char *byte = arena + at;
    *byte = *byte;
  }
}

Status RankContext::prepare() {
  const ProgramView &p = shared.program;
  WEFT_TRY(groups.createAll(p, position));
  PrepareContext context{p, position,   shared.kernels.data(), *shared.libraries, groups,
                         0, pool.size()};
  uint32_t numStreams = 1, numEvents = 0;
  size_t numCommands = 0;
  for (uint32_t i = 0; i < p.Programs().size(); ++i) {
    const Body &body = p.Bodies()[p.Programs()[i].bodies.begin + stageIndex];
    bodies.emplace_back();
    WEFT_TRY(PreparedBody::make(p, i, body, context, bodies.back())
                 .prefix("program '" + std::string(p.string(p.Programs()[i].name)) + "'"));
    numStreams = std::max(numStreams, bodies.back().numStreams());
    numEvents = std::max(numEvents, bodies.back().numEvents());
    numCommands = std::max(numCommands, bodies.back().numCommands());
  }
  planBytes = p.Stages()[stageIndex].arenaBytes;
  uint64_t total = alignUp(planBytes);
  std::vector<uint64_t> offsets(numStreams);
  for (uint32_t s = 0; s < numStreams; ++s) {
    offsets[s] = total;
    uint64_t most = 0;
    for (const PreparedBody &body : bodies)
      if (s < body.numStreams())
        most = std::max(most, body.scratchBytes(s));
    total += alignUp(most);
  }
  WEFT_TRY(allocate(total));
  events.resize(numEvents);
  if (numStreams > BoardSlot::kStreams)
    farMarks = std::vector<StreamMark>(numStreams - BoardSlot::kStreams);
  slot().stage.store(stageIndex);
  streams.resize(numStreams);
  for (uint32_t s = 0; s < numStreams; ++s) {
    StreamContext &stream = streams[s];
    stream.arena = arena;
    stream.scratch = arena + offsets[s];
    stream.pool = s == 0 ? &pool : &serial;
    stream.world = shared.world;
    stream.mark = s < BoardSlot::kStreams ? &slot().streams[s] : &farMarks[s - BoardSlot::kStreams];
    stream.scalarStorage = values;
    stream.scalars = stream.scalarStorage.data();
    stream.recordsSeen.assign(numEvents, 0);
    stream.communication.reserve(numCommands);
    stream.idle.reserve(s == 0 ? numCommands : 0);
    stream.traceCapacity = shared.traceCapacity;
    stream.trace.reserve(shared.traceCapacity);
    jobs.push_back({this, s});
    if (s > 0)
      streamWorkers.push_back(std::make_unique<Worker>(cores));
  }
  for (const Port &port : p.Ports())
    map(port.placement);
  return {};
}

const ShardMap &RankContext::map(Id placement) {
  auto found = maps.find(placement);
  if (found == maps.end())
    found = maps.emplace(placement, ShardMap(shared.program, placement, position)).first;
  return found->second;
}

Status RankContext::loadState() {
  const ProgramView &p = shared.program;
  constexpr uint64_t kReleaseBytes = 16 << 20;
  uint64_t unreleased = 0;
  for (uint32_t i = 0; i < p.States().size(); ++i) {
    const State &state = p.States()[i];
    if (!holds(state.stage))
      continue;
    if (shared.world->aborted())
      return World::stopped();
    WEFT_TRY(runtime::loadState(p, state, map(state.placement), shared.modelDirectory, shared.files,
                                buffer(state.buffer)));
    unreleased += p.Buffers()[state.buffer].bytes;
    shared.loadedBytes += p.Buffers()[state.buffer].bytes;
    if (unreleased < kReleaseBytes)
      continue;
    unreleased = 0;
    shared.files.release();
  }
  shared.files.release();
  return {};
}

void RankContext::runStream(unsigned stream) {
  const PreparedBody &body = bodies[current.load(std::memory_order_relaxed)];
  StreamContext &context = streams[stream];
  context.status = body.run(stream, context, events, shared.epoch,
                            stream == 0 ? injection : PreparedBody::Injection());
  if (!context.status.ok() && !shared.world->aborted())
    shared.world->abort(judged(context.status));
}

Status RankContext::judged(const Status &failure) const {
  Status own = failure;
  own.prefix("rank " + std::to_string(processRank));
  return judge(shared.board, shared.program, processRank, own, shared.world->timeoutSeconds());
}

Status RankContext::runProgram(uint32_t program, const PreparedBody::Injection &inject) {
  Clock::time_point start = Clock::now();
  injection = inject;
  current.store(program, std::memory_order_relaxed);
  slot().program.store(program + 1, std::memory_order_relaxed);
  events.clear();
  uint32_t used = bodies[program].numStreams();
  for (uint32_t s = 0; s < used; ++s) {
    std::copy(values.begin(), values.end(), streams[s].scalarStorage.begin());
    streams[s].communicationSeconds = 0;
    streams[s].communication.clear();
    streams[s].idle.clear();
  }
  for (uint32_t s = 1; s < used; ++s)
    streamWorkers[s - 1]->post(
        [](void *argument) {
          auto *job = static_cast<StreamJob *>(argument);
          job->self->runStream(job->stream);
        },
        &jobs[s]);
  runStream(0);
  for (uint32_t s = 1; s < used; ++s)
    streamWorkers[s - 1]->wait();
  seconds = secondsSince(start);
  for (uint32_t s = 0; s < used; ++s)
    if (!streams[s].status.ok())
      return streams[s].status;
  std::copy(streams[0].scalarStorage.begin(), streams[0].scalarStorage.end(), values.begin());
  overlap = {};
  for (uint32_t s = 0; s < used; ++s)
    overlap += overlapOf(streams[s].communication, streams[0].ran, streams[0].idle);
  return {};
}

unsigned RankContext::numThreads() const {
  return 1 + (pool.size() - 1) + unsigned(streamWorkers.size());
}
