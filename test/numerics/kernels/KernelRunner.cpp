// Runs kernels given as text, compiled and by the reference, and compares.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelRunner.h"

#include "../../support/Distance.h"
#include "weft/Target/Cpu/Processor.h"

#include "dialects/nn/IR/Nn.h"
#include "weft/Interfaces/OpInterfaces.h"

#include "mlir/Parser/Parser.h"
#include "llvm/ADT/APFloat.h"

#include <cmath>

using namespace mlir;

namespace weft::test {

DialectRegistry testRegistry() {
  DialectRegistry registry;
  registry.insert<nn::NnDialect>();
  cpu::registerKernelDialects(registry);
  return registry;
}

HostTensor randomTensor(RankedTensorType type, Range range, std::mt19937_64 &random) {
  HostTensor tensor(type);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    Scalar value;
    if (tensor.isFloat()) {
      value.real = std::uniform_real_distribution<double>(range.low, range.high)(random);
    } else {
      auto low = int64_t(range.low), high = int64_t(range.high);
      if (tensor.elementType.isInteger(1))
        low = 0, high = 1;
      if (tensor.elementType.isUnsignedInteger())
        low = std::max<int64_t>(low, 0), high = std::max<int64_t>(high, 1);
      value.integer = std::uniform_int_distribution<int64_t>(low, high)(random);
    }
    tensor.set(i, roundToType(value, tensor.elementType));
  }
  return tensor;
}

std::vector<char> toBytes(const HostTensor &tensor) {
  unsigned bits = tensor.elementType.getIntOrFloatBitWidth();
  unsigned width = bits == 1 ? 1 : bits / 8;
  std::vector<char> bytes(tensor.size() * width);
  for (int64_t i = 0; i < tensor.size(); ++i) {
    uint64_t pattern;
    if (auto type = dyn_cast<FloatType>(tensor.elementType)) {
      llvm::APFloat value(tensor.reals[i]);
      bool loses;
      value.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &loses);
      pattern = value.bitcastToAPInt().getZExtValue();
    } else {
      pattern = uint64_t(tensor.integers[i]);
      if (bits == 1)
        pattern &= 1;
    }
    memcpy(&bytes[i * width], &pattern, width);
  }
  return bytes;
}

std::vector<HostTensor> evaluate(func::FuncOp function, ArrayRef<HostTensor> arguments) {
  DenseMap<Value, HostTensor> values;
  for (auto [argument, value] : llvm::zip_equal(function.getArguments(), arguments))
    values[argument] = value;
  std::vector<HostTensor> results;
  for (Operation &op : function.getBody().front()) {
    llvm::SmallVector<HostTensor> operands;
    for (Value operand : op.getOperands())
      operands.push_back(values[operand]);
    if (isa<func::ReturnOp>(op)) {
      results.assign(operands.begin(), operands.end());
      break;
    }
    auto outputs = cast<ReferenceOpInterface>(op).evaluate(operands);
    for (auto [result, output] : llvm::zip_equal(op.getResults(), outputs)) {
      if (output.isFloat() && output.elementType.getIntOrFloatBitWidth() < 32)
        roundToOwnType(output);
      values[result] = output;
    }
  }
  return results;
}

double tolerance(Type element) {
  if (element.isF64())
    return 1e-11;
  if (element.isF32())
    return 1e-5;
  // One ulp of the greatest element, and a half more for a flipped rounding.
  if (element.isBF16())
    return 0x1.8p-7;
  if (element.isF16())
    return 0x1.8p-10;
  return 0;
}

double worstError(const HostTensor &actual, const HostTensor &expected) {
  if (!expected.isFloat())
    return actual.integers == expected.integers ? 0 : INFINITY;
  Distance distance(Specials::MayAgree);
  for (auto [a, e] : llvm::zip_equal(actual.reals, expected.reals))
    distance.add(a, e);
  return distance.relative();
}

namespace {
/// Buffers of one call, filled with a pattern where results go.
struct Call {
  std::vector<std::vector<char>> buffers;
  std::vector<void *> pointers;

  Call(ArrayRef<HostTensor> arguments, ArrayRef<HostTensor> results) {
    for (const HostTensor &tensor : arguments)
      buffers.push_back(toBytes(tensor));
    for (const HostTensor &tensor : results)
      buffers.push_back(std::vector<char>(toBytes(tensor).size(), char(0xcd)));
    // A guard after each buffer shows writes past its end.
    for (auto &buffer : buffers) {
      buffer.resize(buffer.size() + 64, char(0x5a));
      pointers.push_back(buffer.data());
    }
  }
  bool guardsHold() const {
    for (auto &buffer : buffers)
      for (size_t i = buffer.size() - 64; i < buffer.size(); ++i)
        if (buffer[i] != char(0x5a))
          return false;
    return true;
  }
};
} // namespace

static CaseResult runCase(const KernelCase &kernelCase, func::FuncOp function,
                          const KernelImage &kernel, cpu::KernelLoader::Function code,
                          std::mt19937_64 &random) {
  CaseResult result;
  result.name = kernelCase.name;
  if (!code) {
    result.failure = "symbol not found";
    return result;
  }
  std::vector<HostTensor> arguments;
  for (auto [number, type] : llvm::enumerate(function.getArgumentTypes())) {
    Range range;
    if (!kernelCase.ranges.empty())
      range = kernelCase.ranges[std::min<size_t>(number, kernelCase.ranges.size() - 1)];
    arguments.push_back(randomTensor(cast<RankedTensorType>(type), range, random));
  }
  std::vector<HostTensor> expected = evaluate(function, arguments);
  Call whole(arguments, expected), pieces(arguments, expected);
  code(0, kernel.shape.extent, whole.pointers.data(), nullptr);
  for (int64_t begin = 0; begin < kernel.shape.extent;) {
    int64_t end = std::uniform_int_distribution<int64_t>(begin + 1, kernel.shape.extent)(random);
    code(begin, end, pieces.pointers.data(), nullptr);
    begin = end;
  }
  if (whole.buffers != pieces.buffers)
    result.failure = "results depend on how the work is cut";
  if (!whole.guardsHold())
    result.failure = "wrote past the end of a buffer";
  for (size_t i = 0; i < expected.size(); ++i) {
    auto type = cast<RankedTensorType>(function.getResultTypes()[i]);
    ArrayRef<char> bytes(whole.buffers[arguments.size() + i]);
    HostTensor actual = decodeHostTensor(type, bytes.drop_back(64));
    double error = worstError(actual, expected[i]);
    result.error = std::max(result.error, error);
    if (error > kernelCase.slack * tolerance(type.getElementType()) && result.failure.empty()) {
      llvm::raw_string_ostream os(result.failure);
      os << "result " << i << " of " << type << ": error " << error;
      for (int64_t e = 0, shown = 0; e < expected[i].size() && shown < 4; ++e) {
        Scalar a = actual.at(e), x = expected[i].at(e);
        if (actual.isFloat() ? a.real != x.real : a.integer != x.integer) {
          ++shown;
          os << "\n  [" << e << "] " << (actual.isFloat() ? a.real : a.integer) << " instead of "
             << (actual.isFloat() ? x.real : x.integer);
        }
      }
    }
  }
  return result;
}

std::vector<Share> sharesOf(const std::vector<KernelCase> &cases, bool everyLevel, uint64_t seed) {
  std::vector<Share> shares{{"native", cases}};
  for (const std::string &level : cpu::executableLevels())
    shares.push_back({level, everyLevel ? cases : std::vector<KernelCase>()});
  size_t levels = shares.size() - 1;
  if (everyLevel || levels == 0)
    return shares;
  // Drawn, as cases of one type come at regular distances.
  std::mt19937_64 random(seed);
  for (const KernelCase &one : cases)
    shares[1 + random() % levels].cases.push_back(one);
  return shares;
}

std::vector<CaseResult> runCases(MLIRContext &context, const std::vector<KernelCase> &cases,
                                 const KernelOptions &options, uint64_t seed) {
  std::vector<CaseResult> results;
  std::mt19937_64 random(seed);
  constexpr size_t batch = 128;
  for (size_t first = 0; first < cases.size(); first += batch) {
    size_t last = std::min(cases.size(), first + batch);
    std::string text;
    for (size_t i = first; i < last; ++i)
      text += cases[i].text + "\n";
    auto failAll = [&](const std::string &why) {
      for (size_t i = first; i < last; ++i)
        results.push_back({cases[i].name, INFINITY, why});
    };
    auto module = parseSourceString<ModuleOp>(text, &context);
    if (!module) {
      failAll("does not parse:\n" + text);
      continue;
    }
    auto kernels = cpu::compileKernels(*module, options);
    if (failed(kernels)) {
      failAll("does not compile");
      continue;
    }
    cpu::KernelLoader loader;
    std::string why;
    if (failed(loader.add(*kernels, why))) {
      failAll("does not load: " + why);
      continue;
    }
    size_t number = 0;
    for (auto function : module->getOps<func::FuncOp>()) {
      results.push_back(runCase(cases[first + number], function, (*kernels)[number],
                                loader.find(function.getName()), random));
      ++number;
    }
  }
  return results;
}

} // namespace weft::test
