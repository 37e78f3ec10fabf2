// From a specification to a model file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/Builders.h"

#include "python_free_frontend/builders/Models.h"

using namespace llvm;

namespace weft::builders {

void buildGraph(GraphBuilder &g) {
  switch (g.spec().kind) {
  case Kind::Gpt2:
    return buildGpt2(g);
  case Kind::Llama:
  case Kind::Moe:
    return buildLlama(g);
  case Kind::Bert:
    return buildBert(g);
  case Kind::Vit:
    return buildVit(g);
  case Kind::Mlp:
    return buildMlp(g);
  }
}

Expected<WriteSummary> build(StringRef text, const BuildOptions &options) {
  Expected<ModelSpec> spec = parseModelSpec(text);
  if (!spec)
    return spec.takeError();
  GraphBuilder g(*spec);
  buildGraph(g);
  RandomWeights random(spec->seed, spec->init == "varied");
  return writeModel(g, options.withWeights ? &random : nullptr, options.output);
}

} // namespace weft::builders
