// Runs the ONNX backend test data and holds it against an allow-list.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Usage: onnx-node FOLDER ALLOW-LIST MINIMUM [REGEX] [--list]
// Each case below FOLDER is imported, converted to `nn`, run by a back end, and
// its outputs compared with the recorded ones; only then it counts. Inputs that
// an operator needs at compile time (shapes, axes, scales) are bound as
// constants. Fails if a case of the list does not pass, if fewer than MINIMUM
// do, or if one passes that the list lacks: the list only grows. --list prints
// those passing.
#include "Backend.h"
#include "Case.h"

#include "dialects/nn/IR/Nn.h"
#include "dialects/onnx/IR/Onnx.h"
#include "passes/onnx/OnnxToNn.h"
#include "weft/Interpreter/StateSource.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"

#include <map>
#include <set>

using namespace mlir;
using namespace weft;
using namespace weft::conformance;

namespace {
enum class Outcome { Passed, Wrong, Refused };

struct Result {
  Outcome outcome;
  std::string reason;
  unsigned boundInputs = 0;
};
} // namespace

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
    if (succeeded(onnx::convertOnnxToNn(*module, bindings))) {
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
  result.reason = backend.run(
      *module, inputs, [&](llvm::ArrayRef<HostTensor> outputs) -> std::string {
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
  result.outcome = result.reason.empty() ? Outcome::Passed : Outcome::Wrong;
  return result;
}

static Result runCase(Case &test, Backend &backend) {
  DialectRegistry registry;
  registry.insert<onnx::OnnxDialect, nn::NnDialect, func::FuncDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
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

int main(int argc, char **argv) {
  SmallVector<llvm::StringRef> arguments(argv + 1, argv + argc);
  bool list = llvm::is_contained(arguments, "--list");
  llvm::erase(arguments, "--list");
  unsigned minimum = 0;
  if (arguments.size() < 3 || arguments[2].getAsInteger(10, minimum)) {
    llvm::errs()
        << "usage: onnx-node FOLDER ALLOW-LIST MINIMUM [REGEX] [--list]\n";
    return 2;
  }
  llvm::Regex filter(arguments.size() > 3 ? arguments[3] : ".");
  std::set<std::string> allowed = readList(arguments[1]);
  std::map<std::string, Case> cases;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(arguments[0], error), end;
       it != end && !error; it.increment(error)) {
    std::string name = llvm::sys::path::filename(it->path()).str();
    if (filter.match(name)) {
      cases[name].name = name;
      cases[name].folder = it->path();
    }
  }
  std::unique_ptr<Backend> backend = createInterpreterBackend();
  unsigned passed = 0, wrong = 0, refused = 0, bound = 0, lost = 0, gained = 0;
  for (auto &[name, test] : cases) {
    Result result = runCase(test, *backend);
    bool listed = allowed.count(name);
    switch (result.outcome) {
    case Outcome::Passed:
      ++passed;
      bound += result.boundInputs != 0;
      gained += !listed;
      if (list)
        llvm::outs() << name << '\n';
      else if (!listed)
        llvm::outs() << "NEW      " << name
                     << ": passes, add it to the allow-list\n";
      continue;
    case Outcome::Wrong:
      ++wrong;
      llvm::errs() << "WRONG    " << name << ": " << result.reason << '\n';
      break;
    case Outcome::Refused:
      ++refused;
      if (!list)
        llvm::outs() << "refused  " << name << ": " << result.reason << '\n';
      break;
    }
    if (listed) {
      ++lost;
      llvm::errs() << "LOST     " << name << " is in the allow-list\n";
    }
  }
  llvm::errs() << "onnx-node on " << backend->name() << ": " << cases.size()
               << " cases, " << passed << " passed (" << bound
               << " with inputs bound as constants), " << wrong << " wrong, "
               << refused << " refused, " << lost << " lost, " << gained
               << " not in the allow-list; at least " << minimum
               << " must pass\n";
  return wrong == 0 && lost == 0 && gained == 0 && passed >= minimum ? 0 : 1;
}
