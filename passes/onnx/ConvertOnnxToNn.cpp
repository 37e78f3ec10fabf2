// The pass around the conversion, and the parsing of its bindings.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Passes.h"

#include "dialects/nn/IR/Nn.h"
#include "dialects/onnx/IR/Onnx.h"
#include "weft/Support/Npy.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"

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

namespace {
/// What --bind says of one name, without backslashes; no value if there is no `=`.
struct Item {
  std::string name;
  std::optional<std::string> value;
};
} // namespace

/// Splits at commas, and names from values at `=`, that no backslash escapes.
static SmallVector<Item> splitItems(llvm::StringRef text) {
  SmallVector<Item> items(1);
  auto append = [&](char c) {
    Item &item = items.back();
    (item.value ? *item.value : item.name) += c;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size())
      append(text[++i]);
    else if (text[i] == ',')
      items.emplace_back();
    else if (text[i] == '=' && !items.back().value)
      items.back().value.emplace();
    else
      append(text[i]);
  }
  return items;
}

static std::string escaped(llvm::StringRef name) {
  std::string result;
  for (char c : name)
    result += StringRef(",=\\").contains(c) ? std::string{'\\', c} : std::string(1, c);
  return result;
}

/// Returns what is wrong with the item, or nothing.
static std::string addItem(const Item &item, Bindings &bindings) {
  llvm::StringRef value = item.value ? llvm::StringRef(*item.value) : "";
  std::string text = item.name + (item.value ? "=" + *item.value : "");
  bool isFile = value.consume_front("@");
  int64_t extent = 0;
  if (item.name.empty() || (isFile ? value.empty() : value.getAsInteger(10, extent)))
    return "needs NAME=EXTENT or INPUT=@FILE.npy, found '" + text + "'";
  if (isFile)
    return bindings.files.try_emplace(item.name, value.str()).second
               ? ""
               : "gives input '" + item.name + "' twice";
  if (extent < 1 || extent > kMostExtent)
    return text + ": an extent is from 1 to " + std::to_string(kMostExtent);
  int64_t known = bindings.dims.try_emplace(item.name, extent).first->second;
  return known == extent ? ""
                         : "makes '" + item.name + "' both " + std::to_string(known) + " and " +
                               std::to_string(extent);
}

std::string Bindings::add(llvm::StringRef text) {
  std::vector<std::string> mistakes;
  for (const Item &item : splitItems(text)) {
    if (item.name.empty() && !item.value)
      continue;
    if (std::string wrong = addItem(item, *this); !wrong.empty())
      mistakes.push_back(std::move(wrong));
  }
  return llvm::join(mistakes, "; ");
}

std::string Bindings::text() const {
  std::vector<std::string> items;
  for (const auto &[name, extent] : dims)
    items.push_back(escaped(name) + "=" + std::to_string(extent));
  for (const auto &[name, file] : files)
    items.push_back(escaped(name) + "=@" + escaped(file));
  return llvm::join(items, ",");
}

LogicalResult Bindings::readFiles(MLIRContext *context,
                                  llvm::function_ref<InFlightDiagnostic()> emitError) {
  bool sound = true;
  for (const auto &[name, file] : files) {
    llvm::Expected<HostTensor> tensor = readNpy(file, context);
    if (tensor)
      inputs[name] = std::move(*tensor);
    else
      emitError() << "--bind " << name << ": " << llvm::toString(tensor.takeError());
    sound &= bool(inputs.count(name));
  }
  return success(sound);
}

namespace {
struct ConvertOnnxToNn : weft::onnx::impl::ConvertOnnxToNnBase<ConvertOnnxToNn> {
  using ConvertOnnxToNnBase::ConvertOnnxToNnBase;
  ConvertOnnxToNn(const Bindings &bindings, ConvertOnnxToNnOptions options)
      : ConvertOnnxToNnBase(std::move(options)), given(bindings) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Bindings bindings;
    auto emitError = [&] { return module.emitError(); };
    if (std::string wrong = bindings.add(bind); !wrong.empty()) {
      emitError() << "--bind " << wrong;
      return signalPassFailure();
    }
    bindings.inputs = given.inputs;
    if (failed(bindings.readFiles(&getContext(), emitError)))
      return signalPassFailure();
    bool isOfModel = training && modelStep && hasModelStep(module);
    if (training && !isOfModel && hasModelStep(module))
      module.emitWarning() << "the model's training step (TrainingInfo) is not used: --loss "
                              "and --optimizer say what to train for and how; leave both out to "
                              "use it";
    if (failed(
            convertOnnxToNn(module, bindings, training, seed, isOfModel, batchParts, keepWeights)))
      signalPassFailure();
  }

  Bindings given;
};
} // namespace

std::unique_ptr<Pass> weft::onnx::createConvertOnnxToNn(const Bindings &bindings,
                                                        ConvertOnnxToNnOptions options) {
  options.bind = bindings.text();
  return std::make_unique<ConvertOnnxToNn>(bindings, std::move(options));
}
