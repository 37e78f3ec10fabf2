// Multi-layer perceptrons.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/Blocks.h"
#include "python_free_frontend/builders/Models.h"

#include <cmath>

using namespace llvm;

namespace weft::builders {

void buildMlp(GraphBuilder &g) {
  const ModelSpec &spec = g.spec();
  Value x = g.input("x", g.dataType(), {"batch", spec.inputs});
  int64_t width = spec.inputs;
  for (int64_t layer = 0; layer < spec.layers; ++layer) {
    bool last = layer + 1 == spec.layers;
    int64_t out = last ? spec.classes : spec.hidden;
    // He's initialisation keeps the variance through ReLU.
    double std = spec.std > 0 ? spec.std : std::sqrt(2.0 / double(width));
    {
      GraphBuilder::Scope scope(g, "layers." + std::to_string(layer));
      x = gemmLinear(g, x, width, out, Init::normal(std));
    }
    width = out;
    if (last)
      break;
    GraphBuilder::Scope scope(g, "act." + std::to_string(layer));
    if (spec.activation == "gelu")
      x = geluErf(g, x);
    else
      x = g.op(spec.activation == "tanh" ? "Tanh" : "Relu", {x});
  }
  g.output(x, "logits", g.dataType(), {"batch", spec.classes});
}

} // namespace weft::builders
