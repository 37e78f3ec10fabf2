// A GPU as a device, through the CUDA driver.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rank's thread issues all streams and waits at the end. What only the host can do, such as a
// collective over a transport, is run by a thread of its stream's own (HostQueue.h).
// From its second run on a program is one CUDA graph, unless the host does some of its commands or
// somebody looks at each of them; the first run loads what is loaded when it is first called.
// WEFT_CUDA_SYNC=1 waits after each command, so that a failure names the command that it is in;
// WEFT_CUDA_GRAPH=0 makes no graphs.
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_CUDADEVICE_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_CUDADEVICE_H

#include "device/cuda/KernelModules.h"
#include "device/cuda/Staging.h"
#include "device/cuda/commands/CudaCommand.h"
#include "device/cuda/libraries/AttentionPlans.h"
#include "device/cuda/libraries/CublasLt.h"
#include "device/cuda/nccl/NcclGroups.h"
#include "device/cuda/nccl/ReduceKernels.h"
#include "device/cuda/streams/HostQueue.h"
#include "device/cuda/streams/ProgramGraph.h"
#include "device/cuda/streams/StreamClock.h"
#include "device/cuda/streams/StreamProgress.h"

#include <atomic>

namespace weft::runtime::cuda {

class CudaDevice : public Device, private HostQueue::Owner {
public:
  static constexpr const char *kName = "cuda";

  /// The GPUs that the process sees.
  static Status look(UnitReport &report);
  /// GPU number `options.unit` of these. With WEFT_CUDA_SHARE=1 ranks may outnumber the GPUs, for
  /// tests: they take turns.
  static Status make(const DeviceOptions &options, std::unique_ptr<Device> &device);
  ~CudaDevice() override;

  Status makeCollectives(CollectivesBy by, GroupTable &groups,
                         std::unique_ptr<CollectiveProvider> &collectives) override;
  PreparedCommandPtr prepare(const PrepareContext &context, const Command &command,
                             Status &status) override;
  Status allocate(const DevicePlan &plan) override;
  Status upload(uint64_t to, const void *from, uint64_t bytes) override;
  Status download(void *to, uint64_t from, uint64_t bytes) override;
  Status makeResident() override { return {}; } // memory of a GPU always is

  bool blocks() const override { return false; }
  unsigned numThreads() const override { return unsigned(queues.size()); }
  bool begin(const Run &run) override;
  Status issue(unsigned stream, CommandPlace place, PreparedCommand &command) override;
  Status record(unsigned stream, uint32_t event, uint64_t count) override;
  Status wait(unsigned stream, CommandPlace place, uint32_t event, uint64_t count) override;
  Status synchronize(unsigned stream) override;
  Status finish(unsigned stream) override;
  void abandon() override;
  void part() override { programs.clear(); }
  std::string takeRemark() override { return std::exchange(remark, {}); }
  const Timeline &timeline(unsigned stream) const override { return clocks[stream]->timeline(); }

private:
  CudaDevice(const DeviceOptions &options, const Driver &driver, int gpu)
      : options(options), driver(driver), gpu(gpu) {}
  Status open();
  Status chooseMemory(uint64_t wanted);
  Status addStream(const StreamPlan &planned, char *start);
  /// How a program's runs go.
  struct ProgramRuns {
    unsigned runs = 0;
    bool isOfHost = false;               // some of its commands are, as its first run has shown
    std::unique_ptr<ProgramGraph> graph; // null: it is issued
  };
  /// The graph that does the run; null if it is issued.
  ProgramGraph *graphFor(const Run &run);
  Status capture(const Run &run, ProgramGraph &graph);
  Status beginStream(unsigned stream);
  /// Waits for the stream with the patience of the world.
  Status settle(unsigned stream);
  /// Shows on the board where streams wait for other ranks, and tells what of that has failed.
  Status look();
  /// That ranks wait for each other in vain, in the command that a stream is in if it is in one.
  Status hang(unsigned stream) const;
  /// A failure of a command that was issued before.
  Status tell(const CommandPlace *place, const Status &failure) const;

  Status enter() override;
  bool isStopping() const override { return stopping.load() || options.world->aborted(); }
  Status runOnHost(unsigned stream, CommandPlace place, CudaCommand &command) override;
  void failedOnHost(CommandPlace place, const Status &status) override;

  DeviceOptions options;
  const Driver &driver;
  const int gpu;
  Context context = nullptr;
  DevicePointer arena = 0;
  bool synchronous = false, makesGraphs = true;
  std::vector<ProgramRuns> programs;
  Status begun;                      // of the run
  ProgramRuns *current = nullptr;    // the run's program
  ProgramGraph *repeated = nullptr;  // does the run; null: it is issued
  ProgramGraph *capturing = nullptr; // what is issued becomes it
  std::string remark;
  std::vector<CudaStream> streams;
  std::vector<StreamMark *> marks;
  std::vector<Event> events;
  std::vector<std::unique_ptr<StreamClock>> clocks;
  std::vector<std::unique_ptr<HostQueue>> queues; // of streams that need one, else null
  std::unique_ptr<Staging> staging;
  std::vector<std::unique_ptr<StreamProgress>> progress; // of streams that wait for other ranks
  std::unique_ptr<KernelModules> modules;
  std::unique_ptr<ReduceKernels> reduceKernels;
  std::unique_ptr<NcclGroups> nccl; // null: collectives go over the transport
  std::unique_ptr<CublasLt> cublasLt = std::make_unique<CublasLt>();
  std::unique_ptr<AttentionPlans> attention = std::make_unique<AttentionPlans>();
  std::vector<bool> hasHostCommands, waitsForRanks; // by stream, as commands are prepared
  std::atomic<bool> stopping{false};
};

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_CUDADEVICE_H
