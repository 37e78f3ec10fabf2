// What a handler of an operator sees: operands as `nn` values, and attributes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_ONNX_NODECONTEXT_H
#define WEFT_PASSES_ONNX_NODECONTEXT_H

#include "dialects/onnx/IR/Onnx.h"
#include "passes/onnx/NnBuilder.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

namespace weft::onnx {

/// Attributes of a call, by name, that nodes in the function's body refer to.
using AttributeScope = llvm::StringMap<AttributeAttr>;

/// What an attribute of a node says where the node stands: for one that refers
/// to an attribute of the function around it, that of the call; or null.
AttributeAttr resolve(AttributeAttr attribute, const AttributeScope *scope);

/// The results of a node in order; a null one, or fewer than the node's outputs
/// that are used, is a failure whose reason the builder has.
using Results = llvm::SmallVector<mlir::Value>;

/// One node about to be converted, whose form is right. Element types of
/// attributes default as the standard says where the handler asks.
///
/// A handler reads every attribute that it can honour, whatever the others are:
/// one that is given another value than its default and not read makes the
/// conversion fail, unless Schemas.def marks it.
class NodeContext {
public:
  NodeContext(NnBuilder &b, NodeOp node, int64_t opset, const AttributeScope *scope,
              llvm::ArrayRef<mlir::Value> inputs)
      : b(b), node(node), opset(opset), scope(scope), inputs(inputs) {}

  NnBuilder &b;
  NodeOp node;
  /// The version of the node's domain that the model or function imports.
  int64_t opset;

  unsigned numInputs() const { return inputs.size(); }
  unsigned numOutputs() { return node.getNumResults(); }
  bool has(unsigned index) const { return index < inputs.size() && inputs[index]; }
  /// Null, with the failure noted, if the input is absent.
  mlir::Value in(unsigned index);
  /// The same of a number that belongs to what the node does, as bounds and factors of classes: in
  /// an initializer it is no weight, and no optimizer changes it.
  mlir::Value setting(unsigned index);
  /// True if anyone reads that output.
  bool wants(unsigned index);

  /// Noted as read.
  AttributeAttr attribute(llvm::StringRef name);
  int64_t integer(llvm::StringRef name, int64_t otherwise);
  double real(llvm::StringRef name, double otherwise);
  llvm::StringRef text(llvm::StringRef name, llvm::StringRef otherwise);
  /// The same of one that is among known words, or empty, which says `otherwise`; for any other it
  /// fails, and names those that there are.
  std::optional<llvm::StringRef> word(llvm::StringRef name, llvm::StringRef otherwise,
                                      llvm::ArrayRef<llvm::StringRef> known);
  std::optional<llvm::SmallVector<int64_t>> integers(llvm::StringRef name);
  std::optional<llvm::SmallVector<double>> reals(llvm::StringRef name);
  std::optional<llvm::SmallVector<llvm::StringRef>> texts(llvm::StringRef name);
  TensorAttr tensor(llvm::StringRef name);

  /// The value of an input that must be known at compile time.
  std::optional<HostTensor> known(unsigned index);
  /// Numbers that speak of shapes; fails for those that none can have, so that
  /// sums of a few do not overflow.
  std::optional<llvm::SmallVector<int64_t>> knownIntegers(unsigned index);
  /// The attribute, or before it became an input, the input.
  std::optional<llvm::SmallVector<int64_t>> integersOf(llvm::StringRef name, unsigned index);
  /// A one-element input or its default; as a double, and as it is.
  std::optional<double> knownScalar(unsigned index, double otherwise);
  std::optional<Scalar> knownElement(unsigned index, Scalar otherwise);
  /// The same where the number speaks of a shape.
  std::optional<int64_t> knownInteger(unsigned index, int64_t otherwise);
  /// Places along a dim, from attribute or input: any number, as those past the
  /// ends mean the ends.
  std::optional<llvm::SmallVector<int64_t>> placesOf(llvm::StringRef name, unsigned index);

  /// `axis` in [0, rank); fails otherwise. With `pastEnd`, rank itself is
  /// valid.
  std::optional<int64_t> normalize(int64_t axis, int64_t rank, bool pastEnd = false);
  std::optional<llvm::SmallVector<int64_t>> normalize(llvm::ArrayRef<int64_t> axes, int64_t rank);
  /// The attribute `axis` of input 0, or of a value of another tensor rank.
  std::optional<int64_t> axis(int64_t otherwise) { return axisOf(otherwise, b.rankOf(inputs[0])); }
  std::optional<int64_t> axisOf(int64_t otherwise, int64_t rank) {
    return normalize(integer("axis", otherwise), rank);
  }

  mlir::Value fail(const llvm::Twine &text) { return b.fail(text); }

  const llvm::StringSet<> &readAttributes() const { return read; }
  AttributeAttr resolved(AttributeAttr given) const { return resolve(given, scope); }

private:
  /// Null, too, with the failure noted, if it is of another kind.
  AttributeAttr attribute(llvm::StringRef name, AttributeKind kind);
  std::optional<llvm::SmallVector<int64_t>> rawIntegers(unsigned index);

  const AttributeScope *scope;
  llvm::ArrayRef<mlir::Value> inputs;
  llvm::StringSet<> read;
};

/// Whether tensors of such elements are computed with; the file format has others, too.
bool isComputable(mlir::Type element);

/// The element type that a number of the file format stands for; null for those
/// that we do not compute with.
mlir::Type elementTypeOf(mlir::MLIRContext *context, int64_t dataType);

} // namespace weft::onnx

#endif // WEFT_PASSES_ONNX_NODECONTEXT_H
