// Rows of chunks as attributes: a dictionary each.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/dist/IR/ChunkRows.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace weft::dist {

/// Calls `visit` with the name and the member of each field.
template <typename Row, typename Visit> static void forFields(Row &row, Visit visit) {
  visit("stage", row.stage);
  visit("first", row.first);
  visit("last", row.last);
  visit("parameters", row.parameters);
  visit("forward", row.forward);
  visit("backward", row.backward);
  visit("weight", row.weight);
  visit("bytes_in", row.bytesIn);
  visit("in_flight", row.inFlight);
  visit("parameter_bytes", row.parameterBytes);
  visit("optimizer_bytes", row.optimizerBytes);
  visit("other_bytes", row.otherBytes);
  visit("gradient_bytes", row.gradientBytes);
  visit("activation_bytes", row.activationBytes);
}

namespace {

struct ToAttribute {
  Builder builder;
  Attribute operator()(int64_t value) { return builder.getI64IntegerAttr(value); }
  Attribute operator()(double value) { return builder.getF64FloatAttr(value); }
  Attribute operator()(const std::string &value) { return builder.getStringAttr(value); }
};

struct FromAttribute {
  Attribute attribute;
  bool operator()(int64_t &value) {
    auto number = dyn_cast_or_null<IntegerAttr>(attribute);
    if (!number || !number.getType().isInteger(64))
      return false;
    value = number.getInt();
    return true;
  }
  bool operator()(double &value) {
    auto number = dyn_cast_or_null<FloatAttr>(attribute);
    if (!number)
      return false;
    value = number.getValueAsDouble();
    return true;
  }
  bool operator()(std::string &value) {
    auto text = dyn_cast_or_null<StringAttr>(attribute);
    if (!text)
      return false;
    value = text.str();
    return true;
  }
};

} // namespace

ArrayAttr writeChunkRows(MLIRContext *context, ArrayRef<ChunkRow> rows) {
  ToAttribute convert{Builder(context)};
  SmallVector<Attribute> list;
  for (const ChunkRow &row : rows) {
    NamedAttrList fields;
    forFields(row, [&](StringRef name, const auto &value) { fields.set(name, convert(value)); });
    list.push_back(fields.getDictionary(context));
  }
  return ArrayAttr::get(context, list);
}

std::optional<std::vector<ChunkRow>> readChunkRows(Attribute attribute) {
  auto list = dyn_cast_or_null<ArrayAttr>(attribute);
  if (!list)
    return std::nullopt;
  std::vector<ChunkRow> rows;
  for (Attribute entry : list) {
    auto fields = dyn_cast<DictionaryAttr>(entry);
    bool isSound = bool(fields);
    ChunkRow &row = rows.emplace_back();
    forFields(row, [&](StringRef name, auto &value) {
      isSound = isSound && FromAttribute{fields.get(name)}(value);
    });
    if (!isSound)
      return std::nullopt;
  }
  return rows;
}

} // namespace weft::dist
