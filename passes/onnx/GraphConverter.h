// Walks an ONNX graph in order and builds the `nn` function from it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_ONNX_GRAPHCONVERTER_H
#define WEFT_PASSES_ONNX_GRAPHCONVERTER_H

#include "passes/onnx/ExporterNotes.h"
#include "passes/onnx/FunctionTable.h"
#include "passes/onnx/OnnxToNn.h"
#include "passes/onnx/Registry.h"
#include "passes/onnx/Schemas.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

#include <set>

namespace weft::onnx {

/// The name in a declared input or output; "" if there is none.
llvm::StringRef nameOfInfo(mlir::Attribute info);
/// Whether a quantised operator reads it.
bool feedsQuantized(mlir::Value value);
/// The nodes of a training step; null if it has none.
mlir::Block *algorithmOf(TrainingInfoOp info);

/// Model-local functions are inlined and constant `If`s resolved by walking
/// into them, not by rewriting the IR first, because the body of a function has
/// its own imports of operator sets.
class GraphConverter {
public:
  enum class Purpose {
    Inference,
    /// The plain forward pass of a model to be trained: every float initializer
    /// is state.
    Evaluation,
    /// That of a training step: batch statistics, and what the running ones
    /// become as further results.
    Training,
    /// The step that the model's TrainingInfo describes: its graph, its training
    /// graph, and what initializers become.
    ModelStep,
    /// The loss of that, as the model computes it when it is not trained.
    ModelEvaluation,
  };
  GraphConverter(mlir::ModuleOp module, const Bindings &bindings,
                 Purpose purpose = Purpose::Inference, uint64_t seed = 0, bool hasModelStep = false,
                 int64_t batchParts = 1);

  /// Whether initializers are state without training, too.
  bool keepsWeights = false;
  /// The function, not yet in place of the graph; null if anything failed.
  mlir::func::FuncOp convert();
  /// Whether Evaluation and Training differ; known after `convert`.
  bool dependsOnTraining() const { return b.askedForTraining; }
  /// Inputs that are indices as they are, and of how many rows at least.
  const llvm::StringMap<int64_t> &lookups() const { return lookedUp; }

private:
  /// Where nodes stand: the versions and attributes that hold there.
  struct Scope {
    FunctionOp function;                        // null in the main graph
    const AttributeScope *attributes = nullptr; // of the call
    std::string prefix;                         // names of the calls
  };

  llvm::StringRef functionName() const;
  void convertInputs(GraphOp graph);
  void addInputs(mlir::Block &block, GraphAttr info, mlir::Location loc,
                 const llvm::StringMap<bool> &initialized, llvm::StringMap<bool> &names);
  std::optional<mlir::RankedTensorType> bindType(llvm::StringRef name, mlir::Type declared,
                                                 mlir::Location loc);
  void addInput(llvm::StringRef name, mlir::BlockArgument argument, mlir::Location loc);
  /// Extents of symbolic dims that arrays bound to inputs imply.
  void deriveDims(mlir::Block &block, GraphAttr info);
  void checkBindings(mlir::Location loc);
  void recordLookups();
  void bindInput(llvm::StringRef name, const HostTensor &tensor, mlir::BlockArgument argument,
                 mlir::Location loc);

  mlir::Value materialize(TensorAttr tensor, llvm::StringRef name, bool quantized,
                          bool isInitializer, mlir::Location loc);
  /// The elements that a file has as `bytes`.
  mlir::DenseElementsAttr decode(mlir::RankedTensorType type, llvm::ArrayRef<char> bytes);
  /// The value of a node `Constant`, made once for all walks over it.
  mlir::Value constantOf(NodeOp node, TensorAttr value, mlir::Location loc);
  mlir::StringAttr stateName(llvm::StringRef name);
  mlir::Value addState(TensorAttr tensor, llvm::StringRef name, mlir::Location loc);
  mlir::Value addEmbeddedState(TensorAttr tensor, llvm::StringRef name,
                               mlir::DenseElementsAttr value, mlir::Location loc);

  /// The state that counts training steps.
  mlir::Value stepCounter();

  void convertBlock(mlir::Block &block, const Scope &scope);
  /// Counts a node, or a run of a loop, towards what a model may come to; false, with the error
  /// told once, when it is too much.
  bool countNode(mlir::Location loc);
  void convertNode(NodeOp node, const Scope &scope);
  /// The form of the node; null, with the error told, if the node has another.
  const Schema *checkNode(NodeOp node, int64_t opset, const Scope &scope, mlir::Location loc);
  void convertCall(NodeOp node, FunctionOp function, const Scope &scope);
  // ControlFlow.cpp: operators of the default domain whose graphs are walked.
  using Walk = void (GraphConverter::*)(NodeOp node, const Scope &scope);
  static const llvm::StringMap<Walk> &controlFlow();
  void convertIf(NodeOp node, const Scope &scope);
  void convertScan(NodeOp node, const Scope &scope);
  void convertLoop(NodeOp node, const Scope &scope);
  /// The `numResults` values that the graph `body` of a loop makes of the arguments; none, with
  /// the error told, if it fails or makes another number.
  std::optional<llvm::SmallVector<mlir::Value>> convertBody(NodeOp node, const Scope &scope,
                                                            int64_t run,
                                                            llvm::ArrayRef<mlir::Value> arguments,
                                                            size_t numResults);
  /// Tells that `node` cannot be converted; an earlier reason of the builder goes first.
  void refuse(NodeOp node, const Scope &scope, const llvm::Twine &why);
  void refuseRuns(NodeOp node, const Scope &scope);
  mlir::Value initialValue(InitializerOp initializer);

  // TrainingGraph.cpp: gradients, and the step that a model brings along.
  bool isOfModel() const {
    return purpose == Purpose::ModelStep || purpose == Purpose::ModelEvaluation;
  }
  /// Names are those of the main graph and of one training graph, or none.
  void collectNames(GraphOp graph, TrainingInfoOp info = {});
  void collectNames(mlir::Block &block, GraphAttr info);
  void convertGradient(NodeOp node, const Scope &scope);
  /// The initializer that a binding sets, or null.
  InitializerOp boundInitializer(EntryAttr entry);
  void findBound(GraphOp graph);
  void runInitialization(TrainingInfoOp info);
  void convertAlgorithms(GraphOp graph);
  void assignUpdates(GraphOp graph, TrainingInfoOp info);
  void addOwnResults(llvm::SmallVectorImpl<mlir::Value> &results,
                     llvm::SmallVectorImpl<mlir::DictionaryAttr> &attrs);
  void addHoles(llvm::SmallVectorImpl<mlir::Value> &results,
                llvm::SmallVectorImpl<mlir::DictionaryAttr> &attrs);
  void classifyStates();
  llvm::StringRef nameOfState(mlir::Value state);
  void setArgument(mlir::Value argument, llvm::StringRef name, mlir::Attribute value);
  /// The imported version of the node's domain; nothing if there is none.
  std::optional<int64_t> opsetOf(NodeOp node, const Scope &scope);
  mlir::Location locationOf(NodeOp node, const Scope &scope);
  /// What stands before the names of nodes within `node`: its own name, after a '/' `part`, or
  /// nothing more than around it once that grows long.
  std::string prefixWithin(NodeOp node, const Scope &scope, llvm::StringRef part = "");
  void setResults(NodeOp node, llvm::ArrayRef<mlir::Value> results, mlir::Location loc);
  llvm::SmallVector<mlir::Value> lookup(mlir::ValueRange values);
  /// Looks up the node's inputs; false if one of them failed to convert.
  bool lookupInputs(NodeOp node, llvm::SmallVectorImpl<mlir::Value> &inputs);

  void addStatistics(llvm::SmallVectorImpl<mlir::Value> &results,
                     llvm::SmallVectorImpl<mlir::DictionaryAttr> &attrs);
  /// Tells if an output has another type than the file declares.
  void checkDeclared(mlir::Attribute output, mlir::Value computed, mlir::Location loc);
  void finish(GraphOp graph);
  void removeDead();
  mlir::InFlightDiagnostic error(mlir::Location loc);

  mlir::ModuleOp module;
  FunctionTable functions;
  ExporterNotes notes; // of the main graph
  /// Imported versions by domain: of functions, and of the model under null.
  llvm::DenseMap<mlir::Operation *, llvm::StringMap<int64_t>> opsets;
  const Bindings &bindings;
  Purpose purpose;
  mlir::OpBuilder builder;
  mlir::func::FuncOp function;
  NnBuilder b;
  /// Values not here failed, and what reads them is skipped.
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  /// Constants that are made, by their tensor and whether they feed a quantised operator: bodies of
  /// loops and functions are walked again and again.
  llvm::DenseMap<std::pair<mlir::Attribute, unsigned>, mlir::Value> constants;
  /// The last large elements of a type: every layer of a model brings the same mask.
  struct Decoded {
    std::vector<char> bytes;
    mlir::DenseElementsAttr value;
  };
  llvm::DenseMap<mlir::Type, Decoded> decoded;
  /// Arguments of functions for which the call at hand gives nothing.
  llvm::DenseSet<mlir::Value> absent;
  /// Attributes and, for state, contents of the function's arguments.
  llvm::SmallVector<mlir::DictionaryAttr> argumentAttrs;
  llvm::DenseMap<mlir::BlockArgument, TensorAttr> states;
  /// Values of the main graph and of training graphs, by name.
  llvm::StringMap<mlir::Value> names;
  bool hasModelStep;
  /// Initializers that bindings set, in order; where they start, if not at
  /// their own bytes; and what they are at this point of the step.
  llvm::MapVector<mlir::Operation *, mlir::Value> bound;
  llvm::DenseMap<mlir::Operation *, HostTensor> initialValues;
  llvm::DenseMap<mlir::Operation *, mlir::Value> current;
  /// Arguments that stand for the gradients of one number, `y`.
  struct Gradient {
    mlir::Value y;
    llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> argumentsAndXs;
  };
  llvm::SmallVector<Gradient> gradients;
  /// Of states; and of programs, which are symbols of the same module in the end.
  llvm::StringSet<> stateNames{"forward", "step", "eval"};
  /// By the name of a symbolic dim or `INPUT[i]`: its extent, as --bind says or as
  /// arrays imply, and which do.
  struct Extent {
    int64_t extent;
    std::string source;
  };
  llvm::StringMap<Extent> extents;
  /// The source of one that is so large, the first by name; "" if none is.
  std::string sourceOf(int64_t extent) const;
  /// All names that --bind can give an extent.
  std::set<std::string> bindable;
  llvm::StringMap<int64_t> lookedUp;
  unsigned numInputs = 0;
  uint64_t numNodes = 0;
  bool failed = false;
};

} // namespace weft::onnx

#endif // WEFT_PASSES_ONNX_GRAPHCONVERTER_H
