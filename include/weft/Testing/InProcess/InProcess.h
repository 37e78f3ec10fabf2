// Runs a compiled program in this process, on ranks that are threads; for tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TESTING_INPROCESS_INPROCESS_H
#define WEFT_TESTING_INPROCESS_INPROCESS_H

#include "weft/Emit/Emit.h"
#include "weft/Interfaces/HostTensor.h"

#include <memory>

namespace weft::emit {

/// The runtime's session over an artifact that stays in memory.
class InProcessProgram {
public:
  /// Opens the artifact and loads its states. Null and a message on failure.
  static std::unique_ptr<InProcessProgram> open(Artifact artifact, std::string &error);
  ~InProcessProgram();

  int64_t numRanks() const;
  /// Runs the first program on whole tensors, in the order of its inputs, and
  /// gives its outputs, which have `outputTypes`. False and a message on failure.
  bool run(llvm::ArrayRef<HostTensor> inputs, llvm::ArrayRef<mlir::RankedTensorType> outputTypes,
           std::vector<HostTensor> &outputs, std::string &error);
  /// The same for the program of that name.
  bool run(llvm::StringRef program, llvm::ArrayRef<HostTensor> inputs,
           llvm::ArrayRef<mlir::RankedTensorType> outputTypes, std::vector<HostTensor> &outputs,
           std::string &error);
  /// A state's value, whole.
  bool getState(llvm::StringRef name, mlir::RankedTensorType type, HostTensor &value,
                std::string &error);

private:
  InProcessProgram();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// Little-endian row-major bytes, a bool one byte.
std::vector<char> encodeHostTensor(const HostTensor &tensor);

} // namespace weft::emit

#endif // WEFT_TESTING_INPROCESS_INPROCESS_H
