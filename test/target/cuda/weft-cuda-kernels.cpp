// Compiles the kernels of a program for a GPU and tells what they are.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// weft-cuda-kernels FILE.mlir TARGET.. [--ptx DIR] [--hot REGEX] [--most NUMBER]
//
// FILE is a program at `local` or `scheduled`, or functions of nn ops. Prints a line a kernel:
// blocks, threads, registers, bytes of stack and spills as ptxas tells them, bytes of code,
// and two shares of its bytes of global memory that are in accesses of 16 bytes: of what is
// executed, and of what stands in the PTX; and how often the bytes of its arguments and results
// are what it executes. Fails on spills, stack, functions that are not
// there, and kernels that cannot be compiled. --hot: a kernel of such a name also fails below
// 99 % of what is executed, or if its PTX has fewer wide accesses than it asked for. --most: or if
// it accesses its arguments and results more often than that, each once being 1. --quiet:
// only the totals, and what is wrong. --ptx: writes each kernel's PTX, and its whole image
// beside.
#include "CountAccesses.h"
#include "weft/Interfaces/TensorTypes.h"
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

struct Assembled {
  int64_t registers = -1, stack = -1, spills = -1;
};

int64_t numberBefore(llvm::StringRef text, llvm::StringRef words) {
  llvm::StringRef head = text.take_front(text.find(words));
  int64_t number = -1;
  llvm::to_integer(head.take_back(head.size() - head.find_last_not_of("0123456789") - 1), number);
  return number;
}

/// What ptxas -v says of the PTX in a file; nothing if it cannot be asked.
Assembled askAssembler(const std::string &path, llvm::StringRef chip) {
  auto assembler = llvm::sys::findProgramByName("ptxas");
  if (!assembler)
    assembler = llvm::sys::findProgramByName("ptxas", {"/usr/local/cuda/bin"});
  if (!assembler)
    return {};
  std::string said = path + ".txt", architecture = ("-arch=" + chip).str();
  llvm::StringRef arguments[] = {*assembler, architecture, "-v", path, "-o", "/dev/null"};
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), llvm::StringRef(said),
                                                llvm::StringRef(said)};
  if (llvm::sys::ExecuteAndWait(*assembler, arguments, std::nullopt, redirects, 300))
    return {};
  auto buffer = llvm::MemoryBuffer::getFile(said);
  if (!buffer)
    return {};
  llvm::StringRef text = (*buffer)->getBuffer();
  return {numberBefore(text, " registers"), numberBefore(text, " bytes stack frame"),
          numberBefore(text, " bytes spill stores") + numberBefore(text, " bytes spill loads")};
}

struct Request {
  std::string file, folder;
  std::vector<std::string> targets;
  std::optional<llvm::Regex> hot;
  double most = std::numeric_limits<double>::infinity();
  bool quiet = false;
};

/// Bytes of a kernel's arguments and results.
double bytesOf(func::FuncOp kernel) {
  double bytes = 0;
  for (TypeRange types : {TypeRange(kernel.getArgumentTypes()), TypeRange(kernel.getResultTypes())})
    for (Type type : types)
      bytes += double(weft::bytesOf(cast<ShapedType>(type)));
  return bytes;
}

/// Prints the table for one target; true if all is well.
bool tell(const Request &request, const Target &target, ModuleOp kernels) {
  auto images = target.compile(kernels, {"native", 3});
  if (failed(images))
    return false;
  auto counted = cuda::countAccesses(kernels);
  SymbolTable kernelsByName(kernels);
  int wrong = 0;
  int64_t code = 0;
  double least = 100;
  for (const KernelImage &kernel : images->kernels) {
    auto image = cuda::readImage({kernel.bytes.data(), kernel.bytes.size()});
    if (!image) {
      llvm::errs() << kernel.symbol << ": no image\n";
      return false;
    }
    llvm::SmallString<256> path(request.folder);
    llvm::sys::path::append(path, kernel.symbol + ".ptx");
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << image->ptx;
    llvm::raw_fd_ostream((path + ".image").str(), error)
        << llvm::StringRef(kernel.bytes.data(), kernel.bytes.size());
    Assembled told = askAssembler(path.str().str(), image->chip);
    cuda::Accesses stands = cuda::accessesOf(image->ptx), executed = counted[kernel.symbol];
    code += image->cubin.size();
    bool isHot = request.hot && request.hot->match(kernel.symbol);
    if (isHot)
      least = std::min(least, executed.share());
    double times =
        executed.all / std::max(1.0, bytesOf(kernelsByName.lookup<func::FuncOp>(kernel.symbol)));
    bool isBad = image->cubin.empty() || told.stack != 0 || told.spills != 0 ||
                 llvm::StringRef(image->ptx).contains(".extern") ||
                 (isHot && (executed.share() < 99 || stands.wideOnes < executed.wideOnes ||
                            times > request.most));
    wrong += isBad;
    if (isBad || !request.quiet)
      llvm::outs() << llvm::format("%8ld x %4d  %3ld registers %4ld stack %4ld spills %6zu bytes  "
                                   "%5.1f %5.1f %%  %5.2f times  ",
                                   long(image->blocks), int(image->threads), long(told.registers),
                                   long(told.stack), long(told.spills), image->cubin.size(),
                                   executed.share(), stands.share(), times)
                   << kernel.symbol << (isHot ? "  hot" : "") << (isBad ? "  WRONG" : "") << '\n';
  }
  llvm::outs() << images->kernels.size() << " kernels for " << target.name() << ", " << code
               << " bytes of code, " << llvm::format("%.1f", least)
               << " % wide in the least of the hot ones, " << wrong << " wrong\n";
  return wrong == 0;
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  Request request;
  llvm::SmallString<128> folder;
  llvm::sys::fs::createUniqueDirectory("weft-cuda-kernels", folder);
  request.folder = folder.str().str();
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef argument = argv[i];
    if (argument == "--quiet")
      request.quiet = true;
    else if (argument == "--ptx" && i + 1 < argc)
      request.folder = argv[++i];
    else if (argument == "--hot" && i + 1 < argc)
      request.hot.emplace(argv[++i]);
    else if (argument == "--most" && i + 1 < argc &&
             llvm::to_float(llvm::StringRef(argv[i + 1]), request.most))
      ++i;
    else if (request.file.empty())
      request.file = argument.str();
    else
      request.targets.push_back(argument.str());
  }
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry);
  auto module = parseSourceFile<ModuleOp>(request.file, &context);
  if (!module || request.targets.empty())
    return 2;
  OwningOpRef<ModuleOp> kernels(ModuleOp::create(module->getLoc()));
  bool isProgram = module->getOperation()->hasAttr("weft.phase");
  module->walk([&](func::FuncOp function) {
    if (!function.isExternal() && (function->hasAttr("rt.kernel") || !isProgram))
      kernels->push_back(function.clone());
  });
  bool isWell = true;
  for (const std::string &name : request.targets) {
    const Target *target = lookupTarget(name);
    isWell &= target && tell(request, *target, *kernels);
  }
  llvm::sys::fs::remove_directories(folder);
  return !isWell;
}
