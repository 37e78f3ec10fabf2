// Operators that draw random numbers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/xxhash.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

namespace {

/// Random 32-bit numbers of Philox2x32 with ten rounds (Salmon, Moraes, Dror and
/// Shaw, 2011), as arithmetic on i64. A number depends on nothing but the seed,
/// the node's name, the step, and the element's index in the whole tensor; so
/// every layout draws the same numbers, and recomputation draws them again. The
/// index is made from counters, which a process has of its own shard.
class Philox {
public:
  explicit Philox(NnBuilder &b) : b(b) {}

  /// `stream` names whose numbers they are, `step` is one i64.
  Value bits(NnBuilder::Shape shape, llvm::StringRef stream, Value step) {
    if (NnBuilder::sizeOf(shape) > int64_t(kLow))
      return b.fail("draws more than 2^32 random numbers a step");
    uint64_t mixed = llvm::xxh3_64bits(stream) ^ (b.seed * 0x9E3779B97F4A7C15u);
    uint64_t key = (mixed ^ (mixed >> 32)) & kLow;
    Value low = indices(shape);
    Value high = low ? low32(b.broadcastDims(step, shape, {})) : Value();
    for (int round = 0; round < 10; ++round) {
      // The product has 64 bits; as a signed number its upper half is cut again.
      Value product = b.mul(low, number(low, kMultiplier));
      Value upper = low32(b.binary<nn::ShiftRightOp>(product, number(low, 32)));
      Value mixedHigh = exclusiveOr(upper, number(low, key));
      low = exclusiveOr(mixedHigh, high);
      high = low32(product);
      key = (key + kWeyl) & kLow;
    }
    return low;
  }

private:
  static constexpr uint64_t kLow = 0xFFFFFFFFu, kMultiplier = 0xD256D193u, kWeyl = 0x9E3779B9u;

  Value number(Value like, uint64_t value) { return like ? b.fullLike(like, double(value)) : like; }
  Value low32(Value x) { return b.binary<nn::AndOp>(x, number(x, kLow)); }
  Value exclusiveOr(Value x, Value y) { return b.binary<nn::XorOp>(x, y); }

  /// Row-major.
  Value indices(NnBuilder::Shape shape) {
    Value sum = b.full(shape, b.i64(), 0);
    llvm::SmallVector<int64_t, 4> strides = rowMajorStrides(shape);
    for (auto [dim, stride] : llvm::enumerate(strides))
      if (shape[dim] > 1)
        sum = b.add(sum, b.mul(b.iotaAlong(shape, dim, b.i64()), double(stride)));
    return sum;
  }

  NnBuilder &b;
};

} // namespace

/// Whose numbers a node draws: its name; where several have the same, also which of them it is.
static std::string streamOf(NodeContext &n) {
  auto named = n.b.loc->findInstanceOf<NameLoc>();
  std::string name = named ? named.getName().str() : "";
  unsigned before = n.b.draws[name]++;
  return before == 0 ? name : name + "/" + llvm::utostr(before);
}

/// The identity and a mask of all true; in training each element is zero with
/// probability `ratio`, else divided by 1 - ratio.
static Results dropout(NodeContext &n) {
  Value x = n.in(0);
  if (!x)
    return {};
  bool hasInputs = n.opset >= 12;
  auto ratio = hasInputs ? n.knownScalar(1, 0.5) : std::optional<double>(n.real("ratio", 0.5));
  auto asked = hasInputs ? n.knownScalar(2, 0) : std::optional<double>(0);
  if (!ratio || !asked)
    return {};
  Value keep;
  if (*asked != 0 && *ratio != 0 && n.b.isTraining(true)) {
    if (!(*ratio >= 0 && *ratio < 1))
      return {n.fail("'ratio' must be in [0, 1)")};
    Value step = n.b.stepCounter ? n.b.stepCounter() : Value();
    if (!step)
      return {n.fail("training mode draws random numbers, which only a training step has; "
                     "compile with --train, or export the model for inference")};
    Value bits = Philox(n.b).bits(n.b.shapeOf(x), streamOf(n), step);
    keep = n.b.compare(nn::CompareKind::Ge, bits, std::ldexp(*ratio, 32));
    x = n.b.select(keep, n.b.mul(x, 1 / (1 - *ratio)), n.b.fullLike(x, 0));
  }
  Results results{x};
  if (n.numOutputs() > 1) {
    Value mask = keep && x ? keep : x ? n.b.full(n.b.shapeOf(x), n.b.i1(), 1) : Value();
    results.push_back(n.opset < 10 ? n.b.cast(mask, n.b.elementOf(x)) : mask);
  }
  return results;
}

/// RandomNormal and RandomUniform, of an attribute's shape or like an input.
/// Drawn when compiling, so that every process starts at the same numbers.
static Results draw(NodeContext &n, bool normal, bool like) {
  if (!n.b.initializes)
    return {n.fail("random numbers are not compiled into inference programs; make them an input")};
  Value model = like ? n.in(0) : Value();
  std::optional<SmallVector<int64_t>> shape = n.integers("shape");
  if (model)
    shape = SmallVector<int64_t>(n.b.shapeOf(model));
  if (like && !model)
    return {}; // told as a missing input
  assert(shape && "checkForm wants the attribute, or the input");
  constexpr int64_t kMost = int64_t(1) << 20;
  if (llvm::any_of(*shape, [](int64_t extent) { return extent < 0 || extent > kMost; }) ||
      NnBuilder::sizeOf(*shape) > kMost)
    return {n.fail("it draws more than " + llvm::Twine(kMost) +
                   " numbers when compiling; give the tensor as an initializer")};
  Type element = n.attribute("dtype")
                     ? elementTypeOf(n.b.builder.getContext(), n.integer("dtype", 1))
                 : model ? n.b.elementOf(model)
                         : n.b.f32();
  if (!element || !isa<FloatType>(element))
    return {n.fail("'dtype' is not a floating-point type that is supported")};
  std::string stream =
      streamOf(n) + "#" + llvm::utostr(llvm::bit_cast<uint64_t>(n.real("seed", 0)));
  // In the middle of 2^32 equal parts of (0, 1).
  auto uniform = [&](llvm::StringRef part) {
    Value bits = Philox(n.b).bits(*shape, stream + part.str(), n.b.full({}, n.b.i64(), 0));
    return n.b.mul(n.b.add(n.b.cast(bits, n.b.builder.getF64Type()), 0.5), std::ldexp(1.0, -32));
  };
  Value number = uniform("");
  if (normal) {
    // Box and Muller, 1958.
    Value radius = n.b.unary<nn::SqrtOp>(n.b.mul(n.b.unary<nn::LogOp>(number), -2.0));
    number = n.b.mul(radius, n.b.unary<nn::CosOp>(n.b.mul(uniform("angle"), 2 * M_PI)));
  }
  double low = n.real(normal ? "mean" : "low", 0);
  double scale = normal ? n.real("scale", 1) : n.real("high", 1) - low;
  return {n.b.cast(n.b.add(n.b.mul(number, scale), low), element)};
}

void weft::onnx::registerRandom(Registry &r) {
  r.add("Dropout", dropout);
  for (bool like : {false, true}) {
    const char *suffix = like ? "Like" : "";
    r.add(std::string("RandomNormal") + suffix,
          [like](NodeContext &n) { return draw(n, true, like); });
    r.add(std::string("RandomUniform") + suffix,
          [like](NodeContext &n) { return draw(n, false, like); });
  }
}
