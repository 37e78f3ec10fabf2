// The bytes of a kernel for a GPU.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_CUDA_IMAGE_H
#define WEFT_TARGET_CUDA_IMAGE_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace weft::cuda {

/// A kernel: how it is launched, its PTX, and its code for the chip, empty if there was no
/// assembler.
/// Its function has the kernel's name; its parameters are addresses of the buffers of the kernel's
/// arguments, then of its results, which start on multiples of `kAlignment` bytes. If it takes a
/// table, they are one parameter, an array.
struct Image {
  static constexpr uint32_t kAlignment = 16;

  std::string chip;
  /// Along x; a block's workgroup memory is known to the driver from the code.
  uint64_t blocks = 1;
  uint32_t threads = 32;
  bool takesTable = false;
  std::string ptx, cubin;
};

/// `image` as bytes: "weft-cuda 2 CHIP BLOCKS THREADS TABLE SIZE-OF-PTX SIZE-OF-CUBIN\n", then the
/// two, where TABLE is 1 if it takes one, else 0.
void writeImage(const Image &image, llvm::SmallVectorImpl<char> &bytes);

/// The image that `writeImage` wrote; nothing if it did not.
std::optional<Image> readImage(llvm::StringRef bytes);

} // namespace weft::cuda

#endif // WEFT_TARGET_CUDA_IMAGE_H
