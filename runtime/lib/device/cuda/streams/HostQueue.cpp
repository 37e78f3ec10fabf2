// Runs a stream's commands that only the host can do.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/streams/HostQueue.h"

using namespace weft::runtime;
using namespace weft::runtime::cuda;

HostQueue::~HostQueue() {
  for (Event event : events)
    (void)driver.destroyEvent(event);
  if (done)
    (void)driver.hostFree(const_cast<uint32_t *>(done));
}

Status HostQueue::open() {
  void *memory = nullptr;
  WEFT_CUDA_TRY(driver, hostAllocate(&memory, sizeof *done, HostAllocDeviceMap),
                "allocating memory that host and GPU share");
  done = static_cast<volatile uint32_t *>(memory);
  *done = 0;
  return driver.check(driver.hostDevicePointer(&doneOnDevice, memory, 0),
                      "asking where the GPU sees memory of the host");
}

void HostQueue::begin() {
  used = 0;
  running = true;
  thread.post([](void *self) { static_cast<HostQueue *>(self)->work(); }, this);
}

Status HostQueue::eventFor(size_t index, Event &event) {
  if (index == events.size()) {
    Event made = nullptr;
    WEFT_CUDA_TRY(driver, createEvent(&made, EventDisableTiming), "making an event");
    events.push_back(made);
  }
  event = events[index];
  return {};
}

Status HostQueue::push(CudaStream &stream, CommandPlace place, CudaCommand &command) {
  Event reached = nullptr;
  WEFT_TRY(eventFor(used++, reached));
  WEFT_CUDA_TRY(driver, recordEvent(reached, stream.handle), "recording an event");
  WEFT_CUDA_TRY(driver, waitValue(stream.handle, doneOnDevice, ++pushed, WaitValueGeq),
                "letting a stream wait for the host");
  std::lock_guard<std::mutex> guard(mutex);
  tasks.push_back({place, &command, reached, pushed});
  changed.notify_one();
  return {};
}

void HostQueue::end() {
  if (!running)
    return;
  {
    std::lock_guard<std::mutex> guard(mutex);
    tasks.push_back({{}, nullptr, nullptr, 0});
    changed.notify_one();
  }
  thread.wait();
  running = false;
}

HostQueue::Task HostQueue::pop() {
  std::unique_lock<std::mutex> guard(mutex);
  changed.wait(guard, [&] { return !tasks.empty(); });
  Task task = tasks.front();
  tasks.pop_front();
  return task;
}

Status HostQueue::waitFor(Event reached) const {
  for (int polls = 0;; ++polls) {
    if (owner.isStopping())
      return World::stopped();
    Result result = driver.queryEvent(reached);
    if (result != NotReady)
      return driver.check(result, "running commands");
    if (polls > kSpins)
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void HostQueue::work() {
  Status entered = owner.enter();
  for (Task task = pop(); task.command; task = pop()) {
    Status status = entered;
    if (status.ok())
      status = waitFor(task.reached);
    if (status.ok())
      status = owner.runOnHost(number, task.place, *task.command);
    if (!status.ok())
      owner.failedOnHost(task.place, status);
    // Also where it failed: the stream must not wait for ever.
    __atomic_store_n(done, task.number, __ATOMIC_RELEASE);
  }
}
