// The compute libraries a session opens: own kernels, oneDNN, OpenBLAS.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_LIBRARIES_H
#define WEFT_RUNTIME_LIB_LIBRARIES_H

#include "kernels/DenseKernels.h"

namespace weft::runtime {

class Libraries {
public:
  /// Chooses by the processor; the libraries are optional.
  Libraries();
  Libraries(const Libraries &) = delete;

  const DenseKernels &dense() const { return *kernels; }

private:
  const DenseKernels *kernels;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_LIBRARIES_H
