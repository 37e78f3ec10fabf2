// Records the kernel cases as programs of a target, for a machine that has the device.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Usage: weft-record-kernels FILE TARGET [EVERY]
// FILE is what onnx-replay runs: every op and element type, odd sizes, random graphs, pieces of
// models; their outputs are held to the bounds of kernel_numerics. Cases with much data, which is
// random and so does not compress, are left out and counted; with EVERY all but each EVERYth.
#include "../../conformance/onnx-node/Record.h"
#include "OpCases.h"

#include "weft/Registration/Registration.h"

#include "mlir/Parser/Parser.h"

#include <atomic>
#include <optional>
#include <thread>

using namespace mlir;
using namespace weft;
using namespace weft::test;

/// Bytes of a case's inputs and outputs.
static constexpr size_t kMostData = 64 << 10;

/// What is recorded of all cases is no less.
static constexpr size_t kLeastCases = 1071;

/// The case's function as the one program.
static OwningOpRef<ModuleOp> programOf(const KernelCase &kernelCase, MLIRContext &context) {
  auto module = parseSourceString<ModuleOp>(kernelCase.text, &context);
  if (!module)
    return nullptr;
  auto function = *module->getOps<func::FuncOp>().begin();
  Builder builder(&context);
  function.setName("forward");
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    function.setArgAttr(i, "nn.name", builder.getStringAttr("x" + std::to_string(i)));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    function.setResultAttr(i, "nn.name", builder.getStringAttr("y" + std::to_string(i)));
  return module;
}

/// Nothing if the case has too much data.
static std::optional<conformance::RecordedCase>
recordCase(const KernelCase &kernelCase, size_t number, StringRef target, MLIRContext &context) {
  conformance::RecordedCase recorded;
  recorded.name = kernelCase.name;
  OwningOpRef<ModuleOp> module = programOf(kernelCase, context);
  if (!module) {
    recorded.why = "does not parse";
    return recorded;
  }
  auto function = module->lookupSymbol<func::FuncOp>("forward");
  std::mt19937_64 random(number);
  std::vector<HostTensor> inputs;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    test::Range range;
    if (!kernelCase.ranges.empty())
      range = kernelCase.ranges[std::min<size_t>(i, kernelCase.ranges.size() - 1)];
    inputs.push_back(randomTensor(cast<RankedTensorType>(type), range, random));
  }
  for (const HostTensor &output : evaluate(function, inputs)) {
    recorded.bounds.push_back(kernelCase.slack * tolerance(output.elementType));
    recorded.outputs.push_back(conformance::bytesOf(output));
  }
  size_t bytes = 0;
  for (const std::string &output : recorded.outputs)
    bytes += output.size();
  for (const HostTensor &input : inputs)
    bytes += conformance::bytesOf(input).size();
  if (bytes > kMostData)
    return std::nullopt;
  conformance::record(*module, target, inputs, recorded);
  return recorded;
}

static std::vector<KernelCase> casesOf(size_t every) {
  std::vector<KernelCase> cases;
  llvm::append_range(cases, elementwiseCases(1, 1));
  llvm::append_range(cases, layoutCases(4, 2));
  llvm::append_range(cases, reductionCases(3, 3));
  llvm::append_range(cases, indexCases(3, 4));
  llvm::append_range(cases, contractCases(2, 5));
  llvm::append_range(cases, compositeCases(3, 6));
  llvm::append_range(cases, modelFusions());
  llvm::append_range(cases, randomGraphs(500, 21, {"f32", "f64", "f32", "bf16"}));
  std::vector<KernelCase> chosen;
  for (size_t i = 0; i < cases.size(); i += every)
    chosen.push_back(std::move(cases[i]));
  return chosen;
}

int main(int argc, char **argv) {
  unsigned every = 1;
  if (argc < 3 || argc > 4 || (argc == 4 && StringRef(argv[3]).getAsInteger(10, every)) || !every) {
    llvm::errs() << "usage: weft-record-kernels FILE TARGET [EVERY]\n";
    return 2;
  }
  DialectRegistry registry;
  registerAllDialects(registry);
  const std::vector<KernelCase> cases = casesOf(every);
  std::vector<std::optional<conformance::RecordedCase>> recorded(cases.size());
  std::atomic<size_t> next = 0;
  auto work = [&] {
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    for (size_t i; (i = next++) < cases.size();)
      recorded[i] = recordCase(cases[i], i, argv[2], context);
  };
  std::thread other(work);
  work();
  other.join();
  unsigned failed = 0;
  std::vector<conformance::RecordedCase> kept;
  for (std::optional<conformance::RecordedCase> &one : recorded) {
    if (!one)
      continue;
    if (!one->why.empty()) {
      ++failed;
      llvm::errs() << one->name << ": " << one->why << '\n';
    }
    kept.push_back(std::move(*one));
  }
  llvm::errs() << failed << " cases were not compiled, " << cases.size() - kept.size()
               << " have more than " << kMostData << " bytes of data\n";
  bool areEnough = every > 1 || kept.size() >= kLeastCases;
  if (!areEnough)
    llvm::errs() << "at least " << kLeastCases << " cases must be recorded\n";
  return conformance::writeCases(kept, argv[1], llvm::errs()) && failed == 0 && areEnough ? 0 : 1;
}
