// The pass around the conversion, and the parsing of its bindings.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Passes.h"

#include "dialects/nn/IR/Nn.h"
#include "dialects/onnx/IR/Onnx.h"
#include "weft/Support/Npy.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace weft::onnx {
#define GEN_PASS_DEF_CONVERTONNXTONN
#include "passes/onnx/Passes.h.inc"
} // namespace weft::onnx

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

/// Of one dim. Nothing fits that is larger, and what is computed from it stays
/// far from the ends of 64 bits.
static constexpr int64_t kMostExtent = (int64_t(1) << 31) - 1;

/// Splits at commas that no backslash escapes.
static SmallVector<std::string> splitItems(llvm::StringRef text) {
  SmallVector<std::string> items(1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size())
      items.back() += text[++i];
    else if (text[i] == ',')
      items.emplace_back();
    else
      items.back() += text[i];
  }
  return items;
}

FailureOr<Bindings> weft::onnx::parseBindings(llvm::StringRef text, MLIRContext *context,
                                              llvm::function_ref<InFlightDiagnostic()> emitError) {
  Bindings bindings;
  bool sound = true;
  for (const std::string &item : splitItems(text)) {
    if (item.empty())
      continue;
    auto [name, value] = llvm::StringRef(item).split('=');
    int64_t extent = 0;
    auto complain = [&](const llvm::Twine &what) {
      emitError() << "--bind " << what;
      sound = false;
    };
    if (value.consume_front("@")) {
      llvm::Expected<HostTensor> tensor = readNpy(value, context);
      if (!tensor)
        complain(name + ": " + llvm::toString(tensor.takeError()));
      else if (!bindings.inputs.try_emplace(name, std::move(*tensor)).second)
        complain("gives input '" + name + "' twice");
    } else if (name.empty() || value.getAsInteger(10, extent)) {
      complain("needs NAME=EXTENT or INPUT=@FILE.npy, found '" + item + "'");
    } else if (extent < 1 || extent > kMostExtent) {
      complain(name + "=" + value + ": an extent is from 1 to " + llvm::Twine(kMostExtent));
    } else if (auto [known, isNew] = bindings.dims.try_emplace(name, extent);
               known->second != extent) {
      complain("makes '" + name + "' both " + llvm::Twine(known->second) + " and " +
               llvm::Twine(extent));
    }
  }
  if (!sound)
    return failure();
  return bindings;
}

namespace {
struct ConvertOnnxToNn : weft::onnx::impl::ConvertOnnxToNnBase<ConvertOnnxToNn> {
  using ConvertOnnxToNnBase::ConvertOnnxToNnBase;
  ConvertOnnxToNn(const Bindings &bindings, bool forTraining, bool withModelStep, int64_t parts)
      : given(bindings) {
    training = forTraining;
    modelStep = withModelStep;
    batchParts = parts;
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto parsed = parseBindings(bind, &getContext(), [&] { return module.emitError(); });
    if (failed(parsed))
      return signalPassFailure();
    for (const auto &dim : given.dims)
      parsed->dims[dim.getKey()] = dim.getValue();
    for (const auto &input : given.inputs)
      parsed->inputs[input.getKey()] = input.getValue();
    bool isOfModel = training && modelStep && hasModelStep(module);
    if (training && !isOfModel && hasModelStep(module))
      module.emitWarning() << "the model's training step (TrainingInfo) is not used: --loss "
                              "and --optimizer say what to train for and how; leave both out to "
                              "use it";
    if (failed(
            convertOnnxToNn(module, *parsed, training, seed, isOfModel, batchParts, keepWeights)))
      signalPassFailure();
  }

  Bindings given;
};
} // namespace

std::unique_ptr<Pass> weft::onnx::createConvertOnnxToNn(const Bindings &bindings, bool training,
                                                        bool modelStep, int64_t batchParts) {
  return std::make_unique<ConvertOnnxToNn>(bindings, training, modelStep, batchParts);
}
