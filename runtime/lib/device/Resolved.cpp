// Adds up what is known of views at load.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/Resolved.h"

using namespace weft::runtime;

ResolvedValue::ResolvedValue(const PrepareContext &context, const ScalarValue &value)
    : addend(value.addend) {
  if (value.base == ValueBase::Scalar) {
    scalar = value.scalar;
    scale = value.scale;
  } else if (value.base == ValueBase::Coordinate) {
    addend += value.scale *
              indexAlong(context.program, context.program.axes(value.axes), context.coordinates);
  }
}

Status ResolvedView::make(const PrepareContext &context, const View &view, ResolvedView &result,
                          int64_t contiguous) {
  const ProgramView &p = context.program;
  const Buffer &buffer = p.Buffers()[view.buffer];
  int64_t bytes = dtypeBytes(view.dtype);
  result = {};
  result.dtype = view.dtype;
  result.bufferBegin = int64_t(buffer.offset);
  result.bufferEnd = int64_t(buffer.offset + buffer.bytes);
  result.offset = result.bufferBegin + view.byteOffset;
  for (const ScalarValue &term : p.ScalarValues().slice(view.terms)) {
    ResolvedValue value(context, term);
    value.scale *= bytes;
    value.addend *= bytes;
    if (value.scalar == kNone)
      result.offset += value.addend;
    else
      result.dynamic.push_back(value);
  }
  result.rank = view.sizes.count;
  bool empty = false;
  result.high = bytes;
  for (unsigned d = 0; d < result.rank; ++d) {
    result.sizes[d] = p.ints(view.sizes)[d];
    result.strides[d] = p.ints(view.strides)[d];
    empty |= result.sizes[d] == 0;
    int64_t reach = (result.sizes[d] - 1) * result.strides[d] * bytes;
    (reach < 0 ? result.low : result.high) += reach;
  }
  if (contiguous >= 0) {
    result.low = 0;
    result.high = contiguous * bytes;
    empty = contiguous == 0;
  }
  if (empty)
    result.low = result.high = 0;
  if (result.dynamic.empty() && !empty &&
      (result.offset + result.low < result.bufferBegin ||
       result.offset + result.high > result.bufferEnd))
    return Status::internal("a view leaves its buffer '" + std::string(p.string(buffer.name)) +
                            "' on this rank");
  return {};
}

bool ResolvedView::isRowMajor() const {
  int64_t expected = 1;
  for (unsigned d = rank; d-- > 0;) {
    if (sizes[d] != 1 && strides[d] != expected)
      return false;
    expected *= sizes[d];
  }
  return true;
}

int64_t ResolvedView::firstByte(const uint64_t *scalars) const {
  int64_t first = offset;
  for (const ResolvedValue &term : dynamic)
    first += term.get(scalars);
  return first;
}

bool ResolvedView::locate(const uint64_t *scalars, int64_t &place) const {
  place = offset;
  if (dynamic.empty())
    return true;
  place = firstByte(scalars);
  return high <= low || (place + low >= bufferBegin && place + high <= bufferEnd);
}

Status ResolvedView::leaves(const CommandFrame &frame) const {
  int64_t first = firstByte(frame.scalars) - bufferBegin;
  return Status::user("a runtime scalar moves a view to bytes " + std::to_string(first + low) +
                      " to " + std::to_string(first + high) + " of a buffer of " +
                      std::to_string(bufferEnd - bufferBegin) +
                      " bytes; a position beyond the compiled length?");
}
