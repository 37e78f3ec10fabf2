// Counts numbers that are not finite in what commands read and write.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/NumberCheck.h"

#include "device/HostCopy.h"

#include <algorithm>
#include <cstring>

using namespace weft::runtime;

namespace {

struct Counts {
  uint64_t nan = 0, infinite = 0, all = 0;
};

bool holdsFloats(DType type) {
  return type == DType::F64 || type == DType::F32 || type == DType::BF16 || type == DType::F16;
}

/// Bits that are all set in the exponent of what is not finite.
uint64_t exponentOf(DType type) {
  switch (type) {
  case DType::F64:
    return 0x7FF0000000000000;
  case DType::F32:
    return 0x7F800000;
  case DType::BF16:
    return 0x7F80;
  default:
    return 0x7C00;
  }
}

/// `number` elements, `stride` elements apart.
template <typename Bits>
void countRow(const char *from, int64_t stride, int64_t number, Bits exponent, Counts &counts) {
  constexpr Bits kMagnitude = Bits(~Bits(0)) >> 1;
  uint64_t nan = 0, infinite = 0;
  for (int64_t i = 0; i < number; ++i) {
    Bits bits;
    std::memcpy(&bits, from + i * stride * int64_t(sizeof bits), sizeof bits);
    bits &= kMagnitude;
    nan += bits > exponent;
    infinite += bits == exponent;
  }
  counts.nan += nan;
  counts.infinite += infinite;
  counts.all += uint64_t(number);
}

/// The elements of `view` from dim `dim` on; `from` is the first of them.
void countFrom(const char *from, const ResolvedView &view, unsigned dim, Counts &counts) {
  const int64_t width = dtypeBytes(view.dtype);
  bool isLast = dim + 1 >= view.rank;
  // What is repeated is seen once.
  int64_t size = view.rank == 0           ? 1
                 : view.strides[dim] == 0 ? 1
                                          : view.sizes[dim],
          stride = view.rank == 0 ? 1 : view.strides[dim];
  for (int64_t i = 0; i < size && !isLast; ++i)
    countFrom(from + i * stride * width, view, dim + 1, counts);
  if (!isLast)
    return;
  uint64_t exponent = exponentOf(view.dtype);
  if (width == 8)
    countRow<uint64_t>(from, stride, size, exponent, counts);
  else if (width == 4)
    countRow<uint32_t>(from, stride, size, uint32_t(exponent), counts);
  else
    countRow<uint16_t>(from, stride, size, uint16_t(exponent), counts);
}

struct Span {
  int64_t begin, end; // bytes from the arena's start
  bool overlaps(const Span &other) const { return begin < other.end && other.begin < end; }
};

Span spanOf(const ResolvedView &view) {
  const int64_t width = dtypeBytes(view.dtype);
  Span span{view.offset, view.offset + width};
  for (unsigned d = 0; d < view.rank; ++d) {
    int64_t reach = (view.sizes[d] - 1) * view.strides[d] * width;
    (reach < 0 ? span.begin : span.end) += reach;
  }
  return span;
}

Status countIn(Device &device, const ResolvedView &view, Counts &counts) {
  if (!holdsFloats(view.dtype) || view.numElements() == 0)
    return {};
  Span span = spanOf(view);
  HostCopy copy(device, uint64_t(span.begin), uint64_t(span.end - span.begin));
  WEFT_TRY(copy.download());
  countFrom(copy.data() + (view.offset - span.begin), view, 0, counts);
  return {};
}

} // namespace

Status NumberCheck::look(Device &device, CommandPlace place, const std::vector<SeenView> &views) {
  if (nan())
    return {};
  Counts written;
  for (const SeenView &view : views)
    if (view.isWritten)
      WEFT_TRY(countIn(device, view, written));
  if (written.nan > 0)
    return add(Kind::NaN, device, place, views, written.nan, written.all);
  if (written.infinite > 0)
    return add(Kind::Infinite, device, place, views, written.infinite, written.all);
  return {};
}

Status NumberCheck::add(Kind kind, Device &device, CommandPlace place,
                        const std::vector<SeenView> &views, uint64_t count, uint64_t of) {
  std::lock_guard<std::mutex> lock(mutex);
  std::optional<Found> &first = kind == Kind::NaN ? firstNan : firstInfinite;
  if (first)
    return {};
  std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  Found found{now.count(), place, count, of, kNone};
  // Where something was written nobody knows what was read.
  auto isOverwritten = [&](const SeenView &read) {
    return std::any_of(views.begin(), views.end(), [&](const SeenView &view) {
      return view.isWritten && spanOf(view).overlaps(spanOf(read));
    });
  };
  for (const SeenView &view : views) {
    Counts read;
    if (view.isWritten || found.source != kNone || isOverwritten(view))
      continue;
    WEFT_TRY(countIn(device, view, read));
    if ((kind == Kind::NaN ? read.nan : read.infinite) > 0)
      found.source = view.buffer;
  }
  // An infinity that is handed on came from a constant or from outside, where it is meant.
  if (kind == Kind::NaN || found.source == kNone)
    first = found;
  return {};
}

void NumberCheck::forget() {
  std::lock_guard<std::mutex> lock(mutex);
  firstNan.reset();
  firstInfinite.reset();
}

std::optional<NumberCheck::Found> NumberCheck::nan() const {
  std::lock_guard<std::mutex> lock(mutex);
  return firstNan;
}

std::optional<NumberCheck::Found> NumberCheck::infinite() const {
  std::lock_guard<std::mutex> lock(mutex);
  return firstInfinite;
}
