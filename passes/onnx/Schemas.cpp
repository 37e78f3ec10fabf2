// Reads the table of forms, and holds nodes against it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/onnx/Schemas.h"

#include "weft/Interfaces/TensorSize.h"
#include "weft/Support/Nearest.h"

#include "llvm/ADT/StringMap.h"

#include <map>

using namespace mlir;
using namespace weft;
using namespace weft::onnx;

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static AttributeKind kindOf(char letter) {
  switch (letter) {
  case 'i':
    return AttributeKind::Int;
  case 'f':
    return AttributeKind::Float;
  case 's':
    return AttributeKind::String;
  case 't':
    return AttributeKind::Tensor;
  case 'x':
    return AttributeKind::SparseTensor;
  case 'g':
    return AttributeKind::Graph;
  case 'p':
    return AttributeKind::TypeProto;
  case 'I':
    return AttributeKind::Ints;
  case 'F':
    return AttributeKind::Floats;
  case 'S':
    return AttributeKind::Strings;
  }
  llvm_unreachable("letter of a kind in Schemas.def");
}

/// `name:kind[marks][=default]`
static AttributeSchema parseAttribute(StringRef text) {
  AttributeSchema result;
  auto [form, otherwise] = text.split('=');
  auto [name, rest] = form.split(':');
  result.name = name;
  result.kind = kindOf(rest.front());
  result.required = rest.contains('!');
  result.anyNumber = rest.contains('*');
  result.idle = rest.contains('~');
  result.otherwise = otherwise;
  return result;
}

namespace {
/// Forms of one operator by the first version of each.
using Versions = std::map<int64_t, Schema>;
} // namespace

static llvm::StringMap<Versions> readTable() {
  llvm::StringMap<Versions> table;
  constexpr unsigned kMany = Schema::kMany;
  auto add = [&](StringRef domain, StringRef op, int64_t since, Schema schema,
                 StringRef attributes) {
    for (StringRef attribute : llvm::split(attributes, ' '))
      if (!attribute.empty())
        schema.attributes.push_back(parseAttribute(attribute));
    table[(domain + ":" + op).str()][since] = std::move(schema);
  };
#define OPERATOR(domain, op, since, leastIn, mostIn, leastOut, mostOut, attributes)                \
  add(domain, op, since, {leastIn, mostIn, leastOut, mostOut, {}}, attributes);
#include "passes/onnx/Schemas.def"
#undef OPERATOR
  return table;
}

const Schema *weft::onnx::findSchema(StringRef domain, StringRef op, int64_t version) {
  static const llvm::StringMap<Versions> table = readTable();
  auto found = table.find((domain + ":" + op).str());
  if (found == table.end())
    return nullptr;
  auto after = found->second.upper_bound(version);
  return after == found->second.begin() ? nullptr : &std::prev(after)->second;
}

const AttributeSchema *Schema::find(StringRef name) const {
  for (const AttributeSchema &attribute : attributes)
    if (attribute.name == name)
      return &attribute;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// The form of a node
//===----------------------------------------------------------------------===//

static StringRef nameOf(AttributeAttr attribute) {
  return attribute.getName() ? attribute.getName().getValue() : StringRef();
}

static auto attributesOf(NodeOp node) {
  ArrayAttr list = node.getOnnxAttributesAttr();
  return list ? llvm::to_vector(list.getAsRange<AttributeAttr>()) : SmallVector<AttributeAttr>();
}

static std::string checkCount(StringRef what, size_t found, unsigned least, unsigned most) {
  if (found >= least && found <= most)
    return "";
  std::string wanted = std::to_string(least);
  if (most == Schema::kMany)
    wanted = "at least " + wanted;
  else if (most != least)
    wanted += " to " + std::to_string(most);
  return ("it has " + Twine(found) + " " + what + (found == 1 ? "" : "s") + ", expected " + wanted)
      .str();
}

static std::string unknownAttribute(StringRef name, ArrayRef<std::string> known) {
  std::string text = ("attribute '" + name + "' is unknown").str();
  if (known.empty())
    return text + "; there are none";
  std::string meant = didYouMean(name, known);
  return text + (meant.empty() ? "; known are " + llvm::join(known, ", ") : meant);
}

static std::string duplicateAttribute(NodeOp node) {
  llvm::StringSet<> seen;
  for (AttributeAttr attribute : attributesOf(node))
    if (!seen.insert(nameOf(attribute)).second)
      return ("attribute '" + nameOf(attribute) + "' is given twice").str();
  return "";
}

/// Beyond what any extent can be; sums of a few others do not overflow.
static std::string checkNumbers(AttributeAttr attribute) {
  SmallVector<int64_t> numbers;
  if (auto one = dyn_cast_or_null<IntegerAttr>(attribute.getValue()))
    numbers.push_back(one.getInt());
  else if (auto list = dyn_cast_or_null<DenseI64ArrayAttr>(attribute.getValue()))
    llvm::append_range(numbers, list.asArrayRef());
  for (int64_t number : numbers)
    if (!isShapeNumber(number))
      return ("attribute '" + nameOf(attribute) + "' holds " + Twine(number) +
              ", which is beyond any shape; the largest is 2^40")
          .str();
  return "";
}

static std::string checkAttribute(AttributeAttr attribute, const AttributeSchema &schema) {
  if (attribute.getKind() != schema.kind)
    return ("attribute '" + schema.name + "' is of kind " + stringify(attribute.getKind()) +
            ", expected " + stringify(schema.kind))
        .str();
  return schema.anyNumber ? "" : checkNumbers(attribute);
}

std::string weft::onnx::checkForm(NodeOp node, const Schema &schema, AttributeValue value) {
  std::string problem =
      checkCount("input", node.getInputs().size(), schema.leastInputs, schema.mostInputs);
  if (problem.empty())
    problem = checkCount("output", node.getNumResults(), schema.leastOutputs, schema.mostOutputs);
  if (problem.empty())
    problem = duplicateAttribute(node);
  llvm::StringSet<> given;
  for (AttributeAttr attribute : attributesOf(node)) {
    if (!problem.empty())
      return problem;
    const AttributeSchema *found = schema.find(nameOf(attribute));
    if (!found)
      return unknownAttribute(
          nameOf(attribute),
          llvm::map_to_vector(schema.attributes, [](auto &known) { return known.name.str(); }));
    problem = checkAttribute(attribute, *found);
    AttributeAttr here = value(attribute);
    if (here && problem.empty())
      problem = checkAttribute(here, *found);
    if (here)
      given.insert(found->name);
  }
  for (const AttributeSchema &attribute : schema.attributes)
    if (problem.empty() && attribute.required && !given.contains(attribute.name))
      problem = ("attribute '" + attribute.name + "' is missing").str();
  return problem;
}

std::string weft::onnx::checkCall(NodeOp node, FunctionOp callee) {
  Block &body = callee.getBody().front();
  std::string problem = checkCount("input", node.getInputs().size(), 0, body.getNumArguments());
  if (problem.empty())
    problem = checkCount("output", node.getNumResults(), 0, body.getTerminator()->getNumOperands());
  if (problem.empty())
    problem = duplicateAttribute(node);
  if (!problem.empty())
    return problem;
  SmallVector<std::string> known;
  if (ArrayAttr names = callee.getPlainAttributesAttr())
    for (auto name : names.getAsRange<StringAttr>())
      known.push_back(name.getValue().str());
  if (ArrayAttr defaults = callee.getOnnxAttributesAttr())
    for (auto entry : defaults.getAsRange<AttributeAttr>())
      known.push_back(nameOf(entry).str());
  llvm::StringSet<> names;
  names.insert_range(known);
  for (AttributeAttr attribute : attributesOf(node))
    if (!names.contains(nameOf(attribute)))
      return unknownAttribute(nameOf(attribute), known);
  return "";
}

//===----------------------------------------------------------------------===//
// What is given, but not read
//===----------------------------------------------------------------------===//

/// A number or a string as the table writes it; "" for what has no such form.
static std::string textOf(AttributeAttr attribute) {
  Attribute value = attribute.getValue();
  if (auto text = dyn_cast_or_null<StringAttr>(value))
    return text.getValue().str();
  if (auto number = dyn_cast_or_null<IntegerAttr>(value))
    return std::to_string(number.getInt());
  if (auto number = dyn_cast_or_null<FloatAttr>(value)) {
    SmallString<16> text;
    number.getValue().toString(text);
    return text.str().str();
  }
  return "";
}

static bool isDefault(AttributeAttr attribute, StringRef otherwise) {
  if (otherwise.empty())
    return false;
  auto number = dyn_cast_or_null<FloatAttr>(attribute.getValue());
  double wanted;
  if (number && !otherwise.getAsDouble(wanted))
    return number.getValueAsDouble() == double(float(wanted));
  // A scalar that the file leaves to its kind's default is 0 or "".
  if (!attribute.getValue())
    return otherwise == "0";
  return textOf(attribute) == otherwise;
}

std::string weft::onnx::checkRead(NodeOp node, const Schema &schema, AttributeValue value,
                                  const llvm::StringSet<> &read) {
  for (AttributeAttr attribute : attributesOf(node)) {
    AttributeAttr here = value(attribute);
    const AttributeSchema *known = schema.find(nameOf(attribute));
    if (!here || !known || known->idle || read.contains(known->name) ||
        isDefault(here, known->otherwise))
      continue;
    std::string text = textOf(here);
    std::string problem = ("attribute '" + known->name + "'" + (text.empty() ? "" : " = ") + text +
                           " is not supported")
                              .str();
    if (!known->otherwise.empty())
      problem += ("; only " + known->otherwise + " is").str();
    return problem;
  }
  return "";
}
