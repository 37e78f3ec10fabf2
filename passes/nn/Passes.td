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
    reduction that they hold for, so that tests compare derived rules as text; the factor rule is followed
    by the compute class. Ops without the interface get none.

    **Example**: for `%2 = nn.contract %0, %1 ...` of 4x8 by 8x16
    ```
    remark: (a)(b), (b)(c) -> (a)(c) {a=4, b=8:sum, c=16}, contraction
    remark: partial sum: {0} {1}
    ```
  }];
}

def NnSimplify : Pass<"nn-simplify"> {
  let summary = "Remove ops that only move data or change nothing";
  let description = [{
    **Requires** `nn` ops without placements.

    **Ensures** the same values from fewer ops: transposes become labels of the
    contraction that reads or makes them; a reshape that only adds or drops dims of
    size 1, or a broadcast, moves behind elementwise ops, which then compute on
    fewer elements; factors of one and added zeros go; what folds folds. Exact, but
    for the sign of zero, of which an added zero says nothing: no arithmetic is
    reassociated.

    Runs before idioms are raised, so that these meet one spelling, and after.
  }];
}

/// Exporters round constants of idioms to f32.
def ExactOption : Option<"exact", "exact", "bool", "false",
    "Take only what agrees to 1e-12, for programs that will compute f32 values in f64; default: 1e-5, or 1e-12 on f64 values">;

class NnRaise<string name, string text> : Pass<"nn-raise-" # name, "::mlir::func::FuncOp"> {
  let summary = text;
  let dependentDialects = ["::weft::nn::NnDialect"];
}

def NnRaiseActivations : NnRaise<"activations", "Make one op of the ops that spell out an activation function"> {
  let description = [{
    **Requires** simplified `nn` ops.

    **Ensures** each group of elementwise ops that computes GELU (erf or tanh form)
    or SiLU of one value is one op. The group is recognised by what it computes: it
    is evaluated at points across the range of the function, and must agree to
    1e-5; so the order of factors and the spelling of constants do not matter.
    Ops are asked by `ElementwiseOpInterface` only.

    **Example** `x * 0.5 * (1 + erf(x / sqrt 2))` becomes `nn.gelu x`.
  }];
  let options = [ExactOption];
}

def NnRaiseNorms : NnRaise<"norms", "Make one op of the ops that spell out a normalisation"> {
  let description = [{
    **Requires** simplified `nn` ops.

    **Ensures** `(x - mean) / sqrt(variance + epsilon)` over trailing dims is
    `nn.layer_norm`, `x / sqrt(mean of squares + epsilon)` is `nn.rms_norm`, and a
    following scale and bias over those dims are their operands. The function of the
    sum of squares is recognised by what it computes, whether it divides by a root
    or multiplies by a reciprocal of one.
  }];
  let options = [ExactOption];
}

def NnRaiseRope : NnRaise<"rope", "Make one op of the ops that spell out a rotary embedding"> {
  let description = [{
    **Requires** simplified `nn` ops.

    **Ensures** `x * cos + turned(x) * sin` is `nn.rope`, where turned(x) is the
    negated second half before the first (or, interleaved, odd elements negated
    before even ones), and the tables are provably the same for both elements of a
    pair: by their values, or because both halves are made from one value.
  }];
}

def NnRaiseAttention : NnRaise<"attention", "Make one op of scores, mask, softmax and weighted sum"> {
  let description = [{
    **Requires** simplified `nn` ops.

    **Ensures** `softmax(scale q k + mask) v` is `nn.attention`. Key and value heads
    that were repeated for groups of query heads are not. A constant mask that is
    the causal triangle becomes the flag `causal`; others are added. A mask that
    selects is made additive only if that changes nothing: no row may hide all.

    With `target`, only what that target's library does in `precision`, which is set later: other attention stays the
    products and the softmax that the model says, and a remark tells.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"\"", "The name of the target whose library is to do it; empty: all is raised">,
    Option<"precision", "precision", "std::string", "\"f32\"", "The type that attention is computed in">
  ];
}

def NnClonePositions : Pass<"nn-clone-positions", "::mlir::func::FuncOp"> {
  let summary = "Give every node its own copy of what depends on positions only";
  let description = [{
    **Requires** the phase `local`, before fusion. **Ensures** that a value computed from
    constants and counters alone (a causal mask) is read by ops of one node only: others read
    copies, which fusion takes into their kernels. A mask that all layers share would tie their
    kernels together, and the backward pass of all layers would keep its largest values at once.

    **Example**: test/passes/nn/clone-positions.mlir.
  }];
}

def NnVerifyProgram : Pass<"nn-verify-program", "::mlir::ModuleOp"> {
  let summary = "Reject modules that are no programs of one logical device";
  let description = [{
    **Requires** ops that are valid one by one. **Ensures** unchanged IR, else fails at the place concerned:
    - a module holds functions, and each is one list of `nn` ops;
    - an attribute `nn.*` is known where it stands, and of its kind;
    - every type is a tensor of numbers whose dims are bound, and has no placement;
    - no two arguments or results of a function have one name;
    - a state has one beginning, a source of as many bytes as its elements have or a value of its shape, floats for floats
      and integers for integers; programs that share it by name
      agree on it; a slot belongs to an argument (`nn.of`);
    - an update has the type of its state, and a state has at most one.

    With `complete`, from `step` on, no function is private, no argument has `nn.gradient`, no result without a name has
    `nn.inner`, and `nn.recompute` stands on ops without `nn.role` only. Before, no op has one of these two. With `placed`, at `sharded` and `staged` of a module that has
    a mesh, types may have placements, and other ops than those of `nn` may stand among them: `dist-verify-spmd` judges these.
  }];
  let options = [Option<"complete", "complete", "bool", "false",
                        "Whether 'step' is done; default: the program is at 'graph'">,
                 Option<"placed", "placed", "bool", "false",
                        "Whether the program is placed on a mesh; default: it is one device's">];
}

#endif // WEFT_PASSES_NN_PASSES_TD
