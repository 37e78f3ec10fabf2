//===- Passes.td - passes on one logical device ---------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------===//
#ifndef WEFT_PASSES_NN_PASSES_TD
#define WEFT_PASSES_NN_PASSES_TD

include "mlir/Pass/PassBase.td"

def PrintFactorRules : Pass<"nn-print-factor-rules"> {
  let summary = "Tell in remarks how each op may be split";
  let description = [{
    **Requires**: anything.

    **Ensures**: unchanged IR. Every op with ShardableOpInterface has a remark with
    its factor rule and, where it has partial rules, with those and the kinds of
    reduction that they hold for, so that tests compare derived rules as text. Ops without the interface get none.

    **Example**: for `%2 = nn.contract %0, %1 ...` of 4x8 by 8x16
    ```
    remark: (a)(b), (b)(c) -> (a)(c) {a=4, b=8:sum, c=16}
    remark: partial sum: {0} {1}
    ```
  }];
}

#endif // WEFT_PASSES_NN_PASSES_TD
