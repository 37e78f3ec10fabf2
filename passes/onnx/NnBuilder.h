// Builds `nn` ops with numpy's broadcasting, folding what is known at once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_ONNX_NNBUILDER_H
#define WEFT_PASSES_ONNX_NNBUILDER_H

#include "dialects/nn/IR/Nn.h"
#include "weft/Interfaces/HostTensor.h"
#include "weft/Interfaces/TensorSize.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

#include <functional>
#include <optional>
#include <string>

namespace weft::onnx {

/// Every method that makes a value returns null if an operand is null or the
/// shapes do not fit; the first reason is kept. So a handler of an operator
/// reads like its formula, and whoever called it looks at the end.
///
/// An op whose operands are all constants is evaluated by its own reference
/// method and replaced by a constant. This is what makes the shape arithmetic
/// of exporters vanish: a `Shape` is a constant, and all that follows folds.
class NnBuilder {
public:
  using Value = mlir::Value;
  using Type = mlir::Type;
  using Shape = llvm::ArrayRef<int64_t>;

  /// Constants of more elements than this are not made by folding, and values
  /// whose computation passes through larger ones are not known.
  static constexpr int64_t kFoldLimit = int64_t(1) << 22;
  /// Of a model, whose nodes may be many ops each, and loops write nodes out again and again.
  static constexpr int64_t kMostOps = int64_t(1) << 22;
  /// Floating-point operations of one evaluation, and of all of a model.
  static constexpr double kFoldWorkOfOne = 1 << 28, kFoldWork = 64.0 * (1 << 28);
  /// Elements of all values of a model that are computed when compiling: MLIR keeps constants, of
  /// dead nodes, too, until it ends.
  static constexpr int64_t kMostFolded = int64_t(1) << 27;

  NnBuilder(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;
  /// The bytes of a program argument that is state with known contents.
  std::function<std::optional<HostTensor>(mlir::BlockArgument)> readArgument;
  /// Whether a program argument is such state.
  std::function<bool(mlir::BlockArgument)> isState;
  /// Why symbolic dims have that extent: "--bind makes 'seq' 4096"; "" if none has it.
  std::function<std::string(int64_t)> sourceOfExtent;
  /// Whether a node takes the form that it has in training (statistics of the batch, dropout): as
  /// `training` says if it is set, else as the node says. Remembers that a node asked, because only
  /// then do the two forms of a model differ.
  bool isTraining(bool asNodeSays) {
    askedForTraining = true;
    return training.value_or(asNodeSays);
  }
  /// The number of training steps done, and the seed, of random numbers; no step
  /// where there is no training step.
  std::function<Value()> stepCounter;
  uint64_t seed = 0;
  /// How many nodes of a name have drawn random numbers.
  llvm::StringMap<unsigned> draws;
  std::optional<bool> training;
  /// Whether it builds what states start at, where random numbers are drawn once.
  bool initializes = false;
  /// Equal parts of the batch that have statistics of their own in training.
  int64_t batchParts = 1;
  bool askedForTraining = false;
  /// Program arguments that no optimizer changes, as running statistics, and what those become.
  llvm::SmallVector<Value> statistics;
  llvm::SmallVector<std::pair<Value, Value>> updates;
  /// Indices into so many rows, as they come and as the look-up has them.
  struct Lookup {
    Value indices, wrapped;
    int64_t rows;
  };
  llvm::SmallVector<Lookup> lookups;
  /// What optimizers of the file keep beside a tensor, and the tensor; and their
  /// learning rates.
  llvm::SmallVector<std::pair<Value, Value>> slots;
  llvm::SmallVector<Value> rates;

  /// Keeps the first message; returns null.
  Value fail(const llvm::Twine &text);
  bool hasFailed() const { return !message.empty(); }
  std::string takeMessage() { return std::exchange(message, std::string()); }

  //===--- Types ----------------------------------------------------------===//

  static mlir::RankedTensorType typeOf(Value value) {
    return llvm::cast<mlir::RankedTensorType>(value.getType());
  }
  static Shape shapeOf(Value value) { return typeOf(value).getShape(); }
  static int64_t rankOf(Value value) { return typeOf(value).getRank(); }
  static Type elementOf(Value value) { return typeOf(value).getElementType(); }
  static bool isFloat(Value value) { return llvm::isa<mlir::FloatType>(elementOf(value)); }
  static bool isBool(Value value) { return elementOf(value).isInteger(1); }
  static bool isUnsigned(Value value) { return elementOf(value).isUnsignedInteger(); }
  /// The number of elements; one more than any tensor has for a shape that is
  /// no tensor's.
  static int64_t sizeOf(Shape shape);
  /// The type of a result; null, with the failure noted, if it is too large.
  mlir::RankedTensorType typeFor(Shape shape, Type element);
  mlir::RankedTensorType typeFor(Shape shape, Value like) {
    return typeFor(shape, elementOf(like));
  }
  Type f32() { return builder.getF32Type(); }
  Type i64() { return builder.getI64Type(); }
  Type i1() { return builder.getI1Type(); }

  //===--- Constants ------------------------------------------------------===//

  /// The number for a type of either kind: integers are what it is cut to, at most their limits.
  static Scalar scalarOf(double value);

  /// One that is computed.
  Value constant(const HostTensor &tensor);
  /// One of the file, which is as large as it is.
  Value constant(mlir::ElementsAttr elements);
  /// Whether a constant of that many elements may be made when compiling; notes
  /// the failure if not.
  bool isFoldable(int64_t elements);
  /// One dim of integers.
  Value integers(Shape values, Type element = {});
  /// The splat `value` in another shape.
  Value resizeSplat(Value value, Shape shape);
  /// All elements equal; rounded to `element`.
  Value full(Shape shape, Type element, double value);
  /// The same of an integer, of which a double keeps 53 bits.
  Value fullInteger(Shape shape, Type element, int64_t value);
  Value fullLike(Value like, double value);
  /// The value if it is known at compile time, following uses back to constants
  /// and to the bytes of state.
  std::optional<HostTensor> known(Value value);
  /// Of a constant or state that has more elements than are looked at: how many are; else nothing.
  std::optional<int64_t> exceededLimit(Value value) const;
  /// The same for a value that is a constant already: no work, no file read.
  static bool isConstant(Value value);

  //===--- Elementwise ----------------------------------------------------===//

  template <typename Op> Value unary(Value x) { return make<Op>(x); }
  template <typename Op> Value binary(Value x, Value y) {
    std::tie(x, y) = broadcastPair(x, y);
    return make<Op>(x, y);
  }
  Value add(Value x, Value y) { return binary<nn::AddOp>(x, y); }
  Value sub(Value x, Value y) { return binary<nn::SubOp>(x, y); }
  Value mul(Value x, Value y) { return binary<nn::MulOp>(x, y); }
  Value div(Value x, Value y) { return binary<nn::DivOp>(x, y); }
  Value max(Value x, Value y) { return binary<nn::MaxOp>(x, y); }
  Value min(Value x, Value y) { return binary<nn::MinOp>(x, y); }
  /// With a number in place of the second operand.
  Value add(Value x, double y) { return x ? add(x, fullLike(x, y)) : x; }
  Value mul(Value x, double y) { return x ? mul(x, fullLike(x, y)) : x; }
  Value max(Value x, double y) { return x ? max(x, fullLike(x, y)) : x; }
  Value min(Value x, double y) { return x ? min(x, fullLike(x, y)) : x; }
  Value compare(nn::CompareKind kind, Value x, Value y);
  Value compare(nn::CompareKind kind, Value x, double y) {
    return x ? compare(kind, x, fullLike(x, y)) : x;
  }
  Value select(Value condition, Value onTrue, Value onFalse);
  /// `compute` of x, in f32 where x is a smaller float: f16 holds neither squares nor sums of many.
  Value inFloat(Value x, llvm::function_ref<Value(Value)> compute);
  /// `compute` of x and these numbers: in f64, and cut to integers, where x holds integers and one
  /// of the numbers is none of their type.
  Value withNumbers(Value x, llvm::ArrayRef<double> numbers,
                    llvm::function_ref<Value(Value)> compute);
  /// The root of a sum of squares. Its gradient where all are zero is zero, as of PyTorch's norms.
  Value rootOfSquares(Value sum);
  /// Nothing if the type is already that.
  Value cast(Value x, Type element);

  //===--- Layout ---------------------------------------------------------===//

  Value reshape(Value x, Shape shape);
  /// By numpy's rule: aligned at the last dim, dims of size 1 repeat.
  Value broadcastTo(Value x, Shape shape);
  /// Operand dim i becomes result dim dims[i] (`nn.broadcast`).
  Value broadcastDims(Value x, Shape shape, Shape dims);
  std::pair<Value, Value> broadcastPair(Value x, Value y);
  std::optional<llvm::SmallVector<int64_t>> broadcastShape(Shape x, Shape y);
  Value transpose(Value x, Shape permutation);
  Value reverse(Value x, Shape dims);
  Value slice(Value x, Shape starts, Shape sizes, Shape strides);
  Value sliceDim(Value x, int64_t dim, int64_t start, int64_t size, int64_t stride = 1);
  Value concat(llvm::ArrayRef<Value> inputs, int64_t dim);
  Value pad(Value x, Shape low, Shape high, double value) {
    return pad(x, low, high, scalarOf(value));
  }
  /// With the part of the number that `x` has the type of.
  Value pad(Value x, Shape low, Shape high, Scalar value);
  /// New dims of size 1, at these places of the result.
  Value unsqueeze(Value x, Shape dims);
  Value squeeze(Value x, Shape dims);
  Value iota(int64_t size, Type element = {});
  /// 0, 1, 2, ... along `dim` of a value of that shape.
  Value iotaAlong(Shape shape, int64_t dim, Type element = {});

  //===--- Reductions and products ----------------------------------------===//

  Value reduce(ReduceKind kind, Value x, Shape dims, bool keep);
  Value mean(Value x, Shape dims, bool keep);
  Value contract(Value x, Value y, Shape xLabels, Shape yLabels, Shape resultLabels);
  /// numpy's matmul, batch dims broadcast.
  Value matmul(Value x, Value y);
  /// Rows `indices` of `x` along `dim`; index values are within range.
  Value take(Value x, Value indices, int64_t dim);
  Value softmax(Value x, int64_t dim, bool log = false);
  /// Over the dims from `dim` on; `bias` may be null.
  Value layerNorm(Value x, Value scale, Value bias, int64_t dim, double epsilon);
  Value rmsNorm(Value x, Value scale, int64_t dim, double epsilon);
  /// What is known of index values along dims of these sizes, in turn.
  enum class Indices {
    Unknown,
    Positive, // none is negative, all are within
    Outside,  // one is not within; noted as the failure
  };
  Indices checkIndices(Value indices, Shape sizes);
  /// Whether none that is known is outside [0, size), where a negative one means nothing; notes
  /// the failure if one is.
  bool checkPlaces(Value indices, int64_t size);
  /// Negative indices count from `size`. Noted among `lookups`.
  Value wrapIndices(Value indices, int64_t size);

  //===--- Any op ---------------------------------------------------------===//

  template <typename Op, typename... Args> mlir::Operation *makeOp(Args &&...args) {
    if ((isNull(args) || ...))
      return nullptr;
    return Op::create(builder, loc, std::forward<Args>(args)...).getOperation();
  }
  template <typename Op, typename... Args> Value make(Args &&...args) {
    llvm::SmallVector<Value> results = settle(makeOp<Op>(std::forward<Args>(args)...));
    return results.empty() ? Value() : results.front();
  }
  /// Verifies and folds a new op; no results if it was null or wrong.
  llvm::SmallVector<Value> settle(mlir::Operation *op);

  static llvm::SmallVector<int64_t> range(int64_t begin, int64_t end);

private:
  Value full(Shape shape, Type element, Scalar value);
  static bool isNull(Value value) { return !value; }
  static bool isNull(mlir::RankedTensorType type) { return !type; }
  static bool isNull(llvm::ArrayRef<Value> values) { return llvm::is_contained(values, Value()); }
  template <typename T> static bool isNull(const T &) { return false; }

  mlir::LogicalResult verifyNew(mlir::Operation *op);
  Value countFromEnd(Value indices, int64_t size);
  std::optional<HostTensor> constantIndices(Value indices);
  void failOutside(Value indices, int64_t index, int64_t size);
  std::string explainExcess(Shape extents, int64_t fitting) const;
  bool foldSplat(mlir::Operation *op, llvm::SmallVectorImpl<Value> &results);
  bool foldRepeated(mlir::Operation *op, llvm::SmallVectorImpl<Value> &results);
  std::optional<llvm::SmallVector<HostTensor>> evaluate(mlir::Operation *op);
  static bool isEvaluable(mlir::Operation *op);
  void evaluateBelow(mlir::Operation *last);
  /// Whether that much work may be done when compiling; takes it from what all
  /// folding together may do.
  bool spend(double work);
  /// Counts an op towards what a model may make; notes the failure if it is one too many.
  bool countOp();
  /// Whether that many elements may be computed and kept besides those that are.
  bool hasRoom(int64_t elements) const;
  bool hasRoomFor(mlir::Operation *op) const;
  Value foldedConstant(mlir::ElementsAttr elements);

  std::string message;
  int64_t made = 0; // ops, those that were folded included
  /// Elements of values computed when compiling, and the constants among them: equal ones are one.
  int64_t folded = 0;
  llvm::DenseSet<mlir::Attribute> foldedConstants;
  double workLeft = kFoldWork;
  llvm::DenseMap<Value, HostTensor> knownValues;
  llvm::DenseSet<mlir::Operation *> unknown; // looked at in vain
};

} // namespace weft::onnx

#endif // WEFT_PASSES_ONNX_NNBUILDER_H
