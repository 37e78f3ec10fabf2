// Generates random small models, layer by layer.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomModel.h"

#include "dialects/nn/IR/NnGradient.h"

using namespace mlir;
using namespace weft::nn;

namespace weft::test {

namespace {

class ModelMaker {
public:
  ModelMaker(MLIRContext &context, Random &random)
      : builder(&context), loc(builder.getUnknownLoc()), random(random), real(builder.getF64Type()),
        module(ModuleOp::create(loc)) {
    builder.setInsertionPointToEnd(module.getBody());
    function = func::FuncOp::create(builder, loc, "forward", builder.getFunctionType({}, {}));
    builder.setInsertionPointToEnd(function.addEntryBlock());
  }

  ModuleOp run(int64_t batch) {
    this->batch = batch;
    Term x(builder, loc, {});
    hidden = 2 * random.between(2, 5);
    int64_t kind = random.below(3);
    Value table;
    if (kind == 0) { // a perceptron
      x = input({batch, random.between(3, 7)}, real);
      x = linear(x, hidden);
    } else if (kind == 1) { // a sequence of vectors
      x = input({batch, random.between(2, 5), hidden}, real);
    } else { // a sequence of indices
      int64_t vocabulary = random.between(5, 9);
      Term ids = input({batch, random.between(2, 5), 1}, builder.getI64Type());
      table = state({vocabulary, hidden});
      x = ids.make<GatherOp>(table, ids.value, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{},
                             ArrayRef<int64_t>{});
    }
    for (int64_t layer = random.between(1, 2); layer > 0; --layer) {
      if (x.rank() == 3 && random.chance(60))
        x = x + attention(norm(x));
      if (random.chance(80))
        x = random.chance(70) ? x + perceptron(norm(x)) : perceptron(x);
    }
    if (table && random.chance(60)) // the output layer is the embedding
      x = contract(x, table, {0, 1, 2}, {3, 2}, {0, 1, 3});
    else if (random.chance(60) || states == 0)
      x = linear(x, random.between(2, 6));
    func::ReturnOp::create(builder, loc, x.value);
    function.setFunctionType(builder.getFunctionType(function.getBody().front().getArgumentTypes(),
                                                     TypeRange{x.type()}));
    return module;
  }

private:
  BlockArgument argument(ArrayRef<int64_t> shape, Type element,
                         ArrayRef<NamedAttribute> attributes) {
    unsigned number = function.getNumArguments();
    if (failed(function.insertArgument(number, RankedTensorType::get(shape, element),
                                       builder.getDictionaryAttr(attributes), loc)))
      llvm_unreachable("arguments can be appended");
    return function.getArgument(number);
  }

  Term input(ArrayRef<int64_t> shape, Type element) {
    SmallVector<StringRef> dims(shape.size(), "");
    dims[0] = "batch";
    return {builder, loc,
            argument(shape, element,
                     {builder.getNamedAttr(kNameAttr, builder.getStringAttr("x")),
                      builder.getNamedAttr("nn.dims", builder.getStrArrayAttr(dims))})};
  }

  Value state(ArrayRef<int64_t> shape) {
    std::string name = "w" + std::to_string(states++);
    return argument(
        shape, real,
        {builder.getNamedAttr(kNameAttr, builder.getStringAttr(name)),
         builder.getNamedAttr(kSourceAttr, SourceAttr::get(builder.getContext(), "", 0, 0, 0))});
  }

  Term contract(Term a, Value b, ArrayRef<int64_t> left, ArrayRef<int64_t> right,
                ArrayRef<int64_t> result) {
    return a.make<ContractOp>(a.value, b, left, right, result);
  }

  /// x W (+ b), the weight stored either way round.
  Term linear(Term x, int64_t out) {
    int64_t last = x.rank() - 1, in = x.shape().back();
    SmallVector<int64_t> left = dimRange(0, x.rank()), result = left;
    result.back() = last + 1;
    bool transposed = random.chance(50);
    Term y = transposed ? contract(x, state({out, in}), left, {last + 1, last}, result)
                        : contract(x, state({in, out}), left, {last, last + 1}, result);
    if (random.chance(60))
      y = y + Term(builder, loc, state({out})).broadcast(y.shape(), {last});
    return y;
  }

  Term norm(Term x) {
    if (random.chance(30))
      return x;
    int64_t last = x.rank() - 1, size = x.shape().back();
    if (random.chance(50))
      return x.make<RmsNormOp>(x.type(), x.value, state({size}), last, llvm::APFloat(1e-2));
    return x.make<LayerNormOp>(x.type(), x.value, state({size}), state({size}), last,
                               llvm::APFloat(1e-2));
  }

  Term perceptron(Term x) {
    Term up = linear(x, random.between(4, 12));
    Term active = random.chance(50) ? up.unary<TanhOp>() : up.unary<SigmoidOp>();
    if (random.chance(20)) // a gate
      active = active * up;
    return linear(active, x.shape().back());
  }

  Term heads(Term x, int64_t count) {
    return x.reshape({x.shape()[0], x.shape()[1], count, x.shape()[2] / count})
        .transpose({0, 2, 1, 3});
  }

  Term attention(Term x) {
    int64_t count = 2, width = x.shape()[2];
    Term q(builder, loc, {}), k = q, v = q;
    if (random.chance(50)) { // fused
      Term all = linear(x, 3 * width);
      q = all.sliceDim(2, 0, width), k = all.sliceDim(2, width, width),
      v = all.sliceDim(2, 2 * width, width);
    } else {
      q = linear(x, width), k = linear(x, width), v = linear(x, width);
    }
    Term qh = heads(q, count), kh = heads(k, count), vh = heads(v, count);
    Term out = q.make<AttentionOp>(qh.type(), Type(), qh.value, kh.value, vh.value, Value(),
                                   llvm::APFloat(0.5), random.chance(50), llvm::APFloat(0.0));
    return linear(out.transpose({0, 2, 1, 3}).reshape(x.shape()), width);
  }

  OpBuilder builder;
  Location loc;
  Random &random;
  Type real;
  ModuleOp module;
  func::FuncOp function;
  int64_t batch = 0, hidden = 0;
  int states = 0;
};

} // namespace

std::string TrainingLayout::text() const {
  return "--mesh " + mesh + " --microbatches " + std::to_string(microbatches) + " --zero " +
         std::to_string(zero) + ":" + zeroAxis + " --sequence-parallel " +
         (sequenceParallel ? "on" : "off") + (stages.empty() ? "" : " --schedule " + schedule);
}

std::string TrainingLayout::pipeline(bool loops) const {
  auto split = [](bool is) { return is ? std::string("sharded") : std::string("replicated"); };
  std::string assign = "func.func(dist-assign-axis{axis=tp sequence-parallel=" +
                       std::string(sequenceParallel ? "true" : "false") + " programs=";
  std::string text =
      "dist-attach-mesh{mesh=" + mesh + " microbatches=" + std::to_string(microbatches) +
      (stages.empty() ? "" : " stages=" + stages) +
      "},dist-place{batch-axes=" + (StringRef(mesh).contains("dp") ? "dp" : "") +
      "},dist-propagate," + assign + "lead})," + "dist-place-state{axis=" + zeroAxis +
      " slots=" + split(zero >= 1) + " gradients=" + split(zero >= 2) +
      " parameters=" + split(zero >= 3) + "},dist-share-state," + assign +
      "follow}),dist-insert-reshards,dist-verify-spmd,dist-cut-stages{schedule=" + schedule +
      "},dist-verify-spmd,"
      "dist-partition,dist-verify-spmd,"
      "dist-simplify-collectives,cse,dist-verify-spmd";
  return text + (loops ? ",dist-form-loops,dist-verify-spmd" : "");
}

OwningOpRef<ModuleOp> randomModel(MLIRContext &context, Random &random, int64_t batch) {
  return ModelMaker(context, random).run(batch);
}

TrainingCase randomTrainingCase(MLIRContext &context, Random &random) {
  // Sub-axes of tp are searched one after the other, as other axes of weights are.
  static const char *const meshes[] = {"dp=2",        "dp=3",      "dp=2x2", "tp=2",
                                       "tp=3",        "dp=2,tp=2", "tp=2x2", "tp=3x2",
                                       "dp=2x2,tp=2", "dp=3,tp=2", "dp=4",   "dp=2,tp=2x2"};
  TrainingCase result;
  TrainingLayout &layout = result.layout;
  layout.mesh = meshes[random.below(std::size(meshes))];
  if (random.chance(40)) {
    layout.stages = "pp";
    layout.mesh = (random.chance(50) ? "pp=2" : "pp=3") + ("," + layout.mesh);
  }
  bool hasData = StringRef(layout.mesh).contains("dp");
  layout.microbatches = random.chance(50) ? 1 : random.between(2, 3);
  layout.zero = hasData ? random.below(4) : 0;
  if (StringRef(layout.mesh).contains("dp=2x2") && random.chance(60))
    layout.zeroAxis = "dp.1";
  layout.sequenceParallel = random.chance(50);
  Mesh mesh = *Mesh::parse(layout.mesh);
  int64_t shards = mesh.groupSize(mesh.resolve("dp")) * layout.microbatches;
  result.module =
      randomModel(context, random, shards * random.between(1, 2) + (random.chance(20) ? 1 : 0));
  StepOptions &options = result.options;
  options.optimizer = StepOptions::Optimizer(random.below(3));
  options.clip = random.chance(60) ? 0.1 : 0;
  options.counted = random.chance(30);
  options.frozen = random.chance(20);
  if (failed(makeStep(*result.module, options)))
    result.module = nullptr;
  return result;
}

std::vector<HostTensor> randomArguments(func::FuncOp function, Random &random) {
  std::vector<HostTensor> arguments;
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    HostTensor &data = arguments.emplace_back(cast<RankedTensorType>(type));
    if (function.getArgAttr(index, kInitialAttr))
      continue;
    for (double &element : data.reals)
      element = random.real();
    for (int64_t &element : data.integers)
      element = random.below(5);
  }
  return arguments;
}

std::vector<HostTensor>
runSteps(func::FuncOp function, std::vector<HostTensor> arguments, int steps,
         llvm::function_ref<std::optional<std::vector<HostTensor>>(ArrayRef<HostTensor>)> run) {
  std::vector<HostTensor> all;
  for (int step = 0; step < steps; ++step) {
    std::optional<std::vector<HostTensor>> results = run(arguments);
    if (!results)
      return {};
    for (auto [index, result] : llvm::enumerate(*results)) {
      auto updated = function.getResultAttrOfType<StringAttr>(index, nn::kUpdatesAttr);
      for (unsigned i = 0; updated && i < arguments.size(); ++i)
        if (function.getArgAttr(i, kNameAttr) == updated)
          arguments[i] = result;
      all.push_back(result);
    }
  }
  return all;
}

} // namespace weft::test
