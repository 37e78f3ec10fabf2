// Prints the bandwidth of generated kernels beside that of memcpy, one thread.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "weft/Target/Cpu/KernelLoader.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <chrono>
#include <cstdio>
#include <cstring>

using namespace mlir;

namespace {
struct Benchmark {
  const char *name;
  const char *text;
};
} // namespace

// 2048 rows of 1024 elements, 8 MiB in f32: beyond the second-level cache.
static const Benchmark benchmarks[] = {
    {"add",
     R"(func.func @k(%a: tensor<2048x1024xf32>, %b: tensor<2048x1024xf32>) -> tensor<2048x1024xf32> {
  %r = nn.add %a, %b : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  return %r : tensor<2048x1024xf32> })"},
    {"add bf16",
     R"(func.func @k(%a: tensor<2048x1024xbf16>, %b: tensor<2048x1024xbf16>) -> tensor<2048x1024xbf16> {
  %r = nn.add %a, %b : (tensor<2048x1024xbf16>, tensor<2048x1024xbf16>) -> tensor<2048x1024xbf16>
  return %r : tensor<2048x1024xbf16> })"},
    {"bias + gelu tanh",
     R"(func.func @k(%a: tensor<2048x1024xf32>, %b: tensor<1024xf32>) -> tensor<2048x1024xf32> {
  %c = nn.broadcast %b dims = [1] : tensor<1024xf32> -> tensor<2048x1024xf32>
  %d = nn.add %a, %c : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %r = nn.gelu %d {tanh} : (tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  return %r : tensor<2048x1024xf32> })"},
    {"gelu erf",
     R"(func.func @k(%a: tensor<2048x1024xf32>) -> tensor<2048x1024xf32> {
  %r = nn.gelu %a : (tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  return %r : tensor<2048x1024xf32> })"},
    {"exp",
     R"(func.func @k(%a: tensor<2048x1024xf32>) -> tensor<2048x1024xf32> {
  %r = nn.exp %a : (tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  return %r : tensor<2048x1024xf32> })"},
    {"silu",
     R"(func.func @k(%a: tensor<2048x1024xf32>) -> tensor<2048x1024xf32> {
  %r = nn.silu %a : (tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  return %r : tensor<2048x1024xf32> })"},
    {"softmax",
     R"(func.func @k(%a: tensor<2048x1024xf32>) -> tensor<2048x1024xf32> {
  %r = nn.softmax %a dim = 1 : (tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  return %r : tensor<2048x1024xf32> })"},
    {"softmax bf16",
     R"(func.func @k(%a: tensor<2048x1024xbf16>) -> tensor<2048x1024xbf16> {
  %r = nn.softmax %a dim = 1 : (tensor<2048x1024xbf16>) -> tensor<2048x1024xbf16>
  return %r : tensor<2048x1024xbf16> })"},
    {"residual + layer_norm",
     R"(func.func @k(%a: tensor<2048x1024xf32>, %b: tensor<2048x1024xf32>, %s: tensor<1024xf32>, %t: tensor<1024xf32>) -> (tensor<2048x1024xf32>, tensor<2048x1024xf32>) {
  %c = nn.add %a, %b : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %r = nn.layer_norm %c, %s, %t dim = 1 epsilon = 1.0e-5 : (tensor<2048x1024xf32>, tensor<1024xf32>, tensor<1024xf32>) -> tensor<2048x1024xf32>
  return %c, %r : tensor<2048x1024xf32>, tensor<2048x1024xf32> })"},
    {"rms_norm",
     R"(func.func @k(%a: tensor<2048x1024xf32>, %s: tensor<1024xf32>) -> tensor<2048x1024xf32> {
  %r = nn.rms_norm %a, %s dim = 1 epsilon = 1.0e-5 : (tensor<2048x1024xf32>, tensor<1024xf32>) -> tensor<2048x1024xf32>
  return %r : tensor<2048x1024xf32> })"},
    {"row sum", R"(func.func @k(%a: tensor<2048x1024xf32>) -> tensor<2048xf32> {
  %r = nn.reduce sum %a dims = [1] : tensor<2048x1024xf32> -> tensor<2048xf32>
  return %r : tensor<2048xf32> })"},
    {"row max", R"(func.func @k(%a: tensor<2048x1024xf32>) -> tensor<2048xf32> {
  %r = nn.reduce max %a dims = [1] : tensor<2048x1024xf32> -> tensor<2048xf32>
  return %r : tensor<2048xf32> })"},
    {"column sum",
     R"(func.func @k(%a: tensor<2048x1024xf32>) -> tensor<1024xf32> {
  %r = nn.reduce sum %a dims = [0] : tensor<2048x1024xf32> -> tensor<1024xf32>
  return %r : tensor<1024xf32> })"},
    {"transpose",
     R"(func.func @k(%a: tensor<2048x1024xf32>) -> tensor<1024x2048xf32> {
  %r = nn.transpose %a permutation = [1, 0] : tensor<2048x1024xf32> -> tensor<1024x2048xf32>
  return %r : tensor<1024x2048xf32> })"},
    {"split heads",
     R"(func.func @k(%a: tensor<2048x1024xf32>) -> tensor<16x2048x64xf32> {
  %b = nn.reshape %a : tensor<2048x1024xf32> -> tensor<2048x16x64xf32>
  %r = nn.transpose %b permutation = [1, 0, 2] : tensor<2048x16x64xf32> -> tensor<16x2048x64xf32>
  return %r : tensor<16x2048x64xf32> })"},
    {"merge heads",
     R"(func.func @k(%a: tensor<16x2048x64xf32>) -> tensor<2048x1024xf32> {
  %b = nn.transpose %a permutation = [1, 0, 2] : tensor<16x2048x64xf32> -> tensor<2048x16x64xf32>
  %r = nn.reshape %b : tensor<2048x16x64xf32> -> tensor<2048x1024xf32>
  return %r : tensor<2048x1024xf32> })"},
    {"rope",
     R"(func.func @k(%a: tensor<32x1024x64xf32>, %c: tensor<1024x32xf32>, %s: tensor<1024x32xf32>) -> tensor<32x1024x64xf32> {
  %d = nn.broadcast %c dims = [1, 2] : tensor<1024x32xf32> -> tensor<32x1024x32xf32>
  %e = nn.broadcast %s dims = [1, 2] : tensor<1024x32xf32> -> tensor<32x1024x32xf32>
  %r = nn.rope %a, %d, %e : (tensor<32x1024x64xf32>, tensor<32x1024x32xf32>, tensor<32x1024x32xf32>) -> tensor<32x1024x64xf32>
  return %r : tensor<32x1024x64xf32> })"},
    {"embedding",
     R"(func.func @k(%t: tensor<2048x1024xf32>, %i: tensor<2048x1xi64>) -> tensor<2048x1024xf32> {
  %r = nn.gather %t, %i indexed = [0] operand_batch = [] indices_batch = [] : (tensor<2048x1024xf32>, tensor<2048x1xi64>) -> tensor<2048x1024xf32>
  return %r : tensor<2048x1024xf32> })"},
    {"concat",
     R"(func.func @k(%a: tensor<2048x512xf32>, %b: tensor<2048x512xf32>) -> tensor<2048x1024xf32> {
  %r = nn.concat %a, %b dim = 1 : (tensor<2048x512xf32>, tensor<2048x512xf32>) -> tensor<2048x1024xf32>
  return %r : tensor<2048x1024xf32> })"},
    {"scatter add",
     R"(func.func @k(%t: tensor<2048x1024xf32>, %i: tensor<1024x1xi64>, %u: tensor<1024x1024xf32>) -> tensor<2048x1024xf32> {
  %r = nn.scatter add %t, %i, %u indexed = [0] operand_batch = [] indices_batch = [] : (tensor<2048x1024xf32>, tensor<1024x1xi64>, tensor<1024x1024xf32>) -> tensor<2048x1024xf32>
  return %r : tensor<2048x1024xf32> })"},
    {"adam",
     R"(func.func @k(%w: tensor<2048x1024xf32>, %g: tensor<2048x1024xf32>, %m: tensor<2048x1024xf32>, %v: tensor<2048x1024xf32>) -> (tensor<2048x1024xf32>, tensor<2048x1024xf32>, tensor<2048x1024xf32>) {
  %b1 = nn.constant dense<0.9> : tensor<2048x1024xf32> : tensor<2048x1024xf32>
  %c1 = nn.constant dense<0.1> : tensor<2048x1024xf32> : tensor<2048x1024xf32>
  %m1 = nn.mul %m, %b1 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %m2 = nn.mul %g, %c1 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %m3 = nn.add %m1, %m2 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %gg = nn.mul %g, %g : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %v1 = nn.mul %v, %b1 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %v2 = nn.mul %gg, %c1 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %v3 = nn.add %v1, %v2 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %q = nn.sqrt %v3 : (tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %e = nn.add %q, %c1 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %u = nn.div %m3, %e : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %w1 = nn.sub %w, %u : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  return %w1, %m3, %v3 : tensor<2048x1024xf32>, tensor<2048x1024xf32>, tensor<2048x1024xf32> })"},
    {"softmax f64",
     R"(func.func @k(%a: tensor<2048x512xf64>) -> tensor<2048x512xf64> {
  %r = nn.softmax %a dim = 1 : (tensor<2048x512xf64>) -> tensor<2048x512xf64>
  return %r : tensor<2048x512xf64> })"},
    {"matmul (GF/s instead)",
     R"(func.func @k(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %r = nn.contract %a, %b lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %r : tensor<512x512xf32> })"},
};

/// Seconds of the fastest of several runs.
static double fastest(llvm::function_ref<void()> run) {
  double best = 1e9, total = 0;
  for (int i = 0; i < 30 && (i < 3 || total < 0.3); ++i) {
    auto start = std::chrono::steady_clock::now();
    run();
    std::chrono::duration<double> taken =
        std::chrono::steady_clock::now() - start;
    best = std::min(best, taken.count());
    total += taken.count();
  }
  return best;
}

static int64_t bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() *
         std::max(8u, tensor.getElementTypeBitWidth()) / 8;
}

int main(int argc, char **argv) {
  DialectRegistry registry;
  registry.insert<weft::nn::NnDialect>();
  weft::cpu::registerKernelDialects(registry);
  MLIRContext context(registry);
  std::vector<char> from(8 << 20, 1), to(8 << 20, 2);
  double copy = fastest([&] { memcpy(to.data(), from.data(), from.size()); });
  std::printf("%-24s %7.1f GB/s\n", "memcpy", 2e-9 * from.size() / copy);
  for (const Benchmark &benchmark : benchmarks) {
    if (argc > 1 && !std::strstr(benchmark.name, argv[1]))
      continue;
    auto module = parseSourceString<ModuleOp>(benchmark.text, &context);
    if (!module)
      return 1;
    auto start = std::chrono::steady_clock::now();
    auto kernels = weft::cpu::compileKernels(*module);
    std::chrono::duration<double, std::milli> compile =
        std::chrono::steady_clock::now() - start;
    if (failed(kernels))
      return 1;
    weft::cpu::KernelLoader loader;
    std::string why;
    if (failed(loader.add(*kernels, why))) {
      std::fprintf(stderr, "%s\n", why.c_str());
      return 1;
    }
    auto code = loader.find("k");
    auto function = *module->getOps<func::FuncOp>().begin();
    std::vector<std::vector<char>> buffers;
    std::vector<void *> pointers;
    double bytes = 0;
    for (auto types : {function.getArgumentTypes(), function.getResultTypes()})
      for (Type type : types) {
        // Zeros: valid as any type and as indices, and no special values arise.
        buffers.emplace_back(bytesOf(type), 0);
        bytes += buffers.back().size();
      }
    for (auto &buffer : buffers)
      pointers.push_back(buffer.data());
    double seconds = fastest(
        [&] { code(0, kernels->front().extent, pointers.data(), nullptr); });
    double amount =
        std::strstr(benchmark.name, "GF/s") ? 2.0 * 512 * 512 * 512 : bytes;
    std::printf("%-24s %7.1f GB/s   %8lld units, grain %lld, compiled in %.1f "
                "ms, %zu bytes\n",
                benchmark.name, 1e-9 * amount / seconds,
                (long long)kernels->front().extent,
                (long long)kernels->front().grain, compile.count(),
                kernels->front().object.size());
  }
  return 0;
}
