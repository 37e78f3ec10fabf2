// Prints the bandwidth of generated kernels beside STREAM's triad: [THREADS [NAME]].
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/nn/IR/Nn.h"
#include "weft/Interfaces/KernelAttributes.h"
#include "weft/Testing/InProcess/KernelLoader.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>

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
    // As training writes it: clipped, decayed, bias-corrected, in place.
    {"adamw, clipped",
     R"(func.func @k(%g: tensor<2048x1024xf32>, %clip: tensor<f32>, %w: tensor<2048x1024xf32>, %m: tensor<2048x1024xf32>, %v: tensor<2048x1024xf32>, %c: tensor<f32>, %lr: tensor<f32>)
    -> (tensor<2048x1024xf32>, tensor<2048x1024xf32>, tensor<2048x1024xf32>) attributes {rt.in_place = array<i64: 3, 4, 2>} {
  %s = nn.broadcast %clip dims = [] : tensor<f32> -> tensor<2048x1024xf32>
  %a = nn.mul %g, %s : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %d = nn.constant dense<0.99> : tensor<2048x1024xf32> : tensor<2048x1024xf32>
  %w1 = nn.mul %w, %d : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %b1 = nn.constant dense<0.9> : tensor<2048x1024xf32> : tensor<2048x1024xf32>
  %m1 = nn.mul %m, %b1 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %c1 = nn.constant dense<0.1> : tensor<2048x1024xf32> : tensor<2048x1024xf32>
  %m2 = nn.mul %a, %c1 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %m3 = nn.add %m1, %m2 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %b2 = nn.constant dense<0.999> : tensor<2048x1024xf32> : tensor<2048x1024xf32>
  %v1 = nn.mul %v, %b2 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %aa = nn.mul %a, %a : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %c2 = nn.constant dense<0.001> : tensor<2048x1024xf32> : tensor<2048x1024xf32>
  %v2 = nn.mul %aa, %c2 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %v3 = nn.add %v1, %v2 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %q = nn.sqrt %v3 : (tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %cc = nn.broadcast %c dims = [] : tensor<f32> -> tensor<2048x1024xf32>
  %q1 = nn.mul %q, %cc : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %e = nn.constant dense<1.0e-8> : tensor<2048x1024xf32> : tensor<2048x1024xf32>
  %q2 = nn.add %q1, %e : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %u = nn.div %m3, %q2 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %l = nn.broadcast %lr dims = [] : tensor<f32> -> tensor<2048x1024xf32>
  %u1 = nn.mul %l, %u : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %w2 = nn.sub %w1, %u1 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  return %m3, %v3, %w2 : tensor<2048x1024xf32>, tensor<2048x1024xf32>, tensor<2048x1024xf32> })"},
    {"sgd with momentum",
     R"(func.func @k(%g: tensor<2048x1024xf32>, %w: tensor<2048x1024xf32>, %m: tensor<2048x1024xf32>, %lr: tensor<f32>)
    -> (tensor<2048x1024xf32>, tensor<2048x1024xf32>) attributes {rt.in_place = array<i64: 2, 1>} {
  %b1 = nn.constant dense<0.9> : tensor<2048x1024xf32> : tensor<2048x1024xf32>
  %m1 = nn.mul %m, %b1 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %m2 = nn.add %m1, %g : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %l = nn.broadcast %lr dims = [] : tensor<f32> -> tensor<2048x1024xf32>
  %u = nn.mul %l, %m2 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %w1 = nn.sub %w, %u : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  return %m2, %w1 : tensor<2048x1024xf32>, tensor<2048x1024xf32> })"},
    // The runs of a gradient's norm; what adds them up is nothing beside it.
    {"gradient norm",
     R"(func.func @k(%g: tensor<2048x1024xf32>) -> tensor<256xf32> {
  %a = nn.mul %g, %g : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %b = nn.reshape %a : tensor<2048x1024xf32> -> tensor<256x8192xf32>
  %r = nn.reduce sum %b dims = [1] : tensor<256x8192xf32> -> tensor<256xf32>
  return %r : tensor<256xf32> })"},
    {"layer_norm gradient",
     R"(func.func @k(%x: tensor<2048x1024xf32>, %g: tensor<2048x1024xf32>, %s: tensor<1024xf32>) -> (tensor<2048x1024xf32>, tensor<2048x1024xf32>) {
  %0 = nn.reduce sum %x dims = [1] : tensor<2048x1024xf32> -> tensor<2048xf32>
  %1 = nn.constant dense<1024.0> : tensor<2048xf32> : tensor<2048xf32>
  %2 = nn.div %0, %1 : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32>
  %3 = nn.broadcast %2 dims = [0] : tensor<2048xf32> -> tensor<2048x1024xf32>
  %4 = nn.sub %x, %3 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %5 = nn.mul %4, %4 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %6 = nn.reduce sum %5 dims = [1] : tensor<2048x1024xf32> -> tensor<2048xf32>
  %7 = nn.div %6, %1 : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32>
  %8 = nn.constant dense<1.0e-5> : tensor<2048xf32> : tensor<2048xf32>
  %9 = nn.add %7, %8 : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32>
  %10 = nn.rsqrt %9 : (tensor<2048xf32>) -> tensor<2048xf32>
  %11 = nn.broadcast %10 dims = [0] : tensor<2048xf32> -> tensor<2048x1024xf32>
  %12 = nn.mul %4, %11 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %13 = nn.broadcast %s dims = [1] : tensor<1024xf32> -> tensor<2048x1024xf32>
  %14 = nn.mul %g, %13 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %15 = nn.reduce sum %14 dims = [1] : tensor<2048x1024xf32> -> tensor<2048xf32>
  %16 = nn.div %15, %1 : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32>
  %17 = nn.broadcast %16 dims = [0] : tensor<2048xf32> -> tensor<2048x1024xf32>
  %18 = nn.sub %14, %17 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %19 = nn.mul %14, %12 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %20 = nn.reduce sum %19 dims = [1] : tensor<2048x1024xf32> -> tensor<2048xf32>
  %21 = nn.div %20, %1 : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32>
  %22 = nn.broadcast %21 dims = [0] : tensor<2048xf32> -> tensor<2048x1024xf32>
  %23 = nn.mul %12, %22 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %24 = nn.sub %18, %23 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %25 = nn.mul %11, %24 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %26 = nn.mul %g, %12 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  return %25, %26 : tensor<2048x1024xf32>, tensor<2048x1024xf32> })"},
    {"cross-entropy gradient",
     R"(func.func @k(%x: tensor<2048x1024xf32>, %lse: tensor<2048xf32>, %label: tensor<2048xi64>, %c: tensor<2048xf32>) -> tensor<2048x1024xf32> {
  %0 = nn.broadcast %lse dims = [0] : tensor<2048xf32> -> tensor<2048x1024xf32>
  %1 = nn.sub %x, %0 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %2 = nn.exp %1 : (tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %3 = nn.iota : tensor<1024xi64>
  %4 = nn.broadcast %3 dims = [1] : tensor<1024xi64> -> tensor<2048x1024xi64>
  %5 = nn.broadcast %label dims = [0] : tensor<2048xi64> -> tensor<2048x1024xi64>
  %6 = nn.compare eq %4, %5 : (tensor<2048x1024xi64>, tensor<2048x1024xi64>) -> tensor<2048x1024xi1>
  %7 = nn.cast %6 : (tensor<2048x1024xi1>) -> tensor<2048x1024xf32>
  %8 = nn.sub %2, %7 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  %9 = nn.broadcast %c dims = [0] : tensor<2048xf32> -> tensor<2048x1024xf32>
  %10 = nn.mul %8, %9 : (tensor<2048x1024xf32>, tensor<2048x1024xf32>) -> tensor<2048x1024xf32>
  return %10 : tensor<2048x1024xf32> })"},
    {"softmax f64",
     R"(func.func @k(%a: tensor<2048x512xf64>) -> tensor<2048x512xf64> {
  %r = nn.softmax %a dim = 1 : (tensor<2048x512xf64>) -> tensor<2048x512xf64>
  return %r : tensor<2048x512xf64> })"},
    {"matmul (GF/s instead)",
     R"(func.func @k(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %r = nn.contract %a, %b lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %r : tensor<512x512xf32> })"},
};

/// Seconds that this thread had a core: others may use the machine, too.
static double threadSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

/// Seconds of the fastest of several runs: of one thread what it was given, of
/// several what a clock shows.
static double fastest(bool isOne, llvm::function_ref<void()> run) {
  double best = 1e9, total = 0;
  for (int i = 0; i < 30 && (i < 3 || total < 0.3); ++i) {
    auto start = std::chrono::steady_clock::now();
    double before = threadSeconds();
    run();
    std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    best = std::min(best, isOne ? threadSeconds() - before : taken.count());
    total += taken.count();
  }
  return best;
}

/// Calls `body` on even pieces of [0, extent), one a thread.
static void share(unsigned threads, int64_t extent,
                  llvm::function_ref<void(int64_t, int64_t)> body) {
  std::vector<std::thread> others;
  for (unsigned t = 1; t < threads; ++t)
    others.emplace_back([=] { body(extent * t / threads, extent * (t + 1) / threads); });
  body(0, extent / threads);
  for (std::thread &other : others)
    other.join();
}

static int64_t bytesOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getNumElements() * std::max(8u, tensor.getElementTypeBitWidth()) / 8;
}

/// a = b + s * c on arrays of 8 MiB, as the kernels have them.
static double triad(unsigned threads) {
  int64_t count = 2 << 20;
  std::vector<float> a(count, 1), b(count, 2), c(count, 3);
  double seconds = fastest(threads == 1, [&] {
    share(threads, count, [&](int64_t begin, int64_t end) {
      float *to = a.data();
      const float *x = b.data(), *y = c.data();
      for (int64_t i = begin; i < end; ++i)
        to[i] = x[i] + 3.0f * y[i];
    });
  });
  return 3e-9 * count * sizeof(float) / seconds;
}

int main(int argc, char **argv) {
  unsigned threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
  DialectRegistry registry;
  registry.insert<weft::nn::NnDialect>();
  weft::cpu::registerKernelDialects(registry);
  MLIRContext context(registry);
  double stream = triad(threads);
  std::printf("%-24s %7.1f GB/s   %u threads\n", "triad", stream, threads);
  for (const Benchmark &benchmark : benchmarks) {
    if (argc > 2 && !std::strstr(benchmark.name, argv[2]))
      continue;
    auto module = parseSourceString<ModuleOp>(benchmark.text, &context);
    if (!module)
      return 1;
    auto start = std::chrono::steady_clock::now();
    auto kernels = weft::cpu::compileKernels(*module);
    std::chrono::duration<double, std::milli> compile = std::chrono::steady_clock::now() - start;
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
    auto add = [&](Type type) {
      // Zeros: valid as any type and as indices, and no special values arise.
      buffers.emplace_back(bytesOf(type), 0);
      pointers.push_back(buffers.back().data());
    };
    for (Type type : function.getArgumentTypes()) {
      add(type);
      bytes += bytesOf(type);
    }
    auto shared = function->getAttrOfType<DenseI64ArrayAttr>(weft::kInPlaceAttr);
    for (auto [number, type] : llvm::enumerate(function.getResultTypes())) {
      if (shared && shared[number] >= 0)
        pointers.push_back(pointers[shared[number]]);
      else
        add(type);
      bytes += bytesOf(type);
    }
    int64_t extent = kernels->front().shape.extent;
    double seconds = fastest(threads == 1, [&] {
      share(threads, extent,
            [&](int64_t begin, int64_t end) { code(begin, end, pointers.data(), nullptr); });
    });
    bool isProduct = std::strstr(benchmark.name, "GF/s");
    double rate = 1e-9 * (isProduct ? 2.0 * 512 * 512 * 512 : bytes) / seconds;
    std::printf("%-24s %7.1f GB/s %4.0f %%  %8lld units, grain %lld, compiled "
                "in %.1f ms, %zu bytes\n",
                benchmark.name, rate, isProduct ? 0.0 : 100 * rate / stream, (long long)extent,
                (long long)kernels->front().shape.grain, compile.count(),
                kernels->front().bytes.size());
  }
  return 0;
}
