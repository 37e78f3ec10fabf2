// The attribute, and the order of a launch's buffers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Members.h"

using namespace mlir;
using namespace weft::cuda;

std::optional<Members> Members::of(gpu::GPUFuncOp kernel) {
  auto marked = kernel->getAttrOfType<DenseI64ArrayAttr>(kGpuMembersAttr);
  return marked ? std::optional(Members{marked[0], marked[1]}) : std::nullopt;
}

void Members::mark(gpu::GPUFuncOp kernel) const {
  kernel->setAttr(kGpuMembersAttr, DenseI64ArrayAttr::get(kernel.getContext(), {count, arguments}));
}

Members::Place Members::placeOf(int64_t buffer, int64_t buffers) const {
  if (buffer < arguments)
    return {buffer, arguments};
  return {count * arguments + buffer - arguments, buffers - arguments};
}
