// The library of dense kernels for this machine's instruction set.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_HOST_LIBRARIES_H
#define WEFT_RUNTIME_LIB_DEVICE_HOST_LIBRARIES_H

#include "kernels/DenseKernels.h"

#include "weft/runtime/Status.h"

#include <vector>

namespace weft::runtime {

class Libraries {
public:
  /// The best that the processor executes.
  Libraries();
  /// Those for the instruction set of that name; an error if there are none or
  /// the processor does not execute them.
  Status choose(const std::string &name);
  /// The names of those that this processor executes, the best last.
  static std::vector<std::string> executable();
  Libraries(const Libraries &) = delete;

  const DenseKernels &dense() const { return *kernels; }

private:
  const DenseKernels *kernels;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_DEVICE_HOST_LIBRARIES_H
