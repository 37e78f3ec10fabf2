// Takes the parameters of a built model from a checkpoint.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_BUILDERS_CHECKPOINT_H
#define WEFT_PYTHON_FREE_FRONTEND_BUILDERS_CHECKPOINT_H

#include "python_free_frontend/builders/SafeTensors.h"
#include "python_free_frontend/builders/Weights.h"
#include "llvm/ADT/StringMap.h"

namespace weft::builders {

/// Parameters by their Hugging Face names, which the builders use as well. A
/// model's own prefix ("bert.", "transformer.", ...) may be present or absent,
/// and matrices that the graph wants as [in, out] are read transposed.
class CheckpointWeights : public WeightSource {
public:
  /// Pairs each of `weights` with a tensor of `file`; the error lists every
  /// parameter that is missing or has another shape.
  static llvm::Expected<CheckpointWeights> match(SafeTensors file, llvm::ArrayRef<Weight> weights);

  /// Tensors of the file that the model does not use.
  const std::vector<std::string> &unused() const { return leftOver; }

  llvm::Error read(const Weight &weight, int64_t begin,
                   llvm::MutableArrayRef<double> values) override;

private:
  explicit CheckpointWeights(SafeTensors file) : file(std::move(file)) {}

  SafeTensors file;
  llvm::StringMap<const StoredTensor *> pairs;
  std::vector<std::string> leftOver;
};

} // namespace weft::builders

#endif // WEFT_PYTHON_FREE_FRONTEND_BUILDERS_CHECKPOINT_H
