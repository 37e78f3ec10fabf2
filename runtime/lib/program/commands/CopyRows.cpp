// Merges dims of a copy, and finds its rows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/CopyRows.h"

#include <algorithm>
#include <cstddef>

using namespace weft::runtime;

CopyRows weft::runtime::planCopyRows(int64_t bytes, const std::vector<int64_t> &sizes,
                                     const std::vector<int64_t> &from,
                                     const std::vector<int64_t> &to) {
  // Bytes are the innermost dim, and dims that both sides pass at one go are merged.
  std::vector<CopyDim> dims{{bytes, 1, 1}};
  CopyRows plan;
  for (size_t d = sizes.size(); d-- > 0;) {
    CopyDim dim{sizes[d], from[d] * bytes, to[d] * bytes};
    CopyDim &inner = dims.back();
    if (dim.size == 0)
      plan.copies = 0;
    if (dim.size == 1)
      continue;
    if (dim.from == inner.from * inner.size && dim.to == inner.to * inner.size)
      inner.size *= dim.size;
    else
      dims.push_back(dim);
  }
  plan.width = dims.front().size;
  auto areApart = [&](const CopyDim &dim) {
    return dim.from >= plan.width && dim.to >= plan.width;
  };
  auto found = std::find_if(dims.begin() + 1, dims.end(), areApart);
  plan.rows = {1, plan.width, plan.width};
  if (found != dims.end()) {
    plan.rows = *found;
    dims.erase(found);
  }
  plan.outer.assign(dims.begin() + 1, dims.end());
  for (const CopyDim &dim : plan.outer)
    plan.copies *= dim.size;
  return plan;
}
