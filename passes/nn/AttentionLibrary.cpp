// Asks a target for attention before there is an op of it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/nn/AttentionLibrary.h"

#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace weft;

bool nn::AttentionLibrary::does(const AttentionHead &head, Builder &builder, Location loc) const {
  if (!target)
    return true;
  auto tensor = [&](int64_t sequence, int64_t size) {
    return LibraryTensor{
        element, {1, 1, sequence, size}, {sequence * size, sequence * size, size, 1}};
  };
  LibraryCall call;
  call.command = "attention";
  call.attributes.set("scale", builder.getF64FloatAttr(head.scale));
  call.attributes.set("softcap", builder.getF64FloatAttr(0));
  if (head.causal)
    call.attributes.set("causal", builder.getUnitAttr());
  LibraryLayout layout{call,
                       {tensor(head.rows, head.depth), tensor(head.columns, head.depth),
                        tensor(head.columns, head.width)},
                       {tensor(head.rows, head.width)}};
  if (head.hasMask)
    layout.operands.push_back(tensor(head.rows, head.columns));
  if (target->takes(layout))
    return true;
  remark::missed(loc, remark::RemarkOpts::name("NotOfLibrary").category("nn-raise-attention"))
      << ("attention stays products and a softmax: the library of the target does no heads of " +
          Twine(head.depth) + " and " + Twine(head.width) + " in its type" +
          (head.hasMask ? " with a mask" : ""))
             .str();
  return false;
}
