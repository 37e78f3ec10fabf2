// Images as bytes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Target/Cuda/Image.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace weft::cuda;

static constexpr llvm::StringLiteral kMagic = "weft-cuda", kVersion = "2";

void weft::cuda::writeImage(const Image &image, llvm::SmallVectorImpl<char> &bytes) {
  llvm::raw_svector_ostream out(bytes);
  out << kMagic << ' ' << kVersion << ' ' << image.chip << ' ' << image.blocks << ' '
      << image.threads << ' ' << image.takesTable << ' ' << image.ptx.size() << ' '
      << image.cubin.size() << '\n'
      << image.ptx << image.cubin;
}

std::optional<Image> weft::cuda::readImage(llvm::StringRef bytes) {
  auto [head, rest] = bytes.split('\n');
  llvm::SmallVector<llvm::StringRef> words;
  head.split(words, ' ');
  Image image;
  uint64_t table = 0, ptx = 0, cubin = 0;
  if (words.size() != 8 || words[0] != kMagic || words[1] != kVersion ||
      !llvm::to_integer(words[3], image.blocks) || !llvm::to_integer(words[4], image.threads) ||
      !llvm::to_integer(words[5], table) || table > 1 || !llvm::to_integer(words[6], ptx) ||
      !llvm::to_integer(words[7], cubin) || ptx > rest.size() || rest.size() - ptx != cubin)
    return std::nullopt;
  image.chip = words[2].str();
  image.takesTable = table;
  image.ptx = rest.take_front(ptx).str();
  image.cubin = rest.drop_front(ptx).str();
  return image;
}
