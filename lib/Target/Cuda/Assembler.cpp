// Finds and runs ptxas.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Assembler.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using weft::cuda::Assembled;

std::string weft::cuda::findAssembler() {
  // Where executables look for CUDA's libraries (launching.md); a toolkit may be among it.
  if (auto folders = llvm::sys::Process::GetEnv("WEFT_CUDA_PATH"))
    for (StringRef folder : llvm::split(*folders, ':')) {
      llvm::SmallString<256> path(folder);
      llvm::sys::path::append(path, "bin", "ptxas");
      if (!folder.empty() && llvm::sys::fs::can_execute(path))
        return path.str().str();
    }
  if (auto found = llvm::sys::findProgramByName("ptxas"))
    return *found;
  if (auto found = llvm::sys::findProgramByName("ptxas", {"/usr/local/cuda/bin"}))
    return *found;
  return "";
}

static std::string contentOf(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

/// The number before `unit` in what the assembler told with -v; 0 if there is none.
static unsigned toldOf(StringRef messages, StringRef unit) {
  unsigned number = 0;
  StringRef before = messages.take_front(std::min(messages.find(unit), messages.size())).rtrim();
  (void)before.take_back(before.size() - (before.find_last_not_of("0123456789") + 1))
      .getAsInteger(10, number);
  return number;
}

FailureOr<Assembled> weft::cuda::assemble(const std::string &assembler, const std::string &ptx,
                                          const Chip &chip, Location loc) {
  auto fail = [&](const Twine &why) -> LogicalResult {
    return emitError(loc) << "this kernel cannot be assembled for " << chip.name << ": " << why;
  };
  llvm::SmallString<256> source, target, messages;
  llvm::scope_exit cleanUp([&] {
    for (StringRef path : {source, target, messages})
      if (!path.empty())
        (void)llvm::sys::fs::remove(path);
  });
  int descriptor = -1;
  if (auto wrong = llvm::sys::fs::createTemporaryFile("weft-kernel", "ptx", descriptor, source))
    return fail("no temporary file: " + wrong.message());
  {
    llvm::raw_fd_ostream out(descriptor, /*shouldClose=*/true);
    out << ptx;
    out.close();
    if (out.has_error()) {
      std::string why = out.error().message();
      out.clear_error();
      return fail("no temporary file: " + why);
    }
  }
  if (auto wrong = llvm::sys::fs::createTemporaryFile("weft-kernel", "cubin", target))
    return fail("no temporary file: " + wrong.message());
  if (auto wrong = llvm::sys::fs::createTemporaryFile("weft-kernel", "txt", messages))
    return fail("no temporary file: " + wrong.message());
  std::string architecture = ("-arch=" + chip.name).str();
  StringRef arguments[] = {assembler, "-v", architecture, source, "-o", target};
  std::optional<StringRef> redirects[] = {StringRef(""), messages.str(), messages.str()};
  std::string why;
  int code = llvm::sys::ExecuteAndWait(assembler, arguments, std::nullopt, redirects,
                                       /*SecondsToWait=*/300, /*MemoryLimit=*/0, &why);
  if (code != 0) {
    std::string said = llvm::join(llvm::split(StringRef(contentOf(messages)).trim(), '\n'), "\n  ");
    return fail(Twine(assembler) + " ended with " + Twine(code) + (why.empty() ? "" : ", " + why) +
                (said.empty() ? "" : ": " + said));
  }
  std::string said = contentOf(messages);
  Assembled assembled{contentOf(target), toldOf(said, " registers"),
                      toldOf(said, " bytes spill stores") > 0};
  if (assembled.cubin.empty())
    return fail(Twine(assembler) + " wrote nothing");
  return assembled;
}

FailureOr<Assembled> weft::cuda::assembleWithoutSpills(const std::string &assembler,
                                                       std::string &ptx, unsigned threads,
                                                       const Chip &chip, Location loc) {
  FailureOr<Assembled> assembled = assemble(assembler, ptx, chip, loc);
  constexpr StringLiteral kResident = ".minnctapersm", kBlockSize = ".maxntid";
  // Of a multiprocessor; and how many more a thread is to have.
  constexpr unsigned kRegisters = 64 << 10, kMore = 16;
  size_t line = ptx.find(kBlockSize);
  if (failed(assembled) || !assembled->spills || line == std::string::npos ||
      StringRef(ptx).contains(kResident))
    return assembled;
  unsigned resident = kRegisters / (threads * (assembled->registers + kMore));
  if (resident == 0)
    return assembled;
  std::string limited = ptx;
  limited.insert(line, (kResident + " " + Twine(resident) + "\n").str());
  FailureOr<Assembled> again = assemble(assembler, limited, chip, loc);
  if (failed(again) || again->spills)
    return failed(again) ? again : assembled;
  ptx = std::move(limited);
  return again;
}
