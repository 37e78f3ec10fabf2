// Gives a model file other weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_WEIGHTS_REPLACEWEIGHTS_H
#define WEFT_PYTHON_FREE_FRONTEND_WEIGHTS_REPLACEWEIGHTS_H

#include "python_free_frontend/weights/TensorStore.h"

namespace weft::weights {

/// 'REGEX=REPLACEMENT': the first match of REGEX in a tensor's name becomes
/// REPLACEMENT, in which \1 is the first group. An empty name leaves the tensor
/// out.
struct NameRule {
  std::string pattern, replacement;
};

struct ReplaceOptions {
  std::string model, output;   // paths of .onnx files, may be the same
  std::vector<NameRule> rules; // the first that matches counts
  /// Names of initializers whose tensors are stored transposed.
  std::vector<std::string> transposed; // regular expressions
  bool allowMissing = false;           // initializers without a tensor keep their values
  bool allowExtra = false;             // tensors without an initializer are left out
  bool external = false;               // weights go beside the model whatever their size
};

struct ReplaceSummary {
  size_t replaced = 0;
  uint64_t bytes = 0; // of all initializers
  bool external = false;
  /// Floating-point initializers of more than one element that stay.
  std::vector<std::string> kept;
  std::vector<std::string> unused; // tensors left out by `allowExtra`
  /// Of the rules that match nothing, what is to be said.
  std::vector<std::string> idleRules;
  uint64_t unknownFields = 0; // of the model, left out
};

/// Writes `options.model` with the tensors of `store` in place of the
/// initializers of their names. Shapes must be equal; floating-point types are
/// converted to that of the initializer, from the `#master` copy of a tensor
/// whose own type differs. Everything that does not fit is listed in one error,
/// and then nothing is written. Weights above 1.5 GB go to `output`.data.
llvm::Expected<ReplaceSummary> replaceWeights(TensorStore &store, const ReplaceOptions &options);

} // namespace weft::weights

#endif // WEFT_PYTHON_FREE_FRONTEND_WEIGHTS_REPLACEWEIGHTS_H
