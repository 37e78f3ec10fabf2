// The account of one step: what each chunk of a model computes, sends and keeps, and what that
// takes on a cluster. Whoever knows a program writes it; the simulator reads nothing else.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_COST_STEPACCOUNT_H
#define WEFT_COST_STEPACCOUNT_H

#include "weft/Pipeline/Schedule.h"
#include "weft/runtime/Commands.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// The kinds of numbers for which devices have rates of their own.
enum class Arithmetic : uint8_t { F64, F32, F16, BF16, F8, Integer };
constexpr size_t kArithmeticCount = 6;
const char *nameOf(Arithmetic arithmetic);

} // namespace weft

/// Plain C++, without LLVM. Everything counted is an integer: bytes, operations, picoseconds. All
/// figures are of one device, with what other axes split already taken off.
namespace weft::cost {

/// What kind of kernel does some work, and its sizes on the device: rates depend on them.
struct Shape {
  enum class Kind : uint8_t {
    Stream,    // reads and writes memory: elementwise, norms, softmax, optimizers, look-ups
    Gemm,      // `batch` products [m, k] x [k, n]
    Attention, // fused: scores never touch memory
    Conv       // as the product that it is: m points of the result, n channels, k summed
  };
  Kind kind = Kind::Stream;
  int64_t batch = 1, m = 0, n = 0, k = 0; // Gemm, Conv
  /// Attention: batch and heads are in `batch`; m queries, n keys, k size of a head.
  bool isCausal = false;

  bool operator==(const Shape &other) const {
    return kind == other.kind && batch == other.batch && m == other.m && n == other.n &&
           k == other.k && isCausal == other.isCausal;
  }
};

/// A fusion, whose ops run as one: kernels of one shape.
struct Work {
  Shape shape;
  /// Of `flops`.
  Arithmetic arithmetic = Arithmetic::F32;
  /// A multiplication and an addition are two. What a causal mask spares is taken off.
  int64_t flops = 0;
  /// Of memory, from outside of the fusion.
  int64_t bytesRead = 0, bytesWritten = 0;
  /// Kernels started; 0: a view, or part of a kernel that is counted elsewhere.
  int64_t launches = 1;
};

/// When the device waits for a collective.
enum class Role : uint8_t {
  Exposed,        // at once: what follows in the list reads it (tensor, sequence, expert parallel)
  GradientSum,    // before the updates; runs beside what follows in the list
  ParameterGather // before what follows in the list, but it may start one block earlier
};

/// A collective, all of whose groups communicate at once.
struct Communication {
  runtime::CollectiveKind kind = runtime::CollectiveKind::AllReduce;
  Role role = Role::Exposed;
  /// Of the larger one of operand and result, on a device: for AllGather the result, for
  /// ReduceScatter the operand.
  int64_t bytes = 0;
  /// Positions in StepAccount::axes, in any order.
  std::vector<int32_t> axes;
  /// Of a Send over the axis of stages: those to which this stage sends so many bytes. All stages
  /// come to it, whether they send or not.
  std::vector<int32_t> targets = {};
};

/// What an item is there for, where other layouts of the same program have it elsewhere, or less.
enum class Purpose : uint8_t {
  Pass,           // all else
  WeightGradient, // of which a schedule may make an action of its own
  Accumulation    // of such a gradient, to those of the microbatches before
};

/// One or the other, in the order in which the device issues them.
struct Item {
  bool isWork = true;
  Work work;
  Communication communication;
  /// So often, one after the other.
  int64_t count = 1;
  Purpose purpose = Purpose::Pass;

  static Item of(Work work, int64_t count = 1) {
    Item item;
    item.work = work;
    item.count = count;
    return item;
  }
  static Item of(Communication communication, int64_t count = 1) {
    Item item;
    item.isWork = false;
    item.communication = std::move(communication);
    item.count = count;
    return item;
  }
};

/// Items that repeat as a whole, such as a layer.
struct Block {
  std::vector<Item> items;
  int64_t count = 1;
  /// The host starts it when the device is done with all before; else it may be ahead.
  bool hostWaits = false;
};
using Blocks = std::vector<Block>;

/// What state is for.
enum class StateClass : uint8_t { Parameter, Gradient, Master, Optimizer, Other };
constexpr size_t kStateClassCount = 5;
const char *nameOf(StateClass stateClass);

/// What a device of one stage does and keeps for one chunk of the model. Without a pipeline there
/// is one chunk.
struct Chunk {
  /// Of one microbatch. What recomputes is part of `backward`. A chunk whose schedule never splits
  /// D into B and W may have everything in `backward`.
  Blocks forward, backward, weight;
  /// Once a step: gradients that are summed after the last microbatch (GradientSum), what follows
  /// them (norms, clipping, loss scaling), the updates, and parameters that are gathered again.
  Blocks update;
  /// Communication that runs beside the last backward action of the chunk (W or D), and is over
  /// before the updates: sums of gradients. The collectives become ready one after the other at
  /// equal distances, the last at the action's end. What may not overlap is in `update`.
  Blocks sums;

  /// Sent to the next chunk by F, and to the one before by B, each microbatch; by each device.
  int64_t forwardBytes = 0, backwardBytes = 0;

  std::array<int64_t, kStateClassCount> stateBytes = {};
  /// What F keeps until B, what F keeps until W, what B makes for W: of one microbatch.
  int64_t keptForBackward = 0, keptForWeight = 0, madeForWeight = 0;
  /// The most that is alive beside that within one action, and within the update.
  int64_t transientBytes = 0, updateTransientBytes = 0;
};

/// An axis of the mesh, in space.
struct Axis {
  std::string name;
  int64_t size = 1;
};

struct StepAccount {
  /// Major to minor: ranks are numbered row-major, the last axis fastest.
  std::vector<Axis> axes;
  /// The axis over which chunks are placed; -1: there is none, and one chunk.
  int32_t stages = -1;
  std::vector<Chunk> chunks;
  /// place[c] is the coordinate of chunk c on the axis of stages. Without one: {0}, and F0.i D0.i
  /// for each microbatch.
  pipeline::Schedule schedule;
  /// Whether a rank that sends to another stage waits until that is over; else transfers run beside
  /// what it does next.
  bool transfersBlock = false;
  /// Bytes that a process needs whatever is computed: context, libraries' workspaces.
  int64_t fixedBytes = 0;

  int64_t devices() const {
    int64_t count = 1;
    for (const Axis &axis : axes)
      count *= axis.size;
    return count;
  }
};

//===----------------------------------------------------------------------===//
// What it takes
//===----------------------------------------------------------------------===//

/// Where the time of a step goes: of the rank that is last, in picoseconds; they add up to the
/// step.
struct Causes {
  /// Kernels by Shape::Kind, without the updates.
  std::array<int64_t, 4> compute = {};
  /// Of each axis: collectives that nothing runs beside. What goes over several axes counts for
  /// the first of them in the mesh.
  std::vector<int64_t> exposed;
  /// Waiting for other stages, transfers included.
  int64_t bubble = 0;
  /// Kernels of the update.
  int64_t optimizer = 0;

  int64_t total() const {
    int64_t sum = bubble + optimizer;
    for (int64_t time : compute)
      sum += time;
    for (int64_t time : exposed)
      sum += time;
    return sum;
  }
  bool operator==(const Causes &other) const {
    return compute == other.compute && exposed == other.exposed && bubble == other.bubble &&
           optimizer == other.optimizer;
  }
};

/// Peak of one rank, in bytes.
struct Memory {
  std::array<int64_t, kStateClassCount> state = {};
  int64_t activations = 0, transient = 0, fixed = 0;

  int64_t total() const {
    int64_t sum = activations + transient + fixed;
    for (int64_t bytes : state)
      sum += bytes;
    return sum;
  }
  bool operator==(const Memory &other) const {
    return state == other.state && activations == other.activations &&
           transient == other.transient && fixed == other.fixed;
  }
};

struct Prediction {
  int64_t picoseconds = 0;
  Causes causes;
  /// By stage; where every rank is simulated, by rank.
  std::vector<Memory> memory;
  /// The position of the largest.
  size_t fullest = 0;
  /// Bytes that a device sends over each axis in a step, in rings; the most of any stage. Of
  /// several axes as in Causes; transfers between stages are of the axis of stages.
  std::vector<int64_t> bytesByAxis;
  /// Of the axis of stages, if there is one: what a device of each stage sends to each other.
  std::vector<std::vector<int64_t>> bytesBetweenStages;
  /// What figures were asked for outside the range in which the cluster was measured; one sentence
  /// each.
  std::vector<std::string> remarks;

  double seconds() const { return double(picoseconds) * 1e-12; }
};

} // namespace weft::cost

#endif // WEFT_COST_STEPACCOUNT_H
