// Loads compiled kernels into this process; for tests.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TESTING_INPROCESS_KERNELLOADER_H
#define WEFT_TESTING_INPROCESS_KERNELLOADER_H

#include "weft/Target/Cpu/KernelCompiler.h"

#include <memory>

namespace weft::cpu {

/// Keeps kernels in memory as long as it lives. Programs are linked ahead of
/// time instead.
class KernelLoader {
public:
  using Function = void (*)(int64_t begin, int64_t end, void *const *pointers,
                            const int64_t *scalars);

  KernelLoader();
  ~KernelLoader();

  /// Adds the kernels' objects; a failure is printed to `why`.
  mlir::LogicalResult add(llvm::ArrayRef<KernelImage> kernels, std::string &why);
  /// The address of a kernel that was added; null if there is none.
  Function find(llvm::StringRef symbol);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace weft::cpu

#endif // WEFT_TESTING_INPROCESS_KERNELLOADER_H
