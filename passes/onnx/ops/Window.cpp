// Reads window attributes; computes automatic padding.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/ops/Window.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

SmallVector<int64_t> Window::paddedHigh() const {
  SmallVector<int64_t> sum(high);
  for (auto [total, more] : llvm::zip_equal(sum, extra))
    total += more;
  return sum;
}

std::optional<llvm::StringRef> weft::onnx::automaticPadding(NodeContext &n) {
  return n.word("auto_pad", "NOTSET", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"});
}

std::optional<Window> weft::onnx::windowOf(NodeContext &n, llvm::ArrayRef<int64_t> spatial,
                                           llvm::ArrayRef<int64_t> kernel) {
  size_t rank = spatial.size();
  Window w;
  w.kernel.assign(kernel.begin(), kernel.end());
  w.strides = n.integers("strides").value_or(SmallVector<int64_t>(rank, 1));
  w.dilations = n.integers("dilations").value_or(SmallVector<int64_t>(rank, 1));
  w.extra.assign(rank, 0);
  SmallVector<int64_t> pads = n.integers("pads").value_or(SmallVector<int64_t>(2 * rank, 0));
  auto bad = [](int64_t value) { return value <= 0; };
  if (w.kernel.size() != rank || w.strides.size() != rank || w.dilations.size() != rank ||
      pads.size() != 2 * rank || llvm::any_of(w.kernel, bad) || llvm::any_of(w.strides, bad) ||
      llvm::any_of(w.dilations, bad)) {
    n.fail("kernel, strides, dilations and pads must have an entry for each of " +
           llvm::Twine(rank) + " spatial dims, positive but for pads");
    return std::nullopt;
  }
  w.low.assign(pads.begin(), pads.begin() + rank);
  w.high.assign(pads.begin() + rank, pads.end());
  std::optional<llvm::StringRef> automatic = automaticPadding(n);
  if (!automatic)
    return std::nullopt;
  bool ceil = n.integer("ceil_mode", 0);
  for (size_t dim = 0; dim < rank; ++dim) {
    if (*automatic == "VALID")
      w.low[dim] = w.high[dim] = 0;
    if (*automatic == "SAME_UPPER" || *automatic == "SAME_LOWER") {
      int64_t out = (spatial[dim] + w.strides[dim] - 1) / w.strides[dim];
      int64_t total = std::max<int64_t>(0, boundedProduct(out - 1, w.strides[dim]) + w.reach(dim) -
                                               spatial[dim]);
      w.low[dim] = *automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.high[dim] = total - w.low[dim];
    }
    int64_t room = spatial[dim] + w.low[dim] + w.high[dim] - w.reach(dim);
    if (room < 0) {
      n.fail("the window of " + llvm::Twine(w.reach(dim)) + " does not fit spatial dim " +
             llvm::Twine(dim) + " of extent " + llvm::Twine(spatial[dim]) + " with its padding");
      return std::nullopt;
    }
    int64_t rest = room % w.strides[dim];
    // A window that would start in the padding after the input does not count.
    bool startsInside = (room / w.strides[dim] + 1) * w.strides[dim] < spatial[dim] + w.low[dim];
    if (ceil && rest != 0 && startsInside)
      w.extra[dim] = w.strides[dim] - rest;
  }
  return w;
}
