// Compiles the kernels of a program for a GPU and tells what they are.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// weft-cuda-kernels FILE.mlir CHIP [--ptx DIR] [--hot REGEX]
//
// FILE is a program at `local` or `scheduled`, or functions of nn ops. Prints a line a kernel:
// blocks, threads,
// registers, bytes of stack and spills as ptxas tells them, bytes of code, and the share of its
// accesses of global
// memory, by bytes, that are 16 bytes wide, as they stand in the PTX. Fails on spills, stack,
// functions that are not
// there, and kernels that cannot be compiled. --hot: a kernel of such a name fails below a share
// of 99 %.
#include "weft/Registration/Registration.h"
#include "weft/Target/Cuda/CudaTarget.h"
#include "weft/Target/Cuda/Image.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace weft;

namespace {

/// Bytes of loads and stores of global memory, and those of accesses of 16 bytes or more.
struct Accesses {
  int64_t all = 0, wide = 0;
};

/// Of `ld.global.nc.v4.b32` and the like; each counts once, wherever it stands.
Accesses accessesOf(llvm::StringRef ptx) {
  llvm::Regex access("(ld|st)\\.global[.a-zA-Z_:0-9]*");
  Accesses seen;
  llvm::SmallVector<llvm::StringRef> lines;
  ptx.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    llvm::SmallVector<llvm::StringRef> match;
    if (!access.match(line, &match))
      continue;
    llvm::SmallVector<llvm::StringRef> words;
    match[0].split(words, '.');
    int64_t bytes = 0, count = 1;
    llvm::to_integer(words.back().drop_front(1), bytes);
    for (llvm::StringRef word : words)
      if (word == "v2" || word == "v4" || word == "v8")
        llvm::to_integer(word.drop_front(1), count);
    bytes = bytes / 8 * count;
    seen.all += bytes;
    if (bytes >= 16)
      seen.wide += bytes;
  }
  return seen;
}

struct Assembled {
  int64_t registers = 0, stack = 0, spills = 0;
};

int64_t numberBefore(llvm::StringRef text, llvm::StringRef words) {
  llvm::StringRef head = text.take_front(text.find(words));
  if (head.size() == text.size())
    return 0;
  int64_t number = 0;
  llvm::to_integer(head.take_back(head.size() - head.find_last_not_of("0123456789") - 1), number);
  return number;
}

/// What ptxas -v says of a kernel.
std::optional<Assembled> askAssembler(const std::string &path, llvm::StringRef chip) {
  auto assembler = llvm::sys::findProgramByName("ptxas");
  if (!assembler)
    assembler = llvm::sys::findProgramByName("ptxas", {"/usr/local/cuda/bin"});
  if (!assembler)
    return std::nullopt;
  std::string said = path + ".txt", architecture = ("-arch=" + chip).str();
  llvm::StringRef arguments[] = {*assembler, architecture, "-v", path, "-o", "/dev/null"};
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), llvm::StringRef(said),
                                                llvm::StringRef(said)};
  if (llvm::sys::ExecuteAndWait(*assembler, arguments, std::nullopt, redirects, 300))
    return std::nullopt;
  auto buffer = llvm::MemoryBuffer::getFile(said);
  if (!buffer)
    return std::nullopt;
  llvm::StringRef text = (*buffer)->getBuffer();
  return Assembled{numberBefore(text, " registers"), numberBefore(text, " bytes stack frame"),
                   numberBefore(text, " bytes spill stores") +
                       numberBefore(text, " bytes spill loads")};
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  if (argc < 3) {
    llvm::errs() << "usage: weft-cuda-kernels FILE.mlir CHIP [--ptx DIR] [--hot REGEX]\n";
    return 2;
  }
  std::string folder, hot;
  for (int i = 3; i + 1 < argc; i += 2)
    (llvm::StringRef(argv[i]) == "--ptx" ? folder : hot) = argv[i + 1];
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  auto module = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  const Target *target = lookupTarget(argv[2]);
  if (!target) {
    llvm::errs() << "no target '" << argv[2] << "'\n";
    return 2;
  }
  OwningOpRef<ModuleOp> kernels(ModuleOp::create(module->getLoc()));
  module->walk([&](func::FuncOp function) {
    if (!function.isExternal() &&
        (function->hasAttr("rt.kernel") || !module->getOperation()->hasAttr("weft.phase")))
      kernels->push_back(function.clone());
  });
  auto images = target->compile(*kernels, {"native", 3});
  if (failed(images))
    return 1;
  int wrong = 0;
  int64_t code = 0;
  Accesses all;
  for (const KernelImage &kernel : images->kernels) {
    auto image = cuda::readImage({kernel.bytes.data(), kernel.bytes.size()});
    if (!image) {
      llvm::errs() << kernel.symbol << ": no image\n";
      return 1;
    }
    llvm::SmallString<256> path(folder.empty() ? "/tmp" : folder);
    llvm::sys::path::append(path, kernel.symbol + ".ptx");
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << image->ptx;
    auto told = askAssembler(path.str().str(), image->chip);
    Accesses seen = accessesOf(image->ptx);
    code += image->cubin.size();
    all.all += seen.all, all.wide += seen.wide;
    double share = seen.all ? 100.0 * seen.wide / seen.all : 100;
    bool isHot = !hot.empty() && llvm::Regex(hot).match(kernel.symbol);
    bool isBad = image->cubin.empty() || !told || told->stack || told->spills ||
                 llvm::StringRef(image->ptx).contains(".extern") || (isHot && share < 99);
    wrong += isBad;
    llvm::outs() << llvm::format(
                        "%8ld x %4d  %3ld registers %4ld stack %4ld spills %6zu bytes  %5.1f %%  ",
                        long(image->blocks), int(image->threads), long(told ? told->registers : -1),
                        long(told ? told->stack : -1), long(told ? told->spills : -1),
                        image->cubin.size(), share)
                 << kernel.symbol << (isBad ? "  WRONG" : "") << '\n';
  }
  llvm::outs() << images->kernels.size() << " kernels for " << target->name() << ", " << code
               << " bytes of code, " << wrong << " wrong\n";
  return wrong != 0;
}
