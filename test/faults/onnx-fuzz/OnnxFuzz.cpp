// Seeded mutations of real models: the importer refuses or accepts, never dies.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Usage: onnx-fuzz FOLDER [--runs=N] [--seed=S]. Each run takes a model from
// the corpus below FOLDER, mutates its bytes or its fields, and imports it. A
// refusal must come with exactly one error; an accepted model must verify,
// print, parse and export, and its conversion to `nn` must succeed or report an
// error. A crash prints the seed that repeats it.
#include "dialects/nn/IR/Nn.h"
#include "dialects/onnx/IR/Onnx.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "onnx.pb.h"
#include "passes/onnx/Passes.h"
#include "python_free_frontend/exporter/Exporter.h"
#include "python_free_frontend/importer/Importer.h"
#include "weft/Support/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <csignal>
#include <google/protobuf/stubs/logging.h>
#include <random>
#include <sys/resource.h>
#include <unistd.h>

using namespace weft::onnx;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using Random = std::mt19937_64;

static volatile uint64_t currentSeed;

static void reportCrash(int signal) {
  char text[96];
  int size =
      std::snprintf(text, sizeof text,
                    "onnx-fuzz: signal %d; repeat with --runs=1 "
                    "--seed=%llu\n",
                    signal, static_cast<unsigned long long>(currentSeed));
  if (write(2, text, size) < 0)
    _exit(71);
  _exit(70);
}

//===----------------------------------------------------------------------===//
// Mutations
//===----------------------------------------------------------------------===//

static uint64_t pick(Random &random, uint64_t bound) {
  return bound ? random() % bound : 0;
}

/// Values that sit on edges.
static int64_t oddNumber(Random &random) {
  static const int64_t odd[] = {0,         -1,        1,         INT32_MAX,
                                INT32_MIN, INT64_MAX, INT64_MIN, 1 << 20,
                                255,       26,        27,        99};
  return odd[pick(random, std::size(odd))];
}

static void mutateBytes(std::string &bytes, const std::string &other,
                        Random &random) {
  for (uint64_t i = 0, e = 1 + pick(random, 8); i < e && !bytes.empty(); ++i) {
    size_t at = pick(random, bytes.size());
    size_t size = 1 + pick(random, std::min<size_t>(64, bytes.size() - at));
    switch (pick(random, 7)) {
    case 0:
      bytes[at] ^= 1 << pick(random, 8);
      break;
    case 1:
      bytes[at] = static_cast<char>(random());
      break;
    case 2:
      bytes.erase(at, size);
      break;
    case 3:
      bytes.insert(at, bytes.substr(at, size));
      break;
    case 4:
      bytes.resize(at);
      break;
    case 5:
      bytes[at] = static_cast<char>(0xff);
      break;
    case 6:
      if (!other.empty())
        bytes.insert(at, other, pick(random, other.size()), size);
      break;
    }
  }
}

static void mutateField(Message &message, const FieldDescriptor *field,
                        Random &random) {
  const auto *reflection = message.GetReflection();
  if (field->is_repeated()) {
    int size = reflection->FieldSize(message, field);
    if (size > 1 && pick(random, 3) == 0) {
      reflection->SwapElements(&message, field, pick(random, size),
                               pick(random, size));
      return;
    }
    if (size > 0 && pick(random, 2) == 0) {
      reflection->RemoveLast(&message, field);
      return;
    }
    if (field->message_type())
      reflection->AddMessage(&message, field);
    else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING)
      reflection->AddString(&message, field, pick(random, 2) ? "x" : "");
    else if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT64)
      reflection->AddInt64(&message, field, oddNumber(random));
    else if (field->cpp_type() == FieldDescriptor::CPPTYPE_FLOAT)
      reflection->AddFloat(&message, field, 0.5f);
    return;
  }
  if (pick(random, 3) == 0) {
    reflection->ClearField(&message, field);
    return;
  }
  switch (field->cpp_type()) {
  case FieldDescriptor::CPPTYPE_INT64:
    return reflection->SetInt64(&message, field, oddNumber(random));
  case FieldDescriptor::CPPTYPE_INT32:
    return reflection->SetInt32(&message, field, oddNumber(random));
  case FieldDescriptor::CPPTYPE_FLOAT:
    return reflection->SetFloat(&message, field, oddNumber(random));
  case FieldDescriptor::CPPTYPE_ENUM:
    return reflection->SetEnumValue(&message, field, pick(random, 16));
  case FieldDescriptor::CPPTYPE_STRING:
    return reflection->SetString(
        &message, field,
        pick(random, 2) ? std::string(pick(random, 3000), 'a') : "x");
  case FieldDescriptor::CPPTYPE_MESSAGE:
    reflection->MutableMessage(&message, field);
    return;
  default:
    return;
  }
}

/// Walks a random way down the message and changes one field there.
static void mutateTree(Message &message, Random &random) {
  const auto *type = message.GetDescriptor();
  const auto *reflection = message.GetReflection();
  const FieldDescriptor *field = type->field(pick(random, type->field_count()));
  if (field->message_type() && pick(random, 8) != 0) {
    if (!field->is_repeated() && reflection->HasField(message, field))
      return mutateTree(*reflection->MutableMessage(&message, field), random);
    if (field->is_repeated() && reflection->FieldSize(message, field) > 0)
      return mutateTree(
          *reflection->MutableRepeatedMessage(
              &message, field,
              pick(random, reflection->FieldSize(message, field))),
          random);
  }
  mutateField(message, field, random);
}

//===----------------------------------------------------------------------===//
// One run
//===----------------------------------------------------------------------===//

namespace {
struct Tally {
  uint64_t accepted = 0, refused = 0, converted = 0, wrong = 0;
  double slowest = 0;
};
} // namespace

static void runOne(const std::vector<std::string> &corpus,
                   const std::string &path, uint64_t seed, Tally &tally) {
  Random random(seed);
  std::string bytes = corpus[pick(random, corpus.size())];
  Model model;
  if (pick(random, 2) && model.ParseFromString(bytes)) {
    for (uint64_t i = 0, e = 1 + pick(random, 12); i < e; ++i)
      mutateTree(model, random);
    bytes = model.SerializePartialAsString();
  } else {
    mutateBytes(bytes, corpus[pick(random, corpus.size())], random);
  }
  std::error_code error;
  llvm::raw_fd_ostream(path, error) << bytes;

  auto start = std::chrono::steady_clock::now();
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context
      .loadDialect<OnnxDialect, weft::nn::NnDialect, mlir::func::FuncDialect>();
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
             succeeded(exportModel(*module, directStream)) &&
             exported == direct;
    right &= errors == 0;
    mlir::PassManager pm(&context);
    pm.addPass(createConvertOnnxToNn(Bindings()));
    bool converted = succeeded(pm.run(*module));
    tally.converted += converted;
    right &= converted == (errors == 0);
  } else {
    ++tally.refused;
  }
  std::chrono::duration<double> taken =
      std::chrono::steady_clock::now() - start;
  tally.slowest = std::max(tally.slowest, taken.count());
  if (!right || taken.count() > 10) {
    ++tally.wrong;
    llvm::errs() << "seed " << seed << ": " << (module ? "accepted" : "refused")
                 << " with " << errors << " errors in " << taken.count()
                 << " s\n"
                 << messages;
  }
}

int main(int argc, char **argv) {
  bool full = std::getenv("WEFT_TEST_FULL");
  uint64_t runs = full ? 200000 : 4000, first = 1;
  std::string folder;
  for (int i = 1; i < argc; ++i) {
    llvm::StringRef arg = argv[i];
    if ((arg.consume_front("--runs=") && !arg.getAsInteger(10, runs)) ||
        (arg.consume_front("--seed=") && !arg.getAsInteger(10, first)))
      continue;
    folder = arg.str();
  }
  std::vector<std::string> corpus;
  std::error_code error;
  for (llvm::sys::fs::recursive_directory_iterator it(folder, error), end;
       it != end && !error; it.increment(error))
    if (llvm::StringRef(it->path()).ends_with(".onnx"))
      if (auto buffer = llvm::MemoryBuffer::getFile(it->path()))
        corpus.push_back((*buffer)->getBuffer().str());
  // The order of a directory is not a property of the corpus.
  llvm::sort(corpus);
  if (corpus.size() < 1000) {
    llvm::errs() << "onnx-fuzz: only " << corpus.size() << " models below '"
                 << folder << "', expected 1000\n";
    return 1;
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
  llvm::outs() << "onnx-fuzz: seeds " << first << " to " << first + runs - 1
               << ": " << tally.accepted << " accepted (" << tally.converted
               << " converted to nn), " << tally.refused << " refused, "
               << tally.wrong << " wrong; slowest "
               << llvm::format("%.3f", tally.slowest) << " s, peak memory "
               << usage.ru_maxrss / 1024 << " MiB\n";
  return tally.wrong || usage.ru_maxrss > (4 << 20) ? 1 : 0;
}
