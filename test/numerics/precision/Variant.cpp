// Takes a built model through the phases in one precision.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Variant.h"

#include "../../support/Distance.h"
#include "dialects/nn/IR/Nn.h"
#include "passes/nn/step/Passes.h"
#include "passes/onnx/Passes.h"
#include "python_free_frontend/importer/Importer.h"
#include "weft/Compiler/Pipelines.h"
#include "weft/Testing/InProcess/InProcess.h"
#include "weft/Testing/Interpreter/StateSource.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/Path.h"

#include <cmath>
#include <random>

using namespace mlir;
using namespace weft;
using namespace weft::test;

static func::FuncOp forward(ModuleOp module) {
  return module.lookupSymbol<func::FuncOp>("forward");
}

/// Programs give results in the model's types; here they give what they computed.
static void returnUncast(func::FuncOp function) {
  Operation *end = function.getBody().front().getTerminator();
  for (OpOperand &operand : end->getOpOperands())
    if (auto cast = operand.get().getDefiningOp<nn::CastOp>();
        cast && isa<FloatType>(getElementTypeOrSelf(cast.getOperand().getType())))
      operand.set(cast.getOperand());
  function.setType(FunctionType::get(function.getContext(), function.getArgumentTypes(),
                                     end->getOperandTypes()));
}

OwningOpRef<ModuleOp> Variant::stepProgram(bool raised) const {
  OwningOpRef<ModuleOp> module = onnx::importModel(path, &context);
  if (!module)
    return nullptr;
  PassManager passes(&context);
  PhaseOptions phases;
  if (!phases.bindings.add(model.bind).empty())
    return nullptr;
  phases.precision = *parsePrecision(precision);
  if (raised) {
    buildPhase(passes, Phase::Graph, phases);
    buildPhase(passes, Phase::Step, phases);
  } else {
    phases.raise = false;
    buildImportToGraph(passes, phases);
    passes.addNestedPass<func::FuncOp>(step::createStepSetPrecision({precision}));
  }
  if (failed(passes.run(*module)))
    return nullptr;
  returnUncast(forward(*module));
  return module;
}

/// Token ids, masks that end before the row does, and pixels, by the name and type
/// of the input; the same in every precision.
static HostTensor drawInput(StringRef name, RankedTensorType type, std::mt19937 &random) {
  HostTensor tensor(type);
  int64_t row = type.getRank() ? type.getShape().back() : 1;
  for (auto [i, value] : llvm::enumerate(tensor.integers))
    value = name.contains("mask")   ? int64_t(i) % row < row - 2 - int64_t(i) / row
            : name.contains("type") ? random() % 2
                                    : random() % 97;
  for (double &value : tensor.reals)
    value = double(int(random() % 4001) - 2000) / 1000;
  roundToOwnType(tensor);
  return tensor;
}

std::vector<HostTensor> Variant::inputsOf(ModuleOp module) const {
  func::FuncOp function = forward(module);
  std::vector<HostTensor> inputs;
  std::mt19937 random(11);
  for (BlockArgument argument : function.getArguments())
    if (!function.getArgAttr(argument.getArgNumber(), nn::kSourceAttr))
      inputs.push_back(
          drawInput(function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), nn::kNameAttr),
                    cast<RankedTensorType>(argument.getType()), random));
  return inputs;
}

std::optional<std::vector<HostTensor>>
Variant::interpreted(bool raised, InterpreterOptions::Rounding rounding) const {
  OwningOpRef<ModuleOp> module = stepProgram(raised);
  if (!module)
    return std::nullopt;
  func::FuncOp function = forward(*module);
  std::vector<HostTensor> inputs = inputsOf(*module), arguments;
  for (unsigned i = 0, next = 0; i < function.getNumArguments(); ++i) {
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[i]);
    auto source = function.getArgAttrOfType<nn::SourceAttr>(i, nn::kSourceAttr);
    if (!source) {
      arguments.push_back(inputs[next++]);
      continue;
    }
    auto stored = function.getArgAttrOfType<TypeAttr>(i, nn::kSourceTypeAttr);
    auto weight =
        readSource(source, stored ? type.clone(stored.getValue()) : type,
                   llvm::sys::path::parent_path(path), [&] { return function.emitError(); });
    if (failed(weight))
      return std::nullopt;
    weight->elementType = type.getElementType();
    roundToOwnType(*weight);
    arguments.push_back(std::move(*weight));
  }
  InterpreterOptions options;
  options.rounding = rounding;
  auto results = interpret(function, std::move(arguments), options);
  if (failed(results))
    return std::nullopt;
  return std::vector<HostTensor>(results->begin(), results->end());
}

std::optional<std::vector<HostTensor>> Variant::compiled(const std::string &mesh,
                                                         bool sequenceParallel,
                                                         const std::string &processor,
                                                         std::string &why) const {
  OwningOpRef<ModuleOp> module = stepProgram(/*raised=*/true);
  if (!module)
    return std::nullopt;
  std::vector<HostTensor> inputs = inputsOf(*module), outputs;
  auto types =
      llvm::map_to_vector(forward(*module).getResultTypes(), llvm::CastTo<RankedTensorType>);
  PassManager passes(&context);
  PhaseOptions phases;
  phases.mesh = *Mesh::parse(mesh);
  phases.sequenceParallel = sequenceParallel;
  for (Phase phase : {Phase::Sharded, Phase::Local, Phase::Scheduled})
    buildPhase(passes, phase, phases);
  why = "does not compile";
  if (failed(passes.run(*module)))
    return std::nullopt;
  emit::BlobOptions blob;
  blob.modelDirectory = llvm::sys::path::parent_path(path).str();
  blob.threadsPerRank = 1;
  auto artifact = emit::emitArtifact(*module, {processor}, blob);
  if (failed(artifact))
    return std::nullopt;
  auto program = emit::InProcessProgram::open(std::move(*artifact), why);
  if (!program || !program->run(inputs, types, outputs, why))
    return std::nullopt;
  return outputs;
}

double test::errorOf(const std::vector<HostTensor> &found, const std::vector<HostTensor> &oracle) {
  if (found.size() != oracle.size())
    return INFINITY;
  double worst = 0;
  for (auto [y, o] : llvm::zip_equal(found, oracle)) {
    if (y.shape != o.shape || y.integers != o.integers)
      return INFINITY;
    Distance distance(Specials::AreWrong);
    for (auto [a, b] : llvm::zip_equal(y.reals, o.reals))
      distance.add(a, b);
    worst = std::max(worst, distance.relative());
  }
  return worst;
}
