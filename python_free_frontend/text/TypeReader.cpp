// Types, shapes and literals of tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/text/TypeReader.h"

#include "python_free_frontend/text/Words.h"

using namespace llvm;

namespace weft::text {
namespace {

bool readShape(TextCursor &cursor, onnx::TensorShape &shape) {
  do {
    auto &dim = *shape.add_dim();
    if (cursor.take('?'))
      continue;
    if (cursor.peek() == '"' || !cursor.peekWord().empty()) {
      if (!cursor.name(*dim.mutable_dim_param(), "a dimension"))
        return false;
      continue;
    }
    int64_t value;
    if (!cursor.integer(value, "a dimension (a number, a name or '?')"))
      return false;
    dim.set_dim_value(value);
  } while (cursor.take(','));
  return cursor.expect(']', "after the dimensions");
}

/// A data type and its shape: none is a scalar, [] any rank.
template <typename TensorType> bool readTensorType(TextCursor &cursor, TensorType &type) {
  size_t where = cursor.place();
  std::string word;
  if (!cursor.word(word, "a data type"))
    return false;
  auto number = dataTypeOf(word);
  if (!number)
    return cursor.fail("'" + word +
                           "' is not a data type; data types are float, "
                           "double, float16, bfloat16, int64, int32, bool, ...",
                       where);
  type.set_elem_type(*number);
  if (!cursor.take('[')) {
    type.mutable_shape();
    return true;
  }
  return cursor.take(']') || readShape(cursor, *type.mutable_shape());
}

bool readOpaque(TextCursor &cursor, onnx::Type::OpaqueType &type) {
  if (cursor.take(')'))
    return true;
  std::string first;
  auto qualified = [&](std::string &name) {
    std::string part;
    if (!cursor.word(name, "a name"))
      return false;
    while (cursor.take('.')) {
      if (!cursor.word(part, "a name after '.'"))
        return false;
      name += "." + part;
    }
    return true;
  };
  if (!qualified(first))
    return false;
  if (cursor.take(',')) {
    type.set_domain(first);
    if (!cursor.word(first, "the name of the opaque type"))
      return false;
  }
  type.set_name(first);
  return cursor.expect(')', "after an opaque type");
}

bool readLiteral(TextCursor &cursor, ElementForm form, onnx::Tensor &tensor) {
  size_t where = cursor.place();
  auto outside = [&](const Twine &value, const Twine &low, const Twine &high) {
    return cursor.fail(value + " does not fit in " + dataTypeName(tensor.data_type()) + ", [" +
                           low + ", " + high + "]",
                       where);
  };
  switch (form.kind) {
  case ElementForm::Kind::Float: {
    float value;
    if (!cursor.real(value, "a number"))
      return false;
    tensor.add_float_data(value);
    return true;
  }
  case ElementForm::Kind::Double: {
    double value;
    if (!cursor.real(value, "a number"))
      return false;
    tensor.add_double_data(value);
    return true;
  }
  case ElementForm::Kind::String:
    return cursor.quoted(*tensor.add_string_data(), "a string");
  case ElementForm::Kind::Unsigned: {
    uint64_t value;
    if (!cursor.unsignedInteger(value, "a whole number that is not negative"))
      return false;
    uint64_t high = form.bits == 64 ? UINT64_MAX : (uint64_t(1) << form.bits) - 1;
    if (value > high)
      return outside(Twine(value), "0", Twine(high));
    if (form.wide)
      tensor.add_uint64_data(value);
    else
      tensor.add_int32_data(int32_t(value));
    return true;
  }
  case ElementForm::Kind::Signed: {
    int64_t value;
    if (!cursor.integer(value, "a whole number"))
      return false;
    int64_t high = INT64_MAX >> (64 - form.bits);
    if (value > high || value < -high - 1)
      return outside(Twine(value), Twine(-high - 1), Twine(high));
    if (form.wide)
      tensor.add_int64_data(value);
    else
      tensor.add_int32_data(int32_t(value));
    return true;
  }
  }
  llvm_unreachable("all forms are listed");
}

} // namespace

bool typeFollows(TextCursor &cursor) { return isTypeWord(cursor.peekWord()); }

bool readType(TextCursor &cursor, onnx::Type &type, unsigned depth) {
  if (depth > kDeepest)
    return cursor.fail("types nest deeper than " + Twine(kDeepest) + " levels");
  StringRef word = cursor.peekWord();
  size_t where = cursor.place();
  auto open = [&] {
    cursor.moveTo(where + word.size());
    return cursor.expect('(', "after '" + word + "'");
  };
  auto inner = [&](onnx::Type &part) {
    return readType(cursor, part, depth + 1) &&
           cursor.expect(')', "after the type in '" + word + "'");
  };
  if (word == "seq")
    return open() && inner(*type.mutable_sequence_type()->mutable_elem_type());
  if (word == "optional")
    return open() && inner(*type.mutable_optional_type()->mutable_elem_type());
  if (word == "opaque")
    return open() && readOpaque(cursor, *type.mutable_opaque_type());
  if (word == "sparse_tensor")
    return open() && readTensorType(cursor, *type.mutable_sparse_tensor_type()) &&
           cursor.expect(')', "after the type in 'sparse_tensor'");
  if (word == "map") {
    std::string key;
    auto &map = *type.mutable_map_type();
    if (!open())
      return false;
    size_t place = cursor.place();
    if (!cursor.word(key, "the key type of a map"))
      return false;
    auto number = dataTypeOf(key);
    if (!number)
      return cursor.fail("'" + key + "' is not a data type", place);
    map.set_key_type(*number);
    return cursor.expect(',', "after the key type of a map") && inner(*map.mutable_value_type());
  }
  return readTensorType(cursor, *type.mutable_tensor_type());
}

bool readEntries(TextCursor &cursor,
                 google::protobuf::RepeatedPtrField<onnx::StringStringEntry> &pairs) {
  if (cursor.take(']'))
    return true;
  do {
    auto &pair = *pairs.Add();
    if (!cursor.quoted(*pair.mutable_key(), "a key") || !cursor.expect(':', "after the key") ||
        !cursor.quoted(*pair.mutable_value(), "a value"))
      return false;
  } while (cursor.take(','));
  return cursor.expect(']', "after the list of keys and values");
}

bool readTensorData(TextCursor &cursor, const onnx::Type &type, size_t where,
                    onnx::Tensor &tensor) {
  if (!type.has_tensor_type())
    return cursor.fail("only tensors have values; this is another type", where);
  const auto &shape = type.tensor_type().shape();
  if (!type.tensor_type().has_shape())
    return cursor.fail("a value needs its dimensions, as in float[2, 3]; a "
                       "scalar has none, as in float",
                       where);
  for (const auto &dim : shape.dim()) {
    if (!dim.has_dim_value() || dim.dim_value() < 0)
      return cursor.fail("a value needs dimensions that are numbers from 0 on", where);
    tensor.add_dims(dim.dim_value());
  }
  tensor.set_data_type(type.tensor_type().elem_type());
  if (cursor.take('[')) {
    tensor.set_data_location(onnx::Tensor::EXTERNAL);
    return readEntries(cursor, *tensor.mutable_external_data());
  }
  auto form = elementForm(tensor.data_type());
  if (!form)
    return cursor.fail("a value needs a data type", where);
  if (!cursor.expect('{', "or '[' before a tensor's values"))
    return false;
  int64_t count = 0;
  if (!cursor.take('}')) {
    do {
      if (!readLiteral(cursor, *form, tensor))
        return false;
      ++count;
    } while (cursor.take(','));
    if (!cursor.expect('}', "after a tensor's values"))
      return false;
  }
  int64_t wanted = literalCount(tensor.data_type(), elementCount(tensor));
  return count == wanted ||
         cursor.fail("the dimensions ask for " + Twine(wanted) + " values, found " + Twine(count),
                     where);
}

} // namespace weft::text
