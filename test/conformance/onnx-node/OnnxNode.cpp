// Runs the ONNX backend test data and holds it against an allow-list.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Usage: onnx-node FOLDER ALLOW-LIST MINIMUM [REGEX] [--list]
//            [--compiled=RANKS,...] [--placements=N] [--percent=N] [--seed=N]
//            [--minimum-runs=N]
// Each case below FOLDER is imported, converted to `nn`, run by a back end, and
// its outputs compared with the recorded ones; only then it counts. Inputs that
// an operator needs at compile time (shapes, axes, scales) are bound as
// constants. Fails if a case of the list does not pass, if fewer than MINIMUM
// do, or if one passes that the list lacks: the list only grows. --list prints
// those passing. --compiled compiles each program and runs it on one rank, or
// split over several: see CompiledOptions.
#include "Backend.h"
#include "Case.h"

#include "dialects/nn/IR/Nn.h"
#include "dialects/onnx/IR/Onnx.h"
#include "passes/onnx/OnnxToNn.h"
#include "passes/step/FillGradients.h"
#include "weft/Interpreter/StateSource.h"
#include "weft/Registration/Registration.h"
#include "weft/Target/Cpu/KernelCompiler.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

using namespace mlir;
using namespace weft;
using namespace weft::conformance;

/// Cases whose own data contradict their model, and how.
static llvm::StringRef knownWrong(llvm::StringRef name) {
  if (name == "test_adam_multiple")
    return "its outputs were made with epsilon 0.01, which its model does not "
           "say";
  if (name == "test_cast_FLOAT_to_BFLOAT16")
    return "its outputs were truncated; casts round to nearest";
  if (name.starts_with("test_castlike_") && name.contains("BFLOAT16"))
    return "its input 'like' has another shape than its model declares";
  return "";
}

/// Names in quotes of the messages that say what must be known; or all inputs
/// that are not plain float data, if an operator's need goes back to several.
static bool bindWhatIsNeeded(llvm::StringRef messages, const DataSet &data,
                             onnx::Bindings &bindings) {
  static constexpr llvm::StringLiteral need = "must be known at compile time";
  if (!messages.contains(need))
    return false;
  size_t before = bindings.inputs.size();
  for (const NamedTensor &input : data.inputs)
    if (messages.contains(("('" + input.name + "') " + need).str()))
      bindings.inputs[input.name] = input.tensor;
  if (bindings.inputs.size() == before)
    for (const NamedTensor &input : data.inputs)
      if (!input.tensor.isFloat() || input.tensor.shape.size() < 2)
        bindings.inputs[input.name] = input.tensor;
  return bindings.inputs.size() > before;
}

/// Binds what the operators ask for, until the model converts or nothing helps.
static OwningOpRef<ModuleOp> convert(Case &test, const DataSet &data,
                                     std::string &messages, unsigned &bound) {
  onnx::Bindings bindings;
  // Open dims take the extents of the recorded inputs.
  for (const NamedTensor &input : data.inputs)
    for (auto [dim, extent] : llvm::enumerate(input.tensor.shape))
      bindings.dims[input.name + "[" + std::to_string(dim) + "]"] = extent;
  for (;;) {
    messages.clear();
    OwningOpRef<ModuleOp> module(test.model->clone());
    ScopedDiagnosticHandler handler(
        module->getContext(), [&](Diagnostic &diagnostic) {
          messages += (messages.empty() ? "" : "; ") + diagnostic.str();
          return success();
        });
    if (succeeded(onnx::convertOnnxToNn(*module, bindings)) &&
        succeeded(step::fillGradients(
            module->lookupSymbol<func::FuncOp>("forward")))) {
      bound = bindings.inputs.size();
      return module;
    }
    if (!bindWhatIsNeeded(messages, data, bindings))
      return {};
  }
}

static Result runDataSet(Case &test, const DataSet &data, Backend &backend) {
  Result result{Outcome::Refused, "", 0};
  OwningOpRef<ModuleOp> module =
      convert(test, data, result.reason, result.boundInputs);
  if (!module)
    return result;
  result.outcome = Outcome::Wrong;
  if (failed(verify(*module))) {
    result.reason = "the converted program does not verify";
    return result;
  }
  auto program = module->lookupSymbol<func::FuncOp>("forward");
  std::vector<HostTensor> inputs;
  for (unsigned i = 0; i < program.getNumArguments(); ++i) {
    auto name = program.getArgAttrOfType<StringAttr>(i, nn::kNameAttr);
    if (auto source =
            program.getArgAttrOfType<nn::SourceAttr>(i, nn::kSourceAttr)) {
      auto weights = readSource(
          source, cast<RankedTensorType>(program.getArgumentTypes()[i]),
          test.folder, [&] { return program.emitError(); });
      if (failed(weights)) {
        result.reason = "cannot read the weight '" + name.str() + "'";
        return result;
      }
      inputs.push_back(std::move(*weights));
      continue;
    }
    auto found = llvm::find_if(data.inputs, [&](const NamedTensor &input) {
      return input.name == name.getValue();
    });
    if (found == data.inputs.end()) {
      result.reason = "no data for argument '" + name.str() + "'";
      return result;
    }
    auto type = cast<RankedTensorType>(program.getArgumentTypes()[i]);
    inputs.push_back(asElementType(found->tensor, type.getElementType()));
    if (inputs.back().shape != type.getShape()) {
      result.reason = "the data of input '" + found->name +
                      "' does not have the shape that the model declares";
      return result;
    }
  }
  unsigned bound = result.boundInputs;
  result = backend.run(
      test.name, *module, inputs,
      [&](llvm::ArrayRef<HostTensor> outputs) -> std::string {
        if (outputs.size() < data.outputs.size() || data.outputs.empty())
          return std::to_string(outputs.size()) + " outputs, expected " +
                 std::to_string(data.outputs.size());
        for (auto [found, expected] : llvm::zip(outputs, data.outputs))
          if (std::string why = compare(
                  found, asElementType(expected.tensor, found.elementType));
              !why.empty())
            return "output '" + expected.name + "': " + why;
        return "";
      });
  result.boundInputs = bound;
  return result;
}

static Result runCase(Case &test, Backend &backend, MLIRContext &context) {
  std::string messages;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    messages += (messages.empty() ? "" : "; ") + diagnostic.str();
    return success();
  });
  if (std::string why = loadCase(test, &context); !why.empty()) {
    // A case that cannot be loaded is refused by what the converter says of its
    // model, if it says anything.
    DataSet none;
    std::string reason;
    unsigned bound;
    if (test.model && convert(test, none, reason, bound))
      reason = why;
    test.model = {};
    return {Outcome::Refused,
            reason.empty() ? why + (messages.empty() ? "" : ": " + messages)
                           : reason,
            0};
  }
  Result result{Outcome::Passed, "", 0};
  if (llvm::StringRef why = knownWrong(test.name); !why.empty()) {
    test.model = {};
    return {Outcome::Refused, why.str(), 0};
  }
  for (const DataSet &data : test.dataSets) {
    result = runDataSet(test, data, backend);
    if (!messages.empty() && result.outcome == Outcome::Wrong)
      result.reason += ": " + messages;
    if (result.outcome != Outcome::Passed)
      break;
  }
  test.model = {};
  return result;
}

static std::set<std::string> readList(llvm::StringRef path) {
  std::set<std::string> names;
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return names;
  SmallVector<llvm::StringRef> lines;
  (*buffer)->getBuffer().split(lines, '\n', -1, false);
  for (llvm::StringRef line : lines)
    if (!line.starts_with("#"))
      names.insert(line.trim().str());
  return names;
}

namespace {
struct Options {
  llvm::StringRef folder, allowList, pattern = ".";
  unsigned minimum = 0;
  bool list = false, compiled = false;
  CompiledOptions how;
};
} // namespace

static bool parse(SmallVector<llvm::StringRef> arguments, Options &options) {
  // WEFT_TEST_FULL=1 takes every placement of every case.
  const char *full = std::getenv("WEFT_TEST_FULL");
  SmallVector<llvm::StringRef> plain;
  for (llvm::StringRef argument : arguments) {
    auto [flag, value] = argument.split('=');
    if (flag == "--list") {
      options.list = true;
    } else if (flag == "--compiled") {
      options.compiled = true;
      options.how.ranks.clear();
      SmallVector<llvm::StringRef> numbers;
      value.split(numbers, ',');
      for (llvm::StringRef number : numbers)
        if (number.getAsInteger(10, options.how.ranks.emplace_back()))
          return false;
    } else if (flag == "--placements" || flag == "--percent" ||
               flag == "--minimum-runs") {
      if (value.getAsInteger(10, flag == "--placements" ? options.how.placements
                                 : flag == "--percent"
                                     ? options.how.percent
                                     : options.how.minimumRuns))
        return false;
    } else if (flag == "--seed") {
      if (value.getAsInteger(10, options.how.seed))
        return false;
    } else {
      plain.push_back(argument);
    }
  }
  if (full && *full == '1') {
    options.how.placements = ~0u;
    options.how.percent = 100;
  }
  if (plain.size() < 3 || plain.size() > 4 ||
      plain[2].getAsInteger(10, options.minimum))
    return false;
  options.folder = plain[0];
  options.allowList = plain[1];
  if (plain.size() > 3)
    options.pattern = plain[3];
  return true;
}

/// Runs all cases on two threads, which share nothing but the back end.
static std::vector<Result> runCases(std::vector<Case> &cases,
                                    Backend &backend) {
  DialectRegistry registry;
  registerAllDialects(registry);
  cpu::registerKernelDialects(registry);
  std::vector<Result> results(cases.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    for (size_t i; (i = next++) < cases.size();)
      results[i] = runCase(cases[i], backend, context);
  };
  std::thread other(work);
  work();
  other.join();
  return results;
}

int main(int argc, char **argv) {
  Options options;
  if (!parse(SmallVector<llvm::StringRef>(argv + 1, argv + argc), options)) {
    llvm::errs() << "usage: onnx-node FOLDER ALLOW-LIST MINIMUM [REGEX] "
                    "[--list] [--compiled=RANKS,...] [--placements=N] "
                    "[--percent=N] [--seed=N] [--minimum-runs=N]\n";
    return 2;
  }
  auto start = std::chrono::steady_clock::now();
  llvm::Regex filter(options.pattern);
  std::set<std::string> allowed = readList(options.allowList);
  std::vector<Case> cases;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(options.folder, error), end;
       it != end && !error; it.increment(error)) {
    Case test;
    test.name = llvm::sys::path::filename(it->path()).str();
    test.folder = it->path();
    if (filter.match(test.name))
      cases.push_back(std::move(test));
  }
  llvm::sort(cases,
             [](const Case &a, const Case &b) { return a.name < b.name; });
  std::unique_ptr<Backend> backend = options.compiled
                                         ? createCompiledBackend(options.how)
                                         : createInterpreterBackend();
  unsigned passed = 0, wrong = 0, refused = 0, notRun = 0, bound = 0, lost = 0,
           gained = 0;
  for (auto [test, result] : llvm::zip(cases, runCases(cases, *backend))) {
    bool listed = allowed.count(test.name);
    switch (result.outcome) {
    case Outcome::Passed:
      ++passed;
      bound += result.boundInputs != 0;
      gained += !listed;
      if (options.list)
        llvm::outs() << test.name << '\n';
      else if (!listed)
        llvm::outs() << "NEW      " << test.name
                     << ": passes, add it to the allow-list\n";
      continue;
    case Outcome::NotRun:
      ++notRun;
      continue;
    case Outcome::Wrong:
      ++wrong;
      llvm::errs() << "WRONG    " << test.name << ": " << result.reason << '\n';
      break;
    case Outcome::Refused:
      ++refused;
      if (!options.list)
        llvm::outs() << "refused  " << test.name << ": " << result.reason
                     << '\n';
      break;
    }
    if (listed) {
      ++lost;
      llvm::errs() << "LOST     " << test.name << " is in the allow-list\n";
    }
  }
  bool enough = backend->report(llvm::errs());
  double seconds = std::chrono::duration<double>(
                       std::chrono::steady_clock::now() - start)
                       .count();
  llvm::errs() << "onnx-node on " << backend->name() << ": " << cases.size()
               << " cases, " << passed << " passed (" << bound
               << " with inputs bound as constants), " << wrong << " wrong, "
               << refused << " refused, " << notRun << " not run, " << lost
               << " lost, " << gained << " not in the allow-list; at least "
               << options.minimum << " must pass; "
               << llvm::format("%.1f s\n", seconds);
  return wrong == 0 && lost == 0 && gained == 0 && enough &&
                 passed >= options.minimum
             ? 0
             : 1;
}
