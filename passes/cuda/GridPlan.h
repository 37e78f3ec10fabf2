// How a kernel is cut into blocks and threads.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_CUDA_GRIDPLAN_H
#define WEFT_PASSES_CUDA_GRIDPLAN_H

#include "passes/kernels/KernelTiler.h"
#include "passes/kernels/RowChanges.h"

#include <optional>

namespace weft::cuda {

/// Threads that exchange values without a barrier.
inline constexpr int64_t kWarp = 32;
/// That a block has, where its rows are long.
inline constexpr int64_t kMostThreadsOfBlock = 512;
/// The greatest grid; more units are taken in turns.
inline constexpr int64_t kMostBlocks = int64_t(1) << 20;

/// Scalar operations of an op in the body of a kernel.
double operationCost(mlir::Operation &op);

/// Bytes of the smallest element that a nest reads from memory or writes.
int64_t leastBytes(const kernels::LoopNest &nest);

/// Elements that a thread of a nest computes at a time, so that its accesses are wide: a power of
/// two that divides the last box dim. `together`: the box is all of the values, whose last elements
/// are computed one by one.
int64_t lanesOf(const kernels::LoopNest &nest, bool together = false);

/// The same along the loops that a reduction shares among threads, of which all are one.
int64_t lanesOfReduction(const kernels::LoopNest &nest);

/// What a reduction goes over may be shared among threads: each result is combined by an
/// operation whose order does not count, or of which the body says so.
bool isShared(mlir::linalg::GenericOp generic);
/// And is: of fewer elements one thread takes all.
bool isSharedByThreads(mlir::linalg::GenericOp generic);

/// A reduction along columns, which lie beside each other in memory, of which threads may each take
/// some rows: the last of its loops is one of the results', and what combines may be reordered.
bool isOfColumns(mlir::linalg::GenericOp generic);

/// The groups of threads that share the rows of such a reduction, each with threads for all
/// columns; 1 if it is none, or its columns alone keep `threads` busy.
int64_t rowGroups(const kernels::LoopNest &nest, int64_t threads);

/// Bytes in which the groups leave their sums.
int64_t rowGroupBytes(const kernels::LoopNest &nest, int64_t groups);

/// The threads that compute one element of a reduction: 1, a warp, or the block, which has
/// `threads`.
int64_t threadsPerElement(const kernels::LoopNest &nest, int64_t threads);

/// How many of the nests, from the first one on, go over the same rows, of which there are enough
/// for all warps, and need of each other only the numbers that these make for the same row. A warp
/// then does all of them for a row before it goes on to its next. 1: they are done one after the
/// other.
size_t nestsByRow(llvm::ArrayRef<kernels::LoopNest> nests, int64_t threads,
                  const kernels::IndexSpace &space);

/// How all threads of a block share a nest of rows, of which a unit may then make a part: where all
/// elements of its box agree on what is changed. Nothing if each thread has rows of its own.
std::optional<kernels::RowChanges> sharedRows(const kernels::LoopNest &nest);

/// Changes of rows of which a block at a time lists those that are its own, and the workgroup
/// memory that it needs to do so: 2 bytes for each, a bit for each, and a count for each warp.
inline constexpr int64_t kListedChanges = 8192;
constexpr int64_t bytesOfList(int64_t changes) { return 2 * changes + changes / 8 + 4 * kWarp; }

/// What all lists of a kernel need: those as long as each other are one.
int64_t listBytes(mlir::func::FuncOp kernel);

/// Threads of a multiprocessor that keep memory busy where each reads ahead, and have registers to.
inline constexpr int64_t kReadersAhead = 512;

/// The threads of a block for which the nests of one unit have work.
int64_t threadsOf(const kernels::KernelTiling &tiling);

/// The blocks that a multiprocessor has of a grid of `blocks`, where each of their `threads` may
/// then keep all that it can name in registers: of so small a grid the assembler has no reason to
/// spill registers so that more blocks fit. Nothing of a greater one, whose blocks use the time in
/// which others wait: the assembler weighs that.
std::optional<int64_t> residentBlocks(int64_t blocks, int64_t threads);

/// Cuts `kernel` into units of one block each, with temporaries in workgroup memory. See
/// kernels::KernelTiler.
llvm::Expected<kernels::KernelTiling>
planGrid(mlir::func::FuncOp kernel, kernels::ElementEmitter &elements,
         llvm::ArrayRef<kernels::Storage> resultStorages, int64_t workgroupBytes,
         llvm::ArrayRef<const kernels::Storage *> overwritten);

} // namespace weft::cuda

#endif // WEFT_PASSES_CUDA_GRIDPLAN_H
