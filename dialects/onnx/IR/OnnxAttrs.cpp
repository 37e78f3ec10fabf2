// Attributes of the `onnx` dialect and the syntax of those that are not structs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/onnx/IR/Onnx.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace weft::onnx;

#define GET_ATTRDEF_CLASSES
#include "dialects/onnx/IR/OnnxAttrs.cpp.inc"

void OnnxDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/onnx/IR/OnnxAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Names of enumerators
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral fieldNames[] = {"raw",   "float",  "int32",
                                                     "int64", "double", "uint64"};
static constexpr llvm::StringLiteral kindNames[] = {
    "UNDEFINED",      "FLOAT",      "INT",        "STRING",  "TENSOR", "GRAPH",
    "FLOATS",         "INTS",       "STRINGS",    "TENSORS", "GRAPHS", "SPARSE_TENSOR",
    "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS"};

llvm::StringRef weft::onnx::stringify(DataField field) {
  return fieldNames[static_cast<unsigned>(field)];
}

llvm::StringRef weft::onnx::stringify(AttributeKind kind) {
  return kindNames[static_cast<unsigned>(kind)];
}

std::optional<DataField> weft::onnx::parseDataField(llvm::StringRef text) {
  const auto *it = llvm::find(fieldNames, text);
  if (it == std::end(fieldNames))
    return std::nullopt;
  return static_cast<DataField>(it - std::begin(fieldNames));
}

std::optional<AttributeKind> weft::onnx::parseAttributeKind(llvm::StringRef text) {
  const auto *it = llvm::find(kindNames, text);
  if (it == std::end(kindNames))
    return std::nullopt;
  return static_cast<AttributeKind>(it - std::begin(kindNames));
}

llvm::StringRef weft::onnx::canonicalDomain(llvm::StringRef domain) {
  return domain == "ai.onnx" ? "" : domain;
}

//===----------------------------------------------------------------------===//
// Payloads
//===----------------------------------------------------------------------===//

static std::optional<DataField> parseField(AsmParser &parser) {
  llvm::StringRef keyword;
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return std::nullopt;
  std::optional<DataField> field = parseDataField(keyword);
  if (!field)
    parser.emitError(loc) << "expected raw, float, int32, int64, double or uint64";
  return field;
}

Attribute BytesAttr::parse(AsmParser &parser, Type) {
  std::string hex;
  if (parser.parseLess())
    return {};
  std::optional<DataField> field = parseField(parser);
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (!field || parser.parseString(&hex) || parser.parseGreater())
    return {};
  std::string bytes;
  if (hex.size() % 2 != 0 || !llvm::tryGetFromHex(hex, bytes)) {
    parser.emitError(loc) << "expected pairs of hexadecimal digits";
    return {};
  }
  return get(parser.getContext(), *field, StringAttr::get(parser.getContext(), bytes));
}

void BytesAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringify(getField()) << " \"" << llvm::toHex(getBytes().getValue()) << "\">";
}

Attribute DataAttr::parse(AsmParser &parser, Type) {
  StringAttr file;
  int64_t offset, length;
  if (parser.parseLess())
    return {};
  std::optional<DataField> field = parseField(parser);
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (!field || parser.parseAttribute(file) || parser.parseKeyword("offset") ||
      parser.parseInteger(offset) || parser.parseKeyword("length") || parser.parseInteger(length) ||
      parser.parseGreater())
    return {};
  if (offset < 0 || length < 0) {
    parser.emitError(loc) << "offset and length must not be negative";
    return {};
  }
  return get(parser.getContext(), *field, file, offset, length);
}

void DataAttr::print(AsmPrinter &printer) const {
  printer << '<' << stringify(getField()) << ' ' << getFile() << " offset " << getOffset()
          << " length " << getLength() << '>';
}

//===----------------------------------------------------------------------===//
// AttributeAttr
//===----------------------------------------------------------------------===//

/// Parses a string as such: as an attribute it would swallow a following colon.
static ParseResult parseText(AsmParser &parser, StringAttr &text) {
  std::string value;
  if (parser.parseString(&value))
    return failure();
  text = StringAttr::get(parser.getContext(), value);
  return success();
}

Attribute AttributeAttr::parse(AsmParser &parser, Type) {
  StringAttr name, ref, doc;
  std::string nameText;
  Attribute value;
  llvm::StringRef keyword;
  if (parser.parseLess())
    return {};
  if (succeeded(parser.parseOptionalString(&nameText)))
    name = StringAttr::get(parser.getContext(), nameText);
  if (parser.parseColon())
    return {};
  bool typed = failed(parser.parseOptionalLParen());
  llvm::SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword) || (!typed && parser.parseRParen()))
    return {};
  std::optional<AttributeKind> kind = parseAttributeKind(keyword);
  if (!kind) {
    parser.emitError(loc) << "unknown attribute kind '" << keyword << "'";
    return {};
  }
  if (succeeded(parser.parseOptionalEqual()) && parser.parseAttribute(value))
    return {};
  if (succeeded(parser.parseOptionalKeyword("ref")) && parseText(parser, ref))
    return {};
  if (succeeded(parser.parseOptionalKeyword("doc")) && parseText(parser, doc))
    return {};
  if (parser.parseGreater())
    return {};
  return get(parser.getContext(), name, *kind, typed, value, ref, doc);
}

void AttributeAttr::print(AsmPrinter &printer) const {
  printer << '<';
  if (getName())
    printer << getName() << ' ';
  printer << ": " << (getTyped() ? "" : "(") << stringify(getKind()) << (getTyped() ? "" : ")");
  if (getValue())
    printer << " = " << getValue();
  if (getRef())
    printer << " ref " << getRef();
  if (getDocString())
    printer << " doc " << getDocString();
  printer << '>';
}
