// Reads placement rules.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/placement/PlacementRule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using namespace weft::dist;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::SmallVector;
using llvm::StringRef;

using PlacedFactor = PlacementRule::PlacedFactor;
using Dim = PlacementRule::Dim;

/// `-`, `tp`, `dp+tp`, `3*tp`: sizes are whole parts, the axes split the rest.
static Expected<SmallVector<PlacedFactor, 2>> parseParts(StringRef text) {
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
      if (axis.empty())
        return createStringError("an axis of '" + text + "' has no name");
      part.axes.push_back(axis.str());
    }
  }
  if (llvm::count_if(parts, [](const PlacedFactor &part) { return part.size == 0; }) == 1)
    return parts;
  return createStringError("'" + text + "' must name axes in exactly one part");
}

Expected<SmallVector<Dim>> PlacementRule::parseDims(StringRef text) {
  SmallVector<Dim> dims;
  SmallVector<StringRef> entries;
  text.split(entries, ',', -1, /*KeepEmpty=*/false);
  for (StringRef entry : entries) {
    auto [name, parts] = entry.trim().split(':');
    unsigned dim;
    if (!name.consume_front("dim") || name.getAsInteger(10, dim) || parts.empty())
      return createStringError("expected dimN:AXES, found '" + entry + "'");
    if (llvm::any_of(dims, [&](const Dim &before) { return before.dim == dim; }))
      return createStringError("dim" + llvm::Twine(dim) + " is given twice");
    Expected<SmallVector<PlacedFactor, 2>> parsed = parseParts(parts);
    if (!parsed)
      return parsed.takeError();
    dims.push_back({dim, std::move(*parsed)});
  }
  return dims;
}

Expected<PlacementRule> PlacementRule::parse(StringRef text) {
  // A regular expression may hold '=', a list of dims never does.
  auto [pattern, dims] = text.rsplit('=');
  std::string reason;
  if (pattern.empty() || !llvm::Regex(pattern).isValid(reason))
    return createStringError("bad regular expression: " +
                             (reason.empty() ? "it is empty" : reason));
  Expected<SmallVector<Dim>> parsed = parseDims(dims);
  if (!parsed)
    return parsed.takeError();
  if (parsed->empty())
    return createStringError("expected REGEX=dimN:AXES,..., found no dim");
  return PlacementRule{text.str(), pattern.str(), std::move(*parsed)};
}

Error weft::dist::appendRules(StringRef text, std::vector<PlacementRule> &rules) {
  SmallVector<StringRef> entries;
  text.split(entries, ';', -1, /*KeepEmpty=*/false);
  for (StringRef entry : entries) {
    Expected<PlacementRule> rule = PlacementRule::parse(entry.trim());
    if (!rule)
      return createStringError("'" + entry.trim() + "': " + llvm::toString(rule.takeError()));
    rules.push_back(std::move(*rule));
  }
  return Error::success();
}
