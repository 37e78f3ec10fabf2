// What a stream waits for the host to do: commands in order, on a thread of their own.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stream waits for a number in memory that both see; the thread first waits until the stream
// has come there, runs the command, and writes the number.
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_STREAMS_HOSTQUEUE_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_STREAMS_HOSTQUEUE_H

#include "base/Threads.h"
#include "device/cuda/commands/CudaCommand.h"

#include <deque>

namespace weft::runtime::cuda {

class HostQueue {
public:
  /// Who has the queue; called by its thread.
  class Owner {
  public:
    virtual ~Owner() = default;
    /// Makes the device's context the thread's.
    virtual Status enter() = 0;
    /// Whether nothing more shall be waited for and run.
    virtual bool isStopping() const = 0;
    virtual Status runOnHost(unsigned stream, CommandPlace place, CudaCommand &command) = 0;
    virtual void failedOnHost(CommandPlace place, const Status &status) = 0;
  };

  HostQueue(const Driver &driver, Owner &owner, unsigned number)
      : driver(driver), owner(owner), number(number) {}
  ~HostQueue();

  Status open();
  /// The stream has nothing to wait for; a run begins.
  void begin();
  /// Behind all that is on the stream, and before what comes later.
  Status push(CudaStream &stream, CommandPlace place, CudaCommand &command);
  /// Waits until the thread has nothing left.
  void end();

private:
  struct Task {
    CommandPlace place;
    CudaCommand *command; // null: the end
    Event reached;
    uint32_t number;
  };
  Task pop();
  void work();
  /// Until the stream has come to the event.
  Status waitFor(Event reached) const;
  Status eventFor(size_t index, Event &event);

  const Driver &driver;
  Owner &owner;
  const unsigned number;
  uint32_t pushed = 0;
  volatile uint32_t *done = nullptr; // the host's address of the number
  DevicePointer doneOnDevice = 0;
  std::vector<Event> events; // by the task's number in the run; used again in the next one
  size_t used = 0;
  bool running = false;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> tasks;
  Worker thread;
};

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_STREAMS_HOSTQUEUE_H
