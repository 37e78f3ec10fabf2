// Runs commands on threads, in the order of their streams.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/HostDevice.h"

#include "device/Devices.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/mman.h>
#include <thread>

using namespace weft::runtime;

namespace {

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

/// Seconds that this thread had a core: on a machine that others use, too,
/// what a command costs.
double threadSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

} // namespace

/// Marks and times what a stream does between begin and end.
class HostDevice::Measurement {
public:
  /// `communicates`: it waits for others, rather than computes.
  Measurement(const HostDevice &device, HostStream &stream, CommandPlace place, bool communicates)
      : device(device), timeline(stream.timeline), mark(*stream.mark), place(place),
        communicates(communicates), traced(timeline.trace.size() < device.options.traceCapacity) {
    mark.command.store(place.command, std::memory_order_relaxed);
    // A failed wait leaves its mark behind.
    if (communicates)
      mark.doing.store(Doing::Waiting, std::memory_order_relaxed);
    if (traced)
      cpu = threadSeconds();
    if (traced || communicates)
      interval.begin = device.now();
  }
  /// Not called if it failed.
  void end(bool isCollective, bool isStreamZero, Volume sent) {
    if (!traced && !communicates)
      return;
    interval.end = device.now();
    if (communicates) {
      mark.doing.store(Doing::Computing, std::memory_order_relaxed);
      timeline.communicationSeconds += interval.end - interval.begin;
      if (isStreamZero)
        timeline.idle.add(interval);
    }
    if (isCollective)
      timeline.communication.add(interval);
    if (traced)
      timeline.trace.push_back({place.program, place.command, interval.begin, interval.end,
                                threadSeconds() - cpu, sent});
  }

private:
  const HostDevice &device;
  Timeline &timeline;
  StreamMark &mark;
  CommandPlace place;
  bool communicates, traced;
  double cpu = 0;
  Interval interval{0, 0};
};

HostDevice::HostDevice(const DeviceOptions &options)
    : options(options), pool(options.threads, options.spin, options.cores), serial(1, false) {}

HostDevice::~HostDevice() {
  if (arena)
    munmap(arena, bytes);
}

Status HostDevice::make(const DeviceOptions &options, std::unique_ptr<Device> &device) {
  std::unique_ptr<HostDevice> made(new HostDevice(options));
  if (made->pool.size() < options.threads)
    return Status::user("this machine gives a rank " + std::to_string(made->pool.size()) + " of " +
                        std::to_string(options.threads) +
                        " threads; give fewer, with --threads-per-rank");
  WEFT_TRY(made->chooseLibraries());
  device = std::move(made);
  return {};
}

Status HostDevice::chooseLibraries() {
  // For tests, and to compare processors: kernels of products below the best.
  const char *name = std::getenv("WEFT_KERNELS");
  return name ? libraries.choose(name) : Status();
}

PreparedCommandPtr HostDevice::prepare(const PrepareContext &context, const Command &command,
                                       Status &status) {
  HostContext host{context, options.kernels, libraries, context.stream == 0 ? pool.size() : 1};
  return visitRecord(context.program, command, [&](const auto &record) {
    return makeHostCommand(host, command, record, status);
  });
}

Status HostDevice::map(uint64_t wanted) {
  uint64_t available = availableMemory();
  if (available != 0 && wanted * uint64_t(options.numLocalRanks) > available)
    return {StatusCode::DoesNotFit,
            "the program needs " + gibibytes(wanted) + " for each of " +
                std::to_string(options.numLocalRanks) + " ranks on this machine, which has " +
                gibibytes(available) +
                " available; use more machines, more ranks per model copy, or "
                "a lower precision"};
  bytes = std::max<uint64_t>(wanted, 64);
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return {StatusCode::DoesNotFit,
            "an arena of " + gibibytes(wanted) + " cannot be allocated: " + std::strerror(errno)};
  arena = static_cast<char *>(memory);
  return {};
}

Status HostDevice::allocate(const DevicePlan &plan) {
  WEFT_TRY(map(plan.bytes));
  events.resize(plan.events);
  streams.resize(plan.streams.size());
  for (size_t s = 0; s < streams.size(); ++s) {
    HostStream &stream = streams[s];
    stream.arena = arena;
    stream.scratch = arena + plan.streams[s].scratch;
    stream.pool = s == 0 ? &pool : &serial;
    stream.mark = plan.streams[s].mark;
    stream.timeline.communication.reserve(plan.streams[s].waits);
    stream.timeline.idle.reserve(s == 0 ? plan.streams[s].waits : 0);
    stream.timeline.trace.reserve(options.traceCapacity);
  }
  return {};
}

Status HostDevice::upload(uint64_t to, const void *from, uint64_t count) {
  if (count != 0)
    std::memcpy(arena + to, from, count);
  return {};
}

Status HostDevice::download(void *to, uint64_t from, uint64_t count) {
  if (count != 0)
    std::memcpy(to, arena + from, count);
  return {};
}

Status HostDevice::makeResident() {
  constexpr uint64_t kPage = 4096;
  for (uint64_t at = 0; at < bytes; at += kPage) {
    volatile char *byte = arena + at;
    *byte = *byte;
  }
  return {};
}

bool HostDevice::begin(const Run &run) {
  events.clear();
  for (unsigned s = 0; s < run.streams; ++s) {
    Timeline &timeline = streams[s].timeline;
    timeline.communicationSeconds = 0;
    timeline.communication.clear();
    timeline.idle.clear();
    timeline.ran.begin = now();
    streams[s].mark->command.store(0, std::memory_order_relaxed);
    streams[s].mark->doing.store(Doing::Computing, std::memory_order_relaxed);
  }
  return false;
}

Status HostDevice::issue(unsigned s, CommandPlace place, PreparedCommand &prepared) {
  HostStream &stream = streams[s];
  auto &command = static_cast<HostCommand &>(prepared);
  bool communicates = command.communicates();
  Measurement measurement(*this, stream, place, communicates);
  if (options.pretended && !communicates)
    WEFT_TRY(pretend(stream, (*options.pretended)[place.program][place.command]));
  else
    WEFT_TRY(command.run(stream));
  measurement.end(communicates, s == 0, command.sent());
  return {};
}

/// What a sleep lasted too long the next ones last less.
Status HostDevice::pretend(HostStream &stream, double seconds) const {
  constexpr double kLeast = 2e-4, kMost = 0.02; // worth a sleep; until an abort is noticed
  for (stream.owed += seconds; stream.owed > kLeast;) {
    if (options.world->aborted())
      return World::stopped();
    Clock::time_point start = Clock::now();
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(stream.owed, kMost)));
    stream.owed -= secondsSince(start);
  }
  return {};
}

Status HostDevice::record(unsigned, uint32_t event, uint64_t count) {
  events.record(event, count);
  return {};
}

Status HostDevice::wait(unsigned s, CommandPlace place, uint32_t event, uint64_t count) {
  Measurement measurement(*this, streams[s], place, true);
  Wait wait = events.wait(*options.world, event, count);
  if (wait == Wait::Aborted)
    return World::stopped();
  if (wait == Wait::TimedOut)
    return {StatusCode::Hang, "waited " + std::to_string(options.world->timeoutSeconds()) +
                                  " s for event " + std::to_string(event) + " of another stream"};
  measurement.end(false, s == 0, {});
  return {};
}

Status HostDevice::finish(unsigned s) {
  streams[s].timeline.ran.end = now();
  streams[s].mark->doing.store(Doing::Nothing, std::memory_order_relaxed);
  return {};
}
