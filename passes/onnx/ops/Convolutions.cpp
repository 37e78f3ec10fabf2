// Convolution, and transposed convolution as a convolution of the dilated input.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"
#include "passes/onnx/ops/Shared.h"
#include "passes/onnx/ops/Window.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

static Value addBias(NodeContext &n, Value result, unsigned index) {
  if (!result || !n.has(index))
    return result;
  return n.b.add(result, n.b.broadcastDims(n.in(index), n.b.shapeOf(result), {1}));
}

/// Channels and groups fit each other; fails otherwise.
static bool checkChannels(NodeContext &n, int64_t channels, int64_t filterChannels, int64_t divided,
                          int64_t groups) {
  if (groups > 0 && channels == filterChannels && divided % groups == 0)
    return true;
  n.fail("the filter is for " + llvm::Twine(filterChannels) + " channels in " +
         llvm::Twine(groups) + " groups, the input has " + llvm::Twine(channels));
  return false;
}

/// The attribute may only say what the filter is.
static bool checkKernelShape(NodeContext &n, NnBuilder::Shape kernel) {
  auto given = n.integers("kernel_shape");
  if (!given || NnBuilder::Shape(*given) == kernel)
    return true;
  n.fail("'kernel_shape' is not that of the filter");
  return false;
}

Value weft::onnx::convolve(NodeContext &n, Value x, Value filter) {
  if (!x || !filter)
    return Value();
  if (n.b.rankOf(x) < 3 || n.b.rankOf(x) != n.b.rankOf(filter))
    return n.fail("input and filter must have the same tensor rank of at least 3");
  NnBuilder::Shape in = n.b.shapeOf(x), kernel = n.b.shapeOf(filter);
  int64_t groups = n.integer("group", 1);
  if (!checkChannels(n, in[1], boundedProduct(kernel[1], groups), kernel[0], groups) ||
      !checkKernelShape(n, kernel.drop_front(2)))
    return Value();
  auto w = windowOf(n, in.drop_front(2), kernel.drop_front(2));
  if (!w)
    return Value();
  SmallVector<int64_t> shape{in[0], kernel[0]}, ones(in.size() - 2, 1);
  for (size_t dim = 0; dim < ones.size(); ++dim)
    shape.push_back(w->out(dim, in[dim + 2]));
  return n.b.make<nn::ConvOp>(n.b.typeFor(shape, x), x, filter, w->strides, w->low, w->high, ones,
                              w->dilations, groups);
}

Results weft::onnx::conv(NodeContext &n) { return {addBias(n, convolve(n, n.in(0), n.in(1)), 2)}; }

/// C x M/groups x k to M x C/groups x k, turned round along the spatial dims.
static Value turnFilter(NodeContext &n, Value filter, int64_t groups) {
  NnBuilder::Shape s = n.b.shapeOf(filter);
  SmallVector<int64_t> split{groups, s[0] / groups, s[1]},
      joined{boundedProduct(groups, s[1]), s[0] / groups};
  llvm::append_range(split, s.drop_front(2));
  llvm::append_range(joined, s.drop_front(2));
  SmallVector<int64_t> permutation = n.b.range(0, split.size());
  std::swap(permutation[1], permutation[2]);
  Value turned = n.b.reshape(n.b.transpose(n.b.reshape(filter, split), permutation), joined);
  return n.b.reverse(turned, n.b.range(2, joined.size()));
}

static Results convTranspose(NodeContext &n) {
  Value x = n.in(0), filter = n.in(1);
  if (!x || !filter || n.b.rankOf(x) < 3 || n.b.rankOf(x) != n.b.rankOf(filter))
    return {n.fail("input and filter must have the same tensor rank of at least 3")};
  NnBuilder::Shape in = n.b.shapeOf(x), kernel = n.b.shapeOf(filter);
  int64_t groups = n.integer("group", 1);
  if (!checkChannels(n, in[1], kernel[0], kernel[0], groups) ||
      !checkKernelShape(n, kernel.drop_front(2)))
    return {};
  size_t rank = in.size() - 2;
  SmallVector<int64_t> ones(rank, 1), zeros(rank, 0);
  SmallVector<int64_t> strides = n.integers("strides").value_or(ones);
  SmallVector<int64_t> dilations = n.integers("dilations").value_or(ones);
  SmallVector<int64_t> more = n.integers("output_padding").value_or(zeros);
  SmallVector<int64_t> pads = n.integers("pads").value_or(SmallVector<int64_t>(2 * rank, 0));
  auto wanted = n.integers("output_shape");
  std::optional<llvm::StringRef> automatic = automaticPadding(n);
  if (!automatic)
    return {};
  if (wanted && wanted->size() == rank + 2)
    wanted->erase(wanted->begin(), wanted->begin() + 2);
  if (strides.size() != rank || dilations.size() != rank || more.size() != rank ||
      pads.size() != 2 * rank || (wanted && wanted->size() != rank))
    return {
        n.fail("attributes must have an entry for each of " + llvm::Twine(rank) + " spatial dims")};
  SmallVector<int64_t> shape{in[0], boundedProduct(kernel[1], groups)}, low, high;
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t reach = boundedProduct(kernel[dim + 2] - 1, dilations[dim]) + 1;
    int64_t dilated = boundedProduct(in[dim + 2] - 1, strides[dim]) + 1;
    int64_t full = dilated - 1 + reach + more[dim];
    int64_t out = full - pads[dim] - pads[dim + rank], cutLow = pads[dim];
    bool same = *automatic == "SAME_UPPER" || *automatic == "SAME_LOWER";
    if (wanted || same) {
      out = wanted ? (*wanted)[dim] : boundedProduct(in[dim + 2], strides[dim]);
      int64_t total = std::max<int64_t>(0, full - out);
      cutLow = *automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
    } else if (*automatic == "VALID") {
      out = full;
      cutLow = 0;
    }
    if (out <= 0)
      return {n.fail("spatial dim " + llvm::Twine(dim) + " of the result is empty")};
    low.push_back(reach - 1 - cutLow);
    high.push_back(out - 1 + reach - dilated - low.back());
    shape.push_back(out);
  }
  Value result = n.b.make<nn::ConvOp>(n.b.typeFor(shape, x), x, turnFilter(n, filter, groups), ones,
                                      low, high, strides, dilations, groups);
  return {addBias(n, result, 2)};
}

/// Overlapping blocks of columns added into an image (the adjoint of
/// unfolding).
static Results col2Im(NodeContext &n) {
  Value x = n.in(0);
  auto image = n.knownIntegers(1), block = n.knownIntegers(2);
  if (!x || !image || !block || image->size() != block->size() || n.b.rankOf(x) != 3)
    return {n.fail("needs N x C*block x L, and an image and a block of equal "
                   "tensor rank")};
  auto w = windowOf(n, *image, *block);
  if (!w)
    return {};
  // Each block element is a strided slice of the padded image: place it there
  // by padding with holes, which a transposed convolution with a one-hot filter
  // does.
  size_t rank = image->size();
  int64_t blockSize = n.b.sizeOf(*block), channels = n.b.shapeOf(x)[1] / blockSize;
  SmallVector<int64_t> grid{boundedProduct(n.b.shapeOf(x)[0], channels), blockSize};
  for (size_t dim = 0; dim < rank; ++dim)
    grid.push_back(w->out(dim, (*image)[dim]));
  Value blocks = n.b.reshape(x, grid);
  SmallVector<int64_t> filterShape{1, blockSize}, low, high, ones(rank, 1);
  llvm::append_range(filterShape, *block);
  if (!n.b.isFloat(x))
    return {n.fail("needs floats")};
  if (!blocks || !n.b.isFoldable(boundedProduct(blockSize, blockSize)))
    return {};
  HostTensor oneHot(RankedTensorType::get(filterShape, n.b.elementOf(x)));
  for (int64_t i = 0; i < blockSize; ++i)
    oneHot.reals[i * blockSize + (blockSize - 1 - i)] = 1;
  SmallVector<int64_t> shape{grid[0], 1}, result{n.b.shapeOf(x)[0], channels};
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t dilated = boundedProduct(grid[dim + 2] - 1, w->strides[dim]) + 1;
    low.push_back(w->reach(dim) - 1 - w->low[dim]);
    high.push_back((*image)[dim] - 1 + w->reach(dim) - dilated - low.back());
    shape.push_back((*image)[dim]);
    result.push_back((*image)[dim]);
  }
  Value summed = n.b.make<nn::ConvOp>(n.b.typeFor(shape, x), blocks, n.b.constant(oneHot), ones,
                                      low, high, w->strides, w->dilations, 1);
  return {n.b.reshape(summed, result)};
}

void weft::onnx::registerConvolutions(Registry &r) {
  r.add("Conv", conv);
  r.add("ConvTranspose", convTranspose);
  r.addSince("Col2Im", 18, col2Im);
}
