// PTX to code, by NVIDIA's assembler.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_TARGET_CUDA_ASSEMBLER_H
#define WEFT_LIB_TARGET_CUDA_ASSEMBLER_H

#include "Chip.h"

#include "mlir/IR/Location.h"
#include "llvm/Support/Error.h"

#include <string>

namespace weft::cuda {

/// The assembler: bin/ptxas of the first of the folders of $WEFT_CUDA_PATH that has one, else ptxas
/// of PATH or of /usr/local/cuda/bin. Empty if there is none.
std::string findAssembler();

/// What the assembler made of a kernel.
struct Assembled {
  std::string cubin;
  unsigned registers = 0; // of a thread
  bool spills = false;    // some of what a thread keeps in registers goes by memory
};

/// Assembles `ptx` for the chip. On failure an error has been emitted at `loc`, with what the
/// assembler says.
mlir::FailureOr<Assembled> assemble(const std::string &assembler, const std::string &ptx,
                                    const Chip &chip, mlir::Location loc);

/// Likewise, but once more where that spills, told of so few resident blocks of `threads` that a
/// thread may have more registers: left alone it counts on more blocks than its registers allow.
/// `ptx` is then that text.
mlir::FailureOr<Assembled> assembleWithoutSpills(const std::string &assembler, std::string &ptx,
                                                 unsigned threads, const Chip &chip,
                                                 mlir::Location loc);

} // namespace weft::cuda

#endif // WEFT_LIB_TARGET_CUDA_ASSEMBLER_H
