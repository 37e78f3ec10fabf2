// Norms, linear layers and activations of the model builders.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/Blocks.h"

#include <cmath>

using namespace llvm;

namespace weft::builders {

int32_t wideType(const GraphBuilder &g) {
  return g.spec().dtype == DType::F64 ? onnx::Tensor::DOUBLE : onnx::Tensor::FLOAT;
}

Init residualInit(const ModelSpec &spec) {
  return Init::normal(spec.std / std::sqrt(2.0 * double(spec.layers)));
}

Value layerNorm(GraphBuilder &g, const Value &x) {
  const ModelSpec &spec = g.spec();
  Value weight = g.weight("weight", {spec.hidden}, Init::ones());
  Value bias = g.weight("bias", {spec.hidden}, Init::zeros());
  if (g.opset() >= 17)
    return g.op("LayerNormalization", {x, weight, bias},
                {Attr("axis", -1), Attr("epsilon", spec.eps)});
  Value mean = g.reduce("ReduceMean", x, -1, true);
  Value centred = g.op("Sub", {x, mean});
  Value square = g.op("Pow", {centred, g.real(2)});
  Value variance = g.reduce("ReduceMean", square, -1, true);
  Value shifted = g.op("Add", {variance, g.real(spec.eps)});
  Value normal = g.op("Div", {centred, g.op("Sqrt", {shifted})});
  return g.op("Add", {g.op("Mul", {normal, weight}), bias});
}

Value rmsNorm(GraphBuilder &g, const Value &x) {
  const ModelSpec &spec = g.spec();
  Value weight = g.weight("weight", {spec.hidden}, Init::ones());
  if (!g.exporter() && g.opset() >= 23)
    return g.op("RMSNormalization", {x, weight}, {Attr("axis", -1), Attr("epsilon", spec.eps)});
  int32_t wide = wideType(g);
  // The exporter keeps the cast to fp32 even where it changes nothing.
  bool casts = g.exporter() ? spec.dtype != DType::F64 : g.dataType() != wide;
  Value y = casts ? g.cast(x, wide) : x;
  Value square = g.op("Pow", {y, g.real(2, wide)});
  Value mean = g.reduce("ReduceMean", square, -1, true);
  Value shifted = g.op("Add", {mean, g.real(spec.eps, wide)});
  Value root = g.op("Sqrt", {shifted});
  Value normal = g.op("Mul", {y, g.op("Div", {g.real(1, wide), root})});
  if (casts)
    normal = g.cast(normal, g.dataType());
  return g.op("Mul", {weight, normal});
}

Value linear(GraphBuilder &g, const Value &x, int64_t in, int64_t out, bool bias, Init init) {
  Value product;
  if (g.spec().linear == "transpose") {
    Value weight = g.weight("weight", {out, in}, init);
    product = g.op("MatMul", {x, g.transpose(weight, {1, 0})});
  } else {
    product = g.op("MatMul", {x, g.weight("weight", {in, out}, init, true)});
  }
  if (!bias)
    return product;
  return g.op("Add", {g.weight("bias", {out}, Init::zeros()), product});
}

Value gemmLinear(GraphBuilder &g, const Value &x, int64_t in, int64_t out, Init init) {
  Value weight = g.weight("weight", {out, in}, init);
  Value bias = g.weight("bias", {out}, Init::zeros());
  return g.op("Gemm", {x, weight, bias},
              {Attr("alpha", 1.0), Attr("beta", 1.0), Attr("transB", 1)});
}

Value geluErf(GraphBuilder &g, const Value &x) {
  if (g.opset() >= 20)
    return g.op("Gelu", {x}, {Attr("approximate", "none")});
  Value erf = g.op("Erf", {g.op("Div", {x, g.real(std::sqrt(2.0))})});
  Value shifted = g.op("Add", {erf, g.real(1)});
  return g.op("Mul", {g.op("Mul", {x, shifted}), g.real(0.5)});
}

Value geluTanh(GraphBuilder &g, const Value &x) {
  if (!g.exporter() && g.opset() >= 20)
    return g.op("Gelu", {x}, {Attr("approximate", "tanh")});
  // GPT-2 spells the formula out in Python, so no exporter ever sees a Gelu.
  Value half = g.op("Mul", {x, g.real(0.5)});
  Value cube = g.op("Pow", {x, g.real(3)});
  Value inner = g.op("Add", {x, g.op("Mul", {cube, g.real(0.044715)})});
  Value scaled = g.op("Mul", {inner, g.real(std::sqrt(2 / M_PI))});
  Value gate = g.op("Add", {g.op("Tanh", {scaled}), g.real(1)});
  return g.op("Mul", {half, gate});
}

Value silu(GraphBuilder &g, const Value &x) {
  if (!g.exporter() && g.opset() >= 24)
    return g.op("Swish", {x});
  return g.op("Mul", {x, g.op("Sigmoid", {x})});
}

Value swiGlu(GraphBuilder &g, const Value &x) {
  const ModelSpec &spec = g.spec();
  Init init = Init::normal(spec.std);
  auto project = [&](StringRef name, const Value &y, int64_t in, int64_t out, Init how) {
    GraphBuilder::Scope scope(g, name);
    return linear(g, y, in, out, false, how);
  };
  Value gate = project("gate_proj", x, spec.hidden, spec.ffn, init);
  {
    GraphBuilder::Scope scope(g, "act_fn");
    gate = silu(g, gate);
  }
  Value up = project("up_proj", x, spec.hidden, spec.ffn, init);
  return project("down_proj", g.op("Mul", {gate, up}), spec.ffn, spec.hidden, residualInit(spec));
}

} // namespace weft::builders
