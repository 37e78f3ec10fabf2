// Which of a machine's devices each of its ranks has.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_UNITS_H
#define WEFT_RUNTIME_LIB_DEVICE_UNITS_H

#include <cstdint>
#include <vector>

namespace weft::runtime {

/// The devices that one rank's process sees, in its order, to be told to all others. A launcher may
/// show all of a machine's to each process (mpirun, torchrun) or to each its own alone (srun
/// --gpus-per-task=1, CUDA_VISIBLE_DEVICES), which then all have the same number.
struct UnitReport {
  static constexpr uint32_t kMost = 64;
  uint32_t count = 0;
  uint64_t ids[kMost] = {}; // of the devices themselves, wherever they are seen
};

/// What one rank has of its machine's devices.
struct UnitShare {
  int64_t number = 0;    // among those that its process sees; 0 if there is none
  int64_t onMachine = 0; // devices that some rank of the machine sees
  bool isShared = false; // another rank has the same one, or there is none
};

/// Ranks that see the same devices take them in turn. `hosts`: whose machine each rank is on.
UnitShare shareUnits(const std::vector<uint64_t> &hosts, const std::vector<UnitReport> &reports,
                     int64_t rank);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_DEVICE_UNITS_H
