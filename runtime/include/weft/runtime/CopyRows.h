// A copy between strided views as copies of rows: for the compiler, which asks before it makes the
// command, and for a device whose driver copies rows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_COPYROWS_H
#define WEFT_RUNTIME_COPYROWS_H

#include <cstdint>
#include <vector>

namespace weft::runtime {

/// Copies of rows that one command may take: what needs more is a kernel's work.
constexpr int64_t kMostRowCopies = 256;

/// One of two nested views passes `to` bytes while the other passes `from`.
struct CopyDim {
  int64_t size, from, to;
};

/// Rows of `width` bytes, as many as `rows` has, at each position of `outer`.
struct CopyRows {
  int64_t width = 0;
  CopyDim rows{1, 0, 0};
  std::vector<CopyDim> outer;
  int64_t copies = 1;
};

/// The copy of elements of `bytes` bytes between views of those sizes; strides are in elements.
/// Rows that lie in each other, as windows do, are copied one by one.
CopyRows planCopyRows(int64_t bytes, const std::vector<int64_t> &sizes,
                      const std::vector<int64_t> &from, const std::vector<int64_t> &to);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_COPYROWS_H
