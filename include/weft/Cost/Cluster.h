// The machines that a program is planned for: devices, their memory and the links between them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_COST_CLUSTER_H
#define WEFT_COST_CLUSTER_H

#include "weft/Cost/StepAccount.h"
#include "weft/runtime/Commands.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft {

/// What a device does with one kind of numbers, in operations a second; a multiplication and an
/// addition are two.
struct ComputeRate {
  /// Of products. That times `sustained` is what large ones reach, times `attentionSustained` what
  /// fused attention reaches.
  double flops = 0, sustained = 1, attentionSustained = 1;
  /// Of everything else.
  double vectorFlops = 0;
};

/// A product is done in pieces of m x n, as many at once as there are units.
struct Tile {
  int64_t m = 0, n = 0;
  /// Of the sustained rate.
  double share = 1;
};

/// A product, convolution or attention whose time was measured, with sizes as cost::Shape has them.
struct GemmPoint {
  Arithmetic arithmetic = Arithmetic::F32;
  int64_t batch = 1, m = 1, n = 1, k = 1;
  double seconds = 0;
  /// Operations for each of the batch * m * n * k.
  double each = 2;
};

/// A kernel that passes over memory whose time was measured, in caches as far as it fits there.
struct StreamPoint {
  double bytes = 0, seconds = 0; // read and written
};

/// One device, as every process has one.
struct Device {
  std::string name;
  double memoryBytes = 0;
  /// The share of it that a program may have.
  double memoryUsable = 1;
  /// Bytes that can be read or written in a second, and the share that large kernels reach.
  double memoryBandwidth = 0;
  double memoryEfficiency = 1;
  std::array<ComputeRate, kArithmeticCount> rates = {};
  /// Seconds between two kernels, and of the processor that starts them, each.
  double gapSeconds = 0, hostSeconds = 0;
  /// Without units and tiles a product takes its operations over the rate.
  int64_t units = 0;
  std::vector<Tile> tiles;
  std::vector<GemmPoint> gemmPoints, convPoints, attentionPoints;
  /// By bytes, each once, ascending.
  std::vector<StreamPoint> streamPoints;

  int64_t usableBytes() const {
    return int64_t(std::clamp(memoryBytes * memoryUsable, 1.0, 0x1p62));
  }
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
  /// Bytes a second that all devices of a unit of the level before can send over these links
  /// together; 0: of each device its own.
  double sharedBandwidth = 0;

  /// Seconds that bytes take, without the latency.
  double secondsOf(double bytes) const { return bytes / (bandwidth * efficiency); }
};

/// A collective whose time was measured.
struct CollectivePoint {
  runtime::CollectiveKind kind = runtime::CollectiveKind::AllReduce;
  /// The farthest links that it goes over.
  std::string level;
  int64_t members = 2;
  /// Of the larger one of operand and result, on a device.
  double bytes = 0, seconds = 0;
};

/// What stands behind so many devices: a host's memory, its stores.
struct Store {
  double bytes = 0;
  /// Bytes a second; of a host's memory, from and to one device.
  double readBandwidth = 0, writeBandwidth = 0;
  int64_t devices = 1;
};

/// All devices alike.
struct Cluster {
  std::string name;
  /// Predicted seconds may be off by this share; 0: nothing is known.
  double uncertainty = 0;
  Device device;
  /// From the nearest to the farthest; the last one joins all.
  std::vector<LinkLevel> levels;
  /// Seconds of a collective beside its messages: to start it, and to wait for the last member to
  /// come.
  double collectiveOverhead = 0;
  /// The level over which an axis communicates, by the names of both, where it is not as the order
  /// of ranks tells.
  std::vector<std::pair<std::string, std::string>> axisLevels;
  std::vector<CollectivePoint> collectivePoints;
  std::optional<Store> host, nvme;

  /// What is planned for unless a file says otherwise: a process has 16 cores of a server and a
  /// network of its own. 429 Gflop/s (50 operations in the time of a byte on the network) of any
  /// kind, as narrow types are computed in f32; 64 GiB of memory at 64 GiB/s; links of 8 GiB/s, and
  /// 1.9 us (2^-19 s) a collective, in which the latency of its messages is counted because our
  /// transports have all of them under way at once. Sustained rates, so that efficiencies are 1.
  /// Links are powers of two: scaling by them is exact, so layouts that send as many bytes take as
  /// long to the last bit, and ties are decided by order and not by rounding.
  static Cluster standard();
};

/// Reads text protobuf (docs/cluster.md). On failure says in `error` which line is wrong and what
/// belongs there.
std::optional<Cluster> readCluster(const std::string &text, std::string &error);

/// The file of the cluster that the library has by this name, or nothing. The library is
/// share/weft/clusters, in the folder that has the program's bin: of a build or an installation.
std::string fileOfCluster(const std::string &name);
/// The names in the library, in order.
std::vector<std::string> namesOfClusters();
/// The text of a file, or of the library's cluster of that name.
std::optional<std::string> textOfCluster(const std::string &fileOrName, std::string &error);

} // namespace weft

#endif // WEFT_COST_CLUSTER_H
