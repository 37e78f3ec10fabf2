// Gives a model file other weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/weights/ReplaceWeights.h"

#include "python_free_frontend/weights/ModelFile.h"
#include "python_free_frontend/weights/TensorBytes.h"
#include "python_free_frontend/wire/ExternalFiles.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Regex.h"

using namespace llvm;

namespace weft::weights {
namespace {

constexpr uint64_t kInlineLimit = 1'500'000'000;
constexpr uint64_t kLeastExternal = 1024; // bytes worth a place in the data

std::string shapeText(ArrayRef<int64_t> dims) {
  if (dims.empty())
    return "scalar";
  std::string text;
  for (int64_t dim : dims)
    text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text;
}

/// Which tensor goes to which initializer.
class Matching {
public:
  struct Pair {
    std::string tensor;
    bool transposed = false;
  };

  Matching(const TensorStore &store, const ReplaceOptions &options)
      : store(store), options(options) {}

  std::map<std::string, Pair> pairs; // by initializer
  ReplaceSummary summary;

  Error run(const ModelFile &model) {
    if (Error error = nameTensors())
      return error;
    for (auto each : enumerate(transposed))
      if (none_of(model.initializers(),
                  [&](const onnx::Tensor &one) { return each.value().match(one.name()); }))
        summary.idleRules.push_back("--transpose '" + options.transposed[each.index()] +
                                    "' matches no initializer");
    for (const onnx::Tensor &initializer : model.initializers())
      match(initializer);
    for (const onnx::Tensor *initializer : model.trainingInitializers())
      matchKept(*initializer);
    // A checkpoint has large tables of Constant nodes, too, by the names of their values.
    StringSet<> constants;
    for (const onnx::Node &node : model.message().graph().node())
      if (node.op_type() == "Constant" && node.output_size() == 1)
        constants.insert(node.output(0));
    for (const auto &[target, tensor] : byTarget) {
      if (pairs.count(target) || refused.count(target) || constants.contains(target))
        continue;
      if (options.allowExtra)
        summary.unused.push_back(tensor);
      else
        faults.push_back("tensor '" + tensor + "'" +
                         (target == tensor ? "" : " (as '" + target + "')") +
                         " has no initializer");
    }
    summary.replaced = pairs.size();
    if (faults.empty())
      return Error::success();
    std::string text = "the tensors do not fit '" + options.model + "':";
    for (const std::string &fault : faults)
      text += "\n  " + fault;
    return createStringError(inconvertibleErrorCode(),
                             "%s\n  map names with --map 'REGEX=REPLACEMENT' (a name that becomes "
                             "empty leaves its tensor out), or add --allow-missing, --allow-extra",
                             text.c_str());
  }

private:
  Error nameTensors() {
    std::vector<Regex> patterns;
    for (const NameRule &rule : options.rules) {
      patterns.emplace_back(rule.pattern);
      std::string error;
      if (!patterns.back().isValid(error))
        return createStringError(inconvertibleErrorCode(),
                                 "--map: '%s' is not a regular expression: %s",
                                 rule.pattern.c_str(), error.c_str());
    }
    for (const std::string &pattern : options.transposed) {
      transposed.emplace_back(pattern);
      std::string error;
      if (!transposed.back().isValid(error))
        return createStringError(inconvertibleErrorCode(),
                                 "--transpose: '%s' is not a regular expression: %s",
                                 pattern.c_str(), error.c_str());
    }
    for (auto each : enumerate(patterns))
      if (none_of(store.entries(),
                  [&](const auto &entry) { return each.value().match(entry.first); }))
        summary.idleRules.push_back("--map '" + options.rules[each.index()].pattern +
                                    "' matches no tensor");
    for (const auto &[name, entry] : store.entries()) {
      if (entry.optimizer)
        continue;
      std::string target = name;
      for (auto [pattern, rule] : zip_equal(patterns, options.rules))
        if (pattern.match(name)) {
          std::string error;
          target = pattern.sub(rule.replacement, name, &error);
          if (!error.empty())
            return createStringError(inconvertibleErrorCode(), "--map: replacement '%s': %s",
                                     rule.replacement.c_str(), error.c_str());
          break;
        }
      if (target.empty())
        continue;
      auto [found, fresh] = byTarget.try_emplace(target, name);
      if (!fresh)
        faults.push_back("tensors '" + found->second + "' and '" + name + "' both go to '" +
                         target + "'");
    }
    return Error::success();
  }

  void match(const onnx::Tensor &initializer) {
    const std::string &name = initializer.name();
    std::vector<int64_t> dims(initializer.dims().begin(), initializer.dims().end());
    StringRef type = storedTypeOf(initializer.data_type());
    auto found = byTarget.find(name);
    if (found == byTarget.end()) {
      // Shapes, indices and single numbers are the graph's own.
      bool single = all_of(dims, [](int64_t dim) { return dim == 1; });
      if (!isFloatType(type) || single || is_contained(dims, 0))
        return;
      if (options.allowMissing)
        summary.kept.push_back(name);
      else
        faults.push_back("initializer '" + name + "' (" + shapeText(dims) + " " + type.str() +
                         ") gets no tensor");
      return;
    }
    Pair pair{found->second, false};
    for (Regex &pattern : transposed)
      pair.transposed |= pattern.match(name);
    const TensorStore::Entry *entry = &store.entries().at(pair.tensor);
    if (entry->dtype != type) {
      auto master = store.entries().find(pair.tensor + "#master");
      if (master != store.entries().end()) {
        pair.tensor = master->first;
        entry = &master->second;
      }
    }
    std::vector<int64_t> expected = dims;
    if (pair.transposed && expected.size() == 2)
      std::swap(expected[0], expected[1]);
    std::string fault;
    if (pair.transposed && dims.size() != 2)
      fault = "--transpose is for matrices";
    else if (entry->dims != expected)
      fault = dims.size() == 2 && entry->dims.size() == 2 && entry->dims[0] == dims[1] &&
                      entry->dims[1] == dims[0]
                  ? "it is the transpose; add --transpose '^" + name + "$'"
                  : "shapes differ";
    else if (entry->dtype != type && !(isFloatType(entry->dtype) && isFloatType(type)))
      fault = "types differ";
    if (fault.empty()) {
      pairs[name] = std::move(pair);
      return;
    }
    refused.try_emplace(name, true);
    faults.push_back("initializer '" + name + "' is " + shapeText(dims) + " " + type.str() +
                     ", tensor '" + pair.tensor + "' is " + shapeText(entry->dims) + " " +
                     entry->dtype + ": " + fault);
  }

  /// What an optimizer keeps has the name that the training graph gives it; a
  /// store without it leaves the start of training as it is.
  void matchKept(const onnx::Tensor &initializer) {
    const std::string &name = initializer.name();
    auto entry = store.entries().find(name);
    if (entry == store.entries().end() || !entry->second.optimizer)
      return;
    std::vector<int64_t> dims(initializer.dims().begin(), initializer.dims().end());
    StringRef type = storedTypeOf(initializer.data_type());
    if (entry->second.dims == dims &&
        (entry->second.dtype == type || (isFloatType(entry->second.dtype) && isFloatType(type))))
      pairs[name] = {name, false};
    else
      faults.push_back("initializer '" + name + "' of the training graph is " + shapeText(dims) +
                       " " + type.str() + ", the optimizer state of that name is " +
                       shapeText(entry->second.dims) + " " + entry->second.dtype);
  }

  const TensorStore &store;
  const ReplaceOptions &options;
  std::vector<Regex> transposed;
  std::map<std::string, std::string> byTarget; // tensor by initializer
  std::map<std::string, bool> refused;
  std::vector<std::string> faults;
};

/// The new bytes of an initializer.
Error fetch(TensorStore &store, const Matching::Pair &pair, const onnx::Tensor &initializer,
            std::string &bytes) {
  const TensorStore::Entry &entry = store.entries().at(pair.tensor);
  if (Error error = store.read(pair.tensor, bytes))
    return error;
  StringRef type = storedTypeOf(initializer.data_type());
  if (entry.dtype != type)
    bytes = convertFloats(bytes, entry.dtype, type);
  if (pair.transposed)
    bytes = transposeMatrix(bytes, entry.dims[0], entry.dims[1]);
  return Error::success();
}

} // namespace

Expected<ReplaceSummary> replaceWeights(TensorStore &store, const ReplaceOptions &options) {
  ModelFile model;
  if (Error error = model.open(options.model))
    return std::move(error);
  Matching matching(store, options);
  if (Error error = matching.run(model))
    return std::move(error);
  ReplaceSummary summary = std::move(matching.summary);
  summary.unknownFields = model.unknownFields();
  std::vector<onnx::Tensor *> initializers = model.mutableInitializers();
  for (const onnx::Tensor *initializer : initializers)
    summary.bytes += bytesOf(*initializer);
  summary.external = options.external || summary.bytes > kInlineLimit;
  // A model that is replaced may lose its data, another one may not.
  if (!sys::fs::equivalent(options.output, options.model)) {
    if (Error error = onnx::checkHoldsNoData(options.output, model.message(), options.model))
      return std::move(error);
    std::string data = dataFileOf(options.output);
    if (Error error = summary.external
                          ? onnx::checkHoldsNoData(data, model.message(), options.model)
                          : Error::success())
      return std::move(error);
  }
  ModelWriter writer(options.output, summary.external);
  if (Error error = writer.open())
    return std::move(error);
  SmallPtrSet<const onnx::Tensor *, 16> replaceable(initializers.begin(), initializers.end());
  // What nodes and functions hold outside comes along: its old file may be the one that is written.
  for (onnx::Tensor *tensor : model.mutableTensors()) {
    bool isInitializer = replaceable.contains(tensor);
    auto pair = isInitializer ? matching.pairs.find(tensor->name()) : matching.pairs.end();
    bool isExternal = tensor->data_location() == onnx::Tensor::EXTERNAL;
    bool outside =
        summary.external && (isInitializer || isExternal) && bytesOf(*tensor) >= kLeastExternal;
    std::string bytes;
    if (pair != matching.pairs.end()) {
      if (Error error = fetch(store, pair->second, *tensor, bytes))
        return std::move(error);
    } else if (isExternal) {
      if (Error error = model.readExternal(*tensor, bytes))
        return std::move(error);
    } else if (outside && tensor->has_raw_data()) {
      bytes = tensor->raw_data();
    } else {
      continue;
    }
    if (Error error = writer.place(*tensor, std::move(bytes), outside))
      return std::move(error);
  }
  if (Error error = writer.finish(model))
    return std::move(error);
  return summary;
}

} // namespace weft::weights
