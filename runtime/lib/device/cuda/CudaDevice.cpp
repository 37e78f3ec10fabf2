// Issues a rank's commands on the streams of a GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/CudaDevice.h"

#include "device/Devices.h"
#include "device/cuda/nccl/NcclCollectives.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <thread>

using namespace weft::runtime;
using namespace weft::runtime::cuda;

/// By this name an executable asks for the device when it is linked.
extern "C" {
extern const char weft_cuda_device;
const char weft_cuda_device = 0;
}
static const DeviceKind kind(CudaDevice::kName, CudaDevice::make, "nccl", CudaDevice::look);

Status CudaDevice::look(UnitReport &report) {
  const Driver *driver = nullptr;
  WEFT_TRY(Driver::open(driver));
  int count = 0;
  WEFT_CUDA_TRY(*driver, deviceCount(&count), "counting the GPUs");
  report.count = std::min(uint32_t(count), UnitReport::kMost);
  for (uint32_t i = 0; i < report.count; ++i) {
    Uuid uuid{};
    WEFT_CUDA_TRY(*driver, deviceUuid(&uuid, int(i)), "asking who a GPU is");
    report.ids[i] = std::hash<std::string_view>()({uuid.bytes, sizeof uuid.bytes});
  }
  return {};
}

Status CudaDevice::make(const DeviceOptions &options, std::unique_ptr<Device> &device) {
  const Driver *driver = nullptr;
  WEFT_TRY(Driver::open(driver));
  const UnitShare &unit = options.unit;
  const char *wish = std::getenv("WEFT_CUDA_SHARE");
  if (unit.isShared && (unit.onMachine == 0 || !wish || std::string(wish) != "1"))
    return Status::user("the machine has " + std::to_string(unit.onMachine) + " GPUs for " +
                        std::to_string(options.numLocalRanks) +
                        " ranks; use more machines, or compile for fewer ranks");
  // NCCL takes two ranks on one GPU for a mistake, unless they say that they are on two machines.
  if (unit.isShared)
    setenv("NCCL_HOSTID", ("weft-" + std::to_string(options.rank)).c_str(), 0);
  int gpu = int(unit.number);
  std::unique_ptr<CudaDevice> made(new CudaDevice(options, *driver, gpu));
  WEFT_TRY(made->open().prefix("GPU " + std::to_string(gpu)));
  device = std::move(made);
  return {};
}

Status CudaDevice::open() {
  const char *wish = std::getenv("WEFT_CUDA_SYNC");
  synchronous = wish && std::string(wish) == "1";
  wish = std::getenv("WEFT_CUDA_GRAPH");
  makesGraphs = !wish || std::string(wish) != "0";
  WEFT_CUDA_TRY(driver, retainContext(&context, gpu), "opening it");
  WEFT_TRY(enter());
  staging = std::make_unique<Staging>(driver);
  modules = std::make_unique<KernelModules>(driver, gpu, options.kernels);
  reduceKernels = std::make_unique<ReduceKernels>(driver);
  return staging->open();
}

CudaDevice::~CudaDevice() {
  if (!context)
    return;
  (void)enter();
  programs.clear();
  nccl.reset();
  for (const std::unique_ptr<HostQueue> &queue : queues)
    if (queue)
      queue->end();
  for (const CudaStream &stream : streams)
    if (stream.handle) {
      (void)driver.synchronizeStream(stream.handle);
      (void)driver.destroyStream(stream.handle);
    }
  for (Event event : events)
    if (event)
      (void)driver.destroyEvent(event);
  if (arena)
    (void)driver.free(arena);
  queues.clear();
  clocks.clear();
  progress.clear();
  staging.reset();
  modules.reset();
  reduceKernels.reset();
  cublasLt.reset();
  attention.reset();
  (void)driver.releaseContext(gpu);
}

Status CudaDevice::enter() {
  // Of this thread, which may serve several devices one after another.
  static thread_local Context current = nullptr;
  if (current == context)
    return {};
  current = context;
  return driver.check(driver.setContext(context), "choosing it");
}

//===----------------------------------------------------------------------===//
// Commands and memory
//===----------------------------------------------------------------------===//

Status CudaDevice::makeCollectives(CollectivesBy by, GroupTable &groups,
                                   std::unique_ptr<CollectiveProvider> &collectives) {
  if (by != CollectivesBy::Nccl)
    return Device::makeCollectives(by, groups, collectives);
  // Which machine a rank claims to be on is its process's to say.
  if (options.unit.isShared && options.numProcessRanks > 1)
    return {
        StatusCode::Usage,
        "NCCL cannot serve ranks that share a GPU and a process; start them as processes, "
        "weft-run --comm nccl, or let collectives go through memory of the host: --comm inproc"};
  const Nccl *library = nullptr;
  WEFT_TRY(enter());
  WEFT_TRY(Nccl::open(library));
  nccl = std::make_unique<NcclGroups>(*library, *options.world);
  collectives = std::make_unique<NcclCollectives>(driver, *nccl, *reduceKernels, groups, *this);
  return {};
}

PreparedCommandPtr CudaDevice::prepare(const PrepareContext &context, const Command &command,
                                       Status &status) {
  status = enter();
  if (!status.ok())
    return nullptr;
  CudaContext own{context, driver, *modules, *cublasLt, *attention};
  CudaCommandPtr made = visitRecord(context.program, command, [&](const auto &record) {
    return makeCudaCommand(own, command, record, status);
  });
  size_t known = std::max<size_t>(hasHostCommands.size(), context.stream + 1);
  hasHostCommands.resize(known);
  waitsForRanks.resize(known);
  if (made && made->isOfHost())
    hasHostCommands[context.stream] = true;
  if (made && made->waitsOnStream())
    waitsForRanks[context.stream] = true;
  return made;
}

Status CudaDevice::chooseMemory(uint64_t wanted) {
  size_t free = 0, total = 0;
  WEFT_CUDA_TRY(driver, memoryInfo(&free, &total), "asking for its memory");
  if (wanted > free)
    return {StatusCode::DoesNotFit, "the program needs " + gibibytes(wanted) + " on GPU " +
                                        std::to_string(gpu) + ", which has " + gibibytes(free) +
                                        " of " + gibibytes(total) +
                                        " available; use more ranks per model copy, or a lower "
                                        "precision"};
  uint64_t bytes = std::max<uint64_t>(wanted, 64);
  WEFT_CUDA_TRY(driver, allocate(&arena, bytes), "allocating the arena");
  // As memory of the host begins, so that a program does the same on both.
  return staging->clear(arena, bytes);
}

Status CudaDevice::allocate(const DevicePlan &plan) {
  WEFT_TRY(enter());
  WEFT_TRY(chooseMemory(plan.bytes));
  events.resize(plan.events);
  for (Event &event : events)
    WEFT_CUDA_TRY(driver, createEvent(&event, EventDisableTiming), "making an event");
  hasHostCommands.resize(plan.streams.size());
  waitsForRanks.resize(plan.streams.size());
  char *start = reinterpret_cast<char *>(uintptr_t(arena));
  for (const StreamPlan &planned : plan.streams)
    WEFT_TRY(addStream(planned, start));
  return {};
}

Status CudaDevice::addStream(const StreamPlan &planned, char *start) {
  unsigned number = unsigned(streams.size());
  CudaStream stream;
  stream.arena = start;
  stream.scratch = start + planned.scratch;
  WEFT_CUDA_TRY(driver, createStream(&stream.handle, StreamNonBlocking), "making a stream");
  streams.push_back(stream);
  marks.push_back(planned.mark);
  clocks.push_back(
      std::make_unique<StreamClock>(driver, number == 0, planned.waits, options.traceCapacity));
  WEFT_TRY(clocks.back()->open());
  queues.push_back(nullptr);
  progress.push_back(nullptr);
  if (waitsForRanks[number]) {
    progress.back() = std::make_unique<StreamProgress>(driver, planned.waits);
    WEFT_TRY(progress.back()->open());
  }
  if (!hasHostCommands[number])
    return {};
  queues.back().reset(new HostQueue(driver, *this, number)); // whose owner this is in private
  return queues.back()->open();
}

Status CudaDevice::upload(uint64_t to, const void *from, uint64_t bytes) {
  WEFT_TRY(enter());
  return staging->upload(arena + to, static_cast<const char *>(from), bytes);
}

Status CudaDevice::download(void *to, uint64_t from, uint64_t bytes) {
  WEFT_TRY(enter());
  return staging->download(static_cast<char *>(to), arena + from, bytes);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

Status CudaDevice::capture(const Run &run, ProgramGraph &graph) {
  std::vector<Stream> handles;
  for (unsigned s = 0; s < run.streams; ++s)
    handles.push_back(streams[s].handle);
  WEFT_TRY(graph.begin(std::move(handles)));
  capturing = &graph;
  Status made;
  for (unsigned s = 0; s < run.streams && made.ok(); ++s) {
    made = clocks[s]->begin(streams[s].handle, 0, true);
    if (progress[s])
      progress[s]->begin();
  }
  if (made.ok())
    made = options.commands->issueAll();
  for (unsigned s = 0; s < run.streams && made.ok(); ++s)
    made = clocks[s]->end(streams[s].handle);
  capturing = nullptr;
  WEFT_TRY(graph.end(made));
  for (unsigned s = 0; s < run.streams; ++s)
    graph.notes.push_back(
        {clocks[s]->noted(), progress[s] ? progress[s]->commands() : std::vector<CommandPlace>()});
  return {};
}

ProgramGraph *CudaDevice::graphFor(const Run &run) {
  programs.resize(std::max<size_t>(programs.size(), run.program + 1));
  current = &programs[run.program];
  if (synchronous || !makesGraphs || !run.isWhole)
    return nullptr;
  // It is tried once.
  if (current->graph || current->runs++ != 1)
    return current->graph.get();
  if (current->isOfHost || options.traceCapacity > 0) {
    remark = std::string("commands are issued one by one, as ") +
             (current->isOfHost ? "some collectives go through memory of the host"
                                : "a trace looks at each");
    return nullptr;
  }
  auto made = std::make_unique<ProgramGraph>(driver);
  Status captured = capture(run, *made);
  if (options.world->aborted()) {
    begun = World::stopped();
  } else if (!captured.ok()) {
    remark = "commands are issued one by one, as they make no CUDA graph: " + captured.text();
  } else {
    remark = "one CUDA graph of " + std::to_string(made->numNodes()) + " nodes from here on";
    current->graph = std::move(made);
  }
  return current->graph.get();
}

Status CudaDevice::beginStream(unsigned s) {
  marks[s]->command.store(0, std::memory_order_relaxed);
  marks[s]->doing.store(Doing::Computing, std::memory_order_relaxed);
  double seconds = secondsSince(options.epoch);
  if (repeated) {
    clocks[s]->repeat(repeated->notes[s].times, seconds);
    if (progress[s])
      progress[s]->repeat(repeated->notes[s].waits);
    return {};
  }
  WEFT_TRY(clocks[s]->begin(streams[s].handle, seconds, false));
  if (queues[s])
    queues[s]->begin();
  if (progress[s])
    progress[s]->begin();
  return {};
}

bool CudaDevice::begin(const Run &run) {
  begun = enter();
  repeated = begun.ok() ? graphFor(run) : nullptr;
  for (unsigned s = 0; s < run.streams && begun.ok(); ++s)
    begun = beginStream(s);
  if (!repeated || !begun.ok())
    return repeated;
  for (CudaCommand *command : repeated->communicating)
    command->countTraffic();
  begun = repeated->launch();
  return true;
}

Status CudaDevice::issue(unsigned s, CommandPlace place, PreparedCommand &prepared) {
  WEFT_TRY(begun);
  auto &command = static_cast<CudaCommand &>(prepared);
  CudaStream &stream = streams[s];
  auto kind =
      command.communicates() ? StreamClock::Kind::Communicates : StreamClock::Kind::Computes;
  WEFT_TRY(clocks[s]->start(stream.handle, kind));
  bool waits = command.waitsOnStream();
  if (waits)
    WEFT_TRY(progress[s]->enter(stream.handle, place));
  current->isOfHost |= command.isOfHost();
  if (command.isOfHost())
    WEFT_TRY(queues[s]->push(stream, place, command));
  else
    WEFT_TRY(command.issue(stream));
  if (capturing && command.communicates())
    capturing->communicating.push_back(&command);
  else if (!command.isOfHost())
    command.countTraffic();
  if (waits)
    WEFT_TRY(progress[s]->leave(stream.handle));
  WEFT_TRY(clocks[s]->stop(stream.handle, place, kind, &command));
  return synchronous ? settle(s) : Status();
}

Status CudaDevice::record(unsigned s, uint32_t event, uint64_t) {
  WEFT_TRY(begun);
  return driver.check(driver.recordEvent(events[event], streams[s].handle), "recording an event");
}

Status CudaDevice::wait(unsigned s, CommandPlace place, uint32_t event, uint64_t) {
  WEFT_TRY(begun);
  // All is issued in the order of the list, so the event's last record is the one that is meant.
  Stream stream = streams[s].handle;
  WEFT_TRY(clocks[s]->start(stream, StreamClock::Kind::Waits));
  WEFT_CUDA_TRY(driver, waitEvent(stream, events[event], 0), "letting a stream wait");
  return clocks[s]->stop(stream, place, StreamClock::Kind::Waits, nullptr);
}

Status CudaDevice::tell(const CommandPlace *place, const Status &failure) const {
  if (!place)
    return failure;
  options.failures->commandFailed(*place, failure);
  return World::stopped();
}

Status CudaDevice::hang(unsigned s) const {
  const CommandPlace *place = nullptr;
  for (const std::unique_ptr<StreamProgress> &each : progress)
    if (each && !place)
      place = each->current();
  return tell(place, {StatusCode::Hang,
                      "waited " + std::to_string(options.world->timeoutSeconds()) +
                          " s for stream " + std::to_string(s) + " of GPU " + std::to_string(gpu)});
}

Status CudaDevice::look() {
  if (!nccl)
    return {};
  bool anyWaits = false;
  for (const std::unique_ptr<StreamProgress> &each : progress)
    anyWaits |= each && each->current();
  for (size_t s = 0; s < streams.size(); ++s) {
    if (queues[s] || marks[s]->doing.load(std::memory_order_relaxed) == Doing::Nothing)
      continue;
    const CommandPlace *place = progress[s] ? progress[s]->current() : nullptr;
    if (place)
      marks[s]->command.store(place->command, std::memory_order_relaxed);
    // Whoever waits long for other ranks does not compute long: what else is on streams waits, too.
    marks[s]->doing.store(place || anyWaits ? Doing::Waiting : Doing::Computing,
                          std::memory_order_relaxed);
  }
  unsigned stream = 0;
  Status failed = nccl->check(stream);
  return failed.ok() ? failed
                     : tell(progress[stream] ? progress[stream]->current() : nullptr, failed);
}

Status CudaDevice::settle(unsigned s) {
  // A graph is all of the first stream.
  Stream stream = streams[repeated ? 0 : s].handle;
  Waited waited;
  for (int polls = 0;; ++polls) {
    Result result = driver.queryStream(stream);
    if (result != NotReady)
      return driver.check(result, repeated ? "running a graph (WEFT_CUDA_SYNC=1 names the command)"
                                           : "running commands");
    if (options.world->aborted())
      return World::stopped();
    WEFT_TRY(look());
    if (waited.seconds() > options.world->timeoutSeconds())
      return hang(s);
    // At first it may be done any moment.
    if (polls > kSpins)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

Status CudaDevice::synchronize(unsigned s) {
  WEFT_TRY(begun);
  return settle(s);
}

Status CudaDevice::finish(unsigned s) {
  WEFT_TRY(begun);
  if (!repeated)
    WEFT_TRY(clocks[s]->end(streams[s].handle));
  WEFT_TRY(settle(s));
  if (queues[s])
    queues[s]->end();
  WEFT_TRY(clocks[s]->read());
  marks[s]->doing.store(Doing::Nothing, std::memory_order_relaxed);
  return {};
}

void CudaDevice::abandon() {
  stopping.store(true);
  repeated = nullptr;
  programs.clear(); // NCCL waits for graphs with its work
  if (nccl)
    nccl->abort();
  for (const std::unique_ptr<HostQueue> &queue : queues)
    if (queue)
      queue->end();
  // What the GPU cannot finish is left to the end of the process.
  for (unsigned s = 0; s < streams.size(); ++s)
    for (int i = 0; i < 2000 && driver.queryStream(streams[s].handle) == NotReady; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

Status CudaDevice::runOnHost(unsigned s, CommandPlace place, CudaCommand &command) {
  marks[s]->command.store(place.command, std::memory_order_relaxed);
  marks[s]->doing.store(Doing::Waiting, std::memory_order_relaxed);
  WEFT_TRY(command.runOnHost(streams[s]));
  marks[s]->doing.store(Doing::Computing, std::memory_order_relaxed);
  return {};
}

void CudaDevice::failedOnHost(CommandPlace place, const Status &status) {
  options.failures->commandFailed(place, status);
}
