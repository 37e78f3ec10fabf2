// Writes ONNX graphs node by node, with the names that torch's exporter gives.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_BUILDERS_GRAPHBUILDER_H
#define WEFT_PYTHON_FREE_FRONTEND_BUILDERS_GRAPHBUILDER_H

#include "onnx.pb.h"
#include "python_free_frontend/builders/ModelSpec.h"
#include "python_free_frontend/builders/Weights.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"
#include <variant>
#include <vector>

namespace weft::builders {

/// A value of the graph is its name.
using Value = std::string;

/// One attribute: name and value, the kind following from the C++ type.
struct Attr {
  using Ints = std::vector<int64_t>;
  Attr(llvm::StringRef name, int64_t i) : name(name), value(i) {}
  Attr(llvm::StringRef name, int i) : name(name), value(int64_t(i)) {}
  Attr(llvm::StringRef name, double f) : name(name), value(float(f)) {}
  Attr(llvm::StringRef name, const char *s) : name(name), value(std::string(s)) {}
  Attr(llvm::StringRef name, Ints ints) : name(name), value(std::move(ints)) {}
  Attr(llvm::StringRef name, onnx::Tensor t) : name(name), value(std::move(t)) {}

  std::string name;
  std::variant<int64_t, float, std::string, Ints, onnx::Tensor> value;
};

/// An extent of a reshape: known, or a rank-0 int64 value of the graph.
struct Extent {
  Extent(int64_t fixed) : fixed(fixed) {}
  Extent(int fixed) : fixed(fixed) {}
  Extent(Value value) : value(std::move(value)) {}
  int64_t fixed = 0;
  Value value;
};

/// An extent of a graph input or output: known or symbolic.
using Dim = std::variant<int64_t, std::string>;

class GraphBuilder {
public:
  explicit GraphBuilder(const ModelSpec &spec);

  const ModelSpec &spec() const { return options; }
  bool exporter() const { return options.exporter(); }
  int64_t opset() const { return options.opset; }
  /// ONNX data type of the weights.
  int32_t dataType() const { return weightType; }

  /// Enters a module: nodes made until the returned object dies are named
  /// "/outer/name/Op", parameters "outer.name.x".
  class [[nodiscard]] Scope {
  public:
    Scope(GraphBuilder &g, llvm::StringRef name);
    ~Scope() { g.scopes.resize(depth); }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    GraphBuilder &g;
    size_t depth;
  };

  Value input(llvm::StringRef name, int32_t type, llvm::ArrayRef<Dim> dims);
  /// Makes `value` the graph output `name`.
  void output(const Value &value, llvm::StringRef name, int32_t type, llvm::ArrayRef<Dim> dims);

  Value op(llvm::StringRef type, llvm::ArrayRef<Value> inputs,
           std::initializer_list<Attr> attrs = {});
  std::vector<Value> ops(llvm::StringRef type, llvm::ArrayRef<Value> inputs, unsigned results,
                         std::initializer_list<Attr> attrs = {});

  /// A parameter "scope.name". `transposed` tells that checkpoints hold the
  /// matrix as [out, in] while the graph wants [in, out].
  Value weight(llvm::StringRef name, llvm::ArrayRef<int64_t> dims, Init init,
               bool transposed = false);
  /// A parameter that already exists, by its full name.
  std::string parameterName(llvm::StringRef name) const;

  /// Constants: nodes in exporter style, shared initializers in compact style.
  Value ints(llvm::ArrayRef<int64_t> values);
  Value scalarInt(int64_t value);
  /// Rank 0, of the weights' type unless another is given.
  Value real(double value, int32_t type = 0);
  Value constant(onnx::Tensor tensor);
  /// A computed table that belongs to the graph (causal mask, rotary table): a
  /// Constant node inside the file even when weights are absent, because float
  /// initializers are what training changes.
  Value buffer(llvm::StringRef name, onnx::Tensor tensor);

  onnx::Tensor realTensor(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<double> values,
                          int32_t type = 0);

  /// The rank-0 extent of dimension `axis`, as Shape and Gather.
  Value dimOf(const Value &value, int64_t axis);
  /// Reshape to `extents`; with value extents the shape is concatenated as
  /// exporters do.
  Value reshape(const Value &value, llvm::ArrayRef<Extent> extents);
  /// A 1-D int64 shape from extents.
  Value shapeOf(llvm::ArrayRef<Extent> extents);
  Value unsqueeze(const Value &value, llvm::ArrayRef<int64_t> axes);
  Value transpose(const Value &value, llvm::ArrayRef<int64_t> perm);
  Value cast(const Value &value, int32_t type);
  Value slice(const Value &value, const Value &start, const Value &end, int64_t axis);
  /// ReduceMean, ReduceSum, ReduceL2, ...: axes as attribute or as input, as
  /// the opset wants.
  Value reduce(llvm::StringRef type, const Value &value, int64_t axis, bool keepDims);

  onnx::Model &model() { return proto; }
  llvm::ArrayRef<Weight> weights() const { return parameters; }

private:
  std::string path(llvm::StringRef separator, llvm::StringRef last) const;
  Value uniqueNode(llvm::StringRef type, onnx::Node &node);

  ModelSpec options;
  int32_t weightType;
  onnx::Model proto;
  std::vector<Weight> parameters;
  std::vector<std::string> scopes;
  llvm::StringMap<unsigned> nodeNames;
  llvm::StringMap<Value> sharedConstants;
  llvm::StringMap<char> weightNames;
};

/// Fills in name, type and shape of a graph input or output.
void setValueInfo(onnx::ValueInfo &info, llvm::StringRef name, int32_t type,
                  llvm::ArrayRef<Dim> dims);

} // namespace weft::builders

#endif // WEFT_PYTHON_FREE_FRONTEND_BUILDERS_GRAPHBUILDER_H
