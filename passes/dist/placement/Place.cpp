// Writes down the placements that a person gave.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/Passes.h"
#include "passes/dist/RequireMesh.h"
#include "passes/dist/placement/PlacementRule.h"

#include "passes/dist/OpQueries.h"
#include "passes/dist/SignatureAttributes.h"
#include "weft/Support/Nearest.h"
#include "weft/Support/ValueNames.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Regex.h"

#include <set>
#include <utility>

using namespace mlir;

namespace weft::dist {
#define GEN_PASS_DEF_DISTPLACE
#include "passes/dist/Passes.h.inc"

namespace {

/// A rule on the mesh.
struct Rule {
  std::string text;
  std::shared_ptr<llvm::Regex> pattern;
  /// Per named dim its parts; the part without a size takes what is left.
  SmallVector<std::pair<unsigned, DimPlacement>> dims;
  bool matched = false;
  /// Of a hint: that it does not fit was told.
  bool isUnfit = false;
  /// No value has a name that it matches; then those of nodes that became parts of others count.
  bool byPart = false;
  /// A rule before this one, and the value that both are for.
  std::string before, taken;
};

class Placer {
public:
  Placer(ModuleOp module, MeshAttr mesh) : module(module), meshAttr(mesh), mesh(mesh.getValue()) {}

  LogicalResult parseRules(StringRef text) {
    std::vector<PlacementRule> given;
    if (llvm::Error wrong = appendRules(text, given))
      return module.emitError() << "placement " << llvm::toString(std::move(wrong));
    for (const PlacementRule &entry : given) {
      Rule rule;
      rule.text = entry.text;
      rule.pattern = std::make_shared<llvm::Regex>(entry.pattern);
      if (failed(resolveDims(entry.dims, rule)))
        return failure();
      rules.push_back(std::move(rule));
    }
    return success();
  }

  void setWholeMicrobatches(bool whole) { wholeMicrobatches = whole; }
  void setPart(bool part) { isPart = part; }

  LogicalResult parseBatchAxes(StringRef text) {
    for (StringRef axis : llvm::split(text, '+'))
      if (!axis.empty() && failed(resolveAxis(axis, batchAxes, "batch-axes")))
        return failure();
    for (auto [i, axis] : llvm::enumerate(batchAxes))
      if (llvm::is_contained(ArrayRef(batchAxes).take_front(i), axis))
        return module.emitError() << "batch-axes: axis '" << mesh.axes[axis].name
                                  << "' is named twice";
    return success();
  }

  /// Takes `dist.devices`, the placements that the model file asks for.
  LogicalResult takeHints() {
    auto devices = module->getAttrOfType<DictionaryAttr>(kDevicesAttr);
    for (NamedAttribute entry : devices ? devices.getValue() : ArrayRef<NamedAttribute>()) {
      Rule rule;
      StringRef dims = cast<StringAttr>(entry.getValue()).getValue();
      rule.text = (entry.getName().getValue() + "=" + dims).str();
      llvm::Expected<SmallVector<PlacementRule::Dim>> parsed = PlacementRule::parseDims(dims);
      if (!parsed)
        return module.emitError() << "placement '" << rule.text
                                  << "': " << llvm::toString(parsed.takeError());
      if (failed(resolveDims(*parsed, rule)))
        return failure();
      hints[entry.getName()] = std::move(rule);
    }
    module->removeAttr(kDevicesAttr);
    return success();
  }

  LogicalResult run() {
    if (failed(takeHints()))
      return failure();
    settleBatchAxes();
    bool failedAny = false;
    orderPrograms();
    findParts();
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      failedAny |= failed(placeArguments(function));
      for (Operation &op : function.getBody().front().without_terminator())
        failedAny |= failed(placeOp(&op));
    }
    for (const Rule &rule : rules)
      if (!rule.matched && !isPart) {
        module.emitError() << "placement '" << rule.text << "' " << whyUnmatched(rule);
        failedAny = true;
      }
    reportHints();
    return failure(failedAny);
  }

private:
  /// Names that rules are matched with: arguments, nodes, their values and results.
  std::vector<std::string> allNames() {
    std::set<std::string> names;
    for (auto function : module.getOps<func::FuncOp>()) {
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (StringRef name = nn::argumentName(function, i); !name.empty())
          names.insert(name.str());
      function.walk([&](Operation *op) {
        if (roleOf(op) == OpRole::Forward)
          for (StringRef node : nodesOf(op))
            names.insert(node.str());
      });
    }
    return {names.begin(), names.end()};
  }

  /// What names values wins over what names parts of them.
  void findParts() {
    for (Rule &rule : rules)
      rule.byPart = true;
    auto meet = [&](StringRef name) {
      for (Rule &rule : rules)
        rule.byPart &= name.empty() || !rule.pattern->match(name);
    };
    for (auto function : module.getOps<func::FuncOp>()) {
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        meet(nn::argumentName(function, i));
      function.walk([&](Operation *op) {
        if (roleOf(op) == OpRole::Forward)
          llvm::for_each(namesOf(op), meet);
      });
    }
  }

  std::string whyUnmatched(const Rule &rule) {
    if (!rule.before.empty())
      return "has no effect: '" + rule.before + "' comes first for '" + rule.taken +
             "' and all else that it matches";
    std::vector<std::string> names = allNames();
    StringRef pattern = StringRef(rule.text).take_front(rule.text.rfind('='));
    std::string near = didYouMeanByPattern(pattern, names);
    return "matches no value" + (near.empty() ? "; there are " + listNames(names) : near);
  }

  /// What folding and raising left nothing of cannot be placed.
  void reportHints() {
    SmallVector<StringRef> missing;
    for (auto &entry : hints)
      if (!entry.second.matched)
        missing.push_back(entry.first());
    llvm::sort(missing);
    for (StringRef name : missing)
      remark::missed(module.getLoc(),
                     remark::RemarkOpts::name("device-hint").category("dist-place"))
          << ("no value of the program is '" + name + "'").str();
    if (unfit + missing.size() > 0)
      module.emitWarning()
          << unfit + missing.size() << " of " << hints.size()
          << " placements that the model's device configuration asks for are not kept: " << unfit
          << " do not fit, " << missing.size()
          << " name no value of the program; remarks say which";
  }

  LogicalResult resolveAxis(StringRef name, AxisList &axes, const Twine &where) {
    AxisList found = mesh.resolve(name);
    if (found.empty() && !isPart)
      return module.emitError() << where << ": axis '" << name << "' is not on the mesh";
    if (std::optional<AxisId> stages = mesh.stageAxis();
        stages && llvm::is_contained(found, *stages))
      return module.emitError() << where << ": axis '" << name
                                << "' counts stages of a pipeline, over which nothing is split";
    if (mesh.anyTemporal(found))
      return module.emitError() << where << ": axis '" << name
                                << "' counts microbatches, which are parts of what each device has "
                                   "of a batch anyway; leave it out";
    llvm::append_range(axes, found);
    return success();
  }

  LogicalResult resolveDims(ArrayRef<PlacementRule::Dim> dims, Rule &rule) {
    for (const PlacementRule::Dim &dim : dims) {
      DimPlacement placement;
      for (const PlacementRule::PlacedFactor &given : dim.parts) {
        PlacedFactor part{given.size, {}};
        for (const std::string &axis : given.axes)
          if (failed(resolveAxis(axis, part.axes, "placement '" + rule.text + "'")))
            return failure();
        placement.push_back(part);
      }
      rule.dims.push_back({dim.dim, placement});
    }
    return success();
  }

  /// The placement of a value under a rule, or nothing and why.
  std::optional<Placement> placementFor(const Rule &rule, RankedTensorType type, std::string &why) {
    auto fail = [&](const Twine &text) {
      why = ("placement '" + rule.text + "'" + text).str();
      return std::nullopt;
    };
    Placement placement = Placement::replicated(type.getShape());
    for (const auto &[dim, parts] : rule.dims) {
      if (dim >= placement.dims.size())
        return fail(" names dim " + Twine(dim) + " of a value of tensor rank " +
                    Twine(placement.dims.size()));
      int64_t rest = type.getDimSize(dim);
      for (const PlacedFactor &part : parts)
        if (part.size != 0) {
          if (rest % part.size != 0)
            return fail(": " + Twine(part.size) + " does not divide dim " + Twine(dim) +
                        " of size " + Twine(type.getDimSize(dim)));
          rest /= part.size;
        }
      placement.dims[dim] = parts;
      for (PlacedFactor &part : placement.dims[dim])
        if (part.size == 0)
          part.size = rest;
    }
    std::string text;
    if (!verifyPlacement(mesh, placement, type.getShape(), &text))
      return fail(": " + text);
    return canonicalize(mesh, placement);
  }

  /// What the model file asks for the value of this name, or null. Hints that do
  /// not fit are dropped with a remark: the standard lets a backend ignore them.
  PlacementAttr hintFor(Location loc, StringRef name, Type type) {
    auto found = hints.find(name);
    if (found == hints.end())
      return {};
    found->second.matched = true;
    std::string why;
    auto placement = placementFor(found->second, cast<RankedTensorType>(type), why);
    if (placement)
      return attribute(*placement);
    unfit += !std::exchange(found->second.isUnfit, true); // once for all programs
    remark::missed(loc, remark::RemarkOpts::name("device-hint").category("dist-place")) << why;
    return {};
  }

  /// The first rule for a value of these names, made by nodes of those.
  Rule *match(ArrayRef<std::string> names, ArrayRef<StringRef> nodes = {}) {
    Rule *first = nullptr;
    for (Rule &rule : rules) {
      auto isMatched = [&](StringRef name) { return !name.empty() && rule.pattern->match(name); };
      const std::string *name = llvm::find_if(names, isMatched);
      const StringRef *node = rule.byPart ? llvm::find_if(nodes, isMatched) : nodes.end();
      if (name == names.end() && node == nodes.end())
        continue;
      if (first && !rule.matched) {
        rule.before = first->text;
        rule.taken = name != names.end() ? *name : node->str();
      }
      rule.matched |= !first;
      first = first ? first : &rule;
    }
    return first;
  }

  /// A node, its value as model files name it, and the outputs that it is.
  static SmallVector<std::string> namesOf(Operation *op) {
    SmallVector<std::string> names{nodeName(op)};
    if (StringRef value = valueName(op->getLoc()); !value.empty())
      names.push_back(value.str());
    if (!isNodeOutput(op))
      return names;
    names.push_back(names[0] + "_output_0");
    for (OpOperand &use : op->getUses())
      if (auto function = dyn_cast<func::FuncOp>(use.getOwner()->getParentOp());
          function && use.getOwner()->hasTrait<OpTrait::IsTerminator>())
        if (auto name =
                function.getResultAttrOfType<StringAttr>(use.getOperandNumber(), nn::kNameAttr))
          names.push_back(name.str());
    return names;
  }

  /// The node that the op comes from, and those that became parts of it, with their values.
  static SmallVector<StringRef> nodesOf(Operation *op) {
    SmallVector<StringRef> nodes;
    op->getLoc()->walk([&](Location loc) {
      auto name = dyn_cast<NameLoc>(loc);
      if (name)
        nodes.push_back(name.getName());
      if (StringRef value = valueName(loc); !value.empty())
        nodes.push_back(value);
      // Inside is the operator's name.
      return name ? WalkResult::skip() : WalkResult::advance();
    });
    return nodes;
  }

  Rule *match(StringRef name) { return match(ArrayRef<std::string>{name.str()}); }

  PlacementAttr attribute(const Placement &placement) {
    return PlacementAttr::get(module.getContext(), meshAttr, placement);
  }

  static bool updatesState(func::FuncOp function) {
    return llvm::any_of(llvm::seq<unsigned>(0, function.getNumResults()),
                        [&](unsigned i) { return bool(nn::updatedState(function, i)); });
  }

  /// Programs that share state agree on its placement: that of the one which
  /// updates it, because it reads and writes it most.
  void orderPrograms() {
    SmallVector<func::FuncOp> programs;
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal())
        programs.push_back(function);
    if (programs.size() < 2)
      return;
    auto *lead = llvm::find_if(programs, updatesState);
    if (lead == programs.end())
      lead = programs.begin();
    for (func::FuncOp function : programs)
      function->setAttr(
          kOrderAttr, StringAttr::get(module.getContext(), function == *lead ? "lead" : "follow"));
  }

  /// Splits the batch over `batchAxes`, and over microbatches where it is used.
  LogicalResult placeBatch(func::FuncOp function, unsigned index, unsigned batch,
                           SignatureAttributes &arguments) {
    auto type = cast<RankedTensorType>(function.getArgument(index).getType());
    Placement placement = Placement::replicated(type.getShape());
    if (wholeMicrobatches && !mesh.temporalAxes().empty())
      return placeWholeMicrobatches(function, index, batch, placement, arguments);
    placement.dims[batch].front().axes = batchAxes;
    if (!batchAxes.empty())
      arguments.set(index, kPlacementAttr, attribute(canonicalize(mesh, placement)));
    return placeParts(function, index, batch, placement, arguments);
  }

  /// Of what a device has of the batch, as `placement` says, each microbatch is a part.
  LogicalResult placeParts(func::FuncOp function, unsigned index, unsigned batch,
                           Placement placement, SignatureAttributes &arguments) {
    if (mesh.temporalAxes().empty() || mesh.anyTemporal(placement.usedAxes()))
      return success();
    PlacedFactor &part = *llvm::max_element(placement.dims[batch],
                                            [&](const PlacedFactor &a, const PlacedFactor &b) {
                                              return localSize(mesh, a) < localSize(mesh, b);
                                            });
    llvm::append_range(part.axes, mesh.temporalAxes());
    if (part.size < mesh.groupSize(part.axes) && isWholeBeside(function, index, batch))
      return success();
    if (part.size < mesh.groupSize(part.axes))
      return function.emitError() << inputText(function, index) << ": a batch of " << part.size
                                  << " cannot be cut into " << mesh.groupSize(part.axes)
                                  << " shards (data parallel times microbatches); raise the batch "
                                     "or lower --microbatches";
    if (int64_t shards = mesh.groupSize(part.axes); part.size % shards != 0 && !toldUneven) {
      toldUneven = true;
      function.emitWarning()
          << "a batch of " << part.size << " is no multiple of " << shards
          << " shards (data parallel times microbatches): each takes the time and memory of "
          << llvm::divideCeil(part.size, shards) << " rows, and some have fewer";
    }
    arguments.set(index, kUsedAttr, attribute(canonicalize(mesh, placement)));
    return success();
  }

  /// Rows are counted (microbatch)(shard of it)(row): so which rows are in a
  /// microbatch does not depend on the mesh.
  LogicalResult placeWholeMicrobatches(func::FuncOp function, unsigned index, unsigned batch,
                                       Placement placement, SignatureAttributes &arguments) {
    AxisList temporal = mesh.temporalAxes();
    int64_t rows = placement.dims[batch].front().size, parts = mesh.groupSize(temporal);
    if (rows % (parts * mesh.groupSize(batchAxes)) != 0 && isWholeBeside(function, index, batch))
      return success();
    if (rows % (parts * mesh.groupSize(batchAxes)) != 0)
      return function.emitError()
             << inputText(function, index) << ": a batch of " << rows << " is not a multiple of "
             << parts << " microbatches of " << mesh.groupSize(batchAxes)
             << " shards, which statistics of each microbatch need; choose another batch or "
                "number of microbatches";
    placement.dims[batch] = {PlacedFactor{parts, {}}, PlacedFactor{rows / parts, batchAxes}};
    if (!batchAxes.empty())
      arguments.set(index, kPlacementAttr, attribute(canonicalize(mesh, placement)));
    placement.dims[batch].front().axes = temporal;
    arguments.set(index, kUsedAttr, attribute(canonicalize(mesh, placement)));
    return success();
  }

  static std::optional<unsigned> namedBatch(func::FuncOp function, unsigned index) {
    if (auto names = function.getArgAttrOfType<ArrayAttr>(index, nn::kDimsAttr))
      for (auto [dim, name] : llvm::enumerate(names))
        if (auto text = dyn_cast<StringAttr>(name); text && text.getValue() == "batch")
          return dim;
    return std::nullopt;
  }

  /// The dim of each argument that counts samples; none of state.
  static SmallVector<std::optional<unsigned>> batchDims(func::FuncOp function) {
    bool batchIsNamed = false;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      batchIsNamed |= namedBatch(function, i).has_value();
    SmallVector<std::optional<unsigned>> dims;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      bool hasFirst = cast<RankedTensorType>(function.getArgument(i).getType()).getRank() > 0;
      dims.push_back(nn::isState(function, i) ? std::nullopt
                     : batchIsNamed           ? namedBatch(function, i)
                     : hasFirst               ? std::optional(0u)
                                              : std::nullopt);
    }
    return dims;
  }

  static std::string inputText(func::FuncOp function, unsigned index) {
    StringRef name = nn::argumentName(function, index);
    return "input " + (name.empty() ? std::to_string(index) : "'" + name.str() + "'");
  }

  /// Whether an input that cannot be cut need not be a batch: no name says that it is one, and
  /// another one has more rows.
  static bool isWholeBeside(func::FuncOp function, unsigned index, unsigned batch) {
    auto rows = [&](unsigned input, unsigned dim) {
      return cast<RankedTensorType>(function.getArgument(input).getType()).getDimSize(dim);
    };
    return !namedBatch(function, index) &&
           llvm::any_of(llvm::enumerate(batchDims(function)), [&](auto other) {
             return other.value() && rows(other.index(), *other.value()) > rows(index, batch);
           });
  }

  /// An axis over which a person or the model file splits the batch of one input
  /// splits that of all: so what an axis is for follows from placements, not from its name.
  void settleBatchAxes() {
    for (auto function : module.getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      for (auto [index, dim] : llvm::enumerate(batchDims(function))) {
        Rule *rule = dim ? match(nn::argumentName(function, index)) : nullptr;
        auto hint = hints.find(nn::argumentName(function, index));
        if (dim && !rule && hint != hints.end())
          rule = &hint->second;
        if (!rule)
          continue;
        for (const auto &[placed, parts] : rule->dims)
          for (const PlacedFactor &part : parts)
            for (AxisId axis : part.axes)
              if (placed == *dim && !llvm::is_contained(batchAxes, axis))
                batchAxes.push_back(axis);
      }
    }
    SmallVector<Attribute> names;
    for (AxisId axis : batchAxes)
      names.push_back(StringAttr::get(module.getContext(), mesh.axes[axis].name));
    if (!names.empty())
      module->setAttr(kBatchAxesAttr, ArrayAttr::get(module.getContext(), names));
  }

  LogicalResult placeArguments(func::FuncOp function) {
    SmallVector<std::optional<unsigned>> batches = batchDims(function);
    SignatureAttributes arguments(function, SignatureAttributes::Of::Arguments);
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      auto type = cast<RankedTensorType>(function.getArgument(i).getType());
      std::optional<unsigned> batch = batches[i];
      bool hasParts = batch && type.getDimSize(*batch) >= 2;
      auto name = function.getArgAttrOfType<StringAttr>(i, nn::kNameAttr);
      // Where it matters which rows are in a microbatch, no other placement knows them.
      auto close = [&](PlacementAttr placement) {
        placeArgument(arguments, i, placement);
        arguments.set(i, kClosedAttr, UnitAttr::get(module.getContext()));
        return hasParts && !wholeMicrobatches
                   ? placeParts(function, i, *batch, placement.getValue(), arguments)
                   : success();
      };
      if (Rule *rule = match(name ? name.getValue() : "")) {
        std::string why;
        std::optional<Placement> placement = placementFor(*rule, type, why);
        if (!placement)
          return function.emitError() << why;
        reportOverruled(function.getLoc(), name.getValue(), *rule, *placement, type);
        if (failed(close(attribute(*placement))))
          return failure();
        continue;
      }
      PlacementAttr hint = hintFor(function.getLoc(), name ? name.getValue() : "", type);
      if (failed(hint       ? close(hint)
                 : hasParts ? placeBatch(function, i, *batch, arguments)
                            : success()))
        return failure();
    }
    arguments.write();
    bool inParts =
        llvm::any_of(llvm::seq<unsigned>(0, function.getNumArguments()),
                     [&](unsigned i) { return function.getArgAttr(i, kUsedAttr) != nullptr; });
    if (!mesh.temporalAxes().empty() && !inParts)
      function.emitWarning() << "takes no microbatches: no input of it has a batch of several rows";
    return success();
  }

  /// Ops of the gradient and the optimizer have the names of nodes and weights, but
  /// other shapes; where they are follows from those.
  LogicalResult placeOp(Operation *op) {
    if (roleOf(op) != OpRole::Forward)
      return success();
    Rule *rule = match(namesOf(op), nodesOf(op));
    if (!rule) {
      if (isNodeOutput(op))
        placeByHint(op);
      return success();
    }
    SmallVector<Attribute> entries;
    for (Type type : op->getResultTypes()) {
      std::string why;
      auto placement = placementFor(*rule, cast<RankedTensorType>(type), why);
      if (!placement)
        return op->emitError() << why;
      entries.push_back(attribute(*placement));
      if (isNodeOutput(op))
        reportOverruled(op->getLoc(), nodeName(op), *rule, *placement,
                        cast<RankedTensorType>(type));
    }
    op->setAttr(kPlacementsAttr, ArrayAttr::get(module.getContext(), entries));
    op->setAttr(kClosedAttr, UnitAttr::get(module.getContext()));
    return success();
  }

  void placeByHint(Operation *op) {
    if (Attribute hint = hintFor(op->getLoc(), nodeName(op), op->getResult(0).getType())) {
      op->setAttr(kPlacementsAttr, ArrayAttr::get(module.getContext(), hint));
      op->setAttr(kClosedAttr, UnitAttr::get(module.getContext()));
    }
  }

  /// A rule is said for this run, the model file for all: the rule wins, and tells.
  void reportOverruled(Location loc, StringRef name, const Rule &rule, const Placement &placement,
                       RankedTensorType type) {
    auto found = hints.find(name);
    std::string why;
    if (found == hints.end())
      return;
    found->second.matched = true;
    if (auto hint = placementFor(found->second, type, why); hint && *hint != placement)
      emitWarning(loc) << "placement '" << rule.text
                       << "' overrules the model's device configuration, which asks '"
                       << found->second.text << "'";
  }

  ModuleOp module;
  MeshAttr meshAttr;
  const Mesh &mesh;
  SmallVector<Rule> rules;
  llvm::StringMap<Rule> hints;
  unsigned unfit = 0; // hints
  AxisList batchAxes;
  bool wholeMicrobatches = false;
  bool isPart = false;
  bool toldUneven = false;
};

struct Place : impl::DistPlaceBase<Place> {
  using DistPlaceBase::DistPlaceBase;
  void runOnOperation() override {
    MeshAttr mesh = requireMesh(getOperation());
    if (!mesh)
      return signalPassFailure();
    Placer placer(getOperation(), mesh);
    placer.setWholeMicrobatches(wholeMicrobatches);
    placer.setPart(part);
    if (failed(placer.parseRules(rules)) || failed(placer.parseBatchAxes(batchAxes)) ||
        failed(placer.run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace weft::dist
