// Proves on real files that schema and dialect lose nothing of a model.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Usage: onnx-roundtrip FOLDER MODELS TENSORS. Every *.onnx below it must (1)
// parse and serialise to the same bytes through our schema, and (2) import,
// print, parse and export to an equal message, once with the payloads in the
// text and once with references. Every *.pb must parse as one of the test
// data's messages. Fewer than MODELS and TENSORS files mean that the test
// tested nothing.
#include "dialects/onnx/IR/Onnx.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "onnx.pb.h"
#include "python_free_frontend/exporter/Exporter.h"
#include "python_free_frontend/importer/Importer.h"
#include "weft/Support/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <google/protobuf/util/message_differencer.h>

using namespace weft::onnx;

/// Imports, prints, parses and exports; the reason of a failure, or "".
static std::string throughText(llvm::StringRef path, const Model &original,
                               const ImportOptions &options, bool &sameBytes) {
  std::string messages;
  llvm::raw_string_ostream log(messages);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<OnnxDialect>();
  weft::DiagnosticHandler handler(&context, log);
  auto module = importModel(path, &context, options);
  if (!module)
    return "import: " + messages;
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  auto parsed = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!parsed)
    return "parse: " + messages;
  Model exported;
  if (failed(exportModel(*parsed, exported)))
    return "export: " + messages;
  google::protobuf::util::MessageDifferencer differencer;
  std::string difference;
  differencer.ReportDifferencesToString(&difference);
  if (!differencer.Compare(original, exported))
    return "differs: " + difference;
  sameBytes &= original.SerializeAsString() == exported.SerializeAsString();
  return messages;
}

int main(int argc, char **argv) {
  unsigned minModels, minTensors;
  if (argc != 4 || llvm::StringRef(argv[2]).getAsInteger(10, minModels) ||
      llvm::StringRef(argv[3]).getAsInteger(10, minTensors)) {
    llvm::errs() << "usage: onnx-roundtrip FOLDER MODELS TENSORS\n";
    return 2;
  }
  unsigned models = 0, tensors = 0, failures = 0, identical = 0;
  auto fail = [&](llvm::StringRef path, llvm::StringRef why) {
    if (++failures <= 20)
      llvm::errs() << path << ": " << why << '\n';
  };
  std::error_code error;
  for (llvm::sys::fs::recursive_directory_iterator it(argv[1], error), end; it != end && !error;
       it.increment(error)) {
    llvm::StringRef path = it->path();
    bool isModel = path.ends_with(".onnx");
    if (!isModel && !path.ends_with(".pb"))
      continue;
    auto buffer = llvm::MemoryBuffer::getFile(path);
    if (!buffer) {
      fail(path, buffer.getError().message());
      continue;
    }
    std::string bytes = (*buffer)->getBuffer().str();
    if (!isModel) {
      ++tensors;
      Tensor tensor;
      Sequence sequence;
      if (!tensor.ParseFromString(bytes) && !sequence.ParseFromString(bytes))
        fail(path, "parses neither as a tensor nor as a sequence");
      continue;
    }
    ++models;
    Model model;
    if (!model.ParseFromString(bytes)) {
      fail(path, "does not parse");
      continue;
    }
    if (model.SerializeAsString() != bytes) {
      fail(path, "does not serialise to the same bytes");
      continue;
    }
    ImportOptions inText, referring;
    inText.inlineData = true;
    bool sameBytes = true;
    for (const ImportOptions &options : {inText, referring})
      if (std::string why = throughText(path, model, options, sameBytes); !why.empty())
        fail(path, why);
    identical += sameBytes;
  }
  llvm::outs() << "onnx-roundtrip: " << models << " models (" << identical
               << " byte-identical through the dialect's text), " << tensors << " .pb files, "
               << failures << " failures\n";
  if (models < minModels || tensors < minTensors) {
    llvm::errs() << "expected at least " << minModels << " models and " << minTensors
                 << " .pb files below '" << argv[1] << "'\n";
    return 1;
  }
  return failures ? 1 : 0;
}
