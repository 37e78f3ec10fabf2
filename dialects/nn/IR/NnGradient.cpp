// The vocabulary of gradient formulas.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/NnGradient.h"

#include "llvm/ADT/APFloat.h"

using namespace mlir;

namespace weft::nn {

Term Term::splat(double number, RankedTensorType type) const {
  Attribute value;
  if (auto real = dyn_cast<FloatType>(type.getElementType()))
    value = FloatAttr::get(real, number);
  else
    value = IntegerAttr::get(type.getElementType(), static_cast<int64_t>(number));
  return make<ConstantOp>(mlir::cast<ElementsAttr>(SplatElementsAttr::get(type, value)));
}

Term Term::cast(Type to) const { return element() == to ? *this : make<CastOp>(value, to); }

Term Term::wide() const {
  bool small = isa<FloatType>(element()) && element().getIntOrFloatBitWidth() < 32;
  return small ? cast(builder->getF32Type()) : *this;
}

Term Term::reshape(ArrayRef<int64_t> to) const {
  return shape() == to ? *this : make<ReshapeOp>(type().clone(to), value);
}

Term Term::broadcast(ArrayRef<int64_t> to, ArrayRef<int64_t> dims) const {
  return shape() == to ? *this : make<BroadcastOp>(type().clone(to), value, dims);
}

Term Term::transpose(ArrayRef<int64_t> permutation) const {
  return make<TransposeOp>(value, permutation);
}

Term Term::reverse(ArrayRef<int64_t> dims) const {
  return dims.empty() ? *this : make<ReverseOp>(type(), value, dims);
}

Term Term::slice(ArrayRef<int64_t> starts, ArrayRef<int64_t> sizes,
                 ArrayRef<int64_t> strides) const {
  if (sizes == shape() && llvm::all_of(starts, [](int64_t start) { return start == 0; }))
    return *this;
  return make<SliceOp>(type().clone(sizes), value, starts, strides);
}

Term Term::sliceDim(int64_t dim, int64_t start, int64_t size, int64_t stride) const {
  SmallVector<int64_t> starts(rank(), 0), sizes(shape()), strides(rank(), 1);
  starts[dim] = start;
  sizes[dim] = size;
  strides[dim] = stride;
  return slice(starts, sizes, strides);
}

Term Term::padOrCut(ArrayRef<int64_t> low, ArrayRef<int64_t> high) const {
  SmallVector<int64_t> starts, kept, before, after, sizes;
  for (auto [size, l, h] : llvm::zip_equal(shape(), low, high)) {
    starts.push_back(std::clamp<int64_t>(-l, 0, size));
    // A cut of more than there is leaves nothing, and takes of the padding on the other side.
    kept.push_back(std::max<int64_t>(size + std::min<int64_t>(l, 0) + std::min<int64_t>(h, 0), 0));
    sizes.push_back(std::max<int64_t>(size + l + h, 0));
    before.push_back(std::clamp<int64_t>(l, 0, sizes.back()));
    after.push_back(sizes.back() - kept.back() - before.back());
  }
  Term cut = slice(starts, kept, SmallVector<int64_t>(rank(), 1));
  if (cut.shape() == ArrayRef(sizes))
    return cut;
  Attribute zero = isa<FloatType>(element()) ? Attribute(FloatAttr::get(element(), 0.0))
                                             : Attribute(IntegerAttr::get(element(), 0));
  return cut.make<PadOp>(type().clone(sizes), cut.value, before, after,
                         mlir::cast<TypedAttr>(zero));
}

Term Term::dilate(ArrayRef<int64_t> strides) const {
  if (llvm::all_of(llvm::zip_equal(strides, shape()),
                   [](auto pair) { return std::get<0>(pair) == 1 || std::get<1>(pair) <= 1; }))
    return *this;
  // Each element gets a new innermost dim, filled up with zeros.
  SmallVector<int64_t> apart, none, fill, together, sizes;
  for (auto [stride, size] : llvm::zip_equal(strides, shape())) {
    apart.append({size, 1});
    none.append({0, 0});
    fill.append({0, stride - 1});
    together.push_back(size * stride);
    sizes.push_back(size == 0 ? 0 : (size - 1) * stride + 1);
  }
  return reshape(apart)
      .padOrCut(none, fill)
      .reshape(together)
      .slice(SmallVector<int64_t>(rank(), 0), sizes, SmallVector<int64_t>(rank(), 1));
}

Term Term::reduce(ReduceKind kind, ArrayRef<int64_t> dims) const {
  return dims.empty() ? *this : make<ReduceOp>(kind, value, dims);
}

Term Term::repeatLike(Term like, ArrayRef<int64_t> dims) const {
  return broadcast(like.shape(), otherDims(like.rank(), dims));
}

Term Term::iotaAlong(int64_t dim) const {
  auto line = RankedTensorType::get({shape()[dim]}, builder->getI64Type());
  return make<IotaOp>(line).broadcast(shape(), {dim});
}

Term operator+(Term a, Term b) { return a.binary<AddOp>(b); }
Term operator-(Term a, Term b) { return a.binary<SubOp>(b); }
Term operator*(Term a, Term b) { return a.binary<MulOp>(b); }
Term operator/(Term a, Term b) { return a.binary<DivOp>(b); }
Term operator-(Term a) { return a.unary<NegateOp>(); }

SmallVector<int64_t> dimRange(int64_t begin, int64_t end) {
  return llvm::to_vector(llvm::seq(begin, std::max(begin, end)));
}

SmallVector<int64_t> otherDims(int64_t rank, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> others;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(dims, dim))
      others.push_back(dim);
  return others;
}

void Gradient::set(unsigned index, Term gradient) const {
  auto type = mlir::cast<RankedTensorType>(op->getOperand(index).getType());
  operands[index] = gradient.cast(type.getElementType()).value;
}

Term productOfOthers(Term x, Term zeros, Term others) {
  Term isZero = x.is(CompareKind::Eq, 0.0);
  Term noOther = zeros.is(CompareKind::Eq, 0.0), onlyThis = zeros.is(CompareKind::Eq, 1.0);
  // The divisor is never zero, so that nothing non-finite is computed aside.
  Term divided = others / isZero.choose(x.splat(1), x);
  return isZero.choose(onlyThis.choose(others, 0.0), noOther.choose(divided, 0.0));
}

} // namespace weft::nn
