// Runs the ONNX backend test data and holds it against an allow-list.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Usage: onnx-node FOLDER ALLOW-LIST MINIMUM [REGEX] [--list]
//            [--compiled=RANKS,...] [--placements=N] [--percent=N] [--seed=N]
//            [--minimum-runs=N] [--record=FILE --target=NAME]
// Each case below FOLDER is imported, converted to `nn`, run by a back end, and
// its outputs compared with the recorded ones; only then it counts. Inputs that
// an operator needs at compile time (shapes, axes, scales) are bound as
// constants. The list says of every case that it passes, by its name, or why it
// is refused, by `name: reason`. Fails if a case does otherwise, if the list
// has one that is not there, or if fewer than MINIMUM pass. --list writes the
// list.
// --compiled compiles each program and runs it on one rank, or split over
// several: see CompiledOptions; all ways of running share one list.
// --record compiles each program for the target and writes it, with its data, to
// a file that onnx-replay runs on a machine with the device.
#include "Backend.h"
#include "Case.h"

#include "dialects/nn/IR/Nn.h"
#include "dialects/onnx/IR/Onnx.h"
#include "passes/nn/step/FillGradients.h"
#include "passes/onnx/OnnxToNn.h"
#include "weft/Registration/Registration.h"
#include "weft/Target/Target.h"
#include "weft/Testing/Interpreter/StateSource.h"

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
#include <map>
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

/// By how many units in the last place the results of a case may be off beyond
/// the suite's tolerance. In these the suite's own results are sums in 16 bits,
/// rounded at each addition, and one unit of bfloat16 alone is four times its
/// tolerance; we round once, and each rank the part of a sum that is its own.
/// Their twins in f32 are held to the tolerance.
static unsigned unitsOf(llvm::StringRef name) {
  name.consume_back("_expanded");
  static const std::set<llvm::StringRef> summedInSixteenBits = {
      "test_attention_3d_causal_bf16",   "test_attention_4d_attn_mask_causal_bf16",
      "test_attention_4d_causal_bf16",   "test_attention_4d_causal_fp16",
      "test_attention_4d_fp16",          "test_attention_4d_causal_padded_kv_bf16",
      "test_attention_4d_padded_kv_bf16"};
  return summedInSixteenBits.count(name) ? 2 : 0;
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
static OwningOpRef<ModuleOp> convert(Case &test, const DataSet &data, std::string &messages,
                                     unsigned &bound) {
  onnx::Bindings bindings;
  for (;;) {
    messages.clear();
    // Open dims take the extents of the recorded inputs; a constant has none.
    bindings.dims.clear();
    for (const NamedTensor &input : data.inputs)
      if (!bindings.inputs.count(input.name))
        for (auto [dim, extent] : llvm::enumerate(input.tensor.shape))
          bindings.dims[input.name + "[" + std::to_string(dim) + "]"] = extent;
    OwningOpRef<ModuleOp> module(test.model->clone());
    ScopedDiagnosticHandler handler(module->getContext(), [&](Diagnostic &diagnostic) {
      messages += (messages.empty() ? "" : "; ") + diagnostic.str();
      return success();
    });
    if (succeeded(onnx::convertOnnxToNn(*module, bindings)) &&
        succeeded(step::fillGradients(module->lookupSymbol<func::FuncOp>("forward")))) {
      bound = bindings.inputs.size();
      return module;
    }
    if (!bindWhatIsNeeded(messages, data, bindings))
      return {};
  }
}

std::string Expected::check(llvm::ArrayRef<HostTensor> found) const {
  if (found.size() < outputs.size() || outputs.empty())
    return std::to_string(found.size()) + " outputs, expected " + std::to_string(outputs.size());
  for (auto [output, expected] : llvm::zip(found, outputs))
    if (std::string why =
            compare(output, asElementType(expected.tensor, output.elementType), units);
        !why.empty())
      return "output '" + expected.name + "': " + why;
  return "";
}

static Result runDataSet(Case &test, const DataSet &data, Backend &backend) {
  Result result{Outcome::Refused, "", 0};
  OwningOpRef<ModuleOp> module = convert(test, data, result.reason, result.boundInputs);
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
    if (auto source = program.getArgAttrOfType<nn::SourceAttr>(i, nn::kSourceAttr)) {
      auto weights = readSource(source, cast<RankedTensorType>(program.getArgumentTypes()[i]),
                                test.folder, [&] { return program.emitError(); });
      if (failed(weights)) {
        result.reason = "cannot read the weight '" + name.str() + "'";
        return result;
      }
      inputs.push_back(std::move(*weights));
      continue;
    }
    auto found = llvm::find_if(
        data.inputs, [&](const NamedTensor &input) { return input.name == name.getValue(); });
    if (found == data.inputs.end()) {
      result.reason = "no data for argument '" + name.str() + "'";
      return result;
    }
    auto type = cast<RankedTensorType>(program.getArgumentTypes()[i]);
    inputs.push_back(asElementType(found->tensor, type.getElementType()));
    if (inputs.back().shape != type.getShape()) {
      result.reason =
          "the data of input '" + found->name + "' does not have the shape that the model declares";
      return result;
    }
  }
  unsigned bound = result.boundInputs;
  result = backend.run(test.name, *module, inputs, {data.outputs, unitsOf(test.name)});
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
            reason.empty() ? why + (messages.empty() ? "" : ": " + messages) : reason, 0};
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

/// Every case of the list, with why it is refused; "" passes.
static std::map<std::string, std::string> readList(llvm::StringRef path) {
  std::map<std::string, std::string> cases;
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return cases;
  SmallVector<llvm::StringRef> lines;
  (*buffer)->getBuffer().split(lines, '\n', -1, false);
  for (llvm::StringRef line : lines)
    if (!line.starts_with("#")) {
      auto [name, reason] = line.split(": ");
      cases[name.trim().str()] = reason.trim().str();
    }
  return cases;
}

namespace {
struct Options {
  llvm::StringRef folder, allowList, pattern = ".", record, target = kDefaultTarget;
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
    } else if (flag == "--placements" || flag == "--percent" || flag == "--minimum-runs") {
      if (value.getAsInteger(10, flag == "--placements" ? options.how.placements
                                 : flag == "--percent"  ? options.how.percent
                                                        : options.how.minimumRuns))
        return false;
    } else if (flag == "--record") {
      options.record = value;
    } else if (flag == "--target") {
      options.target = value;
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
  if (plain.size() < 3 || plain.size() > 4 || plain[2].getAsInteger(10, options.minimum))
    return false;
  options.folder = plain[0];
  options.allowList = plain[1];
  if (plain.size() > 3)
    options.pattern = plain[3];
  return true;
}

namespace {
/// How the cases ended, beside what the list says of them.
struct Tally {
  unsigned passed = 0, wrong = 0, refused = 0, notRun = 0, bound = 0, rounded = 0, lost = 0;

  /// Takes the case off the list.
  void count(const std::string &name, const Result &result,
             std::map<std::string, std::string> &listed) {
    auto entry = listed.find(name);
    std::optional<std::string> expected;
    if (entry != listed.end()) {
      expected = entry->second;
      listed.erase(entry);
    }
    switch (result.outcome) {
    case Outcome::NotRun:
      ++notRun;
      return;
    case Outcome::Wrong:
      ++wrong;
      llvm::errs() << "WRONG    " << name << ": " << result.reason << '\n';
      return;
    case Outcome::Passed:
      ++passed;
      bound += result.boundInputs != 0;
      rounded += unitsOf(name) != 0;
      if (!expected || !expected->empty())
        differ(name, expected, "passes");
      return;
    case Outcome::Refused:
      ++refused;
      if (!expected || expected->empty() || !llvm::StringRef(result.reason).contains(*expected))
        differ(name, expected, "is refused: " + result.reason);
      return;
    }
  }

private:
  void differ(const std::string &name, const std::optional<std::string> &listed,
              const llvm::Twine &found) {
    ++lost;
    llvm::errs() << "DIFFERS  " << name << " " << found << "; the list "
                 << (!listed           ? "does not have it"
                     : listed->empty() ? "has it as passing"
                                       : "has it as refused: " + *listed)
                 << '\n';
  }
};
} // namespace

/// One line of the list: of several reasons the first.
static void print(const std::string &name, const Result &result) {
  if (result.outcome == Outcome::Passed)
    llvm::outs() << name << '\n';
  else if (result.outcome == Outcome::Refused)
    llvm::outs() << name << ": " << llvm::StringRef(result.reason).split("; ").first << '\n';
}

/// Runs all cases on two threads, which share nothing but the back end.
static std::vector<Result> runCases(std::vector<Case> &cases, Backend &backend) {
  DialectRegistry registry;
  registerAllDialects(registry);
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
                    "[--percent=N] [--seed=N] [--minimum-runs=N] "
                    "[--record=FILE --target=NAME]\n";
    return 2;
  }
  auto start = std::chrono::steady_clock::now();
  llvm::Regex filter(options.pattern);
  std::map<std::string, std::string> listed = readList(options.allowList);
  std::vector<Case> cases;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(options.folder, error), end; it != end && !error;
       it.increment(error)) {
    Case test;
    test.name = llvm::sys::path::filename(it->path()).str();
    test.folder = it->path();
    if (filter.match(test.name))
      cases.push_back(std::move(test));
  }
  llvm::sort(cases, [](const Case &a, const Case &b) { return a.name < b.name; });
  std::unique_ptr<Backend> backend = !options.record.empty()
                                         ? createRecordingBackend(options.target, options.record)
                                     : options.compiled ? createCompiledBackend(options.how)
                                                        : createInterpreterBackend();
  if (options.list)
    llvm::outs() << "# Every case: one that passes by its name, one that is "
                    "refused with the reason. Written by:\n"
                    "# onnx-node FOLDER this-file 0 --list\n";
  Tally tally;
  for (auto [test, result] : llvm::zip(cases, runCases(cases, *backend))) {
    if (options.list) {
      print(test.name, result);
      listed[test.name] = result.outcome == Outcome::Refused ? result.reason : "";
    }
    tally.count(test.name, result, listed);
  }
  // What is left of the list was not found.
  if (options.pattern == "." && !options.list)
    for (const auto &[name, reason] : listed) {
      ++tally.lost;
      llvm::errs() << "LOST     " << name << " is in the list, not in " << options.folder << '\n';
    }
  bool enough = backend->report(llvm::errs());
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  llvm::errs() << "onnx-node on " << backend->name() << ": " << cases.size() << " cases, "
               << tally.passed << " passed (" << tally.bound << " with inputs bound as constants, "
               << tally.rounded << " held to units in the last place of 16 bits), " << tally.wrong
               << " wrong, " << tally.refused << " refused, " << tally.notRun << " not run, "
               << tally.lost << " otherwise than listed; at least " << options.minimum
               << " must pass; " << llvm::format("%.1f s\n", seconds);
  return tally.wrong == 0 && tally.lost == 0 && enough && tally.passed >= options.minimum ? 0 : 1;
}
