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
                                        ArrayRef<bool> wanted, MutableArrayRef<Value> operands) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  ArrayRef<int64_t> labels[] = {getLhsLabels(), getRhsLabels()};
  // Every label of an operand is in the other operand or in the result, which
  // are the operands of the gradient's product.
  for (unsigned i : {0u, 1u})
    d.set(i, [&] {
      Term other = d.operand(1 - i);
      return other.make<ContractOp>(getOperand(i).getType(), d.upper().cast(other.element()).value,
                                    other.value, getResultLabels(), labels[1 - i], labels[i],
                                    getAccumulate());
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

  static int64_t dilated(int64_t size, int64_t dilation) { return (size - 1) * dilation + 1; }

  /// With j the index into the dilated input, output o and tap k meet at
  /// `j = o * stride + k * filterDilation - low`.
  ///
  /// For the input: over the output, dilated by `stride`, slides the reversed
  /// filter, in steps of inputDilation.
  int64_t inputLow() const { return (filter - 1) * filterDilation - low; }
  int64_t inputHigh() const {
    return (in - 1) * inputDilation + dilated(filter, filterDilation) - inputLow() -
           dilated(out, stride);
  }
  /// What all taps read of the dilated input ends so far behind it.
  int64_t readHigh() const {
    return (filter - 1) * filterDilation + dilated(out, stride) - dilated(in, inputDilation) - low;
  }
};

/// The lists of attributes of a convolution.
struct ConvLists {
  SmallVector<int64_t> strides, low, high, inputDilation, filterDilation;

  Term build(Term input, Term filter, ArrayRef<int64_t> spatial, int64_t groups) const {
    SmallVector<int64_t> shape = {input.shape()[0], filter.shape()[0]};
    llvm::append_range(shape, spatial);
    return input.make<ConvOp>(input.type().clone(shape), input.value, filter.value, strides, low,
                              high, inputDilation, filterDilation, groups);
  }
};
} // namespace

static SmallVector<int64_t> shapeWith(ArrayRef<int64_t> leading, ArrayRef<int64_t> spatial) {
  SmallVector<int64_t> shape(leading);
  llvm::append_range(shape, spatial);
  return shape;
}

static SmallVector<int64_t> permutationWith(ArrayRef<int64_t> leading, int64_t spatialDims) {
  return shapeWith(leading, dimRange(leading.size(), leading.size() + spatialDims));
}

/// O x C/groups x K to C x O/groups x K.
static Term transposedFilter(Term filter, int64_t groups) {
  ArrayRef<int64_t> shape = filter.shape(), taps = shape.drop_front(2);
  int64_t out = shape[0] / groups, in = shape[1];
  return filter.reshape(shapeWith({groups, out, in}, taps))
      .transpose(permutationWith({0, 2, 1}, taps.size()))
      .reshape(shapeWith({groups * in, out}, taps));
}

/// A tap's gradient is the product of what it read with the result's gradient,
/// over images and positions: a convolution of the input, whose channels are
/// the images, with that gradient as its filter.
static Term filterGradient(ConvOp op, Term input, Term filter, Term g, const ConvLists &lists) {
  ArrayRef<int64_t> taps = filter.shape().drop_front(2), in = input.shape().drop_front(2),
                    out = g.shape().drop_front(2);
  int64_t groups = op.getGroups(), batch = g.shape()[0], spatial = taps.size();
  int64_t channels = filter.shape()[1], outputs = filter.shape()[0];
  Term images = input.reshape(shapeWith({batch, groups, channels}, in))
                    .transpose(permutationWith({2, 1, 0}, spatial))
                    .reshape(shapeWith({channels, groups * batch}, in));
  Term upper = g.transpose(permutationWith({1, 0}, spatial));
  assert(upper.shape() == ArrayRef(shapeWith({outputs, batch}, out)));
  return lists.build(images, upper, taps, groups).transpose(permutationWith({1, 0}, spatial));
}

LogicalResult ConvOp::buildGradient(OpBuilder &builder, ValueRange results, ArrayRef<bool> wanted,
                                    MutableArrayRef<Value> operands) {
  Gradient d{getOperation(), builder, results, wanted, operands};
  Term input = d.operand(0), filter = d.operand(1);
  ArrayRef<int64_t> in = input.shape().drop_front(2), taps = filter.shape().drop_front(2),
                    out = getType().getShape().drop_front(2);
  int64_t groups = getGroups(), spatial = taps.size();
  SmallVector<ConvDim> dims;
  for (int64_t i = 0; i < spatial; ++i)
    dims.push_back({in[i], taps[i], out[i], getStrides()[i], getPadLow()[i], getInputDilation()[i],
                    getFilterDilation()[i]});
  auto list = [&](auto entry) { return llvm::map_to_vector(dims, entry); };
  // Nothing slides over a tensor without elements.
  auto zeroIfEmpty = [&](unsigned index) {
    bool empty = llvm::is_contained(getType().getShape(), 0) ||
                 llvm::is_contained(input.shape(), 0) || llvm::is_contained(filter.shape(), 0);
    return empty && (d.set(index, d.operand(index).splat(0)), true);
  };

  if (wanted[0] && !zeroIfEmpty(0)) {
    Term upper = d.upper();
    ConvLists lists = {list([](const ConvDim &dim) { return dim.inputDilation; }),
                       list([](const ConvDim &dim) { return dim.inputLow(); }),
                       list([](const ConvDim &dim) { return dim.inputHigh(); }),
                       list([](const ConvDim &dim) { return dim.stride; }),
                       list([](const ConvDim &dim) { return dim.filterDilation; })};
    // Libraries do one of both along a dim.
    SmallVector<int64_t> before(2 + spatial, 1);
    for (auto [i, dim] : llvm::enumerate(dims))
      if (dim.inputDilation != 1)
        std::swap(before[2 + i], lists.inputDilation[i]);
    // Taps meet outputs in reverse order. Either these are turned round or all
    // that the taps meet, whichever is less.
    SmallVector<int64_t> turned;
    for (int64_t i = 0; i < spatial; ++i)
      if (taps[i] > 1)
        turned.push_back(2 + i);
    auto elements = [](Term term) { return term.type().getNumElements(); };
    Term transposed = transposedFilter(filter, groups);
    if (elements(filter) <= elements(upper) + elements(input)) {
      d.set(0, lists.build(upper.dilate(before), transposed.reverse(turned), in, groups));
    } else {
      for (int64_t dim : turned)
        std::swap(lists.low[dim - 2], lists.high[dim - 2]);
      d.set(0, lists.build(upper.reverse(turned).dilate(before), transposed, in, groups)
                   .reverse(turned));
    }
  }
  if (wanted[1] && !zeroIfEmpty(1)) {
    ConvLists lists = {list([](const ConvDim &dim) { return dim.filterDilation; }),
                       list([](const ConvDim &dim) { return dim.low; }),
                       list([](const ConvDim &dim) { return dim.readHigh(); }),
                       list([](const ConvDim &dim) { return dim.inputDilation; }),
                       list([](const ConvDim &dim) { return dim.stride; })};
    SmallVector<int64_t> before(2 + spatial, 1);
    for (auto [i, dim] : llvm::enumerate(dims))
      if (dim.filterDilation != 1)
        std::swap(before[2 + i], lists.inputDilation[i]);
    d.set(1, filterGradient(*this, input.dilate(before), filter, d.upper(), lists));
  }
  return success();
}

} // namespace weft::nn
