// Seconds of collectives and of computation on a cluster.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_COST_COSTMODEL_H
#define WEFT_COST_COSTMODEL_H

#include "weft/Cost/Cluster.h"
#include "weft/Sharding/Collective.h"
#include "weft/runtime/CollectiveFacts.h"

#include "mlir/IR/Operation.h"

#include <optional>
#include <vector>

namespace weft {

/// What computing with elements of `type` is; of tensors, of their elements. What is no number is
/// an integer.
Arithmetic arithmeticOf(mlir::Type type);

/// The runtime's command for a transition; none without communication.
std::optional<runtime::CollectiveKind> collectiveOf(TransitionKind kind);

/// How long something takes, as passes are told it; a step's time is simulateStep's
/// (SimulateStep.h). All results are seconds, of one device, one
/// time, with nothing else going on: what overlaps, and how often something happens, is the
/// caller's knowledge. No result is negative, more bytes or operations never take less, and a
/// slower link never takes less.
class CostModel {
public:
  explicit CostModel(Mesh mesh, Cluster cluster = Cluster::standard());

  const Mesh &mesh() const { return grid; }
  const Cluster &cluster() const { return machines; }

  /// The links over which groups of these axes communicate: the nearest level that holds each
  /// group as a whole, by the order of ranks (the last axis fastest) or as the cluster says for an
  /// axis. Of several axes the farthest; over an axis of one device nobody communicates.
  const LinkLevel &linksOf(llvm::ArrayRef<AxisId> axes) const;

  /// The axes for which the cluster names links and which the mesh does not have.
  std::vector<std::string> unknownAxes() const;

  /// One collective over axes in space, whose operand and result have so many bytes on a device; 0
  /// for transitions without communication and for groups of one. The time of a message is its
  /// latency and its bytes over the bandwidth (Hockney, 1994). Counts of messages and bytes are of
  /// Thakur, Rabenseifner and Gropp (Optimization of Collective Communication Operations in MPICH,
  /// 2005), n members:
  ///
  ///   all_gather, reduce_scatter   ring: n-1 messages, B(n-1)/n bytes; n a power of two:
  ///                                recursive doubling and halving: log2 n messages, the same bytes
  ///   all_reduce                   the least of: ring: 2(n-1) messages, 2B(n-1)/n bytes; n a
  ///                                power of two: halving and doubling: 2 log2 n messages, the
  ///                                same bytes;
  ///                                tree: 2 ceil(log2 n) messages, B bytes each
  ///   all_to_all                   pairwise: n-1 messages, B(n-1)/n bytes
  double seconds(TransitionKind kind, llvm::ArrayRef<AxisId> axes, double operandBytes,
                 double resultBytes) const;
  /// The same without the overhead of a collective: its messages and bytes.
  double secondsOfMessages(TransitionKind kind, llvm::ArrayRef<AxisId> axes, double operandBytes,
                           double resultBytes) const;
  /// `seconds` of a transition between two placements; 0 over time.
  double seconds(TransitionKind kind, llvm::ArrayRef<AxisId> axes, const Placement &from,
                 const Placement &to, double elementBytes) const;

  /// Bytes that a device sends in one collective, as plans are priced (runtime::ringBytes); 0 where
  /// `seconds` is 0.
  double ringBytes(TransitionKind kind, llvm::ArrayRef<AxisId> axes, double operandBytes,
                   double resultBytes) const;
  double ringBytes(TransitionKind kind, llvm::ArrayRef<AxisId> axes, const Placement &from,
                   const Placement &to, double elementBytes) const;

  /// A computation of so many operations that reads and writes so many bytes of memory: the longer
  /// of the two (the roofline of Williams, Waterman and Patterson, 2009).
  double seconds(double flops, double bytes, Arithmetic arithmetic) const;

  /// A penalty (weft/Cost/Penalties.h), given in bytes: as long as they take over the links of
  /// these axes, the nearest if there are none. So a penalty keeps its weight against
  /// communication on slow and fast links.
  double secondsOfPenalty(llvm::ArrayRef<AxisId> axes, double bytes) const {
    return linksOf(axes).secondsOf(bytes);
  }

private:
  Mesh grid;
  Cluster machines;
  /// Of each axis, the number of its level.
  llvm::SmallVector<unsigned, 4> levelOfAxis;
};

/// The module's attribute that holds its cluster, as text protobuf; without it the cluster is the
/// standard one.
inline constexpr llvm::StringLiteral kClusterAttr = "weft.cluster";

/// Costs on this mesh and the cluster of the module around `op`. Fails, with an error, if the
/// attribute is wrong, as it may be in a text that somebody has edited.
llvm::FailureOr<CostModel> costModelOf(mlir::Operation *op, Mesh mesh);

} // namespace weft

#endif // WEFT_COST_COSTMODEL_H
