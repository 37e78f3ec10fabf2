// Residual convolutional networks (ResNet-18 to ResNet-152).
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/Blocks.h"
#include "python_free_frontend/builders/Models.h"

#include <cmath>

using namespace llvm;

namespace weft::builders {
namespace {

/// A square window without bias: "weight" of the scope `name`.
Value conv(GraphBuilder &g, StringRef name, const Value &x, int64_t in, int64_t out, int64_t kernel,
           int64_t stride) {
  GraphBuilder::Scope scope(g, name);
  // He's initialisation over what leaves the layer keeps gradients' variance.
  double std = g.spec().std > 0 ? g.spec().std : std::sqrt(2.0 / double(kernel * kernel * out));
  Value weight = g.weight("weight", {out, in, kernel, kernel}, Init::normal(std));
  int64_t pad = kernel / 2;
  return g.op("Conv", {x, weight},
              {Attr("kernel_shape", Attr::Ints{kernel, kernel}),
               Attr("strides", Attr::Ints{stride, stride}),
               Attr("pads", Attr::Ints{pad, pad, pad, pad}), Attr("dilations", Attr::Ints{1, 1}),
               Attr("group", 1)});
}

/// As torch writes it in evaluation; a training step takes the batch's
/// statistics all the same and moves the running ones.
Value batchNorm(GraphBuilder &g, StringRef name, const Value &x, int64_t channels) {
  GraphBuilder::Scope scope(g, name);
  Value scale = g.weight("weight", {channels}, Init::ones());
  Value shift = g.weight("bias", {channels}, Init::zeros());
  Value mean = g.weight("running_mean", {channels}, Init::zeros());
  Value variance = g.weight("running_var", {channels}, Init::ones());
  std::vector<Value> inputs = {x, scale, shift, mean, variance};
  Attr epsilon("epsilon", g.spec().eps), momentum("momentum", 0.9);
  if (g.exporter() && g.opset() >= 14)
    return g.op("BatchNormalization", inputs, {epsilon, momentum, Attr("training_mode", 0)});
  return g.op("BatchNormalization", inputs, {epsilon, momentum});
}

Value relu(GraphBuilder &g, StringRef name, const Value &x) {
  GraphBuilder::Scope scope(g, name);
  return g.op("Relu", {x});
}

struct Stage {
  int64_t in, out, stride;
};

/// Two windows of 3 x 3, or one between two of 1 x 1 that narrow to `inner`
/// and widen again; the second form puts the stride on the 3 x 3.
Value block(GraphBuilder &g, const Value &x, Stage stage, int64_t inner, bool bottleneck) {
  Value y = conv(g, "conv1", x, stage.in, inner, bottleneck ? 1 : 3, bottleneck ? 1 : stage.stride);
  y = relu(g, "relu", batchNorm(g, "bn1", y, inner));
  y = conv(g, "conv2", y, inner, inner, 3, bottleneck ? stage.stride : 1);
  y = batchNorm(g, "bn2", y, inner);
  if (bottleneck) {
    y = conv(g, "conv3", relu(g, "relu", y), inner, stage.out, 1, 1);
    y = batchNorm(g, "bn3", y, stage.out);
  }
  Value kept = x;
  if (stage.in != stage.out || stage.stride != 1) {
    GraphBuilder::Scope scope(g, "downsample");
    kept = conv(g, "0", x, stage.in, stage.out, 1, stage.stride);
    kept = batchNorm(g, "1", kept, stage.out);
  }
  return relu(g, "relu", g.op("Add", {y, kept}));
}

Value stem(GraphBuilder &g, const Value &pixels) {
  const ModelSpec &spec = g.spec();
  bool small = spec.stem == "cifar";
  Value x = conv(g, "conv1", pixels, spec.channels, spec.hidden, small ? 3 : 7, small ? 1 : 2);
  x = relu(g, "relu", batchNorm(g, "bn1", x, spec.hidden));
  if (small)
    return x;
  GraphBuilder::Scope scope(g, "maxpool");
  return g.op("MaxPool", {x},
              {Attr("kernel_shape", Attr::Ints{3, 3}), Attr("strides", Attr::Ints{2, 2}),
               Attr("pads", Attr::Ints{1, 1, 1, 1}), Attr("ceil_mode", 0)});
}

} // namespace

void buildResnet(GraphBuilder &g) {
  const ModelSpec &spec = g.spec();
  std::optional<ResnetShape> shape = resnetShape(spec.layers);
  Value x = stem(
      g, g.input("pixel_values", g.dataType(), {"batch", spec.channels, spec.image, spec.image}));
  int64_t width = spec.hidden;
  for (int64_t stage = 0; stage < 4; ++stage) {
    GraphBuilder::Scope scope(g, "layer" + std::to_string(stage + 1));
    int64_t inner = spec.hidden << stage;
    int64_t out = shape->bottleneck ? 4 * inner : inner;
    for (int64_t i = 0; i < shape->blocks[stage]; ++i) {
      GraphBuilder::Scope one(g, std::to_string(i));
      int64_t stride = stage > 0 && i == 0 ? 2 : 1;
      x = block(g, x, {width, out, stride}, inner, shape->bottleneck);
      width = out;
    }
  }
  {
    GraphBuilder::Scope scope(g, "avgpool");
    x = g.op("GlobalAveragePool", {x});
  }
  x = g.op("Flatten", {x}, {Attr("axis", 1)});
  GraphBuilder::Scope head(g, "fc");
  double std = spec.std > 0 ? spec.std : std::sqrt(1.0 / (3.0 * double(width)));
  Value logits = gemmLinear(g, x, width, spec.classes, Init::normal(std));
  g.output(logits, "logits", g.dataType(), {"batch", spec.classes});
}

} // namespace weft::builders
