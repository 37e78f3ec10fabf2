// Seeded mutations of real models: the importer refuses or accepts, never dies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Usage: onnx-fuzz FOLDER [--text=FILE] [--runs=N] [--seed=S]. Each run takes a
// model from the corpus below FOLDER, every eighth time that in FILE, mutates its bytes or its
// fields, and imports it. A refusal must come with exactly one error; an accepted model must
// verify, print, parse and export, and its conversion to `nn` must succeed or report an error; so
// must its training step if it has one. A crash prints the seed that repeats it.
#include "dialects/nn/IR/Nn.h"
#include "dialects/onnx/IR/Onnx.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/nn/step/Passes.h"
#include "passes/onnx/Passes.h"
#include "python_free_frontend/exporter/Exporter.h"
#include "python_free_frontend/importer/Importer.h"
#include "python_free_frontend/text/TextReader.h"
#include "test/faults/mutations/Mutations.h"
#include "weft/Support/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <csignal>
#include <google/protobuf/stubs/logging.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace weft::onnx;
using namespace weft::test;

static volatile uint64_t currentSeed;

static void reportCrash(int signal) {
  char text[96];
  int size = std::snprintf(text, sizeof text,
                           "onnx-fuzz: signal %d; repeat with --runs=1 "
                           "--seed=%llu\n",
                           signal, static_cast<unsigned long long>(currentSeed));
  if (write(2, text, size) < 0)
    _exit(71);
  _exit(70);
}

//===----------------------------------------------------------------------===//
// One run
//===----------------------------------------------------------------------===//

namespace {
struct Tally {
  uint64_t accepted = 0, refused = 0, converted = 0, trained = 0, wrong = 0;
  double slowest = 0;
};
} // namespace

static void runOne(const std::vector<std::string> &corpus, const std::string &path, uint64_t seed,
                   Tally &tally) {
  Random random(seed);
  std::string bytes = mutatedModel(corpus, random);
  std::error_code error;
  llvm::raw_fd_ostream(path, error) << bytes;

  auto start = std::chrono::steady_clock::now();
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<OnnxDialect, weft::nn::NnDialect, mlir::func::FuncDialect>();
  unsigned errors = 0;
  std::string messages;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    llvm::raw_string_ostream out(messages);
    weft::printDiagnostic(d, out);
    errors += d.getSeverity() == mlir::DiagnosticSeverity::Error;
    return mlir::success();
  });
  ImportOptions options;
  options.inlineData = pick(random, 2);
  options.allowMissingData = pick(random, 2);
  auto module = importModel(path, &context, options);
  bool right = errors == (module ? 0 : 1);
  if (module) {
    ++tally.accepted;
    std::string text, exported;
    llvm::raw_string_ostream(text) << *module;
    auto parsed = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    // What was accepted is written back the same from its text.
    std::string direct;
    llvm::raw_string_ostream exportedStream(exported), directStream(direct);
    right &= parsed && succeeded(exportModel(*parsed, exportedStream)) &&
             succeeded(exportModel(*module, directStream)) && exported == direct;
    right &= errors == 0;
    mlir::PassManager pm(&context);
    bool modelStep = hasModelStep(*module);
    ConvertOnnxToNnOptions convert;
    convert.training = convert.modelStep = modelStep;
    pm.addPass(createConvertOnnxToNn(std::move(convert)));
    if (modelStep)
      pm.addPass(weft::step::createStepMakeTraining());
    bool converted = succeeded(pm.run(*module));
    tally.converted += converted;
    tally.trained += converted && modelStep;
    right &= converted == (errors == 0);
  } else {
    ++tally.refused;
  }
  std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  tally.slowest = std::max(tally.slowest, taken.count());
  if (!right || taken.count() > 10) {
    ++tally.wrong;
    llvm::errs() << "seed " << seed << ": " << (module ? "accepted" : "refused") << " with "
                 << errors << " errors in " << taken.count() << " s\n"
                 << messages;
  }
}

int main(int argc, char **argv) {
  bool full = std::getenv("WEFT_TEST_FULL");
  uint64_t runs = full ? 200000 : 4000, first = 1;
  std::string folder, text;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef arg = argv[i];
    if (arg.consume_front("--text=")) {
      text = arg.str();
      continue;
    }
    if ((arg.consume_front("--runs=") && !arg.getAsInteger(10, runs)) ||
        (arg.consume_front("--seed=") && !arg.getAsInteger(10, first)))
      continue;
    folder = arg.str();
  }
  std::vector<std::string> corpus = loadCorpus(folder);
  if (corpus.size() < 1000) {
    llvm::errs() << "onnx-fuzz: only " << corpus.size() << " models below '" << folder
                 << "', expected 1000\n";
    return 1;
  }
  if (!text.empty()) {
    auto buffer = llvm::MemoryBuffer::getFile(text);
    auto model = buffer ? weft::text::readText((*buffer)->getBuffer(), text)
                        : llvm::createStringError("cannot be read");
    if (!model) {
      llvm::errs() << text << ": " << llvm::toString(model.takeError()) << '\n';
      return 1;
    }
    corpus.insert(corpus.end(), corpus.size() / 7, model->SerializeAsString());
  }
  for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL})
    std::signal(signal, reportCrash);
  google::protobuf::LogSilencer silence;
  llvm::SmallString<128> path;
  if (llvm::sys::fs::createTemporaryFile("onnx-fuzz", "onnx", path))
    return 1;
  Tally tally;
  for (uint64_t i = 0; i < runs; ++i) {
    currentSeed = first + i;
    runOne(corpus, path.str().str(), currentSeed, tally);
  }
  llvm::sys::fs::remove(path);
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  llvm::outs() << "onnx-fuzz: seeds " << first << " to " << first + runs - 1 << ": "
               << tally.accepted << " accepted (" << tally.converted << " converted to nn, "
               << tally.trained << " with a step of their own), " << tally.refused << " refused, "
               << tally.wrong << " wrong; slowest " << llvm::format("%.3f", tally.slowest)
               << " s, peak memory " << usage.ru_maxrss / 1024 << " MiB\n";
  bool enough = text.empty() || runs < 1000 || tally.trained >= runs / 100;
  return !enough || tally.wrong || usage.ru_maxrss > (4 << 20) ? 1 : 0;
}
