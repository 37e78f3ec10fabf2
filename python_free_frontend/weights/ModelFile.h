// A model file whose initializers are read, replaced and written back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_WEIGHTS_MODELFILE_H
#define WEFT_PYTHON_FREE_FRONTEND_WEIGHTS_MODELFILE_H

#include "onnx.pb.h"
#include "python_free_frontend/wire/ExternalFiles.h"
#include "weft/Support/OutputFile.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace weft::weights {

class ModelFile {
public:
  /// Reads the model; external data stays in its files.
  llvm::Error open(const std::string &path);

  using Tensors = google::protobuf::RepeatedPtrField<onnx::Tensor>;
  const Tensors &initializers() const { return model.graph().initializer(); }
  /// Those of training graphs: what optimizers keep.
  std::vector<const onnx::Tensor *> trainingInitializers() const;
  /// All of the model and of its training graphs.
  std::vector<onnx::Tensor *> mutableInitializers();
  /// Those and all in nodes and functions.
  std::vector<onnx::Tensor *> mutableTensors() { return onnx::tensorsOf(model); }
  /// Reads the bytes of a tensor that the model holds outside.
  llvm::Error readExternal(const onnx::Tensor &tensor, std::string &bytes) const;

  const onnx::Model &message() const { return model; }
  uint64_t unknownFields() const { return numUnknown; }

private:
  onnx::Model model;
  std::string path;
  uint64_t numUnknown = 0;
};

/// Where a model at `path` has what it holds outside.
std::string dataFileOf(const std::string &path);

/// Writes a model, and its external data, under temporary names; they take
/// their own when all is written, so the model read may be the one replaced.
class ModelWriter {
public:
  ModelWriter(std::string path, bool external) : path(std::move(path)), external(external) {}

  llvm::Error open();
  /// Makes `bytes` the tensor's elements, in the message or `outside`.
  llvm::Error place(onnx::Tensor &tensor, std::string bytes, bool outside);
  llvm::Error finish(const ModelFile &model);

private:
  std::string path;
  bool external;
  OutputFile data;
};

} // namespace weft::weights

#endif // WEFT_PYTHON_FREE_FRONTEND_WEIGHTS_MODELFILE_H
