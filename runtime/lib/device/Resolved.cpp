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

Table<View> weft::runtime::productViews(const PrepareContext &context, const Command &command) {
  const ProgramView &p = context.program;
  Range views = command.views;
  if (views.count > kGemmAddend) {
    Id block = p.Buffers()[p.Views()[views.begin + kGemmAddend].buffer].block;
    if (std::count(context.unset.begin(), context.unset.end(), int64_t(block)) > 0)
      views.count = kGemmAddend;
  }
  return p.Views().slice(views);
}

int64_t weft::runtime::placeOf(const PrepareContext &context, const View &view) {
  const Buffer &buffer = context.program.Buffers()[view.buffer];
  uint64_t base = buffer.block == kNone ? 0 : context.blocks[buffer.block];
  return int64_t(base + buffer.offset) + view.byteOffset;
}

ResolvedView::ResolvedView(const PrepareContext &context, const View &view)
    : offset(placeOf(context, view)), dtype(view.dtype), rank(view.sizes.count) {
  const ProgramView &p = context.program;
  std::copy_n(p.ints(view.sizes).begin(), rank, sizes);
  std::copy_n(p.ints(view.strides).begin(), rank, strides);
}
