// Functions against libm: those of f64 are arithmetic, which every processor does alike.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/cuda/Passes.h"
#include "weft/Registration/Registration.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <random>

using namespace mlir;

namespace {

/// A function of two numbers, of which `op` takes the first or both.
template <typename Number> class Compiled {
public:
  Compiled(const std::string &op, bool isBinary) {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    DialectRegistry registry;
    weft::registerAllDialects(registry);
    registerBuiltinDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
    MLIRContext context(registry);
    std::string type = sizeof(Number) == 8 ? "f64" : "f32";
    std::string text = "func.func @f(%x: " + type + ", %y: " + type + ") -> " + type +
                       " {\n  %r = " + op + " %x" + (isBinary ? ", %y" : "") + " : " + type +
                       "\n  return %r : " + type + "\n}";
    auto module = parseSourceString<ModuleOp>(text, &context);
    PassManager manager(&context);
    manager.addPass(weft::cuda::createExpandFunctions());
    manager.addPass(createSCFToControlFlowPass());
    manager.addPass(createConvertMathToLLVMPass());
    manager.addPass(createArithToLLVMConversionPass());
    manager.addPass(createConvertControlFlowToLLVMPass());
    manager.addPass(createConvertFuncToLLVMPass());
    if (failed(manager.run(*module)))
      return;
    auto llvmContext = std::make_unique<llvm::LLVMContext>();
    auto llvmModule = translateModuleToLLVMIR(*module, *llvmContext);
    jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
    llvm::cantFail(jit->addIRModule(
        llvm::orc::ThreadSafeModule(std::move(llvmModule), std::move(llvmContext))));
    function = llvm::cantFail(jit->lookup("f")).toPtr<Number (*)(Number, Number)>();
  }

  Number operator()(Number x, Number y = 0) const { return function(x, y); }
  explicit operator bool() const { return function; }

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
  Number (*function)(Number, Number) = nullptr;
};

/// Steps of f64 between two numbers; those of one bit pattern, and NaNs, are 0 apart.
double stepsBetween(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b) ? 0 : std::numeric_limits<double>::infinity();
  auto ordered = [](double value) {
    int64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits < 0 ? std::numeric_limits<int64_t>::min() - bits : bits;
  };
  int64_t first = ordered(a), second = ordered(b);
  return double(first < second ? uint64_t(second) - uint64_t(first)
                               : uint64_t(first) - uint64_t(second));
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kCorners[] = {0.0,  -0.0,  1,         -1,         0.5,       -0.5,         2,
                           -2,   3,     -3,        0.7071,     709.7,     745,          -745,
                           1000, -1000, 1e-300,    -1e-300,    5e-324,    1e300,        -1e300,
                           1e9,  -1e9,  kInfinity, -kInfinity, 0x1p-1022, std::nan(""), 0.41421356};

struct Case {
  const char *op;
  double (*libm)(double);
  double low, high; ///< where random numbers are drawn
  double most;      ///< steps
  double within;    ///< corners of at most this magnitude, and those that are not finite
};

const Case kCases[] = {
    {"math.exp", std::exp, -745, 709, 4, kInfinity},
    {"math.exp", std::exp, -1, 1, 2, 0},
    {"math.expm1", std::expm1, -2, 2, 8, kInfinity},
    {"math.log", std::log, 0, 1e9, 3, kInfinity},
    {"math.log", std::log, 0.5, 2, 3, 0},
    {"math.log1p", std::log1p, -0.99, 5, 8, kInfinity},
    {"math.sin", std::sin, -1000, 1000, 4, 1e10},
    {"math.cos", std::cos, -1000, 1000, 4, 1e10},
    {"math.tan", std::tan, -1000, 1000, 8, 1e10},
    {"math.atan", std::atan, -10, 10, 4, kInfinity},
    {"math.asin", std::asin, -1, 1, 8, kInfinity},
    {"math.acos", std::acos, -1, 1, 8, kInfinity},
    {"math.sinh", std::sinh, -700, 700, 16, kInfinity},
    {"math.cosh", std::cosh, -700, 700, 8, kInfinity},
    {"math.tanh", std::tanh, -20, 20, 8, kInfinity},
    {"math.asinh", std::asinh, -100, 100, 8, kInfinity},
    {"math.acosh", std::acosh, 1, 100, 16, kInfinity},
    {"math.atanh", std::atanh, -1, 1, 16, kInfinity},
    {"math.erf", std::erf, -7, 7, 32, kInfinity},
};

} // namespace

TEST(Functions, AreThoseOfLibm) {
  std::mt19937_64 random(7);
  for (const Case &each : kCases) {
    Compiled<double> compiled(each.op, false);
    ASSERT_TRUE(compiled) << each.op;
    double worst = 0, at = 0;
    std::uniform_real_distribution<double> numbers(each.low, each.high);
    for (int i = 0; i < 20000; ++i) {
      double x = numbers(random), apart = stepsBetween(compiled(x), each.libm(x));
      if (apart > worst)
        worst = apart, at = x;
    }
    EXPECT_LE(worst, each.most) << each.op << " of " << at << " is " << compiled(at) << ", not "
                                << each.libm(at);
    if (each.within == 0)
      continue;
    for (double x : kCorners)
      if (!(std::abs(x) > each.within) || std::isinf(x))
        EXPECT_LE(stepsBetween(compiled(x), each.libm(x)), each.most)
            << each.op << " of " << x << " is " << compiled(x) << ", not " << each.libm(x);
  }
}

TEST(Functions, OfTwoNumbersAreThoseOfLibm) {
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> numbers(-20, 20), positive(0, 50);
  Compiled<double> pow("math.powf", true), atan2("math.atan2", true), rest("arith.remf", true);
  ASSERT_TRUE(pow && atan2 && rest);
  auto holds = [](const char *name, const Compiled<double> &compiled,
                  double (*libm)(double, double), double x, double y, double most) {
    EXPECT_LE(stepsBetween(compiled(x, y), libm(x, y)), most)
        << name << " of " << x << " and " << y << " is " << compiled(x, y) << ", not "
        << libm(x, y);
  };
  for (int i = 0; i < 20000; ++i) {
    double x = numbers(random), y = numbers(random), p = positive(random);
    holds("pow", pow, std::pow, p, y, 4);
    holds("pow", pow, std::pow, 0.999, std::floor(p * 1000), 4);
    holds("pow", pow, std::pow, x, std::floor(y), 4);
    holds("atan2", atan2, std::atan2, x, y, 8);
    holds("remainder", rest, std::fmod, x * 1e6, y, 0);
    holds("remainder", rest, std::fmod, std::ldexp(x, int(p * 20)), std::ldexp(y, -int(p)), 0);
  }
  for (double x : kCorners)
    for (double y : kCorners) {
      holds("pow", pow, std::pow, x, y, 16);
      holds("atan2", atan2, std::atan2, x, y, 8);
      holds("remainder", rest, std::fmod, x, y, 0);
    }
}

/// The GPU's powers of two and inverses are exact here: what is left is the error of the formulas.
TEST(Functions, OfSinglesAreThoseOfLibm) {
  struct {
    const char *op;
    double (*libm)(double);
    float low, high;
    double most; // units in the last place of f32
  } cases[] = {
      {"math.exp", std::exp, -87, 88, 1.5},     {"math.exp", std::exp, -1, 1, 1.5},
      {"math.exp", std::exp, -104, -87, 1.5}, // subnormals
      {"math.tanh", std::tanh, -0.5, 0.5, 1.5}, {"math.tanh", std::tanh, -9, 9, 2.5},
  };
  std::mt19937_64 random(9);
  for (auto &each : cases) {
    Compiled<float> compiled(each.op, false);
    ASSERT_TRUE(compiled) << each.op;
    auto unitsApart = [&](float x) {
      float expected = float(each.libm(x)), found = compiled(x);
      if (std::isnan(expected) || std::isnan(found) || std::isinf(expected))
        return (std::isnan(expected) && std::isnan(found)) || expected == found ? 0 : 1e9;
      float next = std::nextafter(std::abs(expected), 1e38f);
      return std::abs(double(found) - each.libm(x)) / (double(next) - std::abs(expected));
    };
    double worst = 0;
    float at = 0;
    std::uniform_real_distribution<float> numbers(each.low, each.high);
    for (int i = 0; i < 100000; ++i) {
      float x = numbers(random);
      if (double apart = unitsApart(x); apart > worst)
        worst = apart, at = x;
    }
    EXPECT_LE(worst, each.most) << each.op << " of " << at << " is " << compiled(at);
    for (float x : {0.0f, -0.0f, 1e-30f, -1e-30f, 88.7f, 89.0f, -103.9f, -200.0f, 1e30f, -1e30f,
                    HUGE_VALF, -HUGE_VALF, std::nanf("")}) {
      EXPECT_LE(unitsApart(x), each.most) << each.op << " of " << x << " is " << compiled(x);
      if (!std::isnan(x))
        EXPECT_EQ(std::signbit(compiled(x)), std::signbit(each.libm(x))) << each.op << " of " << x;
    }
  }
}
