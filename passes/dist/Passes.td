//===- Passes.td - passes of the phases sharded and local -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_DIST_PASSES_TD
#define WEFT_PASSES_DIST_PASSES_TD

include "mlir/Pass/PassBase.td"

class Dist_Pass<string flag> : Pass<flag, "::mlir::ModuleOp"> {
  let dependentDialects = ["::weft::dist::DistDialect"];
}

def DistAttachMesh : Dist_Pass<"dist-attach-mesh"> {
  let summary = "set the module's mesh";
  let description = [{
    **Requires** nothing. **Ensures** the module has the attribute `dist.mesh`.
    An axis written as a product becomes sub-axes. With more than one microbatch there is
    a temporal axis `mb`. The axis named `stages` counts the stages of a pipeline.

    **Example** `--dist-attach-mesh="mesh=dp=4x2,tp=2"` gives
    `dist.mesh = #dist.mesh<["dp.0"=4, "dp.1"=2, "tp"=2]>`.
  }];
  let options = [
    Option<"mesh", "mesh", "std::string", "\"\"", "Axes and sizes as in `dp=4x2,tp=2`; default: no axes">,
    Option<"microbatches", "microbatches", "int64_t", "1",
           "Size of the temporal axis `mb`; default: 1, no such axis; set it to run programs in parts of their batch">,
    Option<"stages", "stages", "std::string", "\"\"", "Name of the axis that counts stages; default: none; set it for a pipeline">];
}

def DistPlace : Dist_Pass<"dist-place"> {
  let summary = "write down the placements that a person gave";
  let description = [{
    **Requires** a mesh. **Ensures** values whose name matches a rule have a
    `dist.placement` (arguments, results of the program) or `dist.placements` (results of nodes), marked
    `dist.closed`: no later pass changes it, but that microbatches are parts of it; and the other inputs are split along the axes of the batch: `batch-axes`, and
    every axis over which a rule splits the batch of an input. The module's `dist.batch_axes` lists them.

    A rule is `REGEX=dim0:tp,dim1:-`; dims not named are whole. Axes are joined by `+`,
    major first, and a part within a dim is cut by `*`: `dim1:3*tp` splits the 768 of 3 x 768.
    The regular expression is searched for in `nn.name` or the node's name. The first rule that matches rules; one that
    matches nothing is an error, because it is a mistake in spelling more often than not, unless the program is a `part`.
    The batch is the dim named `batch` in `nn.dims` of an input, or, where no input names one, the first dim of every
    input. State (arguments with `nn.source` or `nn.initial`) is never split so. If the mesh has a temporal axis,
    the batch is read in microbatches (`dist.used`): each process cuts its own rows, or, with
    `whole-microbatches`, each microbatch is a run of rows of the whole batch, the same under every mesh, which `batch-axes` split. Of several programs the first that updates
    state leads, the others follow (`dist.order`). Placements in `dist.devices`, which the model file
    asks for, count where no rule does; one that does not fit is dropped with a remark, one that a rule overrules is
    told by a warning that names the node.

    **Example** `--dist-place="rules=w1=dim1:tp;w2=dim0:tp batch-axes=dp"`.
  }];
  let options = [
    Option<"rules", "rules", "std::string", "\"\"", "Rules, separated by `;`; default: none">,
    Option<"batchAxes", "batch-axes", "std::string", "\"\"", "Axes that split the batch, joined by `+`; default: none; set it for data parallelism">,
    Option<"wholeMicrobatches", "whole-microbatches", "bool", "false",
           "Whether a microbatch is a run of rows of the whole batch; set it where what is in a microbatch matters to the "
           "result (its statistics); asks of the batch to be a multiple of microbatches times shards">,
    Option<"part", "part", "bool", "false",
           "Whether rules were said of a larger program and mesh, of which these are a part: what they name that is not "
           "there is left out; set it where a planner looks at a few blocks on some of the axes">];
}

def DistReadDevices : Dist_Pass<"dist-read-devices"> {
  let summary = "read the device configurations of a model file";
  let description = [{
    **Requires** a mesh; the phase `import`, before `convert-onnx-to-nn`. **Ensures** `dist.devices` on the module:
    per name of a weight, an input or a node a placement as `dist-place` reads it; and `dist.node_stages`, per name of a node
    the stage of a pipeline (`pipeline_stage`) that `dist-cut-stages` is to put it on. Models without device configurations
    stay as they are.

    ONNX (IR 11) numbers shards and says which device holds which; a placement here names mesh axes. For each split the
    axes are found under which every device holds just the shards that the file says. What no axes explain, and
    splits asked of a value only where it is read, are dropped with a remark each and one warning for all: by the
    standard they are hints. At a node of a stage a split may name the devices of that stage only. If a stage is named that the mesh has not,
    no stage is used, and a warning tells.

    **Example** in test/passes/dist/read-devices.mlir.
  }];
  let options = [
    Option<"stages", "stages", "std::string", "\"\"", "Name of the axis of `mesh` that counts stages; default: none; set it for a pipeline">,
    Option<"mesh", "mesh", "std::string", "\"\"", "Axes and sizes as in `dp=4x2,tp=2`; default: the module's mesh">,
    Option<"configuration", "configuration", "std::string", "\"\"",
           "Which of the model's configurations; default: the one named as the mesh, else the first for as many devices">];
}

def DistRecordPlacements : Dist_Pass<"dist-record-placements"> {
  let summary = "note by name which placements values were given";
  let description = [{
    **Requires** a mesh; placements as attributes: the last place before `dist-insert-reshards`. **Ensures**
    `dist.recorded` on the module: per name of an input, a weight or a node its placement. Nodes that have become several
    ops are known by the op that other nodes read; where values of one name differ, none is noted.

    **Example** in test/passes/dist/write-devices.test.
  }];
}

def DistWriteDevices : Dist_Pass<"dist-write-devices"> {
  let summary = "write recorded placements into a model as device configurations";
  let description = [{
    **Requires** a model at the phase `import` with `dist.mesh` and `dist.recorded`. **Ensures** that the model has a
    device configuration named as the mesh, first of all, and its nodes sharding specs for the weights and inputs that
    they read and for their output; the attributes are gone, other configurations stay. Nodes in `dist.recorded_stages`, if that is
    there, have their stage, and specs of the devices there.

    The format (IR 11, to which the version is raised) knows no mesh, hence the name; and no pending sums, so a
    value that rests partial has no spec and is decided anew by who reads the file. What cannot be said is left out with a remark.

    **Example** in test/passes/dist/write-devices.test.
  }];
}

def DistPropagate : Dist_Pass<"dist-propagate"> {
  let summary = "spread placements through factors to a fixed point";
  let description = [{
    **Requires** a mesh; placements on some values. **Ensures** every value that shares a factor with a placed one, directly or through
    others, is placed (`dist.placement`, `dist.placements`); closed placements are unchanged.

    Splits spread along factors, forward and backward: first through ops without
    reduced factors, which move no data, then through all. Where two
    operands disagree, the placement that came first stays, and a remark (category
    `dist-propagate`) names both sides. An uneven split is spread with a remark or, with `uneven=false`,
    not at all. Nothing spreads through ops without the interface. Partial sums are not spread: they follow from the split
    factors of each op, and `dist-insert-reshards` decides where they end.

    **Example** a weight `k x n` split on n makes the product `m x n` split on n, and the next weight,
    which sums over n, split on n too.
  }];
  let options = [Option<"uneven", "uneven", "bool", "true", "Whether sizes that the axis does not divide may be split">];
}

def DistAssignAxis : Pass<"dist-assign-axis", "::mlir::func::FuncOp"> {
  let summary = "split every value on one mesh axis so that communication takes the least time";
  let description = [{
    **Requires**: `nn` ops; the module's `dist.mesh`; placements on other axes, as
    found so far, in attributes.

    **Ensures**: `dist.placement` of arguments and `dist.placements` of ops extended
    by the axis, and `dist.operands` of ops that read an operand otherwise than it
    rests. Closed placements stay.

    The choice is by cost alone (weft/Search/AxisSearch.h): no op or weight is known
    by name, yet Megatron's column and row pairs, head-parallel attention and the
    vocabulary-parallel output layer are what comes out. Ops without
    ShardableOpInterface read and make whole values.

    A training step is searched in two parts: the forward ops, then, with these settled, the ops of
    gradients; those of the optimizer are left to `dist-place-state`. Searching all at once keeps every activation's
    alternatives alive until its gradient is met, which no beam holds; and it finds little else, because a
    gradient moves the bytes of its activation backward.

    A remark (category `dist-assign-axis`) gives the collectives and bytes of one run.
  }];
  let options = [
    Option<"axis", "axis", "std::string", /*default=*/"\"\"",
      "the mesh axis to use; default: one after the other those that do not split the batch (`dist.batch_axes`); "
      "an axis of size 1 or none of that name: nothing to do">,
    Option<"programs", "programs", "std::string", /*default=*/"\"all\"",
      "all, or only those whose dist.order is lead (or none) or follow">,
    Option<"sequenceParallel", "sequence-parallel", "bool", /*default=*/"false",
      "also split what cheap ops compute between matrix products (norms, residuals), "
      "at the same bytes in twice the collectives; saves activation memory">,
  ];
  let dependentDialects = ["::weft::dist::DistDialect"];
}

def DistPlaceState : Dist_Pass<"dist-place-state"> {
  let summary = "decide where parameters, gradients and optimizer slots are stored";
  let description = [{
    **Requires** a mesh; placements of parameters as they are used, replicated on `axis`. **Ensures** every state of the leading program is
    placed and closed; parameters that are stored otherwise than used have `dist.used`; results that update state are declared
    at its stored placement; the ops of the optimizer (`nn.role`) are placed.

    A parameter is state that the optimizer updates; a slot is state with `nn.of`. What is `sharded` is split over `axis` on the part of
    a dim with the least padding (weft/Sharding/StatePlacement.h). The optimizer runs where the slots are.
    Nothing else happens here: partial gradients meet the placement in a reduce_scatter, new parameters the stored one in an
    all_gather, and users of split parameters theirs in another, because `dist-insert-reshards` puts reshards between.
    `gradients=sharded` reduces them in every microbatch instead of once.

    | slots | gradients | parameters | known as |
    |---|---|---|---|
    | replicated | replicated | replicated | data parallel |
    | sharded | replicated | replicated | ZeRO-1 |
    | sharded | sharded | replicated | ZeRO-2 |
    | sharded | sharded | sharded | ZeRO-3, FSDP; HSDP if `axis` is a sub-axis |

    **Example** in test/passes/dist/place-state.mlir.
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"\"",
           "Axis or sub-axis to split over; default: the axes of the batch (`dist.batch_axes`)">,
    Option<"slots", "slots", "std::string", "\"replicated\"", "replicated or sharded: optimizer state and its computation">,
    Option<"gradients", "gradients", "std::string", "\"replicated\"",
           "replicated or sharded: as accumulated over microbatches; set it to save memory at the price of a reduce_scatter each">,
    Option<"parameters", "parameters", "std::string", "\"replicated\"", "replicated or sharded: as stored between uses">];
}

def DistShareState : Dist_Pass<"dist-share-state"> {
  let summary = "place the state of all programs as the leading one does";
  let description = [{
    **Requires** a leading program whose state is placed (`dist-place-state`). **Ensures** arguments of the other programs that are the same
    state, by `nn.name`, have the same stored and used placement, closed.

    **Example** in test/passes/dist/place-state.mlir.
  }];
}

def DistInsertReshards : Dist_Pass<"dist-insert-reshards"> {
  let summary = "give every op one consistent split and make placements types";
  let description = [{
    **Requires** a mesh; placements as attributes, on any subset of values. **Ensures** every tensor of the program has a
    `#dist.placement` encoding, every op is consistent (`weft::checkOp`), and where a value is
    needed in another placement than it has there is a `dist.reshard`. The attributes are gone. Function
    results are not partial.

    Each op gets the split of its factors that costs least: bytes of the reshards of its operands and of its results to their
    requested placement, latency of each collective, and computation that is repeated on several devices.
    Candidates are the splits that its operands, or the request for its results,
    imply. `dist.operands` settles the choice. A partial result is reduced at
    once unless its request says otherwise, or its only reader can add up the parts as well. Over microbatches addends of a gradient that are
    made far from each other, as those of tied weights, are summed up each where it is made (passes/dist/partition/FarAddends.h).
    Arguments with `dist.used` are resharded before their first user: parameters apart for forward and gradient ops, so that they
    need not be kept between; the optimizer reads them as stored. Ops without the interface run whole on every device, with a remark.

    **Example** in test/passes/dist/insert-reshards.mlir.
  }];
  let options = [
    Option<"part", "part", "bool", "false",
           "Whether the program is a part of a larger one: how far from each other its gradients are made says nothing of that, "
           "and no addends are taken for far; set it where a planner looks at a few blocks">];
}

def DistCheckAxes : Dist_Pass<"dist-check-axes"> {
  let summary = "reject a mesh of which an axis splits no computation";
  let description = [{
    **Requires** what `dist-insert-reshards` ensures. **Ensures** that over every axis of more than one process some op is split,
    into no more shards than there is something to hold; else fails and names the axis, the widest that it could split,
    and what to write instead: the processes of such an axis would only repeat the work of others. Temporal axes,
    and programs without computation, are not judged.

    **Example** in test/passes/dist/check-axes.mlir.
  }];
}

def Dist_ScheduleOption
    : Option<"schedule", "schedule", "std::string", "\"1f1b\"",
             "In which order stages run microbatches: a name as weft-schedule knows it, with the chunks of a stage where it may "
             "have several (interleaved:2), or the text of a schedule; default: 1f1b">;

def DistCutStages : Dist_Pass<"dist-cut-stages"> {
  let summary = "cut programs into the stages of a pipeline";
  let description = [{
    **Requires** what `dist-insert-reshards` ensures. **Ensures** the same, where on a mesh with an axis of stages each value is
    held by the stages that make it, and a reshard brings it to others that read it. Where `schedule` wants several chunks
    of the model on a stage, `dist.place` says the stage of each, and `dist.chunks` of which an op is. The module says the schedule in
    `dist.schedule`, `dist.schedule_searched` whether it was searched for, `dist.schedule_reason` what it costs, and `dist.chunk_rows` what
    each chunk is, takes and holds (`dialects/dist/IR/ChunkRows.h`).

    Where `schedule` is empty that of the shortest step is taken, by the times of ops and transfers that the cut goes by, and of those within a hundredth of it
    the one under which a rank keeps least for backward passes; all that have names and fit are simulated, with one or two
    chunks on a stage.

    The line of the program that updates state, or else of the first, is cut: its forward ops that depend on both weights
    and inputs, in program order, where `stages` says, or into pieces of about equal seconds (modelled, or as `stage-costs` says) and, among these, where the fewest bytes
    cross. The rest follows. A weight
    is held by the stages whose ops read it, and the optimizer's state and ops with it; a tied one by several. Masks, positions and casts
    are made wherever they are read. Gradients take the line back: each op runs at the latest stage, not behind the
    gradients it reads, that has the weights and activations it reads. Numbers of several stages that are added up, such as the squares of all
    gradients, are added up on each stage before one sum over the stages; if only results need them, in the order of stages, each of which adds its
    own to what comes from the one before. Other programs go by where their weights are. Inputs and scalars of the state are on all stages, results
    where they are made.

    Nodes in `dist.node_stages` go on the stages that it says, which is what the model asks for; where `schedule` is empty, only schedules
    for which that is possible are looked at, if there are any. A warning tells of what is not possible, or not what `stages` says. Where the module has `dist.recorded`, it gets
    `dist.recorded_stages`: the stage of each node whose ops on the line are all on one.

    **Example** in test/passes/dist/cut-stages.mlir.
  }];
  let options = [
    Dist_ScheduleOption,
    Option<"stages", "stages", "std::string", "\"\"",
           "Where chunks begin: the first node of each but the first (REGEX;REGEX), or how many of the model's equal blocks each has "
           "(blocks:5,7); default: about equal seconds; set it where measured times are others">,
    Option<"stageCosts", "stage-costs", "std::string", "\"\"",
           "Seconds of nodes (the text of passes/dist/stages/OpCosts.h); default: the model of costs; set it where measured times are others">];
}

def DistPartition : Dist_Pass<"dist-partition"> {
  let summary = "turn the global program into the program of one device";
  let description = [{
    **Requires** what `dist-insert-reshards` ensures. **Ensures** every type is
    local, with `#dist.local`; reshards are the cheapest collectives; padding that meets a reduction is masked, and
    indices into a split factor are localized.

    Attributes that depend on shapes are adapted by the ops themselves
    (`ShardableOpInterface::localizeAttributes`). Ops without the interface have whole operands and stay as they are.

    **Example** in test/passes/dist/partition.mlir.
  }];
}

def DistSimplifyCollectives : Dist_Pass<"dist-simplify-collectives"> {
  let summary = "communicate for less time by merging transitions";
  let description = [{
    **Requires** `local`. **Ensures** `local`, the same values, communication that takes no longer than before.

    - A transition whose result is only input of another: both become the cheapest plan
      from the first placement to the last (all_reduce and slice: reduce_scatter; gather and slice: all_to_all or nothing).
    - A mask of the result of a transition that makes the padding itself: that fills it.
    - What goes to the same stages several times, as the beginning of several such plans: it goes once.

    **Example** in test/passes/dist/simplify-collectives.mlir.
  }];
}

def DistSeparateGathers : Dist_Pass<"dist-separate-gathers"> {
  let summary = "gather stored parameters apart for forward and gradient ops";
  let description = [{
    **Requires** `local`. **Ensures** no gradient op (`nn.role`) reads what a transition with `dist.step_part = "forward"` makes:
    it reads the same made for `backward`, in front of the first gradient op that needs it.

    `dist-insert-reshards` does so already; but ops that are recomputed for gradients are clones of forward ops and read as
    they do, which would keep parameters whole from the forward pass on.

    **Example** in test/passes/dist/separate-gathers.mlir.
  }];
}

def DistFormLoops : Dist_Pass<"dist-form-loops"> {
  let summary = "turn what is split over microbatches into loops";
  let description = [{
    **Requires** `local`; a mesh with at most one temporal axis. **Ensures** `local`, where every value that has the temporal axis in
    its placement is made and read within a `dist.repeat`, and sums and gathers over it are results of the loops.

    As many loops as there are sums and gathers over microbatches that depend on one another: a
    loss divided by a count over the batch needs two, of which the first only counts. Each is made in the last loop
    before it is read, and each op runs in the loops whose results need it. Ops that move data or work on elements may
    so run in several; a matrix product or a collective that would have to is an error, because
    the program reduces over the batch in a way that microbatches cannot. What needs all rows at once stands behind the
    loop that gathers them, and runs whole: so do programs whose results mix rows, with a warning that tells the bytes that
    are kept. What is the same in all microbatches
    stays outside, as late as possible, but for gathers of stored parameters (`dist.step_part`), which are repeated so that
    parameters are not kept whole.

    **Example** in test/passes/dist/form-loops.mlir.
  }];
}

def DistProjectStages : Dist_Pass<"dist-project-stages"> {
  let summary = "make a module of each stage's part of the programs";
  let description = [{
    **Requires** `local`, judged by `dist-verify-spmd`, with loops. **Ensures**, on a mesh with several stages, that the module holds
    nothing but one module a stage, named `stage0` and so on, with `weft.stage` and the mesh. It has the programs of the devices of
    that stage: what the stage does not hold is no argument, no op and no result of them, and types no longer say who holds a
    value. A `dist.move` is a `dist.send` in the module of its one end and a `dist.receive` in that of its other end; what nobody
    reads is not moved. An input is on the stages that read it.

    Ops have a *section* (`dist.section`): ops of one section of a stage can run in any order and in one kernel, without any two
    stages waiting for each other. A loop has `steps`, by `schedule` or, where that is empty or asks for a search by which the cut was made, as the cut was made for: in each stage what communicates with others has
    one order, which is the same for all, so that the first exchange that is not over can always take place. The module says the
    schedule in `dist.schedule`.

    **Example** in test/passes/dist/project-stages.mlir.
  }];
  let dependentDialects = ["::weft::dist::DistDialect", "::weft::nn::NnDialect"];
  let options = [Dist_ScheduleOption];
}

def DistVerifySpmd : Dist_Pass<"dist-verify-spmd"> {
  let summary = "reject programs whose devices do not together compute the global program";
  let description = [{
    **Requires** nothing. **Ensures** the program is one of `sharded` or `local` that computes, shard by shard, what the
    ops compute on global types; else fails, with one error an offender.

    For each op the rule of its factors is asked again at the global types, and the
    placements of its operands must imply those of its results: sums that are missing
    or doubled, operands that disagree, padding that leaks into a reduction, and
    unlocalized indices are errors. Arguments and results of functions are not partial;
    a result that updates state has the type of the state, and equal states of several programs one type. An op that is neither
    shardable nor a transition must have whole operands and results. Sound, not complete.
  }];
}

#endif // WEFT_PASSES_DIST_PASSES_TD
