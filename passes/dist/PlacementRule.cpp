// Reads placement rules.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/PlacementRule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using namespace weft::dist;
using llvm::SmallVector;
using llvm::StringRef;

using PlacedFactor = PlacementRule::PlacedFactor;
using Dim = PlacementRule::Dim;

/// `-`, `tp`, `dp+tp`, `3*tp`: sizes are whole parts, the axes split the rest.
static std::optional<SmallVector<PlacedFactor, 2>> parseParts(StringRef text, std::string &why) {
  SmallVector<PlacedFactor, 2> parts;
  if (text == "-") {
    parts.emplace_back();
    return parts;
  }
  for (StringRef entry : llvm::split(text, '*')) {
    PlacedFactor &part = parts.emplace_back();
    if (!entry.getAsInteger(10, part.size) && part.size > 0)
      continue;
    part.size = 0;
    for (StringRef axis : llvm::split(entry, '+')) {
      if (axis.empty()) {
        why = ("an axis of '" + text + "' has no name").str();
        return std::nullopt;
      }
      part.axes.push_back(axis.str());
    }
  }
  if (llvm::count_if(parts, [](const PlacedFactor &part) { return part.size == 0; }) == 1)
    return parts;
  why = ("'" + text + "' must name axes in exactly one part").str();
  return std::nullopt;
}

std::optional<SmallVector<Dim>> PlacementRule::parseDims(StringRef text, std::string &why) {
  SmallVector<Dim> dims;
  SmallVector<StringRef> entries;
  text.split(entries, ',', -1, /*KeepEmpty=*/false);
  for (StringRef entry : entries) {
    auto [name, parts] = entry.trim().split(':');
    unsigned dim;
    if (!name.consume_front("dim") || name.getAsInteger(10, dim) || parts.empty()) {
      why = ("expected dimN:AXES, found '" + entry + "'").str();
      return std::nullopt;
    }
    if (llvm::any_of(dims, [&](const Dim &before) { return before.dim == dim; })) {
      why = ("dim" + llvm::Twine(dim) + " is given twice").str();
      return std::nullopt;
    }
    auto parsed = parseParts(parts, why);
    if (!parsed)
      return std::nullopt;
    dims.push_back({dim, std::move(*parsed)});
  }
  return dims;
}

std::optional<PlacementRule> PlacementRule::parse(StringRef text, std::string &why) {
  // A regular expression may hold '=', a list of dims never does.
  auto [pattern, dims] = text.rsplit('=');
  std::string reason;
  if (pattern.empty() || !llvm::Regex(pattern).isValid(reason)) {
    why = "bad regular expression: " + (reason.empty() ? "it is empty" : reason);
    return std::nullopt;
  }
  auto parsed = parseDims(dims, why);
  if (!parsed)
    return std::nullopt;
  if (parsed->empty()) {
    why = "expected REGEX=dimN:AXES,..., found no dim";
    return std::nullopt;
  }
  return PlacementRule{text.str(), pattern.str(), std::move(*parsed)};
}

std::string weft::dist::appendRules(StringRef text, std::vector<PlacementRule> &rules) {
  SmallVector<StringRef> entries;
  text.split(entries, ';', -1, /*KeepEmpty=*/false);
  for (StringRef entry : entries) {
    std::string why;
    std::optional<PlacementRule> rule = PlacementRule::parse(entry.trim(), why);
    if (!rule)
      return ("'" + entry.trim() + "': " + why).str();
    rules.push_back(std::move(*rule));
  }
  return "";
}
