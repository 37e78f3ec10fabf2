// A device for tests whose memory faults when the host touches it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// It is linked into a test and chosen by WEFT_DEVICE=far. It computes what the
// host computes, to the bit, but is unlike it in all that a device may be:
// - its arena can be touched only while one of its commands or copies runs, not
//   while a collective exchanges anything, nor between runs; a command or copy
//   of one stream opens it to the other streams meanwhile;
// - it does not block: the rank's thread issues the commands of all streams,
//   and each stream has a thread that runs them when their turn has come;
// - it tells of failures when they happen, which is after `issue`.
// And it is strict: memory that the host moves while a stream works, which a
// device may not have to allow, ends the test.
#include "device/Devices.h"
#include "device/host/HostDevice.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <sys/mman.h>

using namespace weft::runtime;

namespace {

[[noreturn]] void misused(const char *what) {
  std::fprintf(stderr, "far device: %s\n", what);
  std::abort();
}

/// Whether this thread is a stream's.
thread_local bool isStreamThread = false;

class FarDevice : public HostDevice {
public:
  static Status make(const DeviceOptions &options, std::unique_ptr<Device> &device) {
    std::unique_ptr<FarDevice> made(new FarDevice(options));
    WEFT_TRY(made->chooseLibraries());
    device = std::move(made);
    return {};
  }
  ~FarDevice() override { abandon(); }

  Status allocate(const DevicePlan &plan) override {
    WEFT_TRY(HostDevice::allocate(plan));
    protect(PROT_NONE);
    for (unsigned s = 0; s < plan.streams.size(); ++s)
      streams.push_back(std::make_unique<Stream>(*this, s));
    return {};
  }

  Status upload(uint64_t to, const void *from, uint64_t count) override {
    Access access(*this);
    return HostDevice::upload(to, from, count);
  }
  Status download(void *to, uint64_t from, uint64_t count) override {
    Access access(*this);
    return HostDevice::download(to, from, count);
  }
  Status makeResident() override {
    Access access(*this);
    return HostDevice::makeResident();
  }
  bool isHostMemory() const override { return false; }
  char *hostView() const override { return nullptr; }

  bool blocks() const override { return false; }
  unsigned numThreads() const override {
    return HostDevice::numThreads() + unsigned(streams.size());
  }
  bool begin(const Run &run) override {
    HostDevice::begin(run);
    running = run.streams;
    for (unsigned s = 0; s < run.streams; ++s)
      streams[s]->start();
    return false;
  }
  Status issue(unsigned stream, CommandPlace place, PreparedCommand &command) override {
    streams[stream]->push({Task::Run, place, &command, 0, 0, nullptr});
    return {};
  }
  Status record(unsigned stream, uint32_t event, uint64_t count) override {
    streams[stream]->push({Task::Record, {}, nullptr, event, count, nullptr});
    return {};
  }
  Status wait(unsigned stream, CommandPlace place, uint32_t event, uint64_t count) override {
    streams[stream]->push({Task::Wait, place, nullptr, event, count, nullptr});
    return {};
  }
  Status synchronize(unsigned stream) override {
    std::atomic<bool> reached{false};
    streams[stream]->push({Task::Tell, {}, nullptr, 0, 0, &reached});
    while (!reached.load())
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    return {};
  }
  Status finish(unsigned stream) override {
    streams[stream]->push({Task::End, {}, nullptr, 0, 0, nullptr});
    streams[stream]->thread.wait();
    --running;
    WEFT_TRY(streams[stream]->status);
    return HostDevice::finish(stream);
  }
  void abandon() override {
    stopping.store(true);
    for (std::unique_ptr<Stream> &stream : streams)
      stream->push({Task::End, {}, nullptr, 0, 0, nullptr});
    for (std::unique_ptr<Stream> &stream : streams)
      stream->thread.wait();
    running = 0;
  }

private:
  explicit FarDevice(const DeviceOptions &options) : HostDevice(options) {}

  struct Task {
    enum Kind { Run, Record, Wait, Tell, End } kind;
    CommandPlace place;
    PreparedCommand *command;
    uint32_t event;
    uint64_t count;
    std::atomic<bool> *reached; // Tell
  };

  /// A queue, and the thread that works it off.
  struct Stream {
    Stream(FarDevice &device, unsigned number) : device(device), number(number) {}

    void push(Task task) {
      {
        std::lock_guard<std::mutex> guard(mutex);
        due += task.kind < Task::Tell;
        tasks.push_back(std::move(task));
      }
      changed.notify_one();
    }
    Task pop() {
      std::unique_lock<std::mutex> guard(mutex);
      changed.wait(guard, [&] { return !tasks.empty(); });
      Task task = std::move(tasks.front());
      tasks.pop_front();
      return task;
    }
    void start() {
      tasks.clear();
      due = 0;
      thread.post([](void *self) { static_cast<Stream *>(self)->work(); }, this);
    }
    void work() {
      isStreamThread = true;
      status = {};
      for (Task task = pop(); task.kind != Task::End; task = pop()) {
        if (task.kind == Task::Tell) {
          task.reached->store(true);
          continue;
        }
        work(task);
        --due;
      }
    }
    void work(const Task &task) {
      if (status.ok() && (device.stopping.load() || device.options.world->aborted()))
        status = World::stopped();
      if (!status.ok())
        return;
      status = device.run(number, task);
      if (!status.ok())
        device.options.failures->commandFailed(task.place, status);
    }

    FarDevice &device;
    unsigned number;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<Task> tasks;
    std::atomic<int> due{0}; // tasks that are not done
    Status status;
    Worker thread;
  };

  Status run(unsigned stream, const Task &task) {
    if (task.kind == Task::Record)
      return HostDevice::record(stream, task.event, task.count);
    if (task.kind == Task::Wait)
      return HostDevice::wait(stream, task.place, task.event, task.count);
    // A collective moves its operands by upload and download, and nobody else
    // may touch them.
    if (task.command->communicates())
      return HostDevice::issue(stream, task.place, *task.command);
    Access access(*this);
    return HostDevice::issue(stream, task.place, *task.command);
  }

  /// While one exists the arena can be touched.
  struct Access {
    explicit Access(FarDevice &device) : device(device) {
      if (device.running > 0 && !isStreamThread && device.isAtWork())
        misused("memory is moved while a stream works");
      std::lock_guard<std::mutex> guard(device.mutex);
      if (device.users++ == 0)
        device.protect(PROT_READ | PROT_WRITE);
    }
    ~Access() {
      std::lock_guard<std::mutex> guard(device.mutex);
      if (--device.users == 0)
        device.protect(PROT_NONE);
    }
    FarDevice &device;
  };
  bool isAtWork() const {
    return std::any_of(streams.begin(), streams.end(),
                       [](const auto &stream) { return stream->due > 0; });
  }
  void protect(int how) {
    if (mprotect(arena, bytes, how) != 0)
      misused("mprotect failed");
  }

  std::mutex mutex;
  int users = 0;
  std::atomic<unsigned> running{0}; // streams
  std::atomic<bool> stopping{false};
  std::vector<std::unique_ptr<Stream>> streams;
};

const DeviceKind kind("far", FarDevice::make);

} // namespace
