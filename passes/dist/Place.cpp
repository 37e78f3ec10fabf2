// Writes down the placements that a person gave.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/Passes.h"

#include "passes/dist/OpQueries.h"

#include "llvm/Support/Regex.h"

using namespace mlir;

namespace weft::dist {
#define GEN_PASS_DEF_DISTPLACE
#include "passes/dist/Passes.h.inc"

namespace {

/// `REGEX=dim0:tp,dim1:-`.
struct Rule {
  std::string text;
  std::shared_ptr<llvm::Regex> pattern;
  /// Per named dim its parts; the part without a size takes what is left.
  SmallVector<std::pair<unsigned, DimPlacement>> dims;
  bool matched = false;
};

class Placer {
public:
  Placer(ModuleOp module, MeshAttr mesh) : module(module), meshAttr(mesh), mesh(mesh.getValue()) {}

  LogicalResult parseRules(StringRef text) {
    SmallVector<StringRef> entries;
    text.split(entries, ';', -1, /*KeepEmpty=*/false);
    for (StringRef entry : entries)
      if (failed(parseRule(entry.trim())))
        return failure();
    return success();
  }

  LogicalResult parseBatchAxes(StringRef text) { return parseAxes(text, batchAxes, "batch-axes"); }

  LogicalResult run() {
    bool failedAny = false;
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      failedAny |= failed(placeArguments(function));
      for (Operation &op : function.getBody().front().without_terminator())
        failedAny |= failed(placeOp(&op));
    }
    for (const Rule &rule : rules)
      if (!rule.matched) {
        module.emitError() << "placement '" << rule.text << "' matches no value";
        failedAny = true;
      }
    return failure(failedAny);
  }

private:
  LogicalResult parseAxes(StringRef text, AxisList &axes, StringRef where) {
    SmallVector<StringRef> names;
    text.split(names, '+', -1, /*KeepEmpty=*/false);
    for (StringRef name : names) {
      AxisList found = mesh.resolve(name);
      if (found.empty())
        return module.emitError() << where << ": axis '" << name << "' is not on the mesh";
      llvm::append_range(axes, found);
    }
    return success();
  }

  LogicalResult parseRule(StringRef text) {
    // A regular expression may hold '=', a list of dims never does.
    auto [pattern, dims] = text.rsplit('=');
    Rule rule;
    rule.text = text.str();
    rule.pattern = std::make_shared<llvm::Regex>(pattern);
    std::string why;
    if (pattern.empty() || !rule.pattern->isValid(why))
      return module.emitError() << "placement '" << text << "': bad regular expression: " << why;
    SmallVector<StringRef> entries;
    dims.split(entries, ',', -1, /*KeepEmpty=*/false);
    for (StringRef entry : entries) {
      auto [name, parts] = entry.trim().split(':');
      unsigned dim;
      if (!name.consume_front("dim") || name.getAsInteger(10, dim) || parts.empty())
        return module.emitError() << "placement '" << text << "': expected dimN:AXES, found '"
                                  << entry << "'";
      DimPlacement placement;
      if (failed(parseParts(parts, placement, text)))
        return failure();
      rule.dims.push_back({dim, placement});
    }
    rules.push_back(std::move(rule));
    return success();
  }

  /// `-`, `tp`, `dp+tp`, `3*tp`: sizes are whole parts, the axes split the rest.
  LogicalResult parseParts(StringRef text, DimPlacement &parts, StringRef rule) {
    if (text == "-") {
      parts.push_back(Part{0, {}});
      return success();
    }
    SmallVector<StringRef> entries;
    text.split(entries, '*');
    for (StringRef entry : entries) {
      Part part{0, {}};
      int64_t size;
      if (!entry.getAsInteger(10, size) && size > 0)
        part.size = size;
      else if (failed(parseAxes(entry, part.axes, "placement '" + rule.str() + "'")))
        return failure();
      parts.push_back(part);
    }
    int open = llvm::count_if(parts, [](const Part &part) { return part.size == 0; });
    if (open == 1)
      return success();
    return module.emitError() << "placement '" << rule << "': '" << text
                              << "' must name axes in exactly one part";
  }

  /// The placement of a value under a rule, or nothing and an error.
  FailureOr<Placement> placementFor(Operation *op, const Rule &rule, RankedTensorType type) {
    Placement placement = Placement::replicated(type.getShape());
    for (const auto &[dim, parts] : rule.dims) {
      if (dim >= placement.dims.size())
        return op->emitError() << "placement '" << rule.text << "' names dim " << dim
                               << " of a value of tensor rank " << placement.dims.size();
      int64_t rest = type.getDimSize(dim);
      for (const Part &part : parts)
        if (part.size != 0) {
          if (rest % part.size != 0)
            return op->emitError() << "placement '" << rule.text << "': " << part.size
                                   << " does not divide dim " << dim << " of size "
                                   << type.getDimSize(dim);
          rest /= part.size;
        }
      placement.dims[dim] = parts;
      for (Part &part : placement.dims[dim])
        if (part.size == 0)
          part.size = rest;
    }
    std::string why;
    if (!verifyPlacement(mesh, placement, type.getShape(), &why))
      return op->emitError() << "placement '" << rule.text << "': " << why;
    return canonicalize(mesh, placement);
  }

  Rule *match(StringRef name) {
    for (Rule &rule : rules)
      if (!name.empty() && rule.pattern->match(name)) {
        rule.matched = true;
        return &rule;
      }
    return nullptr;
  }

  Attribute attribute(const Placement &placement) {
    return PlacementAttr::get(module.getContext(), meshAttr, placement);
  }

  static std::optional<unsigned> namedBatch(func::FuncOp function, unsigned index) {
    if (auto names = function.getArgAttrOfType<ArrayAttr>(index, "nn.dims"))
      for (auto [dim, name] : llvm::enumerate(names))
        if (auto text = dyn_cast<StringAttr>(name); text && text.getValue() == "batch")
          return dim;
    return std::nullopt;
  }

  LogicalResult placeArguments(func::FuncOp function) {
    bool batchIsNamed = false;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      batchIsNamed |= namedBatch(function, i).has_value();
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      auto type = cast<RankedTensorType>(function.getArgument(i).getType());
      auto name = function.getArgAttrOfType<StringAttr>(i, "nn.name");
      if (Rule *rule = match(name ? name.getValue() : "")) {
        FailureOr<Placement> placement = placementFor(function, *rule, type);
        if (failed(placement))
          return failure();
        function.setArgAttr(i, kPlacementAttr, attribute(*placement));
        function.setArgAttr(i, kClosedAttr, UnitAttr::get(module.getContext()));
        continue;
      }
      bool isState = bool(function.getArgAttr(i, "nn.source"));
      std::optional<unsigned> batch =
          batchIsNamed ? namedBatch(function, i)
                       : (type.getRank() > 0 ? std::optional(0u) : std::nullopt);
      if (batchAxes.empty() || isState || !batch || type.getDimSize(*batch) < 2)
        continue;
      Placement placement = Placement::replicated(type.getShape());
      placement.dims[*batch].front().axes = batchAxes;
      function.setArgAttr(i, kPlacementAttr, attribute(canonicalize(mesh, placement)));
    }
    return success();
  }

  LogicalResult placeOp(Operation *op) {
    Rule *rule = match(nodeName(op));
    if (!rule)
      return success();
    SmallVector<Attribute> entries;
    for (Type type : op->getResultTypes()) {
      FailureOr<Placement> placement = placementFor(op, *rule, cast<RankedTensorType>(type));
      if (failed(placement))
        return failure();
      entries.push_back(attribute(*placement));
    }
    op->setAttr(kPlacementsAttr, ArrayAttr::get(module.getContext(), entries));
    op->setAttr(kClosedAttr, UnitAttr::get(module.getContext()));
    return success();
  }

  ModuleOp module;
  MeshAttr meshAttr;
  const Mesh &mesh;
  SmallVector<Rule> rules;
  AxisList batchAxes;
};

struct Place : impl::DistPlaceBase<Place> {
  using DistPlaceBase::DistPlaceBase;
  void runOnOperation() override {
    MeshAttr mesh = getMesh(getOperation());
    if (!mesh) {
      getOperation().emitError() << "has no mesh: attach one with --dist-attach-mesh";
      return signalPassFailure();
    }
    Placer placer(getOperation(), mesh);
    if (failed(placer.parseRules(rules)) || failed(placer.parseBatchAxes(batchAxes)) ||
        failed(placer.run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace weft::dist
