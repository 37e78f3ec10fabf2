// Models that torch exported: converted, raised and run, against torch's outputs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Usage: exported-models MINIMUM FOLDER...  For each FOLDER/NAME.onnx with
// inputs FOLDER/NAME/*.npy and outputs FOLDER/NAME/expected/*.npy, the oracle
// runs the program as converted and with its idioms raised. Both must equal the
// expected outputs to 1e-4 of the largest value (torch computed in f32), and
// each other to 1e-6 (exporters write constants of idioms in f32). Prints what
// was raised.
#include "../../support/Distance.h"

#include "dialects/nn/IR/Nn.h"
#include "dialects/onnx/IR/Onnx.h"
#include "python_free_frontend/importer/Importer.h"
#include "weft/Compiler/Pipelines.h"
#include "weft/Support/Diagnostics.h"
#include "weft/Support/Npy.h"
#include "weft/Testing/Interpreter/Interpreter.h"
#include "weft/Testing/Interpreter/StateSource.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace weft;

using Arrays = std::map<std::string, HostTensor>;

/// The arrays of a folder, by file name without ending.
static Arrays readArrays(const std::string &folder, MLIRContext *context) {
  Arrays arrays;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(folder, error), end; it != end && !error;
       it.increment(error)) {
    if (!llvm::StringRef(it->path()).ends_with(".npy"))
      continue;
    auto tensor = readNpy(it->path(), context);
    if (tensor)
      arrays[llvm::sys::path::stem(it->path()).str()] = std::move(*tensor);
    else
      llvm::errs() << llvm::toString(tensor.takeError()) << '\n';
  }
  return arrays;
}

/// The largest difference over the largest expected value.
static double errorOf(const HostTensor &found, const HostTensor &expected) {
  if (found.shape != expected.shape || found.elementType != expected.elementType)
    return HUGE_VAL;
  test::Distance distance(test::Specials::AreWrong);
  for (int64_t i = 0, e = expected.size(); i < e; ++i)
    if (expected.isFloat())
      distance.add(found.reals[i], expected.reals[i]);
    else
      distance.add(found.integers[i], expected.integers[i]);
  return distance.relative();
}

/// Outputs by name; nothing if the program does not convert or run.
static std::optional<Arrays> run(ModuleOp module, const Arrays &inputs, const std::string &folder,
                                 bool raise, std::map<std::string, unsigned> &counts) {
  PhaseOptions options;
  options.raise = raise;
  for (const auto &[name, tensor] : inputs)
    for (auto [dim, extent] : llvm::enumerate(tensor.shape))
      options.bindings.dims[name + "[" + std::to_string(dim) + "]"] = extent;
  if (failed(lowerToGraph(module, options)))
    return std::nullopt;
  auto program = module.lookupSymbol<func::FuncOp>("forward");
  program.walk([&](Operation *op) { ++counts[op->getName().getStringRef().str()]; });
  std::vector<HostTensor> arguments;
  for (unsigned i = 0; i < program.getNumArguments(); ++i) {
    auto type = cast<RankedTensorType>(program.getArgumentTypes()[i]);
    auto name = program.getArgAttrOfType<StringAttr>(i, nn::kNameAttr);
    if (auto source = program.getArgAttrOfType<nn::SourceAttr>(i, nn::kSourceAttr)) {
      auto weights = readSource(source, type, folder, [&] {
        return program.emitError() << "weight '" << name.str() << "': ";
      });
      if (failed(weights))
        return std::nullopt;
      arguments.push_back(std::move(*weights));
      continue;
    }
    auto found = inputs.find(name.str());
    if (found == inputs.end()) {
      program.emitError() << "no array for input '" << name.str() << "'";
      return std::nullopt;
    }
    arguments.push_back(found->second);
  }
  auto results = interpret(program, std::move(arguments));
  if (failed(results))
    return std::nullopt;
  Arrays outputs;
  for (auto [i, result] : llvm::enumerate(*results))
    outputs[program.getResultAttrOfType<StringAttr>(i, nn::kNameAttr).str()] = std::move(result);
  return outputs;
}

/// True if the model passes; prints a line.
static bool check(const std::string &path, MLIRContext *context) {
  std::string folder = llvm::sys::path::parent_path(path).str();
  std::string data = folder + "/" + llvm::sys::path::stem(path).str();
  Arrays inputs = readArrays(data, context);
  Arrays expected = readArrays(data + "/expected", context);
  auto plain = onnx::importModel(path, context);
  if (!plain || expected.empty())
    return llvm::errs() << path << ": no model or no expected outputs\n", false;
  OwningOpRef<ModuleOp> raised(plain->clone());
  std::map<std::string, unsigned> plainCounts, counts;
  auto plainOutputs = run(*plain, inputs, folder, false, plainCounts);
  auto outputs = run(*raised, inputs, folder, true, counts);
  if (!plainOutputs || !outputs)
    return llvm::errs() << path << ": does not run\n", false;
  double toTorch = 0, toRaised = 0;
  for (const auto &[name, tensor] : expected) {
    if (!outputs->count(name))
      return llvm::errs() << path << ": no output '" << name << "'\n", false;
    toTorch = std::max(toTorch, errorOf(plainOutputs->at(name), tensor));
    toRaised = std::max(toRaised, errorOf(outputs->at(name), plainOutputs->at(name)));
  }
  llvm::outs() << llvm::sys::path::stem(path) << ": error to torch " << toTorch
               << ", raised to plain " << toRaised << "; ";
  for (const auto &[name, count] : counts)
    llvm::outs() << name << ' ' << count << ' ';
  llvm::outs() << '\n';
  return toTorch <= 1e-4 && toRaised <= 1e-6;
}

int main(int argc, char **argv) {
  unsigned minimum = 0, passed = 0, models = 0;
  if (argc < 3 || llvm::StringRef(argv[1]).getAsInteger(10, minimum)) {
    llvm::errs() << "usage: exported-models MINIMUM FOLDER...\n";
    return 2;
  }
  DialectRegistry registry;
  registry.insert<onnx::OnnxDialect, nn::NnDialect, func::FuncDialect>();
  std::vector<std::string> paths;
  for (int i = 2; i < argc; ++i) {
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(argv[i], error), end; it != end && !error;
         it.increment(error))
      if (llvm::StringRef(it->path()).ends_with(".onnx"))
        paths.push_back(it->path());
  }
  llvm::sort(paths);
  for (const std::string &path : paths) {
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    DiagnosticHandler handler(&context);
    ++models;
    passed += check(path, &context);
  }
  llvm::outs() << passed << " of " << models << " models passed, at least " << minimum << " must\n";
  return passed == models && passed >= minimum ? 0 : 1;
}
