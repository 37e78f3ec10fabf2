// Random models, losses, optimizers and layouts, all drawn from one seed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomTrial.h"

#include "../../unit/passes/dist/RandomModel.h"

#include "dialects/nn/IR/NnGradient.h"
#include "python_free_frontend/builders/Builders.h"

#include "onnx.pb.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace weft;
using namespace weft::test;

namespace {

const char *const kKinds[] = {"graph", "gpt2", "mlp", "llama",  "bert",
                              "graph", "vit",  "moe", "resnet", "graph"};
const char *const kOptimizers[] = {"adamw", "sgd",      "momentum", "lion",
                                   "adam",  "nesterov", "adagrad"};
const char *const kMeshes[] = {"",          "dp=2",      "dp=3",      "dp=4",       "dp=8",
                               "dp=2x2",    "dp=2x4",    "tp=2",      "tp=3",       "tp=4",
                               "dp=2,tp=2", "tp=2,dp=2", "dp=3,tp=2", "dp=2,tp=3",  "dp=2x2,tp=2",
                               "dp=4,tp=2", "dp=2,tp=4", "tp=2x2",    "tp=2x2,dp=2"};

/// Puts Dropout behind one product of the model in a file; false if it cannot be written.
bool addDropout(const std::string &path, test::Random &random) {
  onnx::Model model;
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer || !model.ParseFromString((*buffer)->getBuffer().str()))
    return false;
  onnx::Graph &graph = *model.mutable_graph();
  SmallVector<int> products;
  for (auto [i, node] : llvm::enumerate(graph.node()))
    if (node.op_type() == "MatMul" || node.op_type() == "Gemm")
      products.push_back(int(i));
  if (products.empty())
    return false;
  auto scalar = [&](const char *name, onnx::Tensor::DataType type) {
    onnx::Tensor &tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(type);
    return &tensor;
  };
  scalar("dropout.ratio", onnx::Tensor::FLOAT)->add_float_data(0.25f);
  scalar("dropout.training", onnx::Tensor::BOOL)->add_int32_data(1);
  int product = products[random.below(products.size())];
  std::string made = graph.node(product).output(0), hidden = made + ".whole";
  graph.mutable_node(product)->set_output(0, hidden);
  onnx::Node &dropout = *graph.add_node();
  dropout.set_op_type("Dropout");
  dropout.set_name(made + ".dropout");
  for (const std::string &input :
       {hidden, std::string("dropout.ratio"), std::string("dropout.training")})
    dropout.add_input(input);
  dropout.add_output(made);
  for (int i = graph.node_size() - 1; i > product + 1; --i)
    graph.mutable_node()->SwapElements(i, i - 1);
  std::error_code code;
  llvm::raw_fd_ostream(path, code) << model.SerializeAsString();
  return !code;
}

class Drawer {
public:
  Drawer(MLIRContext &context, uint64_t seed, std::string folder)
      : context(context), random(seed), own(~seed), seed(seed), folder(std::move(folder)) {}

  RandomTrial draw(std::string &error) {
    drawLayout();
    kind = kKinds[seed % std::size(kKinds)];
    batch = drawBatch();
    result.trial.flags.bind = "batch=" + std::to_string(batch);
    if (kind == "graph" ? !drawGraph(error) : !drawModel(error))
      return std::move(result);
    if (!listWeights(error))
      return std::move(result);
    fitMesh();
    drawOptimizer();
    drawRounding();
    if (StringRef(flags.mesh).contains("tp") && random.chance(45))
      drawPlacements();
    trait("kind", kind);
    trait("mesh", flags.mesh.empty() ? "one" : flags.mesh);
    trait("zero", flags.zero);
    trait("microbatches", std::to_string(flags.microbatches));
    trait("recompute", flags.recompute);
    trait("sequence-parallel", flags.sequenceParallel ? "on" : "off");
    trait("placements", flags.place.empty() ? "searched" : "given");
    trait("batch", isUneven() ? "uneven" : "even");
    trait("tied", isTied ? "on" : "off");
    trait("dropout", hasDropout ? "on" : "off");
    trait("smoothing", StringRef(flags.loss).contains("smoothing") ? "on" : "off");
    trait("loss", StringRef(flags.loss).contains(':') ? StringRef(flags.loss).split(':').first.str()
                                                      : "named");
    result.rows = batch;
    result.trial.seed = seed;
    result.trial.folder = folder;
    return std::move(result);
  }

private:
  void trait(const std::string &name, const std::string &value) { result.traits[name] = value; }
  std::string whole(const char *name, int64_t value) {
    return std::string(",") + name + "=" + std::to_string(value);
  }

  void drawLayout() {
    flags.mesh = kMeshes[random.below(std::size(kMeshes))];
    if (StringRef(flags.mesh).contains("dp")) {
      flags.zero = std::to_string(random.below(4));
      if (StringRef(flags.mesh).contains("dp=2x") && flags.zero != "0" && random.chance(60))
        flags.zero += random.chance(70) ? ":dp.1" : ":dp.0";
    }
    flags.microbatches = random.chance(45) ? 1 : random.between(2, 4);
    static const char *const amounts[] = {"none", "selective", "full"};
    flags.recompute = amounts[(seed / 2) % 3];
    flags.sequenceParallel = StringRef(flags.mesh).contains("tp") && random.chance(40);
  }

  /// A few rows for each shard, at times a number that does not divide.
  int64_t drawBatch() {
    Mesh mesh = flags.mesh.empty() ? Mesh() : *Mesh::parse(flags.mesh);
    int64_t data = StringRef(flags.mesh).contains("dp") ? mesh.groupSize(mesh.resolve("dp")) : 1;
    int64_t shards = data * flags.microbatches;
    return shards * random.between(1, shards > 8 ? 1 : 3) +
           (random.chance(30) ? random.below(shards) : 0);
  }

  bool isUneven() const {
    Mesh mesh = flags.mesh.empty() ? Mesh() : *Mesh::parse(flags.mesh);
    int64_t data = StringRef(flags.mesh).contains("dp") ? mesh.groupSize(mesh.resolve("dp")) : 1;
    return batch % (data * flags.microbatches) != 0;
  }

  /// The compiler refuses axes with more processes than anything has parts.
  void fitMesh() {
    size_t tp = flags.mesh.find("tp=");
    if (tp == std::string::npos)
      return;
    Mesh mesh = *Mesh::parse(flags.mesh);
    int64_t size = mesh.groupSize(mesh.resolve("tp"));
    int64_t shards = mesh.processCount() / size * flags.microbatches;
    int64_t parts = std::max(widest, (batch + shards - 1) / shards);
    if (parts > 1 && parts < size)
      flags.mesh.replace(tp, flags.mesh.find(',', tp) - tp, "tp=" + std::to_string(parts));
  }

  //===--- Models -------------------------------------------------------===//

  bool drawGraph(std::string &error) {
    uint64_t modelSeed = seed * 7919 + 1;
    int64_t rows = batch, loss = random.below(3);
    std::string file = folder + "/weights.bin";
    result.trial.graph = [=](MLIRContext &context) {
      return makeGraph(context, modelSeed, rows, loss == 2, file);
    };
    OwningOpRef<ModuleOp> module = result.trial.graph(context);
    auto forward = module->lookupSymbol<func::FuncOp>("forward");
    auto y = cast<RankedTensorType>(forward.getResultTypes()[0]);
    result.trial.classes = y.getRank() ? y.getShape().back() : 1;
    result.trial.vocabulary = 5;
    static const char *const losses[] = {"softmax_cross_entropy:y,labels", "mse:y,target", "y"};
    flags.loss = losses[loss];
    flags.bind = "";
    result.trial.model = "graph " + std::to_string(modelSeed);
    return writeWeights(forward, file, error);
  }

  /// Weights have bytes in `file`; the result is called y, or is a mean of squares.
  static OwningOpRef<ModuleOp> makeGraph(MLIRContext &context, uint64_t seed, int64_t batch,
                                         bool scalar, const std::string &file) {
    Random random(seed);
    OwningOpRef<ModuleOp> module = randomModel(context, random, batch);
    auto forward = module->lookupSymbol<func::FuncOp>("forward");
    OpBuilder builder(&context);
    int64_t offset = 0;
    for (BlockArgument argument : forward.getArguments())
      if (forward.getArgAttr(argument.getArgNumber(), nn::kSourceAttr)) {
        int64_t bytes = cast<RankedTensorType>(argument.getType()).getNumElements() * 8;
        forward.setArgAttr(argument.getArgNumber(), nn::kSourceAttr,
                           nn::SourceAttr::get(&context, file, offset, bytes, 0));
        offset += bytes;
      }
    Operation *last = forward.getBody().front().getTerminator();
    if (scalar) {
      builder.setInsertionPoint(last);
      nn::Term y(builder, forward.getLoc(), last->getOperand(0));
      auto all = llvm::to_vector(llvm::seq<int64_t>(0, y.rank()));
      nn::Term mean = (y * y).sum(all);
      last->setOperand(0, (mean * mean.splat(1.0 / y.type().getNumElements())).value);
      forward.setFunctionType(
          builder.getFunctionType(forward.getArgumentTypes(), last->getOperandTypes()));
    }
    forward.setResultAttr(0, nn::kNameAttr, builder.getStringAttr("y"));
    return module;
  }

  bool writeWeights(func::FuncOp forward, const std::string &file, std::string &error) {
    std::error_code code;
    llvm::raw_fd_ostream out(file, code);
    for (BlockArgument argument : forward.getArguments())
      if (forward.getArgAttr(argument.getArgNumber(), nn::kSourceAttr))
        for (int64_t i = cast<RankedTensorType>(argument.getType()).getNumElements(); i > 0; --i) {
          // Small: steps of random models must not diverge.
          double value = 0.4 * random.real();
          out.write(reinterpret_cast<const char *>(&value), sizeof value);
        }
    if (code)
      error = "cannot write " + file;
    return !code;
  }

  bool drawModel(std::string &error) {
    int64_t heads = random.between(1, 3), hidden = heads * 2 * random.between(1, 3);
    int64_t vocabulary = random.between(9, 30), classes = random.between(2, 7);
    int64_t sequence = random.between(2, 6);
    std::string spec = "layers=" + std::to_string(random.between(1, 2)) +
                       whole("seed", int64_t(seed)) + ",std=0.3";
    std::string transformer =
        whole("hidden", hidden) + whole("heads", heads) + whole("ffn", random.between(5, 18));
    std::string text =
        transformer + whole("vocab", vocabulary) + whole("seq", sequence + random.below(3));
    bool tokens = true, square = random.chance(25);
    std::string output = "logits";
    if (kind == "mlp") {
      static const char *const activations[] = {"relu", "gelu", "tanh"};
      tokens = false;
      spec += whole("inputs", random.between(3, 9)) + whole("hidden", random.between(4, 17)) +
              whole("classes", classes) + ",activation=" + activations[random.below(3)];
    } else if (kind == "gpt2") {
      spec += text + ",init=varied";
    } else if (kind == "llama") {
      spec += text + whole("kv_heads", heads % 2 || random.chance(50) ? heads : heads / 2) +
              whole("tied", random.below(2)) + whole("bias", random.below(2));
    } else if (kind == "bert") {
      spec += text + (square ? "" : ",head=mlm") + ",init=varied";
      output = square ? "last_hidden_state" : "logits";
    } else if (kind == "vit") {
      int64_t patch = random.between(2, 3);
      tokens = false;
      spec += transformer + whole("patch", patch) + whole("image", patch * random.between(2, 3)) +
              whole("channels", random.between(1, 3)) + whole("classes", classes);
    } else if (kind == "moe") {
      int64_t group = random.between(2, 3), experts = random.between(2, 4);
      sequence = group * random.between(1, 2);
      spec += transformer + whole("vocab", vocabulary) + whole("seq", sequence) +
              whole("group", group) + whole("experts", experts) +
              whole("top_k", random.between(1, 2));
    } else { // resnet: statistics over the batch cannot be had of parts of it
      tokens = false;
      flags.microbatches = 1;
      batch = std::max<int64_t>(2, std::min<int64_t>(batch, 8));
      flags.bind = "batch=" + std::to_string(batch);
      spec = "layers=10,hidden=" + std::to_string(random.between(2, 5)) + whole("image", 8) +
             whole("classes", classes) + whole("channels", random.between(1, 3)) +
             whole("seed", int64_t(seed)) + (random.chance(50) ? ",stem=cifar" : "");
    }
    if (tokens)
      flags.bind += whole("seq", sequence);
    result.trial.vocabulary = vocabulary;
    result.trial.classes = tokens ? vocabulary : classes;
    flags.loss =
        square ? "mse:" + output + ",target" : "softmax_cross_entropy:" + output + ",labels";
    result.trial.model = kind + ":" + spec;
    std::string path = folder + "/model.onnx", bind = flags.bind;
    auto built = builders::build(result.trial.model, {path, true});
    if (!built) {
      error = llvm::toString(built.takeError());
      return false;
    }
    isTied = kind == "gpt2" || StringRef(spec).contains("tied=1");
    hasDropout = own.chance(30);
    if (hasDropout && !addDropout(path, own)) {
      error = "cannot add Dropout to " + path;
      return false;
    }
    if (!square && own.chance(50))
      flags.loss += ",smoothing=0.25";
    result.trial.graph = [=](MLIRContext &context) { return importGraph(context, path, bind); };
    return true;
  }

  //===--- Training -----------------------------------------------------===//

  void drawOptimizer() {
    std::string name = kOptimizers[seed % std::size(kOptimizers)];
    bool adaptive = StringRef(name).starts_with("adam"), isLion = name == "lion";
    std::string keys;
    auto key = [&](const std::string &text) { keys += (keys.empty() ? ":" : ",") + text; };
    key(isLion ? "lr=0.003" : adaptive ? "lr=0.01" : "lr=0.05");
    if (name == "momentum" || name == "nesterov")
      key(random.chance(50) ? "momentum=0.9" : "momentum=0.5");
    if ((adaptive || isLion) && random.chance(40))
      key(isLion ? "beta1=0.8,beta2=0.9" : "beta1=0.8,beta2=0.95");
    if (random.chance(50))
      key(random.chance(50) ? "weight_decay=0.1" : "weight_decay=0.01");
    if (random.chance(20))
      key("decay=all");
    bool clips = random.chance(50);
    if (clips)
      key(random.chance(50) ? "clip=0.05" : "clip=1");
    std::string schedule = random.chance(40) ? "constant" : random.chance(50) ? "linear" : "cosine";
    if (schedule != "constant" || random.chance(50))
      key("schedule=" + schedule + ",warmup=" + std::to_string(random.below(3)) + ",total=5");
    flags.optimizer = name + keys;
    if (random.chance(30)) {
      bool hasBias = llvm::any_of(
          weights, [](const auto &weight) { return StringRef(weight.first).ends_with("bias"); });
      flags.paramGroups =
          hasBias && random.chance(50) ? "bias$:lr=0.002" : oneOf() + ":weight_decay=0.2,lr=0.004";
    }
    if (random.chance(15) && weights.size() > 2) {
      flags.freeze = oneOf();
      // A group of what is frozen alone is refused.
      if (!flags.paramGroups.empty())
        flags.paramGroups = ".:weight_decay=0.2,lr=0.004";
    }
    result.trial.discontinuous = isLion || name == "adagrad";
    trait("optimizer", name);
    trait("clip", clips ? "on" : "off");
    trait("schedule", schedule);
    trait("groups", flags.paramGroups.empty() ? "one" : "several");
  }

  /// Optimizers that are linear in the gradient keep its rounding small.
  void drawRounding() {
    std::string type = "as parameters";
    StringRef optimizer = StringRef(flags.optimizer).split(':').first;
    if ((optimizer == "sgd" || optimizer == "momentum" || optimizer == "nesterov") &&
        random.chance(25)) {
      bool isHalf = random.chance(40);
      type = flags.gradDtype = isHalf ? "bf16" : "fp32";
      // Sums are rounded once; a sum near the middle may go either way.
      result.trial.updateTolerance = isHalf ? 5e-3 : 1e-7;
    }
    trait("grad-dtype", type);
  }

  /// One or two weights on an axis that is not of the batch.
  void drawPlacements() {
    flags.allowIdleAxes = true; // what is placed in few parts may be read whole
    auto candidates = weights;
    for (int64_t i = random.between(1, 2); i > 0 && !candidates.empty(); --i) {
      auto *chosen = candidates.begin() + random.below(candidates.size());
      if (chosen->second > 0)
        flags.place += (flags.place.empty() ? "" : ";") + patternOf(chosen->first) + "=dim" +
                       std::to_string(random.below(chosen->second)) + ":tp";
      candidates.erase(chosen);
    }
  }

  bool listWeights(std::string &error) {
    OwningOpRef<ModuleOp> module = result.trial.graph(context);
    auto forward = module ? module->lookupSymbol<func::FuncOp>("forward") : func::FuncOp();
    if (!forward) {
      error = "no graph";
      return false;
    }
    for (BlockArgument argument : forward.getArguments()) {
      unsigned number = argument.getArgNumber();
      if (!nn::isParameter(forward, number))
        continue;
      auto type = cast<RankedTensorType>(argument.getType());
      weights.push_back(
          {forward.getArgAttrOfType<StringAttr>(number, nn::kNameAttr).str(), type.getRank()});
      for (int64_t size : type.getShape())
        widest = std::max(widest, size);
    }
    return true;
  }

  static std::string patternOf(const std::string &name) {
    return "^" + llvm::Regex::escape(name) + "$";
  }
  std::string oneOf() { return patternOf(weights[random.below(weights.size())].first); }

  MLIRContext &context;
  Random random, own; // own: of what came later, so that a seed's model and layout stay
  uint64_t seed;
  std::string folder, kind;
  bool isTied = false, hasDropout = false;
  int64_t batch = 0, widest = 0;                        // rows; the largest dim of a weight
  SmallVector<std::pair<std::string, int64_t>> weights; // name, tensor rank
  RandomTrial result;
  TrainingFlags &flags = result.trial.flags;
};

} // namespace

RandomTrial test::randomTrial(MLIRContext &context, uint64_t seed, const std::string &folder,
                              std::string &error) {
  return Drawer(context, seed, folder).draw(error);
}
