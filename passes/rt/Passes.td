//===- Passes.td - from local tensors to scheduled commands -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_RT_PASSES_TD
#define WEFT_PASSES_RT_PASSES_TD

include "mlir/Pass/PassBase.td"

def RtMaterializeDeviceBodies : Pass<"rt-materialize-device-bodies", "::mlir::ModuleOp"> {
  let summary = "Make the code of ops that depend on the process explicit";
  let description = [{
    **Requires** functions of the phase `local`. **Ensures** that no op has
    DeviceBodyOpInterface: each is an `rt.body` that reads the coordinates it needs
    from `rt.coordinate`, one-element tensors that become states split over their
    axis. So kernels are the same on every process, and take only tensors.

    **Example**: test/passes/rt/materialize-device-bodies.mlir.
  }];
  let dependentDialects = ["::weft::rt::RtDialect", "::mlir::linalg::LinalgDialect", "::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def RtSeparateNorms : Pass<"rt-separate-norms", "::mlir::ModuleOp"> {
  let summary = "Let the norm of a gradient and its update compute for themselves what both need";
  let description = [{
    **Requires** programs of the phase `local`. **Ensures** that a sum over elements with the role `optimizer` shares no
    pointwise op of that role (the gradient's square, a cast) with other readers: each has its own, and the other readers'
    stands in front of the first of them.

    The norm of all gradients is done before the first update. What both read would be kept for all gradients at once;
    each kernel computes it from the gradient instead. It comes before `rt-form-routines`, because what is made in
    one routine and read in another is kept.

    **Example**: test/passes/rt/separate-norms.mlir.
  }];
  let dependentDialects = ["::weft::nn::NnDialect"];
}

def RtSeparateSeeds : Pass<"rt-separate-seeds", "::mlir::ModuleOp"> {
  let summary = "Let gradients compute for themselves the numbers that they start from";
  let description = [{
    **Requires** programs of the phase `local`. **Ensures** that a number of the forward pass that gradients read, and that
    is made without library calls (a count of labels, by which the loss is divided), is made for gradients by ops which nothing else reads.
    Communication in between stays one; what it sends is made so.

    What the loss needs as well (which labels count) would be made by the loss's kernel, for which the gradient would wait: so it could
    not be part of that kernel (`rt-fuse-kernels`), and logits would be read twice.

    **Example**: test/passes/rt/separate-seeds.mlir.
  }];
  let dependentDialects = ["::weft::nn::NnDialect"];
}

def RtSettleLayouts : Pass<"rt-settle-layouts", "::mlir::ModuleOp"> {
  let summary = "Let library calls write values as all their readers want them";
  let description = [{
    **Requires** functions of the phase `local`. **Ensures** two forms which `rt-fuse-kernels` lets library calls write
    without a copy. A sum of values with zeros around them that tile it along one dim, as gradients of the parts of a
    value come, is the concatenation of them. And what a library call makes has one reader if one of several
    permutes it and needs that in memory, such as the heads that a product reads as one dim: the others read the
    permutation, turned back. They see through views; so one value is kept, not two. The permutation is marked `rt.written`:
    it is what is in memory, and so what routines give each other.

    Nothing is done that would need a copy elsewhere. A concatenation keeps the sign of zeros that a sum with zeros loses.
    Before routines are formed, which shall give and take that value; in loops over microbatches as well.

    **Example**: test/passes/rt/settle-layouts.mlir.
  }];
  let dependentDialects = ["::weft::nn::NnDialect"];
}

def RtFormRoutines : Pass<"rt-form-routines", "::mlir::ModuleOp"> {
  let summary = "Make routines of what repeats, called once a microbatch and a block";
  let description = [{
    **Requires** `rt-materialize-device-bodies`. **Ensures** that there is no `dist.repeat`, and that what was in one, or
    stands in a block that repeats (a layer, its gradients, its updates), is the body of a private function marked
    `rt.routine`, which programs call. Equal functions are one. So neither routines nor the ops in them grow with layers or
    microbatches; calls do.

    - A program is cut where Segments.h says: into periods of the stretches that repeat, and, in a loop, what is left
      between them. Outside of loops what does not repeat stays as it is.
    - Views and values without operands are made anew by whoever reads them: what goes from call to call are whole
      tensors, of a view marked `rt.written` that. Constants that are not the same in all periods are arguments.
    - What all routines that read it can compute cheaply from much less, or from what they read anyway, is made again by each
      instead of being kept (CutCopies.cpp), as kernels do it within a routine.
    - Arguments are in the order in which they are read first, results in that in which they are made.
    - Sums over microbatches are made in the routine that makes the addend, which takes the sums so far as its last
      arguments and overwrites them with its last results (`rt.in_place`). In front of the first such call routines make sums of nothing:
      of -0.0, to which adding gives the addend in every bit, or what is neutral for another kind; a sum of products of its own
      type has one of its own, which `rt-elide-sum-starts` may find to be needless. An addend that communication
      brings is added in a routine of its own, and the first one is the sum. Types, and the order of additions, are those of
      `rt-unroll-microbatches`, so that bits are, too.
    - A result that is the new value of a state overwrites it, if nothing reads the old one later.
    - What differs between microbatches stays in the program: slices of inputs, at constant offsets, and the
      coordinate over the loop's axis, a constant of one element. So does communication that can wait
      (reductions of gradients, gathers of parameters), which overlaps with other calls; gathers and scatters that overlap as
      well with products of their routine are in it, where one bucket would not hold them.
    - Names of nodes in a routine are those of all its callers: where they differ in one word or number it is `{}`, which the
      call's `label` fills; where they differ in more, `*`.

    **Example**: test/passes/rt/form-routines.mlir.
  }];
  let options = [
    Option<"bucketBytes", "bucket-bytes", "int64_t", /*default=*/"25 << 20",
           "Bytes of a bucket of collectives: if it holds all gathers or scatters of a routine, they stay in the program">,
    Option<"onlyLoops", "only-loops", "bool", /*default=*/"false",
           "Form none where there are no microbatches (`dist.repeat`): there, calls save no more than layers in a list">,
  ];
  let dependentDialects = ["::weft::rt::RtDialect", "::weft::nn::NnDialect", "::mlir::func::FuncDialect"];
}

def RtInlineRoutines : Pass<"rt-inline-routines", "::mlir::ModuleOp"> {
  let summary = "Put the ops of routines where they are called";
  let description = [{
    **Requires** programs and routines of functions (`rt-form-routines`). **Ensures** that no program calls a routine, and that there
    is none. Tests compare what comes out with `rt-unroll-microbatches`.

    **Example**: test/passes/rt/form-routines.mlir.
  }];
  let dependentDialects = ["::weft::rt::RtDialect"];
}

def RtUnrollMicrobatches : Pass<"rt-unroll-microbatches", "::mlir::ModuleOp"> {
  let summary = "Write the loops over microbatches out";
  let description = [{
    **Requires** `rt-materialize-device-bodies`. **Ensures** that there is no
    `dist.repeat`: its body stands once for each microbatch, in order, slices over
    its axis are slices at a constant offset, coordinates along it constants, and
    sums over it are additions in the type of accumulation, kept
    in the type of the result.

    A program of M bodies, not a loop: fusion, order, arena and the verifier of
    commands then treat microbatches as they treat all else, the arena is shared by
    lifetimes, sums are overwritten in place (`rt-reuse-operands`), and updates
    start in the last microbatch. Kernels are shared, so that machine
    code does not grow; the list of commands does.

    A loop with `steps`, which `dist-project-stages` gives, is written out section by section in their order; sums take
    microbatches in ascending order in any case.

    With `most` only the first so many stand there. What is left computes something else: it is for looking at what
    one microbatch does, at a length that does not grow with their number.

    **Example**: test/passes/rt/unroll-microbatches.mlir.
  }];
  let options = [Option<"most", "most", "int64_t", "0", "Microbatches that are written out at most; 0: all">];
  let dependentDialects = ["::weft::rt::RtDialect", "::weft::nn::NnDialect"];
}

def RtSetTarget : Pass<"rt-set-target", "::mlir::ModuleOp"> {
  let summary = "Say on the module what the program runs on";
  let description = [{
    **Requires** a module that names no other target. **Ensures** `weft.target`, but for the
    default target; fails if there is no target of that name. Passes from here on ask that target
    (weft/Target/Target.h) how much a kernel may hold, what is a library call, where buffers may
    start: no number of a machine stands in them.

    **Example**: test/passes/rt/set-target.mlir.
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "The target's name">];
}

def RtSplitReductions : Pass<"rt-split-reductions", "::mlir::ModuleOp"> {
  let summary = "Make two reductions of one that no threads could share";
  let description = [{
    **Requires** functions of the phase `local`. **Ensures** that a large `nn.reduce` whose first dim vanishes has
    parts: one over everything first reduces runs of its elements in memory, as many as leading dims have, then these; one that keeps
    dims in between first reduces the dims behind them. One over leading dims only, of what elementwise ops make that make
    something else, too, first reduces groups of rows: the gradient of a bias is summed up by the kernel that makes what
    it is the sum of. Sums of small floats stay wide in between.

    A kernel is cut along dims that its results and operands have in common, so one that sums over the leading dim
    has one part, and nothing that makes its operand could be fused with it: the norm of a gradient would write its
    squares, and a batch norm its differences. The parts are told by shapes, not by threads, so the order of
    additions is, too. A group has as many rows as stay on the chip (`rowGroupBytes`), so that its sums are few beside it.
    Sums over rows of what lies in memory in any case stay, as their kernels are cut along the columns, unless these are too
    few for all of the device (`columnsAtATime`).

    **Example**: test/passes/rt/split-reductions.mlir.
  }];
  let dependentDialects = ["::weft::rt::RtDialect", "::weft::nn::NnDialect"];
}

def RtFuseKernels : Pass<"rt-fuse-kernels", "::mlir::ModuleOp"> {
  let summary = "Gather the ops that run as one command into rt.fusion";
  let description = [{
    **Requires** functions of the phase `local`: ops with KernelOpInterface, and
    ops of other dialects that are left as they are.

    **Ensures** that every op left in a function body is a fusion, a constant,
    a view that its readers can express by sizes and strides, an `rt.dense`, or
    an op without KernelOpInterface (a collective, the return).

    Kernel fusions grow along leading parallel factors that producer and
    consumer have in common, so that no value is computed twice for that and a
    piece stays in the cache (FusionChoice.h); views are cloned into the fusions that
    read them. What is wanted in memory in another order is written so by who makes it, if nothing else reads that and rows stay in
    one piece. A library op stands alone in its fusion; if a result is only
    permuted, the permutation is taken in and the library writes that order; if
    its results are only the parts of a concatenation, the library writes that.
    A product takes in up to two sums of its result: with the gradient so far, a
    bias, and what is in memory anyway, such as a residual (FusionAbsorption.cpp).
    Ops without KernelOpInterface are never moved across each other.

    Kernels that read the same value are one, if nothing reads it later and all that the later one of them reads is
    there when the earlier one runs, unless that makes more than the value was (FusionSiblings.cpp).

    What kernels make for other kernels alone is not written where they can
    compute it from fewer bytes: casts, differences from the mean of a row, activations
    (FusionCopies.cpp). Each reader then has copies of such ops.

    Forward and backward pass have fusions of their own, but where one turns into the other: a gradient joins the
    kernel that it reads from, if no library op stands between them (FusionTurn.cpp). So a loss and its gradient are one.

    Ops with role `optimizer` make fusions of their own, one an update, so that
    it can overwrite its states and run as soon as its gradient is there.

    A call of a routine is given contiguous values, and where the target's kernels want it (`TargetTraits::kernelAlignment`) none
    that starts in between: microbatches of an odd number of rows are copied (`rt.dense`).

    A kernel has a limited number of ops, of bytes that a piece holds and of those that it has to keep
    (weft/Target/Target.h). One with many operands counts as many ops; a concatenation of more operands becomes one of
    concatenations.

    **Example**: test/passes/rt/fuse-kernels.mlir.
  }];
  let dependentDialects = ["::weft::rt::RtDialect"];
}

def RtOutlineKernels : Pass<"rt-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "Make a private function of each kernel fusion";
  let description = [{
    **Requires** `rt-fuse-kernels`. **Ensures** that every kernel fusion is an
    `rt.call` of a private function with attribute `rt.kernel`. Fusions with
    equal bodies share one function: repeated layers are compiled once. The
    function is named after the last node of the first such fusion.

    **Example**: test/passes/rt/outline-kernels.mlir.
  }];
  let dependentDialects = ["::weft::rt::RtDialect", "::mlir::func::FuncDialect"];
}

def RtHoistConstants : Pass<"rt-hoist-constants", "::mlir::ModuleOp"> {
  let summary = "Pass tables and coordinates to routines as arguments";
  let description = [{
    **Requires** `rt-outline-kernels`. **Ensures** that no routine has a constant or `rt.coordinate`: each is an
    argument behind the others, and every call passes it; it stands once in each program. Single numbers are in the code of kernels by
    then. So routines have no states, and what they read is their arguments.

    **Example**: test/passes/rt/hoist-constants.mlir.
  }];
  let dependentDialects = ["::weft::rt::RtDialect"];
}

def RtFormBuckets : Pass<"rt-form-buckets", "::mlir::ModuleOp"> {
  let summary = "Let collectives that can wait for each other share messages";
  let description = [{
    **Requires** `rt-outline-kernels`. **Ensures** that collectives of one kind over
    the same axes, of one element type and reduction, are one `rt.bucket` where
    - all that reads their results, through views and other transitions, are updates of
      states, sums of gradients over microbatches, and the return (reductions of gradients, gathers
      of updated parameters): in program order, which is that of the backward pass.
      A bucket ends at the first such reader, so that nothing waits longer than for
      its neighbours in the bucket;
    - or they gather nothing but states (ZeRO-3's parameters): in the order of their first readers,
      in front of which `rt-order-commands` puts the bucket.
    All else, above all what activations wait for, stays alone.

    A bucket ends when it holds `bytes`, as PyTorch's DistributedDataParallel does with
    bucket_cap_mb = 25, and the first of its kind at `first-bytes` (PyTorch: 1 MiB), because communication starts with it.
    Small models would have one bucket, which starts when the backward
    pass is over; large buckets keep gradients and gathered parameters alive. So a bucket of reductions holds no
    more than an eighth of what is moved so, one of gathered states no more than a
    32nd (both passes gather, so that is a 16th of the parameters, about a layer) or
    the largest tensor; but `first-bytes` in any case. A small gathered state goes with
    what is read before it, so that no large one lives longer for it; a small gradient
    with the next. `bytes` = 0 makes none.

    **Example**: test/passes/rt/form-buckets.mlir.
  }];
  let options = [
    Option<"bytes", "bytes", "int64_t", /*default=*/"25 << 20",
           "Bytes at which a bucket is full; 0: no buckets. Smaller ones overlap more, larger ones send fewer messages">,
    Option<"firstBytes", "first-bytes", "int64_t", /*default=*/"1 << 20",
           "Bytes at which the first bucket is full, and that every bucket may have">,
  ];
  let dependentDialects = ["::weft::rt::RtDialect"];
}

def RtOrderCommands : Pass<"rt-order-commands", "::mlir::ModuleOp"> {
  let summary = "Order each program's ops for overlap and for memory";
  let description = [{
    **Requires** `rt-form-buckets`. **Ensures** an order of the same ops in
    which each still comes after what it reads, and after who reads what it overwrites. A call of a routine that only
    communicates is a collective, one whose results all are the optimizer's an update:
    - a reduction over the network starts right after what it adds up, so that
      gradients are reduced while the backward pass goes on;
    - a gathered parameter (an all_gather of nothing but states) starts before the
      first reader of the gathers before it, as far as no more bytes live at a time
      than two of the largest lots that one reader needs, with what calls gather themselves. All other stay: their operands may be old, and early results cost memory;
    - an update of a state (ops with role `optimizer`, and the transitions that bring
      their results to the state) runs as soon as its gradient is there and
      nothing else reads the old value, so that gradients do not all live at once
      unless a global norm needs them to; if the gradient comes over the network,
      when the next one is sent;
    - what another stage of a pipeline sends for updates, or for a number that is told, is received behind what the stage exchanges before,
      while it still computes gradients: who sends it has then done its step. What is sent once a step goes as soon as it is there. All else
      that crosses stages stays, or follows a call that awaits who reads what it overwrites; all of it keeps its order.
    The order is a stable sort by keys that depend on the function only: it is the
    same on every process, and so is that of communication.

    **Example**: test/passes/rt/order-commands.mlir.
  }];
}

def RtMaterializeUpdates : Pass<"rt-materialize-updates", "::mlir::ModuleOp"> {
  let summary = "Copy each new value of a state into it at the end of its program";
  let description = [{
    **Requires** `rt-outline-kernels`; results with `nn.updates` are the values of
    states after the program. **Ensures** that each such result is the state's own
    argument (it does not change) or made by an `rt.dense` before the return, after
    all that reads old values: what writes that buffer may write the state. A state
    that becomes another's old value goes through a buffer of its own.

    **Example**: test/passes/rt/materialize-updates.mlir.
  }];
  let dependentDialects = ["::weft::rt::RtDialect"];
}

def RtElideUpdateCopies : Pass<"rt-elide-update-copies", "::mlir::ModuleOp"> {
  let summary = "Write new values of states in place where nothing reads the old ones";
  let description = [{
    **Requires** `rt-materialize-updates` and the final order of each function.
    **Ensures** that an `rt.dense` before the return stays only where the command
    that makes the new value may not write the state's buffer:
    - some op after it reads the old value, or
    - it reads the old value itself, unless it is a kernel that reads it at the
      index that it writes only, or a library call that may (InPlace.h). Such a call runs a variant of its
      kernel whose attribute `rt.in_place` says which argument each result
      overwrites; kernels that nothing calls any more are erased. The fusion of a library call has the
      attribute itself.

    What a routine overwrites counts as a state: its new value is copied there at the end, or made there
    (`rt-materialize-updates`). In a program the calls of routines say themselves what they overwrite.

    So neither parameters nor optimizer states exist twice. The verifier of
    commands derives anew that no old value is read too late.

    **Example**: test/passes/rt/elide-update-copies.mlir.
  }];
  let dependentDialects = ["::weft::rt::RtDialect", "::mlir::func::FuncDialect"];
}

def RtReuseOperands : Pass<"rt-reuse-operands", "::mlir::ModuleOp"> {
  let summary = "Let results take the memory of operands that are read for the last time";
  let description = [{
    **Requires** `rt-elide-update-copies` and the final order. **Ensures** that
    calls of pointwise kernels (InPlace.h) whose operand nothing reads later run
    a variant that overwrites it, that library calls which may overwrite such an operand
    do (`rt.in_place` on the fusion), and that an all_reduce of such a value is marked
    `rt.reuses`: `rt-lower-to-commands` gives both values one buffer. Sums
    of gradients over microbatches so need no second buffer. Arguments, outputs and
    states keep memory of their own, and what communication reads is not
    overwritten, for it would be waited for. A routine writes the rows that a loop gathers where they are
    put (`rt.placed` on the `rt.put`), if nothing else reads them: they are in no second buffer either, and no command copies them.

    **Example**: test/passes/rt/reuse-operands.mlir, test/passes/rt/reuse-operands-puts.mlir.
  }];
  let dependentDialects = ["::weft::rt::RtDialect", "::mlir::func::FuncDialect"];
}

def RtGroupLaunches : Pass<"rt-group-launches", "::mlir::ModuleOp"> {
  let summary = "Let calls of one kernel that need not wait for each other be one launch";
  let description = [{
    **Requires** `rt-reuse-operands`. **Ensures** that where the target groups launches (`TargetTraits::mostPointers`) calls of one
    kernel are one call of a kernel of them all (`rt.members` = n: all their arguments, then all their results, and n times the
    body), if they can meet where the last of them stands, or else where the first does: nothing that is read or made
    there waits for one of them, or overwrites what it reads, in between. Those that would keep more than 1 MiB alive longer than
    it lives anyway do not: a gradient that its update frees is not kept for an update of another layer. Every bit stays.

    A device takes microseconds for a launch, as long as a small tensor takes; updates of biases and parts of norms are many.

    **Example**: test/passes/rt/group-launches.mlir.
  }];
  let dependentDialects = ["::weft::rt::RtDialect", "::mlir::func::FuncDialect"];
}

def RtElideSumStarts : Pass<"rt-elide-sum-starts", "::mlir::ModuleOp"> {
  let summary = "Let products be the first addends of sums, with nothing to add them to";
  let description = [{
    **Requires** `rt-hoist-constants`. **Ensures** that no call of a routine copies negative zeros to a value that
    is read by nothing but routines which overwrite it and only add it to a product (the `plus` of `rt.gemm`): it is `rt.nothing`
    there, for which such a call's product is the sum, bit for bit. Routines that nothing calls any more are erased.

    Microbatches call one routine, which adds to sums (`rt-form-routines`). So the first one's products
    are written, as they are where microbatches are written out, and not read and added to zeros that were written before.

    **Example**: test/passes/rt/elide-sum-starts.mlir.
  }];
  let dependentDialects = ["::weft::rt::RtDialect"];
}

def RtLowerToCommands : Pass<"rt-lower-to-commands", "::mlir::ModuleOp"> {
  let summary = "Turn each program's function into buffers and commands";
  let description = [{
    **Requires** `rt-hoist-constants`: every op of a program (a public function
    with a body) or routine is a view, a constant, an `rt.call`, a library fusion, an
    `rt.dense`, an `rt.put` or a collective.

    **Ensures** an `rt.program` for each program, all commands on stream 0 in
    the function's order, one buffer for each value that is neither a view nor a part of another (`rt.placed`), and an
    `rt.state` for each state and constant, shared by all programs. A result with
    `nn.updates` lies in its state. The function stays in the module,
    private and marked `rt.spec`: the verifier of commands compares with it. A routine becomes an `rt.program` with
    blocks, and each call of it an `rt.invoke`; calls then name that `rt.program`.

    **Example**: test/passes/rt/lower-to-commands.mlir.
  }];
  let dependentDialects = ["::weft::rt::RtDialect"];
}

def RtAssignStreams : Pass<"rt-assign-streams", "::mlir::ModuleOp"> {
  let summary = "Put communication and transfers on streams of their own, ordered by events";
  let description = [{
    **Requires** programs whose commands are all on stream 0 in a valid order.
    **Ensures** that communication is on stream 1; an event recorded after the
    last producer of what it reads lets it start, and its first reader waits for
    an event recorded after it. The order of the list stays (`rt-order-commands`
    made it): communication starts when the compute command listed before it is
    done, not earlier, so that what is received early does not fill the memory;
    the wait stands before the first reader, and the compute commands between
    overlap with it. Transfers between stages are on stream 2, by the same rules; where they and
    communication use the same bytes, an event between these two streams orders them. Programs without communication
    keep one stream. In a routine that computes, communication starts
    after an event of stream 0, and stream 0 waits for all of it at the end: so a call is a command of stream 0.

    **Example**: test/passes/rt/assign-streams.mlir.
  }];
  let dependentDialects = ["::weft::rt::RtDialect"];
}

def RtPlanArena : Pass<"rt-plan-arena", "::mlir::ModuleOp"> {
  let summary = "Give every buffer its place in the arena";
  let description = [{
    **Requires** assigned streams. **Ensures** offsets (multiples of the target's alignment)
    and lifetimes: buffers that share bytes are never alive together. States
    come first and belong to all programs, then inputs and outputs, which live
    for the whole program, then all others, each in the smallest
    gap that is free for its whole life (best fit). Which is placed first decides how much
    is lost between them: by bytes, by bytes and life, by life, by first use; and from each of
    these on, what ends highest is placed earlier, until the arena is at most a two-hundredth
    larger than what is alive at once, or enough was tried. An order is given up at what ends
    no lower than the smallest arena so far, which stays. A buffer
    used by another stream lives from the event that lets that command start until the wait for
    its end.

    Lifetimes count commands as they are issued, those of calls among them, and a call's are those of its commands: an argument
    that nothing reads later dies where its routine has read it, a result is born where it is written. Buffers of routines
    are placed together with those of programs, each once: it lies at the same bytes in all calls, where no caller has
    something in use then. What lies between a routine's first byte and its last is its arena, and the scratch of its calls, a
    workspace buffer of the caller that lives during the call. Calls of other streams than 0 have scratch each of its own.

    **Example**: test/passes/rt/plan-arena.mlir.
  }];
  let dependentDialects = ["::weft::rt::RtDialect"];
}

def RtVerifyCommands : Pass<"rt-verify-commands", "::mlir::ModuleOp"> {
  let summary = "Reject programs whose commands do not compute their function";
  let description = [{
    **Requires** planned programs and their `rt.spec` functions. **Ensures**, changing nothing and reporting every offender, that
    - waits refer to events recorded before, so waiting is acyclic;
    - any two accesses to common bytes, one of them a write, are ordered by a
      stream or a chain of events;
    - arena ranges of buffers alive together are disjoint, those of a routine wherever its calls' scratch is;
    - every command is the one its op in the `rt.spec` function asks for, and
      each view that it reads holds the value of that op's operand, whole, as
      written last;
    - every output is written; every updated state holds its new value at the
      end and every other state its old one;
    - what a command writes shares no bytes with what it reads, but for kernels
      that overwrite an argument at the index that they read (derived anew from
      the kernel's body) and an all_reduce in place;
    - what writes rows in place (`rt.placed`) finds the others there;
    - what kernels and routines are given starts on multiples of the target's `kernelAlignment`;
    - communication is in the function's order, which is the same on every
      process of a stage; so are transfers, among themselves.
    A routine is judged once, against its own function: arguments lie in their blocks at its start and are not
    overwritten but for those that it says, results lie in theirs at its end, and no other stream of it runs
    before or after stream 0. A program's call of it is then one command, which must find its
    arguments where it reads them; what it overwrites holds its results.

    **Example**: test/passes/rt/verify-commands.mlir.
  }];
}

def RtRecordResults : Pass<"rt-record-results", "::mlir::ModuleOp"> {
  let summary = "Write down what functions compute, before kernels are formed of their ops";
  let description = [{
    **Requires** functions of the phase `local` without loops. **Ensures** the same, each with `rt.computes`: for each value
    that it returns, and for each op that sends or receives, a number that tells by which ops, of which values, it is made.

    The numbers depend on names of ops, their attributes, types and operands, down to arguments, and on nothing else: not on placements of
    what becomes code, not on the order of ops, nor on where they stand.
  }];
}

def RtVerifyResults : Pass<"rt-verify-results", "::mlir::ModuleOp"> {
  let summary = "Reject functions that do not compute what they did before kernels were formed";
  let description = [{
    **Requires** `rt-record-results`, and behind it only passes that gather, copy, share and move ops. **Ensures** that each function
    returns, sends and receives what it did, made by the same ops of the same values, wherever these are now: in kernels,
    library fusions, buckets, or in the callers of a routine as constants (`rt-hoist-constants`). `rt.computes` is gone.

    It is derived from the program as it is, so whatever `rt-fuse-kernels` and those behind it do wrong (an operand of another op, a
    kernel for another's call, a lost addend) is found here, and not by numbers. What memory they share is judged by `rt-verify-commands`.
    Concatenations of concatenations count as one; routines are judged each by itself, and a call of one is an op of its name. But
    negative zeros are one value, whether a routine makes them, a constant or a view is them, or they are a sum of nothing (`rt-elide-sum-starts`).

    **Example**: test/passes/rt/verify-results.mlir.
  }];
}

def RtVerifyStages : Pass<"rt-verify-stages", "::mlir::ModuleOp"> {
  let summary = "Reject stages that would wait for each other forever";
  let description = [{
    **Requires** a module of stages (`dist-project-stages`) at `scheduled`; another one passes. **Ensures** for the programs of
    each name, of which every stage has one:
    - the sends from one stage to another and the receives there are as many, and the first, the second and so on have one channel, one
      element type and one number of elements;
    - so it is for collectives over the axis of stages, which are of one kind and shape in all stages;
    - where an exchange is one event of all that take part, the order of streams, events and exchanges has no circle. As nothing
      branches, no timing can then stop a stage, even if a send ends only when it is received.

    **Example**: test/passes/rt/verify-stages.mlir.
  }];
}

#endif // WEFT_PASSES_RT_PASSES_TD
