// Gradients of matrix products and convolutions, as matrix products and
// convolutions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/NnGradient.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace weft::nn {

//===----------------------------------------------------------------------===//
// contract
//===----------------------------------------------------------------------===//

LogicalResult ContractOp::buildGradient(OpBuilder &builder, ValueRange results,
                                        ArrayRef<bool> wanted,
                                        MutableArrayRef<Value> operands) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  ArrayRef<int64_t> labels[] = {getLhsLabels(), getRhsLabels()};
  // Every label of an operand is in the other operand or in the result, which
  // are the operands of the gradient's product.
  for (unsigned i : {0u, 1u})
    d.set(i, [&] {
      Term other = d.operand(1 - i);
      return other.make<ContractOp>(getOperand(i).getType(),
                                    d.upper().cast(other.element()).value,
                                    other.value, getResultLabels(),
                                    labels[1 - i], labels[i], getAccumulate());
    });
  return success();
}

//===----------------------------------------------------------------------===//
// conv
//===----------------------------------------------------------------------===//

namespace {
/// Geometry of one spatial dim; see the op's description.
struct ConvDim {
  int64_t in, filter, out, stride, low, inputDilation, filterDilation;

  static int64_t dilated(int64_t size, int64_t dilation) {
    return (size - 1) * dilation + 1;
  }

  /// With j the index into the dilated input, output o and tap k meet at
  /// `j = o * stride + k * filterDilation - low`.
  ///
  /// For the input: over the output, dilated by `stride`, slides the reversed
  /// filter, in steps of inputDilation.
  int64_t inputLow() const { return (filter - 1) * filterDilation - low; }
  int64_t inputHigh() const {
    return (in - 1) * inputDilation + dilated(filter, filterDilation) -
           inputLow() - dilated(out, stride);
  }
  /// What all taps read of the dilated input ends so far behind it.
  int64_t readHigh() const {
    return (filter - 1) * filterDilation + dilated(out, stride) -
           dilated(in, inputDilation) - low;
  }
};

/// The lists of attributes of a convolution.
struct ConvLists {
  SmallVector<int64_t> strides, low, high, inputDilation, filterDilation;

  Term build(Term input, Term filter, ArrayRef<int64_t> spatial,
             int64_t groups) const {
    SmallVector<int64_t> shape = {input.shape()[0], filter.shape()[0]};
    llvm::append_range(shape, spatial);
    return input.make<ConvOp>(input.type().clone(shape), input.value,
                              filter.value, strides, low, high, inputDilation,
                              filterDilation, groups);
  }
};
} // namespace

static SmallVector<int64_t> shapeWith(ArrayRef<int64_t> leading,
                                      ArrayRef<int64_t> spatial) {
  SmallVector<int64_t> shape(leading);
  llvm::append_range(shape, spatial);
  return shape;
}

static SmallVector<int64_t> permutationWith(ArrayRef<int64_t> leading,
                                            int64_t spatialDims) {
  return shapeWith(leading,
                   dimRange(leading.size(), leading.size() + spatialDims));
}

/// O x C/groups x K to C x O/groups x K, taps reversed.
static Term transposedFilter(Term filter, int64_t groups) {
  ArrayRef<int64_t> shape = filter.shape(), taps = shape.drop_front(2);
  int64_t out = shape[0] / groups, in = shape[1];
  return filter.reshape(shapeWith({groups, out, in}, taps))
      .transpose(permutationWith({0, 2, 1}, taps.size()))
      .reshape(shapeWith({groups * in, out}, taps))
      .reverse(dimRange(2, shape.size()));
}

/// A tap's gradient is a product of what it read with the result's gradient,
/// over images and positions. Taps of few channels are done together, as
/// libraries like products of some width; more of them would only be more
/// memory.
static Term filterGradient(ConvOp op, Term input, Term filter, Term g,
                           ArrayRef<ConvDim> dims) {
  constexpr int64_t kColumns = 64;
  ArrayRef<int64_t> taps = filter.shape().drop_front(2),
                    out = g.shape().drop_front(2);
  int64_t groups = op.getGroups(), batch = g.shape()[0], spatial = taps.size();
  int64_t channels = filter.shape()[1], perGroup = filter.shape()[0] / groups;
  int64_t points = batch * ShapedType::getNumElements(out);
  int64_t count = ShapedType::getNumElements(taps);

  // Groups, channels, then what is summed over.
  Term upper = g.reshape(shapeWith({batch, groups, perGroup}, out))
                   .transpose(permutationWith({1, 2, 0}, spatial))
                   .reshape({groups, perGroup, points});
  SmallVector<int64_t> dilation = {1, 1}, low = {0, 0}, high = {0, 0};
  for (const ConvDim &dim : dims) {
    dilation.push_back(dim.inputDilation);
    low.push_back(dim.low);
    high.push_back(dim.readHigh());
  }
  Term padded = input.dilate(dilation).padOrCut(low, high);
  SmallVector<int64_t> whole(padded.shape().drop_front(2));
  Term images = padded.reshape(shapeWith({batch, groups, channels}, whole))
                    .transpose(permutationWith({1, 2, 0}, spatial));
  auto readBy = [&](int64_t tap) {
    SmallVector<int64_t> starts(3, 0), strides(3, 1), index(spatial);
    for (int64_t i = spatial; i-- > 0; tap /= taps[i])
      index[i] = tap % taps[i];
    for (auto [dim, k] : llvm::zip_equal(dims, index)) {
      starts.push_back(k * dim.filterDilation);
      strides.push_back(dim.stride);
    }
    return images
        .slice(starts, shapeWith({groups, channels, batch}, out), strides)
        .reshape({groups, channels, 1, points});
  };
  int64_t each = std::max<int64_t>(1, kColumns / channels);
  SmallVector<Value> parts;
  for (int64_t tap = 0; tap < count; tap += each) {
    SmallVector<Value> reads;
    for (int64_t i = tap; i < std::min(tap + each, count); ++i)
      reads.push_back(readBy(i).value);
    Term read = reads.size() == 1
                    ? g.with(reads[0])
                    : g.make<ConcatOp>(ValueRange(reads), int64_t(2));
    // Labels: group, channel out, channel in, tap, point.
    parts.push_back(g.make<ContractOp>(upper.value, read.value,
                                       ArrayRef<int64_t>{0, 1, 4},
                                       ArrayRef<int64_t>{0, 2, 3, 4},
                                       ArrayRef<int64_t>{0, 1, 2, 3})
                        .value);
  }
  Term all = parts.size() == 1
                 ? g.with(parts[0])
                 : g.make<ConcatOp>(ValueRange(parts), int64_t(3));
  return all.reshape(filter.shape());
}

LogicalResult ConvOp::buildGradient(OpBuilder &builder, ValueRange results,
                                    ArrayRef<bool> wanted,
                                    MutableArrayRef<Value> operands) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  Term input = d.operand(0), filter = d.operand(1);
  ArrayRef<int64_t> in = input.shape().drop_front(2),
                    taps = filter.shape().drop_front(2),
                    out = getType().getShape().drop_front(2);
  int64_t groups = getGroups(), spatial = taps.size();
  SmallVector<ConvDim> dims;
  for (int64_t i = 0; i < spatial; ++i)
    dims.push_back({in[i], taps[i], out[i], getStrides()[i], getPadLow()[i],
                    getInputDilation()[i], getFilterDilation()[i]});
  auto list = [&](auto entry) { return llvm::map_to_vector(dims, entry); };
  // Nothing slides over a tensor without elements.
  auto zeroIfEmpty = [&](unsigned index) {
    bool empty = llvm::is_contained(getType().getShape(), 0) ||
                 llvm::is_contained(input.shape(), 0) ||
                 llvm::is_contained(filter.shape(), 0);
    return empty && (d.set(index, d.operand(index).splat(0)), true);
  };

  if (wanted[0] && !zeroIfEmpty(0)) {
    ConvLists lists = {
        list([](const ConvDim &dim) { return dim.inputDilation; }),
        list([](const ConvDim &dim) { return dim.inputLow(); }),
        list([](const ConvDim &dim) { return dim.inputHigh(); }),
        SmallVector<int64_t>(spatial, 1),
        list([](const ConvDim &dim) { return dim.filterDilation; })};
    // Dilated before and not by the op, which libraries do not do at speed.
    SmallVector<int64_t> strides = {1, 1};
    llvm::append_range(strides, getStrides());
    d.set(0, lists.build(d.upper().dilate(strides),
                         transposedFilter(filter, groups), in, groups));
  }
  if (wanted[1] && !zeroIfEmpty(1))
    d.set(1, filterGradient(*this, input, filter, d.upper(), dims));
  return success();
}

} // namespace weft::nn
