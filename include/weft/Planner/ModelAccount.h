// What a model of equal blocks costs on one group of devices that split its weights, and from that
// the account of a step under any uniform layout.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLANNER_MODELACCOUNT_H
#define WEFT_PLANNER_MODELACCOUNT_H

#include "weft/Cost/StepAccount.h"
#include "weft/Planner/Layout.h"

#include <optional>

namespace weft::planner {

/// What one device does for one microbatch, and in the update, for a part of the model.
struct Share {
  /// In their order; items say what is there for gradients of weights (cost::Purpose). Axes of
  /// communication are that of weights alone, whose number is 0. Over no axes are gathers of
  /// parameters in front of what reads them, and sums of gradients behind what makes them: layouts
  /// make of them what ZeRO says (isOfReplicas).
  std::vector<cost::Item> forward, backward, update;
  std::array<int64_t, cost::kStateClassCount> stateBytes = {};
  /// Of each parameter's tensor.
  std::vector<int64_t> parameterBytes;
  int64_t keptForBackward = 0, keptForWeight = 0, madeForWeight = 0;
};

/// Of a microbatch of one size, without splitting batch, state or stages.
struct ModelAccount {
  int64_t blocks = 0;
  Share before, block, behind;
  /// Of `before.parameterBytes` those that stages behind need, too (tied embeddings).
  int64_t sharedBytes = 0;
  /// That one block hands to the next.
  int64_t borderBytes = 0;
  int64_t transientBytes = 0, updateTransientBytes = 0;
  /// Results of one microbatch, which stay until the step is over.
  int64_t outputBytes = 0;
};

/// What stands for an exchange between devices that have the same parameters.
bool isOfReplicas(const cost::Item &item);

/// Of one program with a few blocks: what its chunk does, with all gradients in `backward`, and its
/// parameters' tensors.
struct Sample {
  int64_t blocks = 0;
  cost::Chunk chunk;
  /// By where they are read: before the blocks, within, behind.
  std::vector<int64_t> before, within, behind;
  int64_t sharedBytes = 0, borderBytes = 0, outputBytes = 0;
};

/// The account of `blocks` blocks, from programs with some and with one more. What one more block
/// adds is a block; what is left is before the blocks or behind them, by its place.
ModelAccount modelOf(const Sample &fewer, const Sample &more, int64_t blocks);
/// The same of a program without blocks that repeat: all of it is behind them.
ModelAccount modelOf(const Sample &whole);

/// The program for microbatches of `size` samples, from those of two other sizes: every figure is a
/// line. Nothing if the two do not do the same.
std::optional<Sample> scaled(const Sample &small, int64_t smallSize, const Sample &large,
                             int64_t largeSize, int64_t size);

struct Assembly {
  /// Bytes up to which what waits for nobody shares messages.
  int64_t bucketBytes = 25 << 20;
  /// What is before and behind the blocks, in the time of blocks: chunks get as many blocks as
  /// makes them even.
  double before = 0, behind = 0;
};

/// The account of a step under `layout`. The batch's axis sums gradients and, by the stage of ZeRO,
/// splits updates and state:
///
///   0   all_reduce of gradients beside the last backward pass
///   1   reduce_scatter there; each device updates its part and gathers the parameters
///   2   reduce_scatter behind what makes gradients, in each microbatch, which adds up its part;
///       the rest as 1
///   3   as 2; parameters are gathered before what reads them, forward and backward
///
/// What waits for nobody shares messages. Gradients of one microbatch are added to no others; of
/// several they are where the program has it, or each device's part behind its sum (ZeRO-2 and 3).
/// Fails where the schedule does not fit the stages.
std::optional<cost::StepAccount> assemble(const ModelAccount &model, const Layout &layout,
                                          const Assembly &options, std::string &error);

/// What a device sends over the batch's axis, in messages of `bytes` each.
struct Messages {
  runtime::CollectiveKind kind;
  int64_t bytes = 0, count = 0;
};
/// The sums of gradients beside the last microbatch (ZeRO-0 and 1), of a stage with so many bytes
/// of them.
Messages sumsOf(const Layout &layout, int64_t gradientBytes, int64_t bucketBytes);

/// The sums of gradients in each microbatch (ZeRO-2 and 3) of a pass that is there several times.
struct EachSum {
  /// By the places of the sums, the bytes of the message that begins there, or 0 where one waits
  /// for more.
  std::vector<int64_t> within;
  /// A pass has less than a message: so many together have one, behind them.
  int64_t passes = 0, bytesOfPass = 0;
};
EachSum eachSumOf(const std::vector<cost::Item> &pass, int64_t bucketBytes);
/// What gathers parameters when they are updated: none but for ZeRO-1 and 2.
Messages gathersBehindUpdate(const Layout &layout, int64_t parameterBytes, int64_t bucketBytes);
/// A device's share of a kernel that updates.
cost::Work updateOf(cost::Work whole, const Layout &layout);
/// Adds a gradient of so many bytes to those of the microbatches before.
cost::Work accumulationOf(int64_t gradientBytes);
/// What the stage of the last chunk has of the parameters of the first one's, if that is another:
/// state, gathers, sums.
Share sharedOf(const ModelAccount &model);

/// How many of the blocks each chunk has: as even as whole blocks can be, with what is before the
/// first and behind the last.
std::vector<int64_t> blocksOfChunks(int64_t blocks, const Layout &layout, const Assembly &assembly);

} // namespace weft::planner

#endif // WEFT_PLANNER_MODELACCOUNT_H
