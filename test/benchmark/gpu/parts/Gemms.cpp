// Part b: cuBLASLt on every product of GPT-2 124M, 355M, 1.5B and of a
// Llama-3-8B layer, forward and both gradients.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/CublasLt.h"
#include "common/Device.h"

#include <algorithm>

using namespace weft::gpukit;

namespace {

struct Model {
  const char *name;
  int64_t tokens, width;
};

/// Every linear layer of the models at a training batch that fills the device,
/// and the fused forms worth having.
/// `shrink` divides every extent, for tests on an emulated device.
std::vector<GemmShape> allShapes(int64_t shrink) {
  std::vector<GemmShape> shapes;
  auto layer = [&](const std::string &name, int64_t tokens, int64_t in, int64_t out, bool bias,
                   bool gelu, bool afterGelu) {
    tokens /= shrink * shrink;
    in /= shrink;
    out /= shrink;
    auto add = [&](Pass pass, Epilogue epilogue) {
      shapes.push_back({name, tokens, in, out, pass, epilogue});
    };
    add(Pass::forward, Epilogue::none);
    if (bias)
      add(Pass::forward, Epilogue::bias);
    if (gelu)
      add(Pass::forward, Epilogue::geluAuxBias);
    add(Pass::inputGrad, Epilogue::none);
    if (afterGelu) {
      add(Pass::inputGrad, Epilogue::dgelu);
      add(Pass::inputGrad, Epilogue::dgeluBiasGrad);
    }
    add(Pass::weightGrad, Epilogue::none);
    if (bias)
      add(Pass::weightGrad, Epilogue::weightBiasGrad);
  };
  for (const Model &model :
       {Model{"gpt2-124m", 65536, 768}, {"gpt2-355m", 32768, 1024}, {"gpt2-1558m", 16384, 1600}}) {
    int64_t c = model.width;
    std::string name = model.name;
    layer(name + "/qkv", model.tokens, c, 3 * c, true, false, false);
    layer(name + "/attproj", model.tokens, c, c, true, false, false);
    layer(name + "/fc", model.tokens, c, 4 * c, true, true, false);
    layer(name + "/fcproj", model.tokens, 4 * c, c, true, false, true);
    layer(name + "/lm_head", model.tokens, c, 50304, false, false, false);
  }
  // Llama 3 8B: width 4096, 32 query and 8 key-value heads of 128, feed-forward
  // 14336; no biases.
  layer("llama3-8b/qkv", 8192, 4096, 6144, false, false, false);
  layer("llama3-8b/o", 8192, 4096, 4096, false, false, false);
  layer("llama3-8b/gate_up", 8192, 4096, 28672, false, false, false);
  layer("llama3-8b/down", 8192, 14336, 4096, false, false, false);
  return shapes;
}

Json measure(const CublasLt &lt, const GemmShape &shape, cudaStream_t stream) {
  GemmPlan plan(lt, shape, precisionBf16(), stream);
  LtForm form = ltForm(shape);
  // The reference costs k products per compared element on the CPU: fewer where
  // k is the token count.
  size_t samples = size_t(std::clamp<int64_t>((int64_t(1) << 21) / form.k, 24, 256));
  Tuned tuned = tuneGemm(plan, stream, 16, bf16Tolerance, samples);
  Json entry = result(tuned.best, shape.flops() / 1e3, "TFLOP/s", tuned.check);
  entry["first_rate"] = shape.flops() / (tuned.first.median * 1e9);
  entry["first_ms"] = toJson(tuned.first);
  entry["best_over_first"] = tuned.first.median / tuned.best.median;
  entry["best_index"] = tuned.bestIndex;
  entry["algorithms"] = tuned.usable;
  entry["layer"] = shape.name;
  entry["pass"] = toString(shape.pass);
  entry["epilogue"] = toString(shape.epilogue);
  entry["m"] = form.m;
  entry["n"] = form.n;
  entry["k"] = form.k;
  entry["buffer_sets"] = plan.sets();
  return entry;
}

} // namespace

int main(int argc, char **argv) {
  Report report("b", "cuBLASLt on the shapes of GPT-2 and Llama 3, bf16",
                option(argc, argv, "json", ""));
  int64_t shrink = std::max(1ll, std::atoll(option(argc, argv, "shrink", "1").c_str()));
  std::string only = option(argc, argv, "layer", "");
  if (flag(argc, argv, "list")) {
    for (const GemmShape &shape : allShapes(shrink))
      std::printf("%s %s %s: tokens %lld in %lld out %lld\n", shape.name.c_str(),
                  toString(shape.pass).c_str(), toString(shape.epilogue).c_str(),
                  (long long)shape.tokens, (long long)shape.in, (long long)shape.out);
    return exitOk;
  }
  if (std::string why = openDevice(); !why.empty())
    return report.finishNoDevice(why);
  try {
    report.facts()["device"] = describeDevice();
    CublasLt lt;
    report.facts()["cublaslt_version"] = lt.getVersion();
    report.facts()["cublaslt_path"] = lt.library.path();
    Stream stream;
    for (const GemmShape &shape : allShapes(shrink))
      if (only.empty() || shape.name.find(only) != std::string::npos)
        report.attempt(shape.name + " " + toString(shape.pass) + " " + toString(shape.epilogue),
                       [&] { return measure(lt, shape, stream); });
  } catch (const std::exception &error) {
    return report.finishFailed(error.what());
  }
  return report.finish();
}
