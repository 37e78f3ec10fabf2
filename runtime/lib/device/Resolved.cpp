// Looks up what is known of views and values at load.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/Resolved.h"

#include <algorithm>

using namespace weft::runtime;

int64_t weft::runtime::valueOf(const PrepareContext &context, const ScalarValue &value) {
  if (value.base == ValueBase::Constant)
    return value.addend;
  const ProgramView &p = context.program;
  return value.addend + value.scale * indexAlong(p, p.axes(value.axes), context.coordinates);
}

ResolvedView::ResolvedView(const ProgramView &p, const View &view)
    : offset(int64_t(p.Buffers()[view.buffer].offset) + view.byteOffset), dtype(view.dtype),
      rank(view.sizes.count) {
  std::copy_n(p.ints(view.sizes).begin(), rank, sizes);
  std::copy_n(p.ints(view.strides).begin(), rank, strides);
}
