// Einsum of any number of operands as a chain of contractions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Registry.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

namespace {
/// A value whose dims carry labels. Letters are their codes; dims of an
/// ellipsis are negative, -1 for the last one, so that they align as numpy's
/// do.
struct Labelled {
  Value value;
  SmallVector<int64_t> labels;
};
} // namespace

static bool parseLabels(llvm::StringRef text, int64_t rank, SmallVectorImpl<int64_t> &labels) {
  llvm::StringRef before = text, after;
  bool ellipsis = text.contains("...");
  if (ellipsis)
    std::tie(before, after) = text.split("...");
  int64_t dims = rank - static_cast<int64_t>(before.size() + after.size());
  if (dims < 0 || (!ellipsis && dims != 0))
    return false;
  if (!llvm::all_of(before, llvm::isAlpha) || !llvm::all_of(after, llvm::isAlpha))
    return false;
  labels.append(before.begin(), before.end());
  for (int64_t i = dims; i > 0; --i)
    labels.push_back(-i);
  labels.append(after.begin(), after.end());
  return true;
}

/// Replaces a repeated label by its diagonal: x[i, i].
static bool takeDiagonals(NodeContext &n, Labelled &x) {
  for (size_t i = 0; i < x.labels.size(); ++i)
    for (size_t j = i + 1; j < x.labels.size(); ++j) {
      if (x.labels[i] != x.labels[j])
        continue;
      NnBuilder::Shape shape = n.b.shapeOf(x.value);
      if (shape[i] != shape[j])
        return n.fail("a repeated label has two extents"), false;
      // Gather (k, k) for all k; the new dim comes first.
      Value index = n.b.broadcastDims(n.b.iota(shape[i]), {shape[i], 2}, {0});
      x.value = n.b.make<nn::GatherOp>(x.value, index, NnBuilder::Shape({int64_t(i), int64_t(j)}),
                                       NnBuilder::Shape(), NnBuilder::Shape());
      if (!x.value)
        return false;
      int64_t label = x.labels[i];
      x.labels.erase(x.labels.begin() + j);
      x.labels.erase(x.labels.begin() + i);
      x.labels.insert(x.labels.begin(), label);
      return takeDiagonals(n, x);
    }
  return true;
}

/// Sums over the dims whose label no one else has.
static void sumOut(NodeContext &n, Labelled &x, llvm::function_ref<bool(int64_t)> isNeeded) {
  SmallVector<int64_t> dims, kept;
  for (auto [dim, label] : llvm::enumerate(x.labels)) {
    if (isNeeded(label))
      kept.push_back(label);
    else
      dims.push_back(dim);
  }
  x.value = n.b.reduce(ReduceKind::Sum, x.value, dims, false);
  x.labels = kept;
}

/// The operands with their labels, and how often each label occurs.
static bool readOperands(NodeContext &n, ArrayRef<llvm::StringRef> terms,
                         SmallVectorImpl<Labelled> &operands, std::map<int64_t, int64_t> &count) {
  for (auto [i, term] : llvm::enumerate(terms)) {
    Labelled operand{n.in(i), {}};
    if (!operand.value || !parseLabels(term, n.b.rankOf(operand.value), operand.labels))
      return n.fail("term '" + term + "' does not fit its operand"), false;
    for (int64_t label : operand.labels)
      ++count[label];
    if (!takeDiagonals(n, operand))
      return false;
    operands.push_back(operand);
  }
  return true;
}

/// The extent of each label. A dim of size 1 where others have more is repeated there: it drops
/// out.
static bool agreeOnExtents(NodeContext &n, MutableArrayRef<Labelled> operands,
                           std::map<int64_t, int64_t> &extent) {
  for (const Labelled &operand : operands)
    for (auto [dim, label] : llvm::enumerate(operand.labels)) {
      int64_t size = n.b.shapeOf(operand.value)[dim];
      auto [found, inserted] = extent.try_emplace(label, size);
      if (!inserted && found->second != size && found->second != 1 && size != 1)
        return n.fail("a label has extents " + llvm::Twine(found->second) + " and " +
                      llvm::Twine(size)),
               false;
      found->second = std::max(found->second, size);
    }
  for (Labelled &operand : operands) {
    SmallVector<int64_t> unit, kept;
    for (auto [dim, label] : llvm::enumerate(operand.labels)) {
      if (n.b.shapeOf(operand.value)[dim] != extent[label])
        unit.push_back(dim);
      else
        kept.push_back(label);
    }
    operand.value = n.b.squeeze(operand.value, unit);
    operand.labels = kept;
  }
  return true;
}

/// The result's labels: those that the equation names, or those of one operand alone.
static bool readResult(NodeContext &n, std::optional<llvm::StringRef> term,
                       const std::map<int64_t, int64_t> &count,
                       const std::map<int64_t, int64_t> &extent, SmallVectorImpl<int64_t> &result) {
  if (term) {
    int64_t ellipsis = 0;
    for (const auto &[label, size] : extent)
      ellipsis += label < 0;
    size_t letters = term->size() - (term->contains("...") ? 3 : 0);
    if (!parseLabels(*term, letters + (term->contains("...") ? ellipsis : 0), result))
      return n.fail("the result term '" + *term + "' is not well formed"), false;
  } else {
    for (const auto &[label, size] : extent)
      if (label < 0 || count.at(label) == 1)
        result.push_back(label);
  }
  for (int64_t label : result)
    if (!extent.count(label))
      return n.fail("the result has a label that no operand has"), false;
  return true;
}

/// `total` times `next`; both lose the labels that neither the other has nor anyone needs later.
static bool multiply(NodeContext &n, Labelled &total, Labelled &next,
                     llvm::function_ref<bool(int64_t)> isLater) {
  sumOut(n, next,
         [&](int64_t label) { return isLater(label) || llvm::is_contained(total.labels, label); });
  SmallVector<int64_t> labels;
  for (int64_t label : llvm::concat<int64_t>(total.labels, next.labels))
    if (!llvm::is_contained(labels, label) && isLater(label))
      labels.push_back(label);
  sumOut(n, total,
         [&](int64_t label) { return isLater(label) || llvm::is_contained(next.labels, label); });
  auto numbered = [](llvm::ArrayRef<int64_t> list) {
    return llvm::to_vector(llvm::map_range(list, [](int64_t label) { return label + 64; }));
  };
  total.value = n.b.contract(total.value, next.value, numbered(total.labels), numbered(next.labels),
                             numbered(labels));
  total.labels = labels;
  return bool(total.value);
}

static Results einsum(NodeContext &n) {
  std::string equation;
  for (char c : n.text("equation", ""))
    if (c != ' ')
      equation += c;
  auto [left, right] = llvm::StringRef(equation).split("->");
  SmallVector<llvm::StringRef> terms;
  left.split(terms, ',');
  if (terms.size() != n.numInputs() || terms.empty())
    return {n.fail("the equation has " + llvm::Twine(terms.size()) + " terms for " +
                   llvm::Twine(n.numInputs()) + " inputs")};
  std::map<int64_t, int64_t> count, extent;
  SmallVector<Labelled> operands;
  SmallVector<int64_t> result;
  bool namesResult = equation.find("->") != std::string::npos;
  if (!readOperands(n, terms, operands, count) || !agreeOnExtents(n, operands, extent) ||
      !readResult(n, namesResult ? std::optional(right) : std::nullopt, count, extent, result))
    return {};
  std::map<int64_t, size_t> last; // operand of each label
  for (auto [i, operand] : llvm::enumerate(operands))
    for (int64_t label : operand.labels)
      last[label] = i;
  // From left to right; each product sums what neither the rest nor the result has.
  Labelled total = operands.front();
  for (size_t i = 0; i < operands.size(); ++i) {
    auto isLater = [&](int64_t label) {
      return llvm::is_contained(result, label) || last.at(label) > i;
    };
    if (i == 0)
      sumOut(n, total, isLater);
    else if (!multiply(n, total, operands[i], isLater))
      return {};
  }
  SmallVector<int64_t> permutation;
  for (int64_t label : result)
    if (auto *found = llvm::find(total.labels, label); found != total.labels.end())
      permutation.push_back(found - total.labels.begin());
  return {n.b.transpose(total.value, permutation)};
}

void weft::onnx::registerEinsum(Registry &r) { r.add("Einsum", einsum); }
