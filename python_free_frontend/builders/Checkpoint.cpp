// Pairs parameters with stored tensors by name and shape.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/Checkpoint.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace weft::builders {
namespace {

// Checkpoints of a bare model lack the prefix that the model has inside a task
// model, and the other way round.
constexpr StringLiteral kPrefixes[] = {"bert.", "transformer.", "model.", "vit."};

std::string shapeText(ArrayRef<int64_t> dims) {
  std::string text;
  raw_string_ostream os(text);
  os << "[";
  interleaveComma(dims, os);
  os << "]";
  return text;
}

} // namespace

Expected<CheckpointWeights> CheckpointWeights::match(SafeTensors file, ArrayRef<Weight> weights) {
  CheckpointWeights source(std::move(file));
  const auto &table = source.file.tensors();
  StringSet<> used;
  std::string faults;
  auto fault = [&](const Twine &what) { faults += ("\n  " + what).str(); };
  for (const Weight &weight : weights) {
    SmallVector<std::string> names = {weight.name};
    for (StringRef prefix : kPrefixes) {
      names.push_back((prefix + weight.name).str());
      StringRef bare = weight.name;
      if (bare.consume_front(prefix))
        names.push_back(bare.str());
    }
    auto found = table.end();
    for (const std::string &name : names)
      if (found == table.end())
        found = table.find(name);
    if (found == table.end()) {
      fault("parameter '" + weight.name + "' " + shapeText(weight.dims) + " is missing");
      continue;
    }
    std::vector<int64_t> wanted = weight.dims;
    if (weight.transposed)
      std::reverse(wanted.begin(), wanted.end());
    if (found->second.dims != wanted)
      fault("tensor '" + found->first + "' has shape " + shapeText(found->second.dims) +
            ", the model needs " + shapeText(wanted));
    else if (!isFloat(found->second))
      fault("tensor '" + found->first + "' has type " + found->second.dtype +
            ", not a floating-point type");
    used.insert(found->first);
    source.pairs[weight.name] = &found->second;
  }
  if (!faults.empty())
    return createStringError(inconvertibleErrorCode(),
                             "'%s' does not fit the model:%s\n  choose layers, hidden, vocab, ... "
                             "as in the checkpoint's config.json",
                             source.file.path().c_str(), faults.c_str());
  for (const auto &item : table)
    if (!used.contains(item.first))
      source.leftOver.push_back(item.first);
  return source;
}

Error CheckpointWeights::read(const Weight &weight, int64_t begin, MutableArrayRef<double> values) {
  const StoredTensor &tensor = *pairs.lookup(weight.name);
  if (!weight.transposed) {
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = elementOf(tensor, begin + int64_t(i));
    return Error::success();
  }
  int64_t rows = weight.dims[0], columns = weight.dims[1];
  for (size_t i = 0; i < values.size(); ++i) {
    int64_t index = begin + int64_t(i);
    values[i] = elementOf(tensor, index % columns * rows + index / columns);
  }
  return Error::success();
}

} // namespace weft::builders
