// Header parsing and range checks of .safetensors files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/SafeTensors.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

using namespace llvm;

namespace weft::builders {
namespace {

// The format's own limit on the header.
constexpr uint64_t kHeaderLimit = 100'000'000;

template <typename T> T load(const char *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

/// Bytes per element, or 0 for a type that we do not know.
int64_t sizeOf(StringRef dtype) {
  return StringSwitch<int64_t>(dtype)
      .Cases({"F64", "I64", "U64"}, 8)
      .Cases({"F32", "I32", "U32"}, 4)
      .Cases({"F16", "BF16", "I16", "U16"}, 2)
      .Cases({"BOOL", "I8", "U8", "F8_E4M3", "F8_E5M2"}, 1)
      .Default(0);
}

struct Entry {
  std::string dtype;
  std::vector<int64_t> dims;
  std::vector<int64_t> range;
  bool hasDtype = false, hasDims = false, hasRange = false;
};

/// Takes the header event by event. The grammar is two objects deep, so depth
/// is bounded by construction: the first bracket too many ends the parse.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
public:
  std::map<std::string, Entry> entries;
  std::string fault;

  bool null() override { return refuse("null"); }
  bool boolean(bool) override { return refuse("true or false"); }
  bool number_float(double, const std::string &) override { return refuse("a fraction"); }
  bool binary(binary_t &) override { return refuse("binary data"); }
  bool number_integer(number_integer_t) override { return refuse("a negative number"); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > uint64_t(INT64_MAX))
      return refuse("a number above 2^63");
    if (state == State::Dims)
      entry->dims.push_back(int64_t(value));
    else if (state == State::Range)
      entry->range.push_back(int64_t(value));
    else
      return refuse("a number");
    // Real tensors have a handful of dimensions.
    return entry->dims.size() <= 64 && entry->range.size() <= 2 ? true
                                                                : refuse("a list that is too long");
  }
  bool string(std::string &value) override {
    if (state == State::Metadata)
      return true;
    if (state != State::Tensor || field != "dtype")
      return refuse("a string");
    entry->dtype = value;
    return true;
  }
  bool start_object(size_t) override {
    if (state == State::Start)
      state = State::Top;
    else if (state == State::Top)
      state = entry ? State::Tensor : State::Metadata;
    else
      return refuse("an object");
    return true;
  }
  bool key(std::string &value) override {
    if (state == State::Metadata)
      return true;
    if (state == State::Top) {
      if (value == "__metadata__") {
        entry = nullptr;
        return true;
      }
      auto [it, fresh] = entries.try_emplace(value);
      name = value;
      entry = &it->second;
      return fresh || fail("tensor '" + value + "' is listed twice");
    }
    field = value;
    bool *seen = value == "dtype"          ? &entry->hasDtype
                 : value == "shape"        ? &entry->hasDims
                 : value == "data_offsets" ? &entry->hasRange
                                           : nullptr;
    if (!seen)
      return fail("tensor '" + name + "' has an unknown field '" + value + "'");
    if (*seen)
      return fail("tensor '" + name + "' has two fields '" + value + "'");
    *seen = true;
    return true;
  }
  bool end_object() override {
    state = state == State::Top ? State::Done : State::Top;
    return true;
  }
  bool start_array(size_t) override {
    if (state == State::Tensor && field == "shape")
      state = State::Dims;
    else if (state == State::Tensor && field == "data_offsets")
      state = State::Range;
    else
      return refuse("an array");
    return true;
  }
  bool end_array() override {
    state = State::Tensor;
    return true;
  }
  bool parse_error(size_t position, const std::string &,
                   const nlohmann::detail::exception &) override {
    return fail("the header is not JSON at byte " + std::to_string(position));
  }

private:
  enum class State { Start, Top, Metadata, Tensor, Dims, Range, Done };

  bool fail(std::string what) {
    if (fault.empty())
      fault = std::move(what);
    return false;
  }
  bool refuse(const char *what) {
    return fail(std::string("the header has ") + what + " where none may be" +
                (name.empty() ? "" : " (near tensor '" + name + "')"));
  }

  State state = State::Start;
  Entry *entry = nullptr;
  std::string name, field;
};

/// Elements times element size; negative when it does not fit in 63 bits.
int64_t byteSize(const Entry &entry) {
  int64_t bytes = sizeOf(entry.dtype);
  for (int64_t dim : entry.dims)
    if (__builtin_mul_overflow(bytes, dim, &bytes))
      return -1;
  return bytes;
}

std::string faultOf(const std::string &name, const Entry &entry, int64_t dataSize) {
  std::string who = "tensor '" + name + "' ";
  if (!entry.hasDtype || !entry.hasDims || entry.range.size() != 2)
    return who + "lacks dtype, shape or two data_offsets";
  if (!sizeOf(entry.dtype))
    return who + "has the unknown type '" + entry.dtype + "'";
  int64_t begin = entry.range[0], end = entry.range[1];
  if (begin > end || end > dataSize)
    return who + "claims bytes " + std::to_string(begin) + " to " + std::to_string(end) + " of " +
           std::to_string(dataSize) + "; the file may be truncated";
  if (byteSize(entry) != end - begin)
    return who + "claims " + std::to_string(end - begin) +
           " bytes, which is not what its type and shape take";
  return "";
}

} // namespace

Expected<SafeTensors> SafeTensors::open(StringRef path) {
  auto mapped = std::make_unique<onnx::MappedFile>();
  if (Error error = mapped->open(path))
    return createStringError(inconvertibleErrorCode(), "cannot read '%s': %s", path.str().c_str(),
                             toString(std::move(error)).c_str());
  Expected<SafeTensors> file = read(
      MemoryBuffer::getMemBuffer(mapped->getBytes(), "", /*RequiresNullTerminator=*/false), path);
  if (file)
    file->mapped = std::move(mapped);
  return file;
}

Expected<SafeTensors> SafeTensors::read(std::unique_ptr<MemoryBuffer> buffer, StringRef name) {
  auto refuse = [&](const std::string &what) -> Error {
    return createStringError(inconvertibleErrorCode(), "'%s' is not a sound .safetensors file: %s",
                             name.str().c_str(), what.c_str());
  };
  StringRef bytes = buffer->getBuffer();
  if (bytes.size() < 8)
    return refuse("it is shorter than the 8 bytes of the header length");
  uint64_t headerSize = load<uint64_t>(bytes.data());
  if (headerSize > kHeaderLimit || headerSize > bytes.size() - 8)
    return refuse("it claims a header of " + std::to_string(headerSize) + " bytes, the limit is " +
                  std::to_string(std::min<uint64_t>(kHeaderLimit, bytes.size() - 8)));
  StringRef header = bytes.substr(8, headerSize);
  StringRef data = bytes.substr(8 + headerSize);

  HeaderReader reader;
  bool sound = nlohmann::json::sax_parse(header.begin(), header.end(), &reader);
  if (!sound)
    return refuse(reader.fault.empty() ? "its header is malformed" : reader.fault);

  SafeTensors file;
  file.name = name.str();
  std::vector<std::pair<int64_t, int64_t>> ranges;
  for (const auto &[tensor, entry] : reader.entries) {
    std::string fault = faultOf(tensor, entry, int64_t(data.size()));
    if (!fault.empty())
      return refuse(fault);
    ranges.emplace_back(entry.range[0], entry.range[1]);
    file.table[tensor] = {entry.dtype, entry.dims,
                          data.substr(entry.range[0], entry.range[1] - entry.range[0])};
  }
  std::sort(ranges.begin(), ranges.end());
  int64_t end = 0;
  for (auto [first, last] : ranges) {
    if (first != end)
      return refuse(first < end ? "two tensors overlap at byte " + std::to_string(first)
                                : "bytes " + std::to_string(end) + " to " + std::to_string(first) +
                                      " belong to no tensor");
    end = last;
  }
  if (end != int64_t(data.size()))
    return refuse("bytes from " + std::to_string(end) + " to " + std::to_string(data.size()) +
                  " belong to no tensor");
  file.buffer = std::move(buffer);
  return file;
}

bool isFloat(const StoredTensor &tensor) {
  return tensor.dtype == "F32" || tensor.dtype == "F64" || tensor.dtype == "F16" ||
         tensor.dtype == "BF16";
}

double elementOf(const StoredTensor &tensor, int64_t index) {
  const char *base = tensor.bytes.data();
  if (tensor.dtype == "F32")
    return load<float>(base + 4 * index);
  if (tensor.dtype == "F64")
    return load<double>(base + 8 * index);
  uint16_t code = load<uint16_t>(base + 2 * index);
  if (tensor.dtype == "BF16") {
    uint32_t wide = uint32_t(code) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof(value));
    return value;
  }
  int exponent = code >> 10 & 31;
  int fraction = code & 1023;
  double value = exponent == 31  ? (fraction ? NAN : INFINITY)
                 : exponent == 0 ? std::ldexp(fraction, -24)
                                 : std::ldexp(fraction + 1024, exponent - 25);
  return code & 0x8000 ? -value : value;
}

} // namespace weft::builders
