// Compiles cases twice, runs them on the same bytes, compares.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TwinRunner.h"

#include "dialects/nn/IR/Nn.h"
#include "passes/cuda/Passes.h"
#include "passes/kernels/Passes.h"
#include "weft/Interfaces/KernelAttributes.h"
#include "weft/Target/Twin/KernelCompiler.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringSet.h"

#include <cmath>
#include <cstdlib>

using namespace mlir;

namespace weft::test {

static constexpr size_t kAlignment = 256, kGuardBytes = 256;
static std::string emulatorError;

std::vector<Turn> turns(uint64_t seed) {
  using emulator::Order;
  return {{Order::Forward, seed},
          {Order::Backward, seed + 1},
          {Order::Warps, seed + 2},
          {Order::Random, seed + 3},
          {Order::Preempted, seed + 4}};
}

DialectRegistry twinRegistry() {
  DialectRegistry registry;
  registry.insert<nn::NnDialect>();
  twin::registerKernelDialects(registry);
  return registry;
}

namespace {
/// Memory with a pattern behind it.
class Guarded {
public:
  explicit Guarded(size_t bytes) : bytes(bytes) {
    size_t total = (bytes + kGuardBytes + kAlignment - 1) / kAlignment * kAlignment;
    memory.reset(static_cast<char *>(std::aligned_alloc(kAlignment, total)));
    std::memset(memory.get(), 0x5a, total);
  }
  char *data() { return memory.get(); }
  bool guardHolds() const {
    return std::all_of(memory.get() + bytes, memory.get() + bytes + kGuardBytes,
                       [](char byte) { return byte == 0x5a; });
  }

private:
  struct Free {
    void operator()(char *pointer) const { std::free(pointer); }
  };
  std::unique_ptr<char, Free> memory;
  size_t bytes;
};
} // namespace

std::vector<ResultBuffer> resultsOf(func::FuncOp kernel) {
  auto shared = kernel->getAttrOfType<DenseI64ArrayAttr>(kInPlaceAttr);
  std::vector<ResultBuffer> results;
  for (auto [number, type] : llvm::enumerate(kernel.getResultTypes()))
    results.push_back(
        {toBytes(HostTensor(cast<RankedTensorType>(type))).size(), shared ? shared[number] : -1});
  return results;
}

Outcome launch(cpu::KernelLoader::Function code, const LaunchShape &shape, const Buffers &arguments,
               const std::vector<ResultBuffer> &results) {
  std::vector<Guarded> buffers;
  std::vector<size_t> bufferOf; // of arguments, then of results
  std::vector<void *> pointers;
  for (const std::vector<char> &argument : arguments) {
    buffers.emplace_back(argument.size());
    std::memcpy(buffers.back().data(), argument.data(), argument.size());
    bufferOf.push_back(buffers.size() - 1);
  }
  std::vector<bool> mayChange(arguments.size(), false);
  for (const ResultBuffer &result : results) {
    if (result.overwrites >= 0) {
      mayChange[size_t(result.overwrites)] = true;
      bufferOf.push_back(size_t(result.overwrites));
      continue;
    }
    buffers.emplace_back(result.bytes);
    std::memset(buffers.back().data(), 0xcd, result.bytes);
    bufferOf.push_back(buffers.size() - 1);
  }
  for (size_t number : bufferOf)
    pointers.push_back(buffers[number].data());
  emulatorError.clear();
  emulator::setErrorHandler([](const char *sentence) { emulatorError = sentence; });
  code(0, shape.extent, pointers.data(), nullptr);
  emulator::setErrorHandler(nullptr);
  Outcome outcome{{}, emulatorError};
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!buffers[i].guardHolds() && outcome.error.empty())
      outcome.error = "wrote past the end of buffer " + std::to_string(i);
    if (i < arguments.size() && !mayChange[i] && outcome.error.empty() &&
        std::memcmp(buffers[i].data(), arguments[i].data(), arguments[i].size()))
      outcome.error = "wrote to argument " + std::to_string(i);
  }
  for (auto [number, result] : llvm::enumerate(results)) {
    const char *data = buffers[bufferOf[arguments.size() + number]].data();
    outcome.results.emplace_back(data, data + result.bytes);
  }
  return outcome;
}

OwningOpRef<ModuleOp> toGpu(ModuleOp module) {
  OwningOpRef<ModuleOp> gpu(module.clone());
  PassManager manager(module.getContext(), ModuleOp::getOperationName(),
                      OpPassManager::Nesting::Implicit);
  manager.enableVerifier(false); // see convert-nn-to-linalg
  cuda::buildGpuPipeline(manager);
  if (failed(manager.run(*gpu)))
    return {};
  return gpu;
}

/// Sums and products that may be split into lanes, or joined with one rounding.
static bool mayBeRegrouped(Operation *op) {
  auto fast = dyn_cast<arith::ArithFastMathInterface>(op);
  arith::FastMathFlagsAttr flags = fast ? fast.getFastMathFlagsAttr() : nullptr;
  return flags &&
         bitEnumContainsAny(flags.getValue(),
                            arith::FastMathFlags::reassoc | arith::FastMathFlags::contract) &&
         !isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>(op);
}

/// A sum or product of floats that threads may share.
static bool addsInAnyOrder(Operation *op) {
  return op->hasAttr(kAnyOrderAttr) &&
         llvm::any_of(cast<linalg::GenericOp>(op).getBody()->getOperations(),
                      [](Operation &inner) { return isa<arith::AddFOp, arith::MulFOp>(inner); });
}

/// What the CPU has libm or polynomials for, where a GPU has other formulas.
static bool isOfLibrary(Operation *op) {
  return isa<arith::RemFOp, math::AcosOp, math::AcoshOp, math::AsinOp, math::AsinhOp, math::AtanOp,
             math::Atan2Op, math::AtanhOp, math::CosOp, math::CoshOp, math::ErfOp, math::ExpOp,
             math::ExpM1Op, math::LogOp, math::Log1pOp, math::PowFOp, math::SinOp, math::SinhOp,
             math::TanOp, math::TanhOp>(op);
}

/// The functions that need not have the CPU's bits.
static llvm::StringSet<> inexactOf(ModuleOp module) {
  OwningOpRef<ModuleOp> bodies(module.clone());
  PassManager manager(module.getContext(), ModuleOp::getOperationName(),
                      OpPassManager::Nesting::Implicit);
  manager.enableVerifier(false); // see convert-nn-to-linalg
  manager.addNestedPass<func::FuncOp>(kernels::createConvertNnToLinalg());
  manager.addNestedPass<func::FuncOp>(
      kernels::createExpandMath({/*keepBFloat16Casts=*/false, /*keepExponentials=*/true}));
  llvm::StringSet<> inexact;
  if (failed(manager.run(*bodies)))
    return inexact;
  for (auto function : bodies->getOps<func::FuncOp>())
    function.walk([&](Operation *op) {
      if (mayBeRegrouped(op) || isOfLibrary(op) || addsInAnyOrder(op))
        inexact.insert(function.getName());
    });
  return inexact;
}

namespace {
/// The kernels of some cases, compiled.
struct Compiled {
  OwningOpRef<ModuleOp> module, gpu;
  std::vector<KernelImage> cpuKernels, twinKernels;
  llvm::StringSet<> inexact;
  cpu::KernelLoader cpuCode, twinCode;

  /// Empty: it worked.
  std::string compile(MLIRContext &context, const std::string &text);
};
} // namespace

std::string Compiled::compile(MLIRContext &context, const std::string &text) {
  module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return "does not parse:\n" + text;
  inexact = inexactOf(*module);
  const KernelOptions options{"native", 1};
  auto forCpu = cpu::compileKernels(*module, options);
  if (failed(forCpu))
    return "does not compile for the CPU";
  gpu = toGpu(*module);
  if (!gpu)
    return "has no form for a GPU";
  auto forTwin = twin::compileGpuKernels(*gpu, options);
  if (failed(forTwin))
    return "does not compile for the twin";
  cpuKernels = std::move(*forCpu);
  twinKernels = std::move(*forTwin);
  std::string why;
  if (failed(cpuCode.add(cpuKernels, why)) || failed(twinCode.add(twinKernels, why)))
    return "does not load: " + why;
  return "";
}

/// Whether the twin's results are right: the CPU's bits, or near the reference.
static std::string judge(const KernelCase &kernelCase, func::FuncOp function, bool isExact,
                         const Outcome &twin, const Outcome &cpu,
                         const std::vector<HostTensor> &arguments) {
  std::vector<HostTensor> expected;
  if (!isExact)
    expected = evaluate(function, arguments);
  for (size_t i = 0; i < twin.results.size(); ++i) {
    if (isExact && twin.results[i] == cpu.results[i])
      continue;
    auto type = cast<RankedTensorType>(function.getResultTypes()[i]);
    HostTensor actual = decodeHostTensor(type, ArrayRef<char>(twin.results[i]));
    HostTensor wanted =
        isExact ? decodeHostTensor(type, ArrayRef<char>(cpu.results[i])) : std::move(expected[i]);
    double error = worstError(actual, wanted);
    if (isExact || !(error <= kernelCase.slack * tolerance(type.getElementType()))) {
      std::string text;
      llvm::raw_string_ostream(text) << "result " << i << " of " << type << ": error " << error
                                     << (isExact ? " to the CPU's bits" : " to the reference");
      return text;
    }
  }
  return "";
}

static CaseResult runTwin(const KernelCase &kernelCase, func::FuncOp function, Compiled &compiled,
                          size_t number, std::mt19937_64 &random, size_t &exact) {
  CaseResult result;
  result.name = kernelCase.name;
  std::vector<HostTensor> arguments;
  Buffers bytes;
  for (auto [position, type] : llvm::enumerate(function.getArgumentTypes())) {
    Range range;
    if (!kernelCase.ranges.empty())
      range = kernelCase.ranges[std::min<size_t>(position, kernelCase.ranges.size() - 1)];
    arguments.push_back(randomTensor(cast<RankedTensorType>(type), range, random));
    bytes.push_back(toBytes(arguments.back()));
  }
  std::vector<ResultBuffer> results = resultsOf(function);
  auto code = compiled.twinCode.find(function.getName());
  auto reference = compiled.cpuCode.find(function.getName());
  if (!code || !reference) {
    result.failure = "symbol not found";
    return result;
  }
  Outcome cpu = launch(reference, compiled.cpuKernels[number].shape, bytes, results);
  bool isExact = !compiled.inexact.contains(function.getName());
  exact += isExact;
  Outcome first;
  for (auto [which, turn] : llvm::enumerate(turns(random()))) {
    emulator::setOrder(turn.order, turn.seed);
    Outcome twin = launch(code, compiled.twinKernels[number].shape, bytes, results);
    if (!twin.error.empty())
      result.failure = twin.error;
    else if (which == 0)
      result.failure = judge(kernelCase, function, isExact, twin, cpu, arguments);
    else if (!(twin == first))
      result.failure = "order " + std::to_string(which) + " gives other bits than the first";
    if (which == 0)
      first = std::move(twin);
    if (!result.failure.empty())
      break;
  }
  return result;
}

std::vector<CaseResult> runTwins(MLIRContext &context, const std::vector<KernelCase> &cases,
                                 uint64_t seed, size_t &exact) {
  std::vector<CaseResult> results;
  std::mt19937_64 random(seed);
  constexpr size_t batch = 64;
  for (size_t first = 0; first < cases.size(); first += batch) {
    size_t last = std::min(cases.size(), first + batch);
    std::string text;
    for (size_t i = first; i < last; ++i)
      text += cases[i].text + "\n";
    Compiled compiled;
    if (std::string why = compiled.compile(context, text); !why.empty()) {
      for (size_t i = first; i < last; ++i)
        results.push_back({cases[i].name, INFINITY, why});
      continue;
    }
    size_t number = 0;
    for (auto function : compiled.module->getOps<func::FuncOp>()) {
      results.push_back(runTwin(cases[first + number], function, compiled, number, random, exact));
      ++number;
    }
  }
  return results;
}

} // namespace weft::test
