// Printing of tensor elements from whichever field holds them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/text/TensorText.h"

#include "python_free_frontend/text/Words.h"
#include <charconv>
#include <cmath>
#include <cstring>

using namespace llvm;
using weft::onnx::Tensor;

namespace weft::text {
namespace {

template <typename T> void writeReal(T value, raw_ostream &os) {
  if (std::isnan(value)) {
    os << (std::signbit(value) ? "-nan" : "nan");
    return;
  }
  char buffer[64];
  auto end = std::to_chars(buffer, buffer + sizeof(buffer), value);
  os << StringRef(buffer, end.ptr - buffer);
}

template <typename T> T load(const std::string &bytes, int64_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * int64_t(sizeof(T)), sizeof(T));
  return value;
}

/// Elements of one tensor by index, whichever field they are in.
class Elements {
public:
  Elements(const Tensor &tensor, ElementForm form)
      : tensor(tensor), form(form), raw(tensor.has_raw_data()) {}

  /// Number of literals present; negative when raw_data has a broken one.
  int64_t count() const {
    if (raw && form.kind != ElementForm::Kind::String)
      return tensor.raw_data().size() % (form.bits / 8)
                 ? -1
                 : int64_t(tensor.raw_data().size() / (form.bits / 8));
    switch (form.kind) {
    case ElementForm::Kind::Float:
      return tensor.float_data_size();
    case ElementForm::Kind::Double:
      return tensor.double_data_size();
    case ElementForm::Kind::String:
      return tensor.string_data_size();
    case ElementForm::Kind::Unsigned:
      return form.wide ? tensor.uint64_data_size() : tensor.int32_data_size();
    case ElementForm::Kind::Signed:
      return form.wide ? tensor.int64_data_size() : tensor.int32_data_size();
    }
    llvm_unreachable("all forms are listed");
  }

  void write(int64_t i, raw_ostream &os) const {
    switch (form.kind) {
    case ElementForm::Kind::Float:
      return writeFloat(raw ? load<float>(tensor.raw_data(), i) : tensor.float_data(i), os);
    case ElementForm::Kind::Double:
      return writeDouble(raw ? load<double>(tensor.raw_data(), i) : tensor.double_data(i), os);
    case ElementForm::Kind::String:
      return writeQuoted(tensor.string_data(i), os);
    case ElementForm::Kind::Unsigned:
      os << unsignedAt(i);
      return;
    case ElementForm::Kind::Signed:
      os << signedAt(i);
      return;
    }
  }

private:
  uint64_t bitsAt(int64_t i) const {
    switch (form.bits) {
    case 8:
      return load<uint8_t>(tensor.raw_data(), i);
    case 16:
      return load<uint16_t>(tensor.raw_data(), i);
    case 32:
      return load<uint32_t>(tensor.raw_data(), i);
    default:
      return load<uint64_t>(tensor.raw_data(), i);
    }
  }
  // Fields are wider than the element; what lies above it is not data.
  uint64_t unsignedAt(int64_t i) const {
    uint64_t value = raw         ? bitsAt(i)
                     : form.wide ? tensor.uint64_data(i)
                                 : uint64_t(int64_t(tensor.int32_data(i)));
    return form.bits == 64 ? value : value & ((uint64_t(1) << form.bits) - 1);
  }
  int64_t signedAt(int64_t i) const {
    uint64_t value = raw         ? bitsAt(i)
                     : form.wide ? uint64_t(tensor.int64_data(i))
                                 : uint64_t(int64_t(tensor.int32_data(i)));
    return int64_t(value << (64 - form.bits)) >> (64 - form.bits);
  }

  const Tensor &tensor;
  ElementForm form;
  bool raw;
};

} // namespace

void writeFloat(float value, raw_ostream &os) { writeReal(value, os); }
void writeDouble(double value, raw_ostream &os) { writeReal(value, os); }

void writeQuoted(StringRef text, raw_ostream &os) {
  os << '"';
  for (char c : text) {
    if (c == '"' || c == '\\')
      os << '\\';
    os << c;
  }
  os << '"';
}

std::string writeTensorData(const Tensor &tensor, raw_ostream &os) {
  auto form = elementForm(tensor.data_type());
  if (!form)
    return "tensor '" + tensor.name() + "' has data type " + std::to_string(tensor.data_type()) +
           ", which has no text form";
  Elements elements(tensor, *form);
  int64_t wanted = literalCount(tensor.data_type(), elementCount(tensor));
  int64_t found = elements.count();
  if (wanted < 0 || found != wanted)
    return "tensor '" + tensor.name() + "' has " +
           (found < 0 ? "raw_data of " + std::to_string(tensor.raw_data().size()) + " bytes"
                      : std::to_string(found) + " stored numbers") +
           ", which does not fit its dimensions (" + std::to_string(wanted) +
           " are needed); the model is damaged";
  os << "{";
  for (int64_t i = 0; i < found; ++i) {
    if (i)
      os << ", ";
    elements.write(i, os);
  }
  os << "}";
  return "";
}

} // namespace weft::text
