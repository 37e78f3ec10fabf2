// The routines of a module, equal ones once.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/rt/routines/RoutineTable.h"

#include "dialects/dist/IR/Dist.h"
#include "passes/rt/routines/RoutineNames.h"
#include "passes/rt/routines/Segments.h"

#include "mlir/IR/AttrTypeSubElements.h"

using namespace mlir;
using namespace weft;
using namespace weft::rt;

RoutineTable::RoutineTable(ModuleOp module) : module(module) {
  for (Operation &op : module.getOps())
    if (auto name = op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()))
      taken.insert(name.getValue());
}

/// Equal for functions of equal ops on values of equal numbers.
static uint64_t hashOf(func::FuncOp function) {
  llvm::DenseMap<Value, unsigned> numbers;
  llvm::hash_code hash(0);
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto numberOf = [&](Value value) -> llvm::hash_code {
      return numbers.try_emplace(value, numbers.size()).first->second;
    };
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(op, numberOf, OperationEquivalence::ignoreHashValue,
                                                OperationEquivalence::IgnoreLocations));
  });
  return hash;
}

/// Equal but for names and locations.
static bool areEqual(func::FuncOp a, func::FuncOp b) {
  auto attributesOf = [](func::FuncOp function) {
    NamedAttrList attributes(function->getAttrDictionary());
    attributes.erase(SymbolTable::getSymbolAttrName());
    return attributes.getDictionary(function.getContext());
  };
  return attributesOf(a) == attributesOf(b) &&
         OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(),
                                                    OperationEquivalence::IgnoreLocations);
}

RoutineUse RoutineTable::add(func::FuncOp function, StringRef name) {
  Part part;
  function.walk([&](Operation *op) {
    part.names.push_back({op->getLoc(), op->getAttr(dist::kReasonAttr)});
    SmallVector<StringAttr> forPeople;
    for (NamedAttribute attribute : op->getDiscardableAttrs())
      if (isForPeople(attribute.getName()))
        forPeople.push_back(attribute.getName());
    for (StringAttr attribute : forPeople)
      op->removeDiscardableAttr(attribute);
  });
  SmallVector<unsigned, 1> &alike = byHash[hashOf(function)];
  auto *found = llvm::find_if(
      alike, [&](unsigned routine) { return areEqual(entries[routine].function, function); });
  unsigned routine = found == alike.end() ? entries.size() : *found;
  if (found == alike.end()) {
    std::string unique = name.str();
    for (unsigned i = 1; !taken.insert(unique).second; ++i)
      unique = (name + "_" + Twine(i)).str();
    function.setSymName(unique);
    entries.push_back({function, {}});
    alike.push_back(routine);
  } else {
    function.erase();
  }
  Entry &entry = entries[routine];
  entry.parts.push_back(std::move(part));
  return {routine, unsigned(entry.parts.size() - 1)};
}

/// The names in a location, outermost first; `node` gives the new name of number i.
static Location renamed(Location location, unsigned &number,
                        llvm::function_ref<StringAttr(unsigned, StringAttr)> name) {
  if (auto named = dyn_cast<NameLoc>(location)) {
    StringAttr own = name(number++, named.getName());
    return NameLoc::get(own, renamed(named.getChildLoc(), number, name));
  }
  if (auto fused = dyn_cast<FusedLoc>(location)) {
    SmallVector<Location> parts;
    for (Location part : fused.getLocations())
      parts.push_back(renamed(part, number, name));
    return FusedLoc::get(parts, fused.getMetadata(), location.getContext());
  }
  return location;
}

static SmallVector<StringAttr> namesIn(Location location) {
  SmallVector<StringAttr> names;
  unsigned number = 0;
  renamed(location, number, [&](unsigned, StringAttr name) {
    names.push_back(name);
    return name;
  });
  return names;
}

static SmallVector<StringAttr> namesIn(Attribute reason) {
  SmallVector<StringAttr> names;
  if (reason)
    reason.walk([&](StringAttr name) { names.push_back(name); });
  return names;
}

namespace {

/// The names of one thing, by part; none where the parts do not have as many.
class NamesOfParts {
public:
  explicit NamesOfParts(ArrayRef<SmallVector<StringAttr>> byPart) {
    if (!llvm::all_of(byPart,
                      [&](ArrayRef<StringAttr> part) { return part.size() == byPart[0].size(); }))
      return;
    for (size_t i = 0; i < byPart[0].size(); ++i) {
      SmallVector<StringRef> &names = lists.emplace_back();
      for (ArrayRef<StringAttr> part : byPart)
        names.push_back(part[i].getValue());
    }
  }

  void findLabels(std::vector<std::string> &labels) const {
    for (ArrayRef<StringRef> names : lists)
      if (labels.empty())
        labels = rt::findLabels(names);
  }
  StringAttr common(unsigned number, StringAttr own, ArrayRef<std::string> labels) const {
    return lists.empty() ? own
                         : StringAttr::get(own.getContext(), commonName(lists[number], labels));
  }

private:
  std::vector<SmallVector<StringRef>> lists;
};

} // namespace

void RoutineTable::nameParts(Entry &entry) {
  std::vector<NamesOfParts> locations, reasons;
  std::vector<std::string> labels;
  for (size_t i = 0; i < entry.parts[0].names.size(); ++i) {
    std::vector<SmallVector<StringAttr>> ofLocation, ofReason;
    for (const Part &part : entry.parts) {
      ofLocation.push_back(namesIn(part.names[i].location));
      ofReason.push_back(namesIn(part.names[i].reason));
    }
    locations.emplace_back(ofLocation).findLabels(labels);
    reasons.emplace_back(ofReason);
  }
  size_t i = 0;
  entry.function.walk([&](Operation *op) {
    const OpNames &own = entry.parts[0].names[i];
    unsigned number = 0;
    op->setLoc(renamed(own.location, number, [&](unsigned number, StringAttr name) {
      return locations[i].common(number, name, labels);
    }));
    if (own.reason) {
      llvm::DenseMap<StringAttr, StringAttr> names;
      for (auto [number, name] : llvm::enumerate(namesIn(own.reason)))
        names[name] = reasons[i].common(number, name, labels);
      AttrTypeReplacer replacer;
      replacer.addReplacement(
          [&](StringAttr name) -> std::optional<Attribute> { return names.lookup(name); });
      op->setAttr(dist::kReasonAttr, replacer.replace(own.reason));
    }
    ++i;
  });
  for (auto [part, label] : llvm::zip(entry.parts, labels))
    for (CallOp call : part.calls)
      call.setLabel(label);
}

void RoutineTable::finish() {
  for (Entry &entry : entries)
    nameParts(entry);
}
