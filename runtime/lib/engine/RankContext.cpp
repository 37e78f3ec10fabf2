// Prepares and runs one rank's programs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/RankContext.h"

#include "device/Devices.h"
#include "job/Judge.h"

#include <algorithm>

using namespace weft::runtime;

/// As cuBLASLt wants its workspace.
static uint64_t alignUp(uint64_t value) { return (value + 255) / 256 * 256; }

RankContext::RankContext(SessionShared &shared, int64_t rank, const UnitShare &unit,
                         const std::vector<int> &cores)
    : shared(shared), processRank(rank), unit(unit), cores(cores),
      position(coordinatesOf(shared.program, rank)), groups(shared.comm), worker(cores) {
  stageIndex = unsigned(
      indexAlong(shared.program, shared.program.axes(shared.program.info().stageAxes), position));
}

Status RankContext::open(const std::string &kind) {
  DeviceOptions options;
  options.world = shared.world;
  options.epoch = shared.epoch;
  options.kernels = shared.kernels.data();
  options.threads = shared.threadsPerRank;
  options.spin = shared.spin;
  options.cores = cores;
  options.rank = processRank;
  options.numLocalRanks = shared.numLocalRanks;
  options.numProcessRanks = shared.numProcessRanks;
  options.unit = unit;
  options.traceCapacity = shared.traceCapacity;
  options.failures = this;
  options.commands = this;
  if (shared.pretended) {
    WEFT_TRY(shared.pretended->spread(shared.program, stageIndex, pretended));
    options.pretended = &pretended;
  }
  WEFT_TRY(makeDevice(kind, options, ownDevice));
  return ownDevice->makeCollectives(shared.collectivesBy, groups, collectives);
}

Status RankContext::prepare() {
  const ProgramView &p = shared.program;
  WEFT_TRY(groups.createAll(p, position));
  WEFT_TRY(collectives->connect());
  if (shared.checksNumbers)
    numbers = std::make_unique<NumberCheck>();
  lists = std::make_unique<ListMaker>(
      *ownDevice, PrepareContext{p, position, *collectives, 0, {}, {}}, shared.checksNumbers);
  for (uint32_t i = 0; i < p.Programs().size(); ++i) {
    const Body &body = p.Bodies()[p.Programs()[i].bodies.begin + stageIndex];
    bodies.emplace_back();
    WEFT_TRY(PreparedBody::make(*lists, p, i, body, bodies.back())
                 .prefix("program '" + std::string(p.string(p.Programs()[i].name)) + "'"));
  }
  DevicePlan plan = planDevice();
  totalBytes = plan.bytes;
  WEFT_TRY(ownDevice->allocate(plan));
  WEFT_TRY(collectives->allocate());
  slot().stage.store(stageIndex);
  makeIssuers(plan.events);
  for (const Port &port : p.Ports())
    map(port.placement);
  return {};
}

DevicePlan RankContext::planDevice() {
  DevicePlan plan{0, lists->numEvents(), {}};
  uint32_t streams = 1;
  for (const PreparedBody &body : bodies)
    streams = std::max(streams, body.numStreams());
  if (streams > BoardSlot::kStreams)
    farMarks = std::vector<StreamMark>(streams - BoardSlot::kStreams);
  planBytes = shared.program.Stages()[stageIndex].arenaBytes;
  plan.bytes = alignUp(planBytes);
  for (uint32_t s = 0; s < streams; ++s) {
    PreparedList::Needs most;
    for (const PreparedBody &body : bodies)
      if (s < body.numStreams()) {
        most.scratch = std::max(most.scratch, body.needs(s).scratch);
        most.waits = std::max(most.waits, body.needs(s).waits);
      }
    marks.push_back(s < BoardSlot::kStreams ? &slot().streams[s]
                                            : &farMarks[s - BoardSlot::kStreams]);
    plan.streams.push_back({plan.bytes, marks.back(), most.waits});
    plan.bytes += alignUp(most.scratch);
  }
  return plan;
}

void RankContext::makeIssuers(uint32_t events) {
  bool blocks = ownDevice->blocks();
  size_t count = blocks ? marks.size() : 1;
  for (unsigned i = 0; i < count; ++i) {
    issuers.push_back({this, blocks ? i : Walker::kEveryStream, std::vector<uint64_t>(events), {}});
    if (i > 0)
      issuerThreads.push_back(std::make_unique<Worker>(cores));
  }
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
    if (!holds(state))
      continue;
    if (shared.world->aborted())
      return World::stopped();
    HostCopy target = shard(state);
    WEFT_TRY(runtime::loadState(p, state, map(state.placement), shared.modelDirectory, shared.files,
                                target.data()));
    WEFT_TRY(target.upload());
    unreleased += buffer(state).bytes;
    shared.loadedBytes += buffer(state).bytes;
    if (unreleased < kReleaseBytes)
      continue;
    unreleased = 0;
    shared.files.release();
  }
  shared.files.release();
  return {};
}

void RankContext::flipOnce() {
  for (const State &state : shared.program.States()) {
    if (hasFlipped || !holds(state) || map(state.placement).numValid() == 0)
      continue;
    hasFlipped = true;
    char byte = 0;
    const uint64_t place = buffer(state).offset;
    if (ownDevice->download(&byte, place, 1).ok())
      (void)ownDevice->upload(place, &(byte ^= 0x40), 1);
  }
}

Status RankContext::issue(unsigned stream, std::vector<uint64_t> &records) {
  const PreparedBody &body = bodies[current.load(std::memory_order_relaxed)];
  return body.issue(*ownDevice, *shared.world, stream, records, *marks[0], injection,
                    numbers.get());
}

void RankContext::issue(Issuer &issuer) {
  issuer.status = isRepeated ? Status() : issue(issuer.stream, issuer.records);
  if (issuer.status.ok())
    issuer.status =
        bodies[current.load(std::memory_order_relaxed)].finish(*ownDevice, issuer.stream);
  if (!issuer.status.ok())
    fail(issuer.status);
}

void RankContext::fail(const Status &failure) {
  if (!shared.world->aborted())
    shared.world->abort(judged(failure));
}

void RankContext::commandFailed(CommandPlace place, const Status &failure) {
  if (shared.world->aborted())
    return;
  Status status = failure;
  fail(status.prefix(bodies[place.program].describe(place.command)));
}

Status RankContext::judged(const Status &failure) const {
  Status own = failure;
  own.prefix("rank " + std::to_string(processRank));
  return judge(shared.board, shared.program, processRank, own, shared.world->timeoutSeconds());
}

Status RankContext::runProgram(uint32_t program, const Injection &inject) {
  Clock::time_point start = Clock::now();
  injection = inject;
  current.store(program, std::memory_order_relaxed);
  slot().program.store(program + 1, std::memory_order_relaxed);
  unsigned streams = bodies[program].numStreams();
  size_t used = std::min<size_t>(issuers.size(), streams);
  isRepeated = ownDevice->begin({program, streams, injection.command < 0 && !numbers});
  for (size_t i = 1; i < used; ++i)
    issuerThreads[i - 1]->post(
        [](void *argument) {
          auto *issuer = static_cast<Issuer *>(argument);
          issuer->self->issue(*issuer);
        },
        &issuers[i]);
  issue(issuers[0]);
  for (size_t i = 1; i < used; ++i)
    issuerThreads[i - 1]->wait();
  figures = {secondsSince(start), 0, {}};
  for (size_t i = 0; i < used; ++i)
    if (!issuers[i].status.ok()) {
      ownDevice->abandon();
      return issuers[i].status;
    }
  const Timeline &first = ownDevice->timeline(0);
  figures.communication = first.communicationSeconds;
  for (unsigned s = 0; s < streams; ++s)
    figures.overlap += overlapOf(ownDevice->timeline(s).communication, first.ran, first.idle);
  return {};
}

std::string RankContext::describe(const NumberCheck::Found &found, const char *what) const {
  const ProgramView &p = shared.program;
  bool isMade = found.source == kNone;
  std::string text = "rank " + std::to_string(processRank) + ": " +
                     bodies[found.place.program].describe(found.place.command) + " of '" +
                     std::string(p.string(p.Programs()[found.place.program].name)) + "' " +
                     (isMade ? "made " : "wrote ") + std::to_string(found.count) + " of " +
                     std::to_string(found.of) + " numbers " + what;
  return isMade ? text
                : text + ", having read such in '" +
                      std::string(p.string(p.Buffers()[found.source].name)) + "'";
}

unsigned RankContext::numThreads() const {
  return 1 + ownDevice->numThreads() + unsigned(issuerThreads.size());
}
