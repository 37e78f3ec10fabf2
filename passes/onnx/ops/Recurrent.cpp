// Recurrent layers, written out step by step.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"
#include "passes/onnx/ops/ActivationFunctions.h"

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

namespace {

/// Steps beyond these are more ops than anything downstream is made for.
constexpr int64_t kMostSteps = 4096;

using Function = std::function<Value(NnBuilder &, Value)>;

/// What one direction of a layer works with. Gates are a dim of their own, so
/// that the hidden dim of weights, gates and state is one that can be split.
struct Direction {
  /// steps x batch x gates x hidden: what the inputs add to the gates.
  Value projected;
  /// gates x hidden x hidden, by which the state is taken.
  Value recurrence;
  /// gates x hidden, added within the recurrence; null if it is in `projected`.
  Value recurrentBias;
  /// 3 x hidden, for the gates input, output and forget; null without.
  Value peepholes;
  SmallVector<Function, 3> functions;
  bool reverse = false;
};

struct State {
  Value hidden, cell;
};

class Layer {
public:
  Layer(NodeContext &n, int64_t gates, unsigned functions)
      : n(n), b(n.b), gates(gates), functions(functions) {}
  virtual ~Layer() = default;

  Results convert();

protected:
  /// The state after a step whose inputs add `x`, batch x gates x hidden.
  virtual State step(const Direction &d, Value x, State state) = 0;
  virtual llvm::ArrayRef<llvm::StringRef> defaults() const = 0;
  virtual bool biasesStayApart() { return false; }
  virtual bool hasCell() const { return false; }

  Value gate(Value all, int64_t index) {
    return b.reshape(b.sliceDim(all, 1, index, 1), {batch, hidden});
  }
  /// A gate, clipped, through the direction's function of that number. The cell
  /// has a function of its own, whose input ONNX Runtime does not clip.
  Value activate(const Direction &d, unsigned function, Value x) {
    if (clip > 0)
      x = b.min(b.max(x, -clip), clip);
    return d.functions[function](b, x);
  }
  /// The gates from `first` on that `state` adds to.
  Value recur(const Direction &d, Value state, int64_t first, int64_t count) {
    Value weights = b.sliceDim(d.recurrence, 0, first, count);
    return b.contract(state, weights, {0, 1}, {2, 3, 1}, {0, 2, 3});
  }

  NodeContext &n;
  NnBuilder &b;
  int64_t gates, batch = 0, hidden = 0;

private:
  bool readShapes();
  bool readFunctions();
  Function function(llvm::StringRef name);
  double next(llvm::ArrayRef<double> list, size_t &used, std::optional<double> otherwise,
              llvm::StringRef what);
  Value part(unsigned input, int64_t direction, NnBuilder::Shape shape);
  Value initial(unsigned input, int64_t direction);
  std::optional<Direction> makeDirection(int64_t index);
  Value run(const Direction &d, State &state);
  Value joinStates(llvm::ArrayRef<Value> states);

  unsigned functions;
  Value x, lengths;
  int64_t steps = 0, inputs = 0, directions = 1;
  bool batchFirst = false, startsReversed = false;
  double clip = 0;
  SmallVector<Function> allFunctions;
  SmallVector<double> alphas, betas;
  size_t usedAlphas = 0, usedBetas = 0;
};

} // namespace

bool Layer::readShapes() {
  x = n.in(0);
  Value w = n.in(1), r = n.in(2);
  if (!x || !w || !r)
    return false;
  batchFirst = n.integer("layout", 0) != 0;
  if (b.rankOf(x) == 3 && batchFirst)
    x = b.transpose(x, {1, 0, 2});
  auto direction = n.word("direction", "forward", {"forward", "reverse", "bidirectional"});
  if (!direction)
    return false;
  startsReversed = *direction == "reverse";
  directions = *direction == "bidirectional" ? 2 : 1;
  if (b.rankOf(x) != 3 || b.rankOf(w) != 3 || b.rankOf(r) != 3) {
    n.fail("X, W and R must have tensor rank 3");
    return false;
  }
  steps = b.shapeOf(x)[0];
  batch = b.shapeOf(x)[1];
  inputs = b.shapeOf(x)[2];
  hidden = n.integer("hidden_size", b.shapeOf(r)[2]);
  if (b.shapeOf(w) != NnBuilder::Shape({directions, gates * hidden, inputs}) ||
      b.shapeOf(r) != NnBuilder::Shape({directions, gates * hidden, hidden})) {
    n.fail("W and R must be " + llvm::Twine(directions) + " x " + llvm::Twine(gates * hidden) +
           " x " + llvm::Twine(inputs) + " and " + llvm::Twine(directions) + " x " +
           llvm::Twine(gates * hidden) + " x " + llvm::Twine(hidden) + " for " +
           llvm::Twine(directions) + " direction(s) of hidden size " + llvm::Twine(hidden));
    return false;
  }
  if (steps > kMostSteps) {
    n.fail("a sequence of " + llvm::Twine(steps) + " steps is longer than " +
           llvm::Twine(kMostSteps) +
           ", to which recurrent layers are written "
           "out; cut the sequence into parts");
    return false;
  }
  if (n.has(4)) {
    lengths = b.cast(n.in(4), b.i64());
    if (lengths && b.shapeOf(lengths) != NnBuilder::Shape({batch})) {
      n.fail("sequence_lens needs a length for each of the " + llvm::Twine(batch) + " sequences");
      return false;
    }
    // Lengths that are all the whole say nothing.
    if (std::optional<HostTensor> known = b.known(lengths))
      if (llvm::all_of(known->integers, [&](int64_t length) { return length == steps; }))
        lengths = Value();
  }
  return true;
}

/// The next of the numbers that functions take in turn.
double Layer::next(llvm::ArrayRef<double> list, size_t &used, std::optional<double> otherwise,
                   llvm::StringRef what) {
  if (used < list.size())
    return list[used++];
  if (!otherwise)
    n.fail("an activation needs '" + what + "', which has no more numbers");
  return otherwise.value_or(0);
}

Function Layer::function(llvm::StringRef name) {
  const NamedActivation *known = findActivation(name);
  if (!known) {
    n.fail("activation '" + name + "' is not known");
    return {};
  }
  double alpha = 0, beta = 0;
  if (known->numbers > 0)
    alpha = next(alphas, usedAlphas, known->alpha, "activation_alpha");
  if (known->numbers > 1)
    beta = next(betas, usedBetas, known->beta, "activation_beta");
  return [known, alpha, beta](NnBuilder &b, Value x) { return known->apply(b, x, alpha, beta); };
}

bool Layer::readFunctions() {
  clip = n.real("clip", 0);
  alphas = n.reals("activation_alpha").value_or(SmallVector<double>());
  betas = n.reals("activation_beta").value_or(SmallVector<double>());
  SmallVector<llvm::StringRef> names;
  if (auto given = n.texts("activations"))
    names = *given;
  else
    for (int64_t i = 0; i < directions; ++i)
      llvm::append_range(names, defaults());
  if (static_cast<int64_t>(names.size()) != functions * directions) {
    n.fail("'activations' must name " + llvm::Twine(functions * directions) + " functions, not " +
           llvm::Twine(names.size()));
    return false;
  }
  for (llvm::StringRef name : names)
    allFunctions.push_back(function(name));
  return !b.hasFailed();
}

/// One direction's part of an input, in another shape of as many elements.
Value Layer::part(unsigned input, int64_t direction, NnBuilder::Shape shape) {
  Value whole = n.in(input);
  if (!whole || b.rankOf(whole) < 2 || b.shapeOf(whole)[0] != directions)
    return n.fail("input " + llvm::Twine(input) + " must have one part for " +
                  llvm::Twine(directions) + " direction(s)");
  return b.reshape(b.sliceDim(whole, 0, direction, 1), shape);
}

/// The state before the first step: zero unless given.
Value Layer::initial(unsigned input, int64_t direction) {
  if (!n.has(input))
    return b.full({batch, hidden}, b.elementOf(x), 0);
  Value all = n.in(input);
  if (b.rankOf(all) != 3)
    return n.fail("initial states must have tensor rank 3");
  if (batchFirst)
    all = b.transpose(all, {1, 0, 2});
  if (b.shapeOf(all) != NnBuilder::Shape({directions, batch, hidden}))
    return n.fail("initial states must be one of " + llvm::Twine(batch) + " x " +
                  llvm::Twine(hidden) + " a direction");
  return b.reshape(b.sliceDim(all, 0, direction, 1), {batch, hidden});
}

std::optional<Direction> Layer::makeDirection(int64_t index) {
  Direction d;
  d.reverse = startsReversed || index == 1;
  Value weights = part(1, index, {gates, hidden, inputs});
  d.recurrence = part(2, index, {gates, hidden, hidden});
  // One product for all steps. Labels: step, batch, input, gate, hidden.
  d.projected = b.contract(x, weights, {0, 1, 2}, {3, 4, 2}, {0, 1, 3, 4});
  if (n.has(3)) {
    Value both = part(3, index, {2, gates, hidden});
    auto bias = [&](int64_t which) {
      return b.reshape(b.sliceDim(both, 0, which, 1), {gates, hidden});
    };
    d.projected = b.add(d.projected, bias(0));
    if (biasesStayApart())
      d.recurrentBias = bias(1);
    else
      d.projected = b.add(d.projected, bias(1));
  }
  if (hasCell() && n.has(7))
    d.peepholes = part(7, index, {3, hidden});
  d.functions.append(allFunctions.begin() + index * functions,
                     allFunctions.begin() + (index + 1) * functions);
  return b.hasFailed() ? std::nullopt : std::optional(d);
}

/// All outputs, steps x 1 x batch x hidden; `state` becomes the last one.
/// Beyond an entry's length its outputs are zero and its state stays, so that
/// backwards it starts at the entry's own end.
Value Layer::run(const Direction &d, State &state) {
  SmallVector<Value> outputs(steps);
  for (int64_t i = 0; i < steps && !b.hasFailed(); ++i) {
    int64_t t = d.reverse ? steps - 1 - i : i;
    Value input = b.reshape(b.sliceDim(d.projected, 0, t, 1), {batch, gates, hidden});
    State now = step(d, input, state);
    Value output = now.hidden;
    if (lengths && output) {
      Value inside =
          b.broadcastDims(b.compare(nn::CompareKind::Gt, lengths, double(t)), {batch, hidden}, {0});
      output = b.select(inside, output, b.fullLike(output, 0));
      now.hidden = b.select(inside, now.hidden, state.hidden);
      if (now.cell)
        now.cell = b.select(inside, now.cell, state.cell);
    }
    state = now;
    outputs[t] = b.reshape(output, {1, 1, batch, hidden});
  }
  return steps == 0 ? b.full({0, 1, batch, hidden}, b.elementOf(x), 0) : b.concat(outputs, 0);
}

/// One state a direction, as the layout has them.
Value Layer::joinStates(llvm::ArrayRef<Value> states) {
  SmallVector<Value> parts;
  for (Value state : states)
    parts.push_back(b.reshape(state, {1, batch, hidden}));
  Value all = b.concat(parts, 0);
  return batchFirst ? b.transpose(all, {1, 0, 2}) : all;
}

Results Layer::convert() {
  if (!readShapes() || !readFunctions())
    return {};
  SmallVector<Value> outputs, hiddens, cells;
  for (int64_t i = 0; i < directions; ++i) {
    std::optional<Direction> d = makeDirection(i);
    if (!d)
      return {};
    State state{initial(5, i), hasCell() ? initial(6, i) : Value()};
    outputs.push_back(run(*d, state));
    hiddens.push_back(state.hidden);
    cells.push_back(state.cell);
    if (b.hasFailed())
      return {};
  }
  Value all = b.concat(outputs, 1);
  Results results{batchFirst ? b.transpose(all, {2, 0, 1, 3}) : all, joinStates(hiddens)};
  if (hasCell())
    results.push_back(joinStates(cells));
  return results;
}

namespace {

struct Rnn : Layer {
  explicit Rnn(NodeContext &n) : Layer(n, 1, 1) {}
  llvm::ArrayRef<llvm::StringRef> defaults() const override {
    static constexpr llvm::StringRef names[] = {"Tanh"};
    return names;
  }
  State step(const Direction &d, Value x, State state) override {
    Value sum = b.add(x, recur(d, state.hidden, 0, 1));
    return {activate(d, 0, gate(sum, 0)), Value()};
  }
};

/// Gates are update, reset and hidden (z, r, h).
struct Gru : Layer {
  explicit Gru(NodeContext &n)
      : Layer(n, 3, 2), linearBeforeReset(n.integer("linear_before_reset", 0)) {}
  llvm::ArrayRef<llvm::StringRef> defaults() const override {
    static constexpr llvm::StringRef names[] = {"Sigmoid", "Tanh"};
    return names;
  }
  bool biasesStayApart() override { return linearBeforeReset; }

  State step(const Direction &d, Value x, State state) override {
    Value both, candidate;
    if (linearBeforeReset) {
      Value added = recur(d, state.hidden, 0, 3);
      if (d.recurrentBias)
        added = b.add(added, d.recurrentBias);
      both = b.add(b.sliceDim(x, 1, 0, 2), b.sliceDim(added, 1, 0, 2));
      Value reset = activate(d, 0, gate(both, 1));
      candidate = b.add(gate(x, 2), b.mul(reset, gate(added, 2)));
    } else {
      both = b.add(b.sliceDim(x, 1, 0, 2), recur(d, state.hidden, 0, 2));
      Value reset = activate(d, 0, gate(both, 1));
      Value taken = recur(d, b.mul(reset, state.hidden), 2, 1);
      candidate = b.add(gate(x, 2), gate(taken, 0));
    }
    Value update = activate(d, 0, gate(both, 0));
    Value fresh = activate(d, 1, candidate);
    // (1 - z) fresh + z old
    return {b.add(fresh, b.mul(update, b.sub(state.hidden, fresh))), Value()};
  }

  bool linearBeforeReset;
};

/// Gates are input, output, forget and cell (i, o, f, c).
struct Lstm : Layer {
  explicit Lstm(NodeContext &n) : Layer(n, 4, 3), couples(n.integer("input_forget", 0)) {}
  llvm::ArrayRef<llvm::StringRef> defaults() const override {
    static constexpr llvm::StringRef names[] = {"Sigmoid", "Tanh", "Tanh"};
    return names;
  }
  bool hasCell() const override { return true; }

  State step(const Direction &d, Value x, State state) override {
    Value sum = b.add(x, recur(d, state.hidden, 0, 4));
    auto peep = [&](Value value, int64_t which, Value cell) {
      if (!d.peepholes)
        return value;
      Value weight = b.reshape(b.sliceDim(d.peepholes, 0, which, 1), {hidden});
      return b.add(value, b.mul(cell, weight));
    };
    Value input = activate(d, 0, peep(gate(sum, 0), 0, state.cell));
    Value forget = couples ? b.add(b.mul(input, -1.0), 1.0)
                           : activate(d, 0, peep(gate(sum, 2), 2, state.cell));
    Value fresh = activate(d, 1, gate(sum, 3));
    Value cell = b.add(b.mul(forget, state.cell), b.mul(input, fresh));
    Value output = activate(d, 0, peep(gate(sum, 1), 1, cell));
    return {b.mul(output, d.functions[2](b, cell)), cell};
  }

  bool couples;
};

template <typename Kind> Results recurrent(NodeContext &n) { return Kind(n).convert(); }

} // namespace

void weft::onnx::registerRecurrent(Registry &r) {
  r.add("RNN", recurrent<Rnn>);
  r.add("GRU", recurrent<Gru>);
  r.add("LSTM", recurrent<Lstm>);
}
