// What kernels and collectives take on a cluster.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_COST_RATES_H
#define WEFT_COST_RATES_H

#include "weft/Cost/Cluster.h"

#include <map>
#include <set>

namespace weft::cost {

/// Seconds as the integers in which times are added up and compared.
int64_t picosecondsOf(double seconds);

/// What was asked for outside the range of a cluster's measured points, one sentence each.
using Remarks = std::set<std::string>;

/// One kernel after another, in picoseconds, `work.launches` of them if it is more than one; 0 for
/// views. The longest of
///
///   operations   over the type's rate: of products the sustained one, of all else that of vectors
///   bytes        over the memory's sustained bandwidth
///
/// and the gap to the next kernel. A product on a device of `units` is done in tiles of m x n, as
/// many at once as there are units, of the shape that is done first (wave quantisation):
///   ceil(tiles / units) * units * (2 m n k operations) / (rate * share of the tile).
/// Measured points win: of products, convolutions (else as products) and attention one of this
/// shape is taken as it is, and of another shape the formula's time is scaled by what measured
/// points are to it, those near in shape counting more; bytes take what the stream points around
/// them say.
int64_t timeOf(const Work &work, const Device &device, Remarks &remarks);

/// A device on which a kernel takes at most what it takes on `device`, and a part of a kernel at
/// least its part of that: of what was measured it has what was fastest for its size alone, as
/// caches and shapes make some sizes faster than others.
Device fastestOf(Device device);

/// Groups of ranks that communicate over some axes of a mesh, all at once.
class Groups {
public:
  /// `axes` are positions in `mesh`, whose ranks are numbered row-major.
  Groups(const std::vector<Axis> &mesh, const std::vector<int32_t> &axes, const Cluster &cluster);

  int64_t members() const { return groupSize; }

  /// Seconds of one collective, of the bytes of the larger one of operand and result on a device.
  /// All groups are at it at once, so that their bytes share the links. Of n members:
  ///
  ///   ring           B(n-1)/n bytes of each device, 2B(n-1)/n for all_reduce; a ring leaves each
  ///                  unit of a level once. Steps: as many as hops, each with the latency of its
  ///                  level (Patarasu and Yuan, 2009)
  ///   tree           all_reduce only: 2B bytes of each device and over each border, 2 log2 steps
  ///                  of each level (Sanders, Speck and Traeff, 2009)
  ///   hierarchical   level by level, from the nearest: each device has its part of the bytes to
  ///                  exchange with its peers in other units, over the links of levels between as
  ///                  well; the levels' times add up
  ///   pairwise       all_to_all: B/n bytes to each other member
  ///
  /// the least of them: overhead + steps * latency + the longest over all levels of bytes over
  /// bandwidth, where bytes of all devices of a unit share what the unit has. Measured points win.
  double seconds(runtime::CollectiveKind kind, double bytes, Remarks &remarks) const;

private:
  /// Of the links of one level, over which traffic leaves the parts that the level before joins
  /// (the nearest: devices).
  struct Level {
    const LinkLevel *links = nullptr;
    /// The most parts of one group that these links join, and the hops of a ring over them.
    int64_t fan = 1, hops = 0;
    /// The most groups of which one part has some members and not all.
    int64_t crossing = 0;
    /// Members of such a group in a part.
    int64_t inside = 1;
    /// Bytes that leave a part when all members of its groups send a byte over to all others.
    double pairs = 0;
    /// Bytes a second of a device, and of all in a part.
    double own = 0, shared = 0;
  };

  static Level levelOf(const LinkLevel &links, int64_t part);
  void count(const std::vector<int32_t> &groupOf, const Cluster &cluster);
  double transport(double ofGroup) const;
  double ring(double bytes, int64_t times) const;
  double tree(double bytes) const;
  double hierarchical(double bytes, int64_t times) const;
  double pairwise(double bytes) const;
  double formula(runtime::CollectiveKind kind, double bytes) const;

  const Cluster &cluster;
  int64_t groupSize = 1;
  std::vector<Level> levels;
};

/// Seconds of sending so many bytes from each device at coordinate `from` of `axis` to its peer at
/// `to`, all at once.
double secondsOfTransfer(const std::vector<Axis> &mesh, int32_t axis, int64_t from, int64_t to,
                         double bytes, const Cluster &cluster);

} // namespace weft::cost

#endif // WEFT_COST_RATES_H
