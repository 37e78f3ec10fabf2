// From a specification to a model file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/Builders.h"

#include "python_free_frontend/builders/Checkpoint.h"
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
  case Kind::Resnet:
    return buildResnet(g);
  case Kind::Mlp:
    return buildMlp(g);
  }
}

Expected<WriteSummary> build(StringRef text, const BuildOptions &options) {
  Expected<ModelSpec> spec = parseModelSpec(text);
  if (!spec)
    return spec.takeError();
  if (!options.withWeights && !spec->weights.empty())
    return createStringError(inconvertibleErrorCode(),
                             "--no-weights contradicts weights=%s; drop one",
                             spec->weights.c_str());
  GraphBuilder g(*spec);
  buildGraph(g);
  if (!options.withWeights)
    return writeModel(g, nullptr, options.output);
  if (spec->weights.empty()) {
    RandomWeights random(spec->seed, spec->init == "varied");
    return writeModel(g, &random, options.output, options.written);
  }
  Expected<SafeTensors> file = SafeTensors::open(spec->weights);
  if (!file)
    return file.takeError();
  Expected<CheckpointWeights> checkpoint = CheckpointWeights::match(std::move(*file), g.weights());
  if (!checkpoint)
    return checkpoint.takeError();
  Expected<WriteSummary> summary = writeModel(g, &*checkpoint, options.output, options.written);
  if (summary)
    summary->unused = checkpoint->unused();
  return summary;
}

} // namespace weft::builders
