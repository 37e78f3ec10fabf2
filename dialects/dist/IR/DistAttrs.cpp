// Text form and verification of meshes and placements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/dist/IR/Dist.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft;
using namespace weft::dist;

llvm::hash_code weft::hash_value(const Mesh &mesh) {
  llvm::hash_code code = llvm::hash_value(mesh.axes.size());
  for (const Mesh::Axis &axis : mesh.axes)
    code = llvm::hash_combine(code, axis.name, axis.size, axis.kind);
  return code;
}

llvm::hash_code weft::hash_value(const Placement &placement) {
  SmallVector<int64_t, 16> data = encode(placement);
  return llvm::hash_combine_range(data.begin(), data.end());
}

#define GET_ATTRDEF_CLASSES
#include "dialects/dist/IR/DistAttrs.cpp.inc"

void DistDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/dist/IR/DistAttrs.cpp.inc"
      >();
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  Mesh mesh;
  SMLoc loc = parser.getCurrentLocation();
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    int64_t size;
    AxisKind kind = AxisKind::Space;
    if (succeeded(parser.parseOptionalKeyword("temporal")))
      kind = AxisKind::Temporal;
    else if (succeeded(parser.parseOptionalKeyword("stages")))
      kind = AxisKind::Stages;
    if (parser.parseString(&name) || parser.parseEqual() || parser.parseInteger(size))
      return failure();
    if (!mesh.resolve(name).empty())
      return parser.emitError(loc, "axis \"" + name + "\" is given twice");
    // Microbatches are no devices.
    int64_t processes = mesh.processCount();
    int64_t others = kind == AxisKind::Temporal ? mesh.deviceCount() / processes : processes;
    if (size < 1 || size > (1 << 20) || others * size > (1 << 20))
      return parser.emitError(loc, "sizes must be positive and multiply to at most 2^20 devices");
    if (kind != AxisKind::Temporal && !mesh.temporalAxes().empty())
      return parser.emitError(loc, "temporal axes come last");
    if (kind == AxisKind::Stages && mesh.stageAxis())
      return parser.emitError(loc, "a mesh has at most one axis of stages");
    mesh.axes.push_back({name, size, kind});
    return success();
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis) ||
      parser.parseGreater())
    return {};
  return get(parser.getContext(), mesh);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getValue().axes, printer, [&](const Mesh::Axis &axis) {
    printer << (axis.kind == AxisKind::Temporal ? "temporal "
                : axis.kind == AxisKind::Stages ? "stages "
                                                : "")
            << '"' << axis.name << "\"=" << axis.size;
  });
  printer << "]>";
}

namespace {

/// Reads what printPlacement writes.
class PlacementParser {
public:
  PlacementParser(AsmParser &parser) : parser(parser) {}

  ParseResult parse(MeshAttr &meshAttr, Placement &placement) {
    if (parser.parseLess() || parser.parseAttribute(meshAttr) || parser.parseComma())
      return failure();
    mesh = &meshAttr.getValue();
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
          return parseDim(placement.dims.emplace_back());
        }))
      return failure();
    while (succeeded(parser.parseOptionalComma()))
      if (parseClause(placement))
        return failure();
    return parser.parseGreater();
  }

private:
  ParseResult parseAxis(AxisList &axes) {
    std::string name;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseString(&name))
      return failure();
    AxisList found = mesh->resolve(name);
    if (found.empty())
      return parser.emitError(loc, "axis \"" + name + "\" is not on the mesh");
    llvm::append_range(axes, found);
    return success();
  }

  ParseResult parseDim(DimPlacement &dim) {
    do {
      PlacedFactor part;
      SMLoc loc = parser.getCurrentLocation();
      if (parser.parseInteger(part.size))
        return failure();
      if (part.size < 0)
        return parser.emitError(loc, "sizes are not negative");
      if (succeeded(parser.parseOptionalLBrace())) {
        if (parser.parseCommaSeparatedList([&] { return parseAxis(part.axes); }) ||
            parser.parseRBrace())
          return failure();
      }
      dim.push_back(part);
    } while (succeeded(parser.parseOptionalStar()));
    return success();
  }

  ParseResult parseKind(ReduceKind &kind) {
    StringRef keyword;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword))
      return failure();
    std::optional<ReduceKind> found = symbolizeReduceKind(keyword);
    if (!found)
      return parser.emitError(loc, "expected sum, prod, max, min, and, or");
    kind = *found;
    return success();
  }

  ParseResult parseHeld(Placement &placement) {
    AxisList axes;
    SMLoc loc = parser.getCurrentLocation();
    if (parseAxis(axes))
      return failure();
    if (axes.size() != 1 || placement.held)
      return parser.emitError(loc, "a value is held by stages of one axis");
    placement.held = Held{axes.front(), {}};
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
      return parser.parseInteger(placement.held->stages.emplace_back());
    });
  }

  ParseResult parseClause(Placement &placement) {
    StringRef keyword;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword) || parser.parseEqual())
      return failure();
    ReduceKind kind;
    if (keyword == "partial") {
      AxisList axes;
      if (parseKind(kind) || parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                                            [&] { return parseAxis(axes); }))
        return failure();
      for (AxisId axis : axes)
        placement.partial.push_back({axis, kind});
      return success();
    }
    if (keyword == "held")
      return parseHeld(placement);
    if (keyword == "padding") {
      if (parseKind(kind))
        return failure();
      placement.padding = kind;
      return success();
    }
    if (keyword != "local_indices")
      return parser.emitError(loc, "expected partial, padding, local_indices or held");
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&]() -> ParseResult {
      LocalIndex &index = placement.localIndices.emplace_back();
      return failure(parser.parseInteger(index.component) || parser.parseColon() ||
                     parseDim(index.factor));
    });
  }

  AsmParser &parser;
  const Mesh *mesh = nullptr;
};

} // namespace

template <typename AttrT> static Attribute parsePlacement(AsmParser &parser) {
  MeshAttr mesh;
  Placement placement;
  SMLoc loc = parser.getCurrentLocation();
  if (PlacementParser(parser).parse(mesh, placement))
    return {};
  auto emitError = [&] { return parser.emitError(loc); };
  // Text need not be canonical, but must mean something before it is made so.
  std::string why;
  if (!verifyPlacement(mesh.getValue(), placement, globalShape(placement), &why)) {
    emitError() << why;
    return {};
  }
  return AttrT::getChecked(emitError, parser.getContext(), mesh,
                           canonicalize(mesh.getValue(), placement));
}

static void printPlacement(AsmPrinter &printer, MeshAttr mesh, const Placement &placement) {
  printer << '<';
  printer.printAttribute(mesh);
  printer << ", " << toString(mesh.getValue(), placement) << '>';
}

static LogicalResult verifyParameters(function_ref<InFlightDiagnostic()> emitError, MeshAttr mesh,
                                      const Placement &placement) {
  std::string why;
  if (!verifyPlacement(mesh.getValue(), placement, globalShape(placement), &why))
    return emitError() << why;
  assert(canonicalize(mesh.getValue(), placement) == placement && "the parser makes it canonical");
  return success();
}

Attribute PlacementAttr::parse(AsmParser &parser, Type) {
  return parsePlacement<PlacementAttr>(parser);
}
void PlacementAttr::print(AsmPrinter &printer) const {
  printPlacement(printer, getMesh(), getValue());
}
LogicalResult PlacementAttr::verify(function_ref<InFlightDiagnostic()> emitError, MeshAttr mesh,
                                    Placement value) {
  if (value.padding || !value.localIndices.empty())
    return emitError() << "padding and local_indices belong to #dist.local";
  return verifyParameters(emitError, mesh, value);
}

Attribute LocalAttr::parse(AsmParser &parser, Type) { return parsePlacement<LocalAttr>(parser); }
void LocalAttr::print(AsmPrinter &printer) const { printPlacement(printer, getMesh(), getValue()); }
LogicalResult LocalAttr::verify(function_ref<InFlightDiagnostic()> emitError, MeshAttr mesh,
                                Placement value) {
  return verifyParameters(emitError, mesh, value);
}

static LogicalResult verifyShape(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> shape, ArrayRef<int64_t> expected,
                                 StringRef what) {
  if (shape == expected)
    return success();
  InFlightDiagnostic diag = emitError() << "shape is ";
  llvm::interleave(shape, diag, "x");
  diag << ", but the " << what << " shape of its placement is ";
  llvm::interleave(expected, diag, "x");
  return diag;
}

LogicalResult PlacementAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                            function_ref<InFlightDiagnostic()> emitError) const {
  return verifyShape(emitError, shape, globalShape(getValue()), "global");
}

LogicalResult LocalAttr::verifyEncoding(ArrayRef<int64_t> shape, Type,
                                        function_ref<InFlightDiagnostic()> emitError) const {
  return verifyShape(emitError, shape, localShape(getMesh().getValue(), getValue()), "local");
}
