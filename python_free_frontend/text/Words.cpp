// Tables of the words of the ONNX text syntax.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/text/Words.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using weft::onnx::Attribute;
using weft::onnx::Tensor;

namespace weft::text {
namespace {

using Form = ElementForm::Kind;

struct DataTypeRow {
  int32_t type;
  StringRef name;
  ElementForm form;
  int perByte = 1;    // elements that share a byte
  int perElement = 1; // numbers of one element
};

// Floats of 16 bits and less are spelled as bit patterns.
const DataTypeRow kDataTypes[] = {
    {Tensor::FLOAT, "float", {Form::Float, 32}},
    {Tensor::UINT8, "uint8", {Form::Unsigned, 8}},
    {Tensor::INT8, "int8", {Form::Signed, 8}},
    {Tensor::UINT16, "uint16", {Form::Unsigned, 16}},
    {Tensor::INT16, "int16", {Form::Signed, 16}},
    {Tensor::INT32, "int32", {Form::Signed, 32}},
    {Tensor::INT64, "int64", {Form::Signed, 64, true}},
    {Tensor::STRING, "string", {Form::String}},
    {Tensor::BOOL, "bool", {Form::Unsigned, 8}},
    {Tensor::FLOAT16, "float16", {Form::Unsigned, 16}},
    {Tensor::DOUBLE, "double", {Form::Double, 64}},
    {Tensor::UINT32, "uint32", {Form::Unsigned, 32, true}},
    {Tensor::UINT64, "uint64", {Form::Unsigned, 64, true}},
    {Tensor::COMPLEX64, "complex64", {Form::Float, 32}, 1, 2},
    {Tensor::COMPLEX128, "complex128", {Form::Double, 64}, 1, 2},
    {Tensor::BFLOAT16, "bfloat16", {Form::Unsigned, 16}},
    {Tensor::FLOAT8E4M3FN, "float8e4m3fn", {Form::Unsigned, 8}},
    {Tensor::FLOAT8E4M3FNUZ, "float8e4m3fnuz", {Form::Unsigned, 8}},
    {Tensor::FLOAT8E5M2, "float8e5m2", {Form::Unsigned, 8}},
    {Tensor::FLOAT8E5M2FNUZ, "float8e5m2fnuz", {Form::Unsigned, 8}},
    {Tensor::UINT4, "uint4", {Form::Unsigned, 8}, 2},
    {Tensor::INT4, "int4", {Form::Unsigned, 8}, 2},
    {Tensor::FLOAT4E2M1, "float4e2m1", {Form::Unsigned, 8}, 2},
    {Tensor::FLOAT8E8M0, "float8e8m0", {Form::Unsigned, 8}},
    {Tensor::UINT2, "uint2", {Form::Unsigned, 8}, 4},
    {Tensor::INT2, "int2", {Form::Unsigned, 8}, 4},
    // Not a type of the standard's syntax, but files do hold it.
    {Tensor::UNDEFINED, "undefined", {Form::Signed, 0}},
};

struct KindRow {
  Attribute::Kind kind;
  StringRef name;
  Attribute::Kind element;
};

const KindRow kKinds[] = {
    {Attribute::FLOAT, "float", Attribute::FLOAT},
    {Attribute::INT, "int", Attribute::INT},
    {Attribute::STRING, "string", Attribute::STRING},
    {Attribute::TENSOR, "tensor", Attribute::TENSOR},
    {Attribute::GRAPH, "graph", Attribute::GRAPH},
    {Attribute::SPARSE_TENSOR, "sparse_tensor", Attribute::SPARSE_TENSOR},
    {Attribute::TYPE_PROTO, "type_proto", Attribute::TYPE_PROTO},
    {Attribute::FLOATS, "floats", Attribute::FLOAT},
    {Attribute::INTS, "ints", Attribute::INT},
    {Attribute::STRINGS, "strings", Attribute::STRING},
    {Attribute::TENSORS, "tensors", Attribute::TENSOR},
    {Attribute::GRAPHS, "graphs", Attribute::GRAPH},
    {Attribute::SPARSE_TENSORS, "sparse_tensors", Attribute::SPARSE_TENSOR},
    {Attribute::TYPE_PROTOS, "type_protos", Attribute::TYPE_PROTO},
};

const DataTypeRow *rowOf(int32_t type) {
  for (const DataTypeRow &row : kDataTypes)
    if (row.type == type)
      return &row;
  return nullptr;
}

} // namespace

StringRef dataTypeName(int32_t type) {
  const DataTypeRow *row = rowOf(type);
  return row ? row->name : StringRef();
}

std::optional<int32_t> dataTypeOf(StringRef name) {
  for (const DataTypeRow &row : kDataTypes)
    if (row.name == name)
      return row.type;
  return std::nullopt;
}

StringRef attributeKindName(Attribute::Kind kind) {
  for (const KindRow &row : kKinds)
    if (row.kind == kind)
      return row.name;
  return {};
}

std::optional<Attribute::Kind> attributeKindOf(StringRef name) {
  for (const KindRow &row : kKinds)
    if (row.name == name)
      return row.kind;
  return std::nullopt;
}

std::string attributeKindNames() {
  return join(map_range(kKinds, [](const KindRow &row) { return row.name; }), ", ");
}

Attribute::Kind elementKind(Attribute::Kind kind) {
  for (const KindRow &row : kKinds)
    if (row.kind == kind)
      return row.element;
  return kind;
}

bool isListKind(Attribute::Kind kind) { return elementKind(kind) != kind; }

bool isIdentifier(StringRef text) {
  auto starts = [](char c) { return isAlpha(c) || c == '_'; };
  return !text.empty() && starts(text[0]) &&
         all_of(text, [](char c) { return isAlnum(c) || c == '_'; });
}

bool isTypeWord(StringRef word) {
  return dataTypeOf(word) || word == "seq" || word == "map" || word == "optional" ||
         word == "sparse_tensor" || word == "opaque";
}

bool isFloatWord(StringRef word) {
  return word.equals_insensitive("inf") || word.equals_insensitive("nan") ||
         word.equals_insensitive("infinity");
}

std::optional<ElementForm> elementForm(int32_t type) {
  const DataTypeRow *row = rowOf(type);
  if (!row || type == Tensor::UNDEFINED)
    return std::nullopt;
  return row->form;
}

int64_t literalCount(int32_t type, int64_t elements) {
  const DataTypeRow *row = rowOf(type);
  if (!row || elements < 0 || elements > INT64_MAX / 2)
    return -1;
  return (elements * row->perElement + row->perByte - 1) / row->perByte;
}

int64_t elementCount(const Tensor &tensor) {
  int64_t count = 1;
  for (int64_t dim : tensor.dims())
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count))
      return -1;
  return count;
}

Attribute::Kind effectiveKind(const Attribute &attr) {
  if (attr.type() != Attribute::UNDEFINED)
    return attr.type();
  if (attr.has_f())
    return Attribute::FLOAT;
  if (attr.has_i())
    return Attribute::INT;
  if (attr.has_s())
    return Attribute::STRING;
  if (attr.has_t())
    return Attribute::TENSOR;
  if (attr.has_g())
    return Attribute::GRAPH;
  if (attr.has_tp())
    return Attribute::TYPE_PROTO;
  if (attr.floats_size())
    return Attribute::FLOATS;
  if (attr.ints_size())
    return Attribute::INTS;
  if (attr.strings_size())
    return Attribute::STRINGS;
  if (attr.tensors_size())
    return Attribute::TENSORS;
  if (attr.graphs_size())
    return Attribute::GRAPHS;
  if (attr.type_protos_size())
    return Attribute::TYPE_PROTOS;
  return Attribute::UNDEFINED;
}

} // namespace weft::text
