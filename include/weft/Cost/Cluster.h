// The machines that a program is planned for: devices, their memory and the links between them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_COST_CLUSTER_H
#define WEFT_COST_CLUSTER_H

#include "weft/Cost/StepAccount.h"

#include "mlir/IR/Types.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <array>
#include <string>

namespace weft {

/// What computing with elements of `type` is; of tensors, of their elements. What is no number is
/// an integer.
Arithmetic arithmeticOf(mlir::Type type);

/// One device, as every process has one. A rate times its efficiency is what large kernels sustain.
struct Device {
  double memoryBytes = 0;
  /// Bytes that can be read or written in a second.
  double memoryBandwidth = 0;
  double memoryEfficiency = 1;
  /// Floating-point or integer operations in a second (a multiplication and an addition are two),
  /// by Arithmetic.
  std::array<double, kArithmeticCount> flopsPerSecond = {};
  double computeEfficiency = 1;
};

/// Links that join so many consecutive ranks: those within a machine, those between machines.
struct LinkLevel {
  std::string name;
  /// Ranks that such links join: 0..devices-1, devices..2*devices-1, ...; 0: all.
  int64_t devices = 0;
  /// Bytes that one device can send in a second, while it receives as many.
  double bandwidth = 0;
  double efficiency = 1;
  /// Seconds from sending a message to its arrival, without its bytes.
  double latency = 0;

  /// Seconds that bytes take, without the latency.
  double secondsOf(double bytes) const { return bytes / (bandwidth * efficiency); }
};

/// All devices alike.
struct Cluster {
  std::string name;
  Device device;
  /// From the nearest to the farthest; the last one joins all.
  llvm::SmallVector<LinkLevel, 2> levels;
  /// Seconds of a collective beside its messages: to start it, and to wait for the last member to
  /// come.
  double collectiveOverhead = 0;
  /// The level over which an axis communicates, by the names of both, where it is not as the order
  /// of ranks tells.
  llvm::SmallVector<std::pair<std::string, std::string>, 2> axisLevels;

  /// What is planned for unless a file says otherwise: a process has 16 cores of a server and a
  /// network of its own. 429 Gflop/s (50 operations in the time of a byte on the network) of any
  /// kind, as narrow types are computed in f32; 64 GiB of memory at 64 GiB/s; links of 8 GiB/s, and
  /// 1.9 us (2^-19 s) a collective, in which the latency of its messages is counted because our
  /// transports have all of them under way at once. Sustained rates, so that efficiencies are 1.
  /// Links are powers of two: scaling by them is exact, so layouts that send as many bytes take as
  /// long to the last bit, and ties are decided by order and not by rounding.
  static Cluster standard();

  /// Reads JSON (docs/cluster.md). The error names the field and says what it should be.
  static llvm::Expected<Cluster> parse(llvm::StringRef json);
};

} // namespace weft

#endif // WEFT_COST_CLUSTER_H
