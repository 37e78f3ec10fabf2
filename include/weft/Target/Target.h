// What a program runs on, as the passes and the emission see it: numbers, library calls, images.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TARGET_TARGET_H
#define WEFT_TARGET_TARGET_H

#include "weft/Interfaces/LibraryCall.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weft {

/// What a queue of commands, run in order, is for.
enum class StreamKind { Compute, Communication, Transfer };

/// The numbers of a target that neutral passes ask for. They decide how a program is fused,
/// ordered and laid out, never what it computes or where its values are placed.
struct TargetTraits {
  /// Bytes: buffers start on multiples of it. A power of two of at least 64, the least that the
  /// program format has.
  int64_t alignment = 64;
  /// Bytes: what a kernel is given must start on a multiple of it, not only on one of its elements.
  int64_t kernelAlignment = 1;
  /// Bytes that one piece of the values of a fused kernel that are dear to compute may have: what
  /// stays close to the arithmetic between producer and consumer, such as a core's second-level
  /// cache.
  int64_t onChipBytes = 512 << 10;
  /// Bytes that one piece of those may have which no reader can compute again where it reads them,
  /// such as sums and scattered rows: what a kernel may keep in memory of its own, a stack or a
  /// block's workgroup memory.
  int64_t keptBytes = 512 << 10;
  /// Bytes of rows, in the type in which they are summed, of which a kernel that has them on the
  /// chip sums up the columns: what those under way together leave each other there.
  int64_t rowGroupBytes = 256 << 10;
  /// Operations that take no longer than moving a byte of what does not stay on the chip.
  double flopsPerByte = 2;
  /// Ops and views of one kernel at most, where an op of n operands counts as the n - 1 that join
  /// two of them: code is generated from it recursively, and what chooses between many values and
  /// holds all their addresses takes more than linear time.
  int64_t mostKernelOps = 256;
  /// Independent pieces of a kernel below which parts of the device would idle.
  int64_t leastPieces = 16;
  /// Elements: less work than this is done sooner than shared.
  int64_t smallElements = 1 << 15;
  /// Parts: a sum over everything is cut into at least `leastSumParts`, to fill the device, and at
  /// most `mostSumParts`; a sum over rows into at least as many groups of rows.
  int64_t leastSumParts = 64, mostSumParts = 1 << 16;
  /// Columns that one part of the device sums up at a time, where a sum is along columns that lie
  /// in memory; 0: all, by parts of the device that are few enough for that.
  int64_t columnsAtATime = 0;
  /// Bytes that such a part has at least, for several to sum them up in groups: a further launch
  /// takes longer than what fewer gain by it.
  int64_t leastBytesOfAPart = 2 << 20;
  /// Arguments and results of a launch of several kernels alike at most; 0: each kernel has a
  /// launch of its own.
  int64_t mostPointers = 0;
  /// The streams by their numbers; the first computes. Without one for communication, or for
  /// transfers between stages, the compute stream does it, in order.
  llvm::SmallVector<StreamKind, 3> streams = {StreamKind::Compute, StreamKind::Communication,
                                              StreamKind::Transfer};
  /// Bytes that communication under way may read in any case; more is waited for, so that what it
  /// reads does not fill the memory.
  int64_t bytesUnderWay = 64 << 20;

  /// Whether attention as a whole is always the better, by a kernel that does all of it with the
  /// same bits in every run; else it is one op only where the target's library does it, whose
  /// gradient may add up in any order, and else the products and the softmax that the model says.
  bool hasAttention = true;

  /// Whether the gradient of attention is faster with the logarithms of the sums of rows at hand,
  /// where its library takes them (LibraryLayout).
  bool readsLogSums = false;

  /// The number of the first stream of that kind; 0, the compute stream, if there is none.
  unsigned streamFor(StreamKind kind) const;
};

/// A tensor of a library call: sizes and strides in elements.
struct LibraryTensor {
  mlir::Type element;
  llvm::SmallVector<int64_t> sizes, strides;
};

/// A library call with its operands and results in order, as the command would take them: those
/// of a product are [batch.., rows, columns] with up to four batch dims.
struct LibraryLayout {
  LibraryCall call;
  llvm::SmallVector<LibraryTensor> operands, results;
  /// Of a product of floats: what is added to the result, of its type and one after the other, with
  /// the bits of ops behind it. They are the command's last operands, and one may be where the
  /// result lies.
  llvm::SmallVector<LibraryTensor, 0> addends = {};
};

/// How a kernel is launched: units [0, extent) in any order and any split, at least `grain` of
/// them a thread.
struct LaunchShape {
  int64_t extent = 1, grain = 1;
};

/// One compiled kernel. Only its target knows what the bytes are.
struct KernelImage {
  /// The name of the function that it was made from.
  std::string symbol;
  LaunchShape shape;
  llvm::SmallVector<char, 0> bytes;
};

/// All kernels of a program, and what a machine must have to run them, in words of its target:
/// which processor they are for, and which of its features a machine may lack (comma-separated).
struct KernelImages {
  std::vector<KernelImage> kernels;
  std::string processor, features;
  /// The kind of the runtime's devices that runs the program.
  std::string device = "host";
};

struct KernelOptions {
  /// In the target's words. On a CPU LLVM's name; "native" is this machine's.
  std::string processor = "native";
  /// 0 to 3: 3 for programs that run long, 1 for throw-away kernels (tests), where compilation
  /// dominates. Results may differ in the last bit between levels.
  unsigned optLevel = 3;
};

struct LinkOptions {
  /// The C++ driver that links; empty: the first found of c++, g++, clang++-22 and clang++.
  std::string linker;
  /// Where the runtime's archives are.
  std::string runtimeDirectory;
};

/// A target. Objects are immutable and live as long as the process; threads may share them.
class Target {
public:
  virtual ~Target();

  /// As --target and `weft.target` name it: "cpu".
  virtual llvm::StringRef name() const = 0;
  virtual const TargetTraits &traits() const = 0;

  /// Whether the target's runtime does this library call, with these element types and layouts.
  /// What it does not take becomes a generated kernel.
  virtual bool takes(const LibraryLayout &layout) const = 0;
  /// Whether a library does the op, with all of its tensors as they are and dense.
  bool takesDense(mlir::Operation *op) const;

  /// Whether a command of the target's runtime copies the view to where it is dense. What it does
  /// not copy is a generated kernel, too.
  virtual bool copies(const LibraryTensor &) const { return true; }

  /// The dialects and translations that `compile` needs.
  virtual void registerDialects(mlir::DialectRegistry &registry) const = 0;

  /// An error if kernels cannot be compiled so: why not, and what would be possible.
  virtual llvm::Error checkOptions(const KernelOptions &options) const = 0;

  /// Compiles each `func.func` of `module` that has a body: `nn` ops on tensors without
  /// encodings, where results may overwrite arguments (`rt.in_place`). The module is left as it
  /// was, and equal modules give equal bytes. On failure an error has been emitted.
  virtual mlir::FailureOr<KernelImages> compile(mlir::ModuleOp module,
                                                const KernelOptions &options) const = 0;

  /// An error if `link` lacks tools that it needs: what to install.
  virtual llvm::Error checkLink(const LinkOptions &options) const = 0;

  /// Writes the executable of a program (blob, see weft/runtime/Program.h) and its kernels. An
  /// error says what to do.
  virtual llvm::Error link(llvm::ArrayRef<uint8_t> blob, const KernelImages &kernels,
                           const LinkOptions &options, llvm::raw_ostream &out) const = 0;
};

/// Makes the target known by its name. Not while others look one up.
void registerTarget(std::unique_ptr<Target> target);

/// The target of that name; null if there is none.
const Target *lookupTarget(llvm::StringRef name);

/// "cpu, toy": for messages.
std::string targetNames();

/// What `compile` of the targets known by now needs.
void registerTargetDialects(mlir::DialectRegistry &registry);

/// Of a module from `local` on: the name of its target. Absent: kDefaultTarget.
inline constexpr llvm::StringLiteral kTargetAttr = "weft.target";
inline constexpr llvm::StringLiteral kDefaultTarget = "cpu";

/// The module's target; null, with an error at the module, if there is none of its name.
const Target *targetOf(mlir::ModuleOp module);

} // namespace weft

#endif // WEFT_TARGET_TARGET_H
