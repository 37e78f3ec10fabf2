// Compiles programs for a target and keeps them with their data, to be run elsewhere.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Backend.h"
#include "Compile.h"
#include "Recorded.h"

#include "dialects/nn/IR/Nn.h"
#include "weft/Target/Cuda/Image.h"
#include "weft/Testing/InProcess/InProcess.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

#include <map>
#include <mutex>
#include <set>

using namespace mlir;
using namespace weft;
using namespace weft::conformance;

namespace {

std::string bytesOf(const HostTensor &tensor) {
  std::vector<char> bytes = emit::encodeHostTensor(tensor);
  return {bytes.begin(), bytes.end()};
}

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
std::set<std::string> opsOf(ModuleOp program) {
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
  return ops;
}

class RecordingBackend : public Backend {
public:
  RecordingBackend(StringRef target, StringRef path) : target(target), path(path) {}
  StringRef name() const override { return "a record for another machine"; }

  Result run(StringRef test, ModuleOp program, ArrayRef<HostTensor> inputs,
             const Expected &expected) override {
    takeWeightsAsInputs(program);
    RecordedCase recorded;
    recorded.name = test.str();
    std::set<std::string> ops = opsOf(program);
    recorded.ops.assign(ops.begin(), ops.end());
    SmallVector<Type> types =
        llvm::to_vector(program.lookupSymbol<func::FuncOp>("forward").getResultTypes());
    auto artifact = compile(program, target, recorded.why);
    if (artifact)
      recorded.why = recordKernels(artifact->images, recorded);
    if (recorded.why.empty() && artifact)
      recorded.why = recordData(inputs, expected, types, recorded);
    if (recorded.why.empty())
      recorded.blob.assign(artifact->blob.begin(), artifact->blob.end());
    Result result{recorded.why.empty() ? Outcome::Passed : Outcome::Wrong, recorded.why};
    std::lock_guard<std::mutex> lock(mutex);
    auto &sets = cases[recorded.name];
    if (!sets.empty())
      recorded.name += " " + std::to_string(sets.size());
    sets.push_back(std::move(recorded));
    return result;
  }

  bool report(llvm::raw_ostream &out) override {
    std::string file;
    std::set<std::string> kinds;
    for (const auto &[name, sets] : cases)
      for (const RecordedCase &recorded : sets) {
        append(file, recorded);
        kinds.insert(recorded.ops.begin(), recorded.ops.end());
      }
    std::error_code code;
    llvm::raw_fd_ostream stream(path, code);
    if (!code) {
      stream << file;
      stream.close();
      code = stream.error();
      stream.clear_error();
    }
    if (code)
      out << "cannot write '" << path << "': " << code.message() << '\n';
    else
      out << path << ": " << file.size() << " bytes, " << kinds.size()
          << " pairs of an op and an element type\n";
    return !code;
  }

private:
  static std::string recordData(ArrayRef<HostTensor> inputs, const Expected &expected,
                                ArrayRef<Type> types, RecordedCase &recorded) {
    recorded.units = expected.units;
    for (const HostTensor &input : inputs)
      recorded.inputs.push_back(bytesOf(input));
    if (types.size() < expected.outputs.size() || expected.outputs.empty())
      return std::to_string(types.size()) + " outputs, expected " +
             std::to_string(expected.outputs.size());
    for (auto [type, output] : llvm::zip(types, expected.outputs)) {
      // Of its shape and type, as a comparison sees them first.
      HostTensor found(cast<RankedTensorType>(type));
      HostTensor wanted = asElementType(output.tensor, found.elementType);
      if (found.shape != wanted.shape || found.elementType != wanted.elementType)
        return "output '" + output.name + "': " + compare(found, wanted);
      recorded.outputs.push_back(bytesOf(wanted));
    }
    return "";
  }

  std::string target, path;
  std::mutex mutex;
  std::map<std::string, std::vector<RecordedCase>> cases;
};

} // namespace

std::unique_ptr<Backend> conformance::createRecordingBackend(StringRef target, StringRef path) {
  return std::make_unique<RecordingBackend>(target, path);
}
