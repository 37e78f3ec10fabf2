// The code of a program as bytes, by what its target made.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Record.h"

#include "Compile.h"

#include "dialects/nn/IR/Nn.h"
#include "weft/Support/OutputFile.h"
#include "weft/Target/Cuda/Image.h"
#include "weft/Testing/InProcess/InProcess.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <set>

using namespace mlir;
using namespace weft;
using namespace weft::conformance;

namespace {

/// Links objects to a shared library; why not, or "".
std::string linkLibrary(ArrayRef<const KernelImage *> objects, std::string &library) {
  SmallString<128> folder;
  auto linker = llvm::sys::findProgramByName("c++");
  if (!linker)
    return "no c++ to link with";
  if (auto code = llvm::sys::fs::createUniqueDirectory("onnx-node", folder))
    return "cannot make a temporary folder: " + code.message();
  std::string out = (folder + "/library.so").str();
  std::vector<std::string> arguments{*linker, "-shared", "-s", "-o", out};
  for (auto [i, object] : llvm::enumerate(objects)) {
    arguments.push_back((folder + "/" + std::to_string(i) + ".o").str());
    std::error_code code;
    llvm::raw_fd_ostream(arguments.back(), code)
        << StringRef(object->bytes.data(), object->bytes.size());
  }
  SmallVector<StringRef> words(arguments.begin(), arguments.end());
  int exit = llvm::sys::ExecuteAndWait(*linker, words);
  if (auto linked = llvm::MemoryBuffer::getFile(out); linked && exit == 0)
    library = (*linked)->getBuffer().str();
  (void)llvm::sys::fs::remove_directories(folder);
  return library.empty() ? "c++ cannot link the kernels" : "";
}

/// A GPU's code where the target made that, else objects for this processor.
std::string recordKernels(const KernelImages &images, RecordedCase &recorded) {
  SmallVector<const KernelImage *> objects;
  for (const KernelImage &kernel : images.kernels) {
    RecordedKernel &kept = recorded.kernels.emplace_back();
    kept.name = kernel.symbol;
    auto image = cuda::readImage(StringRef(kernel.bytes.data(), kernel.bytes.size()));
    if (!image) {
      objects.push_back(&kernel);
      continue;
    }
    kept.binary = std::move(image->cubin);
    // Text is many times as long, and of use only to other chips.
    if (kept.binary.empty())
      kept.text = std::move(image->ptx);
    kept.chip = image->chip;
    kept.threads = image->threads;
    kept.alignment = cuda::Image::kAlignment;
    kept.table = image->takesTable;
  }
  return objects.empty() ? "" : linkLibrary(objects, recorded.library);
}

/// "nn.add f32" of every op of the program.
std::vector<std::string> opsOf(ModuleOp program) {
  std::set<std::string> ops;
  program.walk([&](Operation *op) {
    if (!isa<nn::NnDialect>(op->getDialect()))
      return;
    std::string text;
    llvm::raw_string_ostream out(text);
    out << op->getName();
    if (op->getNumResults())
      out << ' ' << getElementTypeOrSelf(op->getResult(0).getType());
    ops.insert(std::move(text));
  });
  return {ops.begin(), ops.end()};
}

} // namespace

std::string conformance::bytesOf(const HostTensor &tensor) {
  std::vector<char> bytes = emit::encodeHostTensor(tensor);
  return {bytes.begin(), bytes.end()};
}

bool conformance::record(ModuleOp program, StringRef target, ArrayRef<HostTensor> inputs,
                         RecordedCase &recorded) {
  recorded.ops = opsOf(program);
  for (const HostTensor &input : inputs)
    recorded.inputs.push_back(bytesOf(input));
  auto artifact = compile(program, target, recorded.why);
  if (!artifact)
    return false;
  recorded.blob.assign(artifact->blob.begin(), artifact->blob.end());
  recorded.why = recordKernels(artifact->images, recorded);
  return recorded.why.empty();
}

bool conformance::writeCases(const std::vector<RecordedCase> &cases, const std::string &path,
                             llvm::raw_ostream &out) {
  std::string file;
  std::set<std::string> kinds;
  for (const RecordedCase &recorded : cases) {
    append(file, recorded);
    kinds.insert(recorded.ops.begin(), recorded.ops.end());
  }
  OutputFile output;
  llvm::Error wrong = output.open(path);
  if (!wrong) {
    output.os() << file;
    wrong = output.commit();
  }
  if (wrong) {
    out << llvm::toString(std::move(wrong)) << '\n';
    return false;
  }
  out << path << ": " << cases.size() << " cases, " << file.size() << " bytes, " << kinds.size()
      << " pairs of an op and an element type\n";
  return true;
}
