//===- Passes.td - from outlined kernels to code for NVIDIA's GPUs -*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------===//
#ifndef WEFT_PASSES_CUDA_PASSES_TD
#define WEFT_PASSES_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def DistributeKernels : Pass<"cuda-distribute-kernels", "::mlir::ModuleOp"> {
  let summary = "fuse, and deal the work out to blocks and threads";
  let description = [{
    **Requires** functions as `convert-nn-to-linalg` leaves them.

    **Ensures** for each function NAME a `gpu.module @NAME` with one `gpu.func @NAME(...) kernel`, which is all that
    a back end or an emulation has to know of a kernel:
    - Arguments are the buffers of the kernel's arguments, then of its results, as `memref<NxT>`: all elements in row-major
      order, booleans as `i8` that are 0 or 1, in generic (global) memory, starting on multiples of 16 bytes
      (`llvm.align`). No two overlap (`llvm.noalias`, but for those through which threads exchange
      values across barriers); an argument that is never written is `llvm.readonly`. Where `rt.in_place` says
      that a result overwrites an argument, both pointers are the same, and only the result's is used.
    - Of a function with `rt.members` = n one of its n members is made, and `weft.members` = [n, arguments of a member] says
      so: the kernel is given the buffers of all, their arguments one after the other, then their results; member m runs in blocks
      [m, m + 1) of n parts of the grid.
    - `known_block_size` is the number of threads, a multiple of 32, and `weft.grid` (i64) the number of blocks, both along x. The
      kernel is launched with just these.
    - Ops are those of `scf`, `arith`, `math`, `memref` (load, store, global, get_global), `vector` (load, store, extract,
      from_elements) and `gpu` (`thread_id`, `block_id` of x; `barrier`, which all threads of a block reach; `shuffle xor` of
      32-bit values, width 32, which all threads of a warp reach; `return`), and `nvvm.bar.warp.sync` of all lanes of a warp.
    - `weft.resident` (i32) is how many blocks a multiprocessor has to have room for, where registers are worth more than blocks.
    - Workgroup memory is workgroup attributions, `memref<NxT, #gpu.address_space<workgroup>>` that start on multiples of
      16 bytes. What threads exchange by it is separated by barriers.
    - Constants that are not one number are a private constant `memref.global` of the `gpu.module`.
    - A `vector.load` or `store` has an `alignment`, the size of the vector or 16.

    Skeletons. A kernel that is one loop nest is *flat*: the threads of all blocks take runs of elements in turn, as many
    at a time as give 16-byte accesses, and what is left one by one. Any other is cut into units (`passes/kernels/KernelTiler.h`),
    a block each: nests run one after another with a barrier between, and their elements are dealt out to the threads. Nests that go
    over the same rows, at least as many as warps, and need of each other only numbers of the same row, are done row by row instead, each
    row by a warp: it keeps what it has read and computed of a row for its next pass over it, in registers where a lane has four accesses
    of each operand at most, and 16 of all. A warp that overwrites what it has read of a row waits for its lanes, and for no others. A
    reduction whose innermost loop may be reordered is done by a warp, or by the block if it is the unit's only one, with shuffles;
    one along columns, whose rows may be, by groups of threads that each take every n-th row and leave their sums in workgroup
    memory, unless the columns alone keep all threads busy; any other by a thread for each element, in the order of the loops.
    Reductions with the same loops that do not need each other are one (`passes/cuda/JoinReductions.h`), and so are a maximum and the
    sum of exponentials of distances to it (`passes/cuda/RunningSums.h`): a row of a softmax or of a loss is read once for both. Temporaries lie in workgroup memory, those of one
    element in registers. What must be sequential (`scf.forall`) is so, a thread a row, with a remark.

    Rows that are filled and then changed element by element (`passes/kernels/RowChanges.h`: scatter) are not: a block makes a part
    of some rows. Its threads share the fill; of 8192 changes at a time each then looks whether some fall into the block's part,
    which by shuffles, workgroup memory and two barriers becomes a list in the order of the changes; and each does all of the list
    in rows of its own, reading the operands of eight changes while it does the eight before. So an element is changed in the CPU's order, by one thread, and nothing is atomic. Parts are such that there
    are four blocks a multiprocessor or more, because each looks at all changes. Of a lookup's gradient a part is every n-th index,
    because those that are changed often, of frequent tokens, are neighbours.

    A long sum that is a sum of pieces for the CPU is one (`passes/cuda/MergeReductions.h`), because threads make
    pieces of their own. A condition whose branches only read is chosen late: both are computed, and what may lie outside of its
    memory is read from within, so that lanes read together.

    Nothing here depends on the GPU's model, so neither do bits.

    Example: `test/passes/cuda/distribute-kernels.mlir`.
  }];
  let options = [
    Option<"workgroupBytes", "workgroup-bytes", "int64_t", "::weft::cuda::kWorkgroupBytes",
           "Bytes of workgroup memory that temporaries may take; what does not fit is computed again where it is needed.">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def TakeMember : Pass<"cuda-take-member", "::mlir::func::FuncOp"> {
  let summary = "leave one of the members of a kernel that is several";
  let description = [{
    **Requires** functions of nn ops, of which `rt.members` = n are n alike (`rt-group-launches`).
    **Ensures** that such a function is its first member; `rt.members` stays, for `cuda-distribute-kernels`. So
    the others' ops, which are the same, are not lowered.

    Example: `test/passes/cuda/take-member.mlir`.
  }];
}

def ExpandFunctions : Pass<"cuda-expand-functions"> {
  let summary = "make functions that a GPU lacks arithmetic";
  let description = [{
    **Requires** scalars, behind `kernels-expand-math`, which has most functions of f32 that matter for speed.
    **Ensures** that of `math` only what is an instruction is left (`cuda-lower-gpu-to-nvvm` has the list), and no
    `arith.remf`: functions of f64, and those of f32 that are rare, are series in f64; exp and tanh of f32 stand on the GPU's
    approximate 2^x and 1/x (`passes/cuda/Functions.h`), which `fastmath<afn>` asks for: an emulation computes these two exactly.
    libdevice would have all of them, but has to be installed, and its license to be told.

    Example: `test/passes/cuda/expand-functions.mlir`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}

def LowerGpuToNvvm : Pass<"cuda-lower-gpu-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "convert kernels of blocks and threads to the LLVM dialect";
  let description = [{
    **Requires** what `cuda-lower-kernel-to-gpu` leaves: of `math` only what is an instruction of the GPU, for which LLVM
    needs no library; any other function is an error.
    **Ensures** the LLVM and NVVM dialects in the `gpu.module`; arguments are bare pointers. `convert-gpu-to-nvvm` was not
    used because it makes even `math.sqrt` a call of libdevice. `weft.grid` goes; of a grid so small that each multiprocessor
    has registers for all that the threads of its share can name, that share is `nvvm.minctasm`: ptxas would else spill some
    registers so that more blocks fit, which there are not. So is `weft.resident`, which `cuda-distribute-kernels` gives to kernels that
    read ahead. A kernel of several members (`weft.members`) takes the addresses of all as one parameter, an array, of which each
    block reads its member's.

    Example: `test/passes/cuda/lower-gpu-to-nvvm.mlir`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::cf::ControlFlowDialect",
                           "::mlir::memref::MemRefDialect"];
}

#endif // WEFT_PASSES_CUDA_PASSES_TD
