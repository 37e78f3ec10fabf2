// Registration of the `rt` dialect, its attributes and small helpers.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/rt/IR/Rt.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft::rt;

#include "dialects/rt/IR/RtDialect.cpp.inc"
#include "dialects/rt/IR/RtEnums.cpp.inc"
#include "dialects/rt/IR/RtInterfaces.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/rt/IR/RtAttrs.cpp.inc"

void RtDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/rt/IR/RtAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/rt/IR/RtOps.cpp.inc"
      >();
}

llvm::hash_code weft::rt::hash_value(const PlacementPart &part) {
  return llvm::hash_combine(part.size,
                            llvm::hash_combine_range(part.axes.begin(), part.axes.end()));
}

llvm::hash_code weft::rt::hash_value(const PlacementDim &dim) {
  return llvm::hash_combine_range(dim.parts.begin(), dim.parts.end());
}

//===----------------------------------------------------------------------===//
// #rt.placement<[8], [3, 32:"a":"b"]>
//===----------------------------------------------------------------------===//

Attribute PlacementAttr::parse(AsmParser &parser, Type) {
  SmallVector<PlacementDim> dims;
  auto parsePart = [&]() -> ParseResult {
    PlacementPart part;
    if (parser.parseInteger(part.size))
      return failure();
    while (succeeded(parser.parseOptionalColon())) {
      std::string axis;
      if (parser.parseString(&axis))
        return failure();
      part.axes.push_back(StringAttr::get(parser.getContext(), axis));
    }
    dims.back().parts.push_back(std::move(part));
    return success();
  };
  auto parseDim = [&]() -> ParseResult {
    dims.emplace_back();
    return parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parsePart);
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, parseDim))
    return {};
  return get(parser.getContext(), dims);
}

void PlacementAttr::print(AsmPrinter &printer) const {
  printer << '<';
  llvm::interleaveComma(getDims(), printer, [&](const PlacementDim &dim) {
    printer << '[';
    llvm::interleaveComma(dim.parts, printer, [&](const PlacementPart &part) {
      printer << part.size;
      for (StringAttr axis : part.axes)
        printer << ':' << axis;
    });
    printer << ']';
  });
  printer << '>';
}

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

SmallVector<ModuleOp> weft::rt::stageModulesOf(ModuleOp module) {
  SmallVector<ModuleOp> stages;
  for (auto nested : module.getOps<ModuleOp>())
    if (nested->hasAttr(kStageAttr))
      stages.push_back(nested);
  if (stages.empty())
    stages.push_back(module);
  return stages;
}

bool weft::rt::staticLayout(MemRefType type, SmallVectorImpl<int64_t> &strides, int64_t &offset) {
  if (!type.hasStaticShape())
    return false;
  if (type.getLayout().isIdentity()) {
    // Not asked of MLIR, whose strides of an empty shape are zeros.
    strides.assign(type.getRank(), 1);
    for (int64_t d = type.getRank() - 1; d > 0; --d)
      strides[d - 1] = strides[d] * std::max<int64_t>(type.getDimSize(d), 1);
    offset = 0;
    return true;
  }
  if (auto strided = dyn_cast<StridedLayoutAttr>(type.getLayout())) {
    // Nor that, whose map MLIR would make and take apart.
    strides.assign(strided.getStrides().begin(), strided.getStrides().end());
    offset = strided.getOffset();
  } else if (failed(type.getStridesAndOffset(strides, offset))) {
    return false;
  }
  return !ShapedType::isDynamic(offset) && llvm::none_of(strides, ShapedType::isDynamic);
}
