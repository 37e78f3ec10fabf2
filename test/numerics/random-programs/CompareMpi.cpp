// The same executables under inproc and mpirun, byte for byte.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Trial.h"

#include "weft/Support/OutputFile.h"
#include "weft/Testing/InProcess/InProcess.h"
#include "weft/runtime/Npy.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace weft;
using namespace weft::test;

static bool writeInput(const std::string &path, const HostTensor &tensor) {
  runtime::DType type = tensor.elementType.isF64()   ? runtime::DType::F64
                        : tensor.elementType.isF32() ? runtime::DType::F32
                                                     : runtime::DType::I64;
  std::vector<char> bytes = emit::encodeHostTensor(tensor);
  std::error_code code;
  llvm::raw_fd_ostream out(path, code);
  out << runtime::npyHeader(type, {tensor.shape.begin(), tensor.shape.end()})
      << StringRef(bytes.data(), bytes.size());
  return !code;
}

/// Runs `command`; on failure `why` has what it printed.
static bool execute(const std::vector<std::string> &command, const std::string &log,
                    std::string &why) {
  SmallVector<StringRef> words(command.begin(), command.end());
  std::optional<StringRef> redirects[] = {StringRef(""), StringRef(log), StringRef(log)};
  int code = llvm::sys::ExecuteAndWait(command[0], words, std::nullopt, redirects, 120);
  if (code == 0)
    return true;
  auto text = llvm::MemoryBuffer::getFile(log);
  why = command[0] + " exits with " + std::to_string(code) + ": " +
        (text ? (*text)->getBuffer().str() : "");
  return false;
}

static std::string compareFolders(const std::string &first, const std::string &second,
                                  unsigned &files) {
  std::error_code code;
  unsigned here = 0;
  for (llvm::sys::fs::directory_iterator it(first, code), end; it != end && !code;
       it.increment(code)) {
    StringRef name = llvm::sys::path::filename(it->path());
    auto a = llvm::MemoryBuffer::getFile(it->path()),
         b = llvm::MemoryBuffer::getFile(second + "/" + name);
    if (!a || !b || (*a)->getBuffer() != (*b)->getBuffer())
      return name.str() + " differs";
    ++here;
  }
  files += here;
  return here ? "" : "no outputs";
}

static std::string runTrial(Trial &trial, const std::string &folder, const std::string &mpirun,
                            unsigned &files) {
  std::string why, executable = folder + "/program";
  ScopedDiagnosticHandler handler(trial.program.module->getContext(), [&](Diagnostic &diagnostic) {
    why += diagnostic.str() + "; ";
    return success();
  });
  auto artifact = trial.compile(true);
  if (failed(artifact))
    return "does not compile: " + why;
  OutputFile file;
  if (llvm::Error error = file.open(executable, /*isProgram=*/true))
    return llvm::toString(std::move(error));
  if (llvm::Error error = emit::linkExecutable(*artifact, file.os(), {"", WEFT_RUNTIME_DIRECTORY}))
    return llvm::toString(std::move(error));
  if (llvm::Error error = file.commit())
    return llvm::toString(std::move(error));
  std::vector<std::string> inproc{executable, "--comm", "inproc"},
      mpi{mpirun,
          "--allow-run-as-root",
          "--oversubscribe",
          "-n",
          std::to_string(trial.program.mesh.deviceCount()),
          executable};
  runtime::ProgramView view;
  std::vector<uint64_t> blob((artifact->blob.size() + 7) / 8);
  std::memcpy(blob.data(), artifact->blob.data(), artifact->blob.size());
  if (!runtime::ProgramView::open(blob.data(), artifact->blob.size(), view).ok())
    return "the blob does not open";
  auto ports = view.Ports().slice(view.Programs()[0].inputs);
  for (auto [i, input] : llvm::enumerate(trial.program.inputs)) {
    std::string path = folder + "/input" + std::to_string(i) + ".npy";
    if (!writeInput(path, input))
      return "cannot write " + path;
    for (auto *command : {&inproc, &mpi}) {
      command->push_back("--input");
      command->push_back(std::string(view.string(ports[i].name)) + "=" + path);
    }
  }
  for (auto [command, name] : {std::pair(&inproc, "inproc"), std::pair(&mpi, "mpi")}) {
    command->push_back("--output-dir");
    command->push_back(folder + "/" + name);
    if (!execute(*command, folder + "/log", why))
      return why;
  }
  return compareFolders(folder + "/inproc", folder + "/mpi", files);
}

int test::compareWithMpi(MLIRContext &context, const Volume &volume) {
  auto mpirun = llvm::sys::findProgramByName("mpirun");
  if (!mpirun) {
    llvm::outs() << "SKIPPED: no mpirun in PATH, so mpi was not compared with inproc\n";
    return kSkipped;
  }
  unsigned failed = 0, files = 0;
  for (uint64_t seed = volume.firstSeed; seed < volume.firstSeed + volume.count; ++seed) {
    Trial trial(context, seed);
    SmallString<128> folder;
    if (llvm::sys::fs::createUniqueDirectory("weft-random", folder))
      return 1;
    std::string why = runTrial(trial, folder.str().str(), *mpirun, files);
    llvm::sys::fs::remove_directories(folder);
    if (why.empty())
      continue;
    ++failed;
    llvm::errs() << "FAILED   seed " << seed << ": " << why << '\n';
  }
  llvm::outs() << "random programs under mpi: seeds " << volume.firstSeed << " to "
               << volume.firstSeed + volume.count - 1 << ", " << volume.count - failed
               << " with the bytes of inproc in " << files << " outputs, " << failed << " failed\n";
  return failed == 0 && files >= volume.count ? 0 : 1;
}
