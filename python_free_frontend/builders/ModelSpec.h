// What a model builder is asked for: KIND:key=value,... checked and completed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_BUILDERS_MODELSPEC_H
#define WEFT_PYTHON_FREE_FRONTEND_BUILDERS_MODELSPEC_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>

namespace weft::builders {

enum class Kind { Gpt2, Llama, Bert, Vit, Resnet, Moe, Mlp };

/// How a graph is spelled. Exporter: decomposed idioms and the shape arithmetic
/// that torch's exporters write. Compact: the shortest standard ops that the
/// opset has.
enum class Style { Exporter, Compact };

enum class DType { F32, F64, F16, BF16 };

/// A checked request. Every kind reads only the fields its keys set; the
/// meaning and default of each key is in the table of ModelSpec.cpp, which
/// `describeKinds` prints.
struct ModelSpec {
  Kind kind = Kind::Gpt2;
  std::string text; // as the user wrote it

  int64_t layers = 0, hidden = 0, heads = 0, kvHeads = 0, ffn = 0;
  int64_t vocab = 0, seq = 0, types = 0;
  int64_t experts = 0, topK = 0, group = 0, capacity = 0;
  int64_t image = 0, patch = 0, channels = 0, classes = 0, inputs = 0;
  int64_t opset = 0, seed = 0, ropeContext = 0;
  bool tied = false, bias = false, maskInput = false, normalize = false;
  bool pooler = false, sharedMask = false;
  double std = 0, eps = 0, ropeTheta = 0, ropeFactor = 1;
  Style style = Style::Exporter;
  DType dtype = DType::F32;
  std::string attention;  // eager | sdpa
  std::string linear;     // matmul | transpose
  std::string init;       // model | varied
  std::string pooling;    // none | mean | cls
  std::string head;       // none | mlm
  std::string activation; // relu | gelu | tanh
  std::string stem;       // imagenet | cifar
  std::string external;   // auto | 0 | 1
  std::string weights;    // a .safetensors file, or empty

  int64_t headDim() const { return hidden / heads; }
  bool exporter() const { return style == Style::Exporter; }
};

/// The blocks of each stage of a residual network of `layers` layers with
/// weights, and whether they are bottlenecks; nothing for other depths.
struct ResnetShape {
  int64_t blocks[4];
  bool bottleneck;
};
std::optional<ResnetShape> resnetShape(int64_t layers);

/// Parses and checks `text`. The error lists every fault, each with a remedy.
llvm::Expected<ModelSpec> parseModelSpec(llvm::StringRef text);

/// Text for --help: kinds, keys, defaults and presets.
std::string describeKinds();

} // namespace weft::builders

#endif // WEFT_PYTHON_FREE_FRONTEND_BUILDERS_MODELSPEC_H
