// From a profile, a model and a layout to the account of a step.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Cost/Profile.h"

#include "Expression.h"
#include "profile.pb.h"
#include "weft/Cost/TextFields.h"
#include "weft/Pipeline/Generate.h"

#include <algorithm>
#include <utility>

using namespace weft;
using namespace weft::cost;
using runtime::CollectiveKind;

struct Profile::Text {
  schema::Profile message;
  Fields::Tree lines;
};

Profile::Profile(std::unique_ptr<Text> text) : text(std::move(text)) {}
Profile::~Profile() = default;
Profile::Profile(Profile &&other) noexcept = default;
Profile &Profile::operator=(Profile &&other) noexcept = default;

static const std::vector<std::string> &stateNames() {
  static const std::vector<std::string> kNames = {
      nameOf(StateClass::Parameter), nameOf(StateClass::Gradient), nameOf(StateClass::Master),
      nameOf(StateClass::Optimizer), nameOf(StateClass::Other)};
  return kNames;
}

namespace {

/// Positions of the axes in the account's mesh.
enum MeshAxis : int32_t { kStages, kData, kTensor };
const std::vector<std::string> &axisNames() {
  static const std::vector<std::string> kNames = {"stages", "data", "tensor"};
  return kNames;
}

/// Whether every field of a profile is one, with every expression sound for some sizes.
class Checker {
public:
  Checker(Fields root, std::string &error) : root(std::move(root)), error(error) {
    for (const char *symbol :
         {"b", "s", "h", "a", "f", "v", "t", "d", "p", "sp", "q", "w", "apart", "lead"})
      symbols[symbol] = 1;
  }

  bool run() {
    if (!root.required("constants", "constants in { }"))
      return false;
    Fields constants = root.child("constants");
    double ignored = 0;
    constexpr double kMostSeconds = 1;
    if (!constants.number("gemm_sustained", 1e-3, 1, ignored, false) ||
        !constants.number("memory_sustained", 1e-3, 1, ignored, false) ||
        !constants.number("host_seconds", 0, kMostSeconds, ignored, false) || !constants.origin() ||
        !expression(root, "transfer", true))
      return false;
    for (const char *name : {"embedding", "layer", "head"})
      if (!root.required(name, "a part in { }") || !part(root.child(name)))
        return false;
    return kernels(root, "receive") && kernels(root, "update") && states();
  }

private:
  bool expression(Fields &fields, const char *field, bool isRequired) {
    std::string text;
    if (!fields.string(field, text, isRequired))
      return false;
    if (!fields.has(field))
      return true;
    std::string why;
    return evaluate(text, symbols, why) || fields.fail(field, "is no size: " + why);
  }

  bool part(Fields fields) {
    for (const char *field : {"parameters", "kept", "kept_selective", "kept_full"})
      if (!expression(fields, field, true))
        return false;
    return kernels(fields, "forward") && kernels(fields, "backward");
  }

  bool kernels(Fields &fields, const char *list) {
    for (int i = 0; i < fields.count(list); ++i) {
      Fields kernel = fields.child(list, i);
      int found = 0;
      for (const char *field : {"stream", "gemm", "all_reduce", "all_gather", "reduce_scatter"})
        found += kernel.has(field);
      if (found != 1)
        return kernel.fail("", "must have one of stream, gemm, all_reduce, all_gather, "
                               "reduce_scatter");
      int64_t count = 1;
      size_t over = 0;
      constexpr int64_t kMostCount = 1 << 16;
      for (const char *field :
           {"stream", "all_reduce", "all_gather", "reduce_scatter", "when", "unless"})
        if (!expression(kernel, field, false))
          return false;
      if (!kernel.integer("count", 1, kMostCount, count, false) ||
          !kernel.word("over", axisNames(), over, false))
        return false;
      if (!kernel.has("gemm"))
        continue;
      Fields product = kernel.child("gemm");
      if (!expression(product, "batch", false) || !expression(product, "m", true) ||
          !expression(product, "n", true) || !expression(product, "k", true))
        return false;
    }
    return true;
  }

  bool states() {
    for (int i = 0; i < root.count("state"); ++i) {
      Fields state = root.child("state", i);
      size_t kind = 0;
      int64_t bytes = 0, zero = 0;
      constexpr int64_t kMostBytes = 1 << 10;
      if (!state.word("class", stateNames(), kind) ||
          !state.integer("bytes", 0, kMostBytes, bytes) ||
          !state.integer("zero", 1, 3, zero, false))
        return false;
    }
    return error.empty();
  }

  Fields root;
  std::string &error;
  Symbols symbols;
};

class Accounting {
public:
  Accounting(const schema::Profile &profile, const Transformer &model, const Layout &layout,
             std::string &error)
      : profile(profile), model(model), layout(layout), error(error) {}

  bool run(StepAccount &account, const Profile &states) {
    if (!fits())
      return false;
    account.axes = {{"pp", layout.stages}, {"dp", layout.data}, {"tp", layout.tensor}};
    account.stages = kStages;
    account.transfersBlock = profile.transfers_block();
    account.schedule = generator->make(int32_t(layout.stages), int32_t(layout.chunksPerStage),
                                       int32_t(microbatches));
    int64_t chunks = layout.stages * layout.chunksPerStage;
    symbols = {{"b", layout.microbatch},
               {"s", model.sequence},
               {"h", model.hidden},
               {"a", model.heads},
               {"f", model.feedForward},
               {"v", model.vocabulary},
               {"t", layout.tensor},
               {"d", layout.data},
               {"p", layout.stages},
               {"sp", layout.sequenceParallel},
               {"q", layout.sequenceParallel ? layout.tensor : 1},
               {"w", 0},
               {"apart", layout.stages > 1},
               {"lead", 0}};
    for (int64_t c = 0; c < chunks && error.empty(); ++c)
      account.chunks.push_back(chunkOf(c, chunks, states));
    return error.empty();
  }

private:
  bool fits() {
    auto fail = [&](const std::string &what) {
      error = what;
      return false;
    };
    auto text = [](int64_t number) { return std::to_string(number); };
    for (int64_t size : {layout.tensor, layout.data, layout.stages, layout.chunksPerStage,
                         layout.microbatch, layout.globalBatch, model.layers, model.hidden,
                         model.heads, model.sequence, model.vocabulary, model.feedForward})
      if (size < 1 || size > int64_t(1) << 32)
        return fail("a size of " + text(size) + " is none: give 1 to 2^32");
    int64_t chunks = layout.stages * layout.chunksPerStage;
    if (model.layers % chunks != 0)
      return fail(text(model.layers) + " layers cannot be cut into " + text(chunks) +
                  " equal chunks");
    int64_t atOnce = layout.microbatch * layout.data;
    if (layout.globalBatch % atOnce != 0)
      return fail("a batch of " + text(layout.globalBatch) + " is no multiple of " +
                  text(layout.data) + " ranks times microbatches of " + text(layout.microbatch));
    microbatches = layout.globalBatch / atOnce;
    generator = pipeline::findGenerator(layout.chunksPerStage > 1 ? "interleaved" : "1f1b");
    return pipeline::fits(*generator, layout.stages, layout.chunksPerStage, microbatches, error);
  }

  int64_t size(const std::string &text) { return evaluate(text, symbols, error).value_or(0); }

  Item collective(CollectiveKind kind, const schema::Kernel &kernel, const std::string &bytes) {
    Communication communication;
    communication.kind = kind;
    communication.bytes = size(bytes);
    int32_t axis = kTensor;
    for (size_t i = 0; i < axisNames().size(); ++i)
      if (kernel.over() == axisNames()[i])
        axis = int32_t(i);
    communication.axes = {axis};
    return Item::of(communication);
  }

  Item itemOf(const schema::Kernel &kernel) {
    if (kernel.has_all_reduce())
      return collective(CollectiveKind::AllReduce, kernel, kernel.all_reduce());
    if (kernel.has_all_gather())
      return collective(CollectiveKind::AllGather, kernel, kernel.all_gather());
    if (kernel.has_reduce_scatter())
      return collective(CollectiveKind::ReduceScatter, kernel, kernel.reduce_scatter());
    Work work;
    work.arithmetic = Arithmetic::F16;
    if (kernel.has_stream()) {
      work.bytesRead = size(kernel.stream());
      return Item::of(work);
    }
    constexpr int64_t kElement = 2;
    const schema::Product &gemm = kernel.gemm();
    Shape &shape = work.shape;
    shape.kind = Shape::Kind::Gemm;
    shape.batch = gemm.has_batch() ? size(gemm.batch()) : 1;
    shape.m = size(gemm.m()), shape.n = size(gemm.n()), shape.k = size(gemm.k());
    work.flops = 2 * shape.batch * shape.m * shape.n * shape.k;
    work.bytesRead = kElement * shape.batch * (shape.m + shape.n) * shape.k;
    work.bytesWritten = kElement * shape.batch * shape.m * shape.n;
    return Item::of(work);
  }

  template <typename Kernels>
  void add(std::vector<Item> &items, const Kernels &kernels, bool onlyCore = false) {
    for (const schema::Kernel &kernel : kernels) {
      bool isSpared = (kernel.has_when() && size(kernel.when()) == 0) ||
                      (kernel.has_unless() && size(kernel.unless()) != 0);
      if (isSpared || (onlyCore && !kernel.core()))
        continue;
      items.push_back(itemOf(kernel));
      items.back().count = kernel.has_count() ? kernel.count() : 1;
    }
  }

  /// Adds a part of the model, so many times, to a chunk. Only layers are computed again.
  void add(Chunk &chunk, const schema::Part &part, int64_t times, bool isLayer = false) {
    Block forward, backward;
    forward.count = backward.count = times;
    forward.hostWaits = backward.hostWaits = part.host_waits();
    add(forward.items, part.forward());
    if (isLayer && layout.recompute != Recompute::None)
      add(backward.items, part.forward(), layout.recompute == Recompute::Selective);
    add(backward.items, part.backward());
    chunk.forward.push_back(std::move(forward));
    chunk.backward.push_back(std::move(backward));
    symbols["w"] += times * size(part.parameters());
    const std::string &kept = layout.recompute == Recompute::None   ? part.kept()
                              : layout.recompute == Recompute::Full ? part.kept_full()
                                                                    : part.kept_selective();
    chunk.keptForBackward += times * size(kept);
  }

  Chunk chunkOf(int64_t c, int64_t chunks, const Profile &states) {
    Chunk chunk;
    symbols["w"] = 0;
    symbols["lead"] = c < layout.stages;
    if (c == 0)
      add(chunk, profile.embedding(), 1);
    add(chunk, profile.layer(), model.layers / chunks, /*isLayer=*/true);
    if (c + 1 == chunks)
      add(chunk, profile.head(), 1);
    // Gradients go the way back, through what was computed last at first.
    std::reverse(chunk.backward.begin(), chunk.backward.end());
    Block receive;
    add(receive.items, profile.receive());
    if (c > 0)
      chunk.forward.insert(chunk.forward.begin(), receive);
    if (c + 1 < chunks)
      chunk.backward.insert(chunk.backward.begin(), receive);
    Block update;
    add(update.items, profile.update());
    chunk.update = {update};
    chunk.stateBytes = states.stateBytes(symbols["w"], layout.data, layout.zero);
    int64_t transfer = size(profile.transfer());
    chunk.forwardBytes = c + 1 < chunks ? transfer : 0;
    chunk.backwardBytes = c > 0 ? transfer : 0;
    return chunk;
  }

  const schema::Profile &profile;
  const Transformer &model;
  const Layout &layout;
  std::string &error;
  const pipeline::Generator *generator = nullptr;
  int64_t microbatches = 1;
  Symbols symbols;
};

} // namespace

std::optional<Profile> Profile::read(const std::string &given, std::string &error) {
  auto text = std::make_unique<Text>();
  if (!parseText(given, text->message, text->lines, error) ||
      !Checker(Fields(text->message, &text->lines, "", 1, error), error).run())
    return std::nullopt;
  return Profile(std::move(text));
}

Cluster Profile::on(Cluster cluster) const {
  const schema::Constants &constants = text->message.constants();
  if (constants.has_gemm_sustained())
    for (ComputeRate &rate : cluster.device.rates)
      rate.sustained = constants.gemm_sustained();
  if (constants.has_memory_sustained())
    cluster.device.memoryEfficiency = constants.memory_sustained();
  if (constants.has_host_seconds())
    cluster.device.hostSeconds = constants.host_seconds();
  return cluster;
}

std::array<int64_t, kStateClassCount> Profile::stateBytes(int64_t parameters, int64_t data,
                                                          int64_t zero) const {
  std::array<int64_t, kStateClassCount> bytes = {};
  for (const schema::StateBytes &state : text->message.state())
    for (size_t kind = 0; kind < kStateClassCount; ++kind)
      if (state.class_() == stateNames()[kind]) {
        bool isSplit = state.has_zero() && state.zero() <= zero;
        bytes[kind] += state.bytes() * (isSplit ? (parameters + data - 1) / data : parameters);
      }
  return bytes;
}

std::optional<StepAccount> Profile::account(const Transformer &model, const Layout &layout,
                                            std::string &error) const {
  error.clear();
  StepAccount account;
  if (!Accounting(text->message, model, layout, error).run(account, *this))
    return std::nullopt;
  return account;
}
