// Profiles: how other software trains a transformer, so that its published times can be predicted.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_COST_PROFILE_H
#define WEFT_COST_PROFILE_H

#include "weft/Cost/Cluster.h"
#include "weft/Cost/Recompute.h"

#include <memory>

namespace weft::cost {

/// A model of equal layers, as GPT is.
struct Transformer {
  int64_t layers = 1, hidden = 1, heads = 1, sequence = 1, vocabulary = 1, feedForward = 4;
};

/// How it is trained. Ranks are numbered with the tensor axis fastest, then data, then stages.
struct Layout {
  int64_t tensor = 1, data = 1, stages = 1, chunksPerStage = 1;
  /// Sequences.
  int64_t microbatch = 1, globalBatch = 1;
  bool sequenceParallel = false;
  /// One of kUniformRecompute.
  Recompute recompute = Recompute::None;
  /// State is split over the data axis as in ZeRO: 0 none, 1 the optimizer's, 2 also gradients, 3
  /// also parameters.
  int64_t zero = 0;
};

/// Reads text protobuf (lib/Foundation/Cost/schema/profile.proto).
class Profile {
public:
  /// On failure says in `error` which line is wrong and what belongs there.
  static std::optional<Profile> read(const std::string &text, std::string &error);

  ~Profile();
  Profile(Profile &&other) noexcept;
  Profile &operator=(Profile &&other) noexcept;

  /// The cluster with the profile's constants in place of its own.
  Cluster on(Cluster cluster) const;

  /// The account of a step; fails if the layout does not fit the model, or a size is no number.
  std::optional<StepAccount> account(const Transformer &model, const Layout &layout,
                                     std::string &error) const;

  /// Bytes of state of so many parameters on each device, by class.
  std::array<int64_t, kStateClassCount> stateBytes(int64_t parameters, int64_t data,
                                                   int64_t zero) const;

private:
  struct Text;
  explicit Profile(std::unique_ptr<Text> text);

  std::unique_ptr<Text> text;
};

} // namespace weft::cost

#endif // WEFT_COST_PROFILE_H
