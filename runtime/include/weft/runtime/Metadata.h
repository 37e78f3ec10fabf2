// Names by which the compiler tells the runtime what is what in an executable.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_METADATA_H
#define WEFT_RUNTIME_METADATA_H

namespace weft::runtime {

/// The state that counts training steps, from 0; also its name in checkpoints.
inline constexpr char kStepState[] = "weft.step";

/// States of a program whose loss is scaled: by what, and how many steps that has been good for.
inline constexpr char kLossScaleState[] = "weft.loss_scale";
inline constexpr char kLossScaleStepsState[] = "weft.loss_scale_steps";

/// Behind a parameter's name: the state that holds it in the precision of its updates.
inline constexpr char kMasterSuffix[] = "#master";

/// Keys of the table of metadata (MetadataEntry). Values are texts; numbers are decimal.
namespace metadata {

/// With the name of an input behind it: of how many rows the input's elements are indices.
inline constexpr char kLookupPrefix[] = "lookup.";

/// What begins so is told by --info.
inline constexpr char kTrainPrefix[] = "train.";
/// As the flags of weft-compile say them.
inline constexpr char kTrainLoss[] = "train.loss";
inline constexpr char kTrainOptimizer[] = "train.optimizer";
inline constexpr char kTrainSeed[] = "train.seed";
/// Samples of one step.
inline constexpr char kTrainBatch[] = "train.batch";
/// Names of inputs.
inline constexpr char kTrainTokens[] = "train.tokens";
inline constexpr char kTrainLabels[] = "train.labels";
/// "1": no label is left out of the loss, not even -100.
inline constexpr char kTrainAllLabelsCount[] = "train.labels_all_count";
/// A label that does not count, beside -100.
inline constexpr char kTrainIgnored[] = "train.ignored";
/// Labels that count are below it.
inline constexpr char kTrainClasses[] = "train.classes";

/// Names of the input and the output of `forward` that texts are continued with.
inline constexpr char kGenerateTokens[] = "generate.tokens";
inline constexpr char kGenerateLogits[] = "generate.logits";

} // namespace metadata
} // namespace weft::runtime

#endif // WEFT_RUNTIME_METADATA_H
