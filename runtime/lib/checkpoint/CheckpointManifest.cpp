// Text of manifests, and its parser, which trusts nothing.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checkpoint/CheckpointManifest.h"

#include "files/Safetensors.h"

#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

using namespace weft::runtime;
using Json = nlohmann::json;

namespace {

constexpr size_t kMostDepth = 8; // of brackets; a manifest has 6
constexpr size_t kMostNotes = 256;
constexpr size_t kMostViewDims = 48; // factors of all dimensions of a tensor

std::string hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

/// The first line; it holds the checksum of all that follows.
std::string firstLine(std::string_view rest) {
  return "{\"weft_checkpoint\":1,\"hash\":\"" + hex(hashBytes(rest.data(), rest.size())) + "\",\n";
}

std::string list(const std::vector<int64_t> &values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? "," : "") + std::to_string(values[i]);
  return text + "]";
}

bool parseHex(const std::string &text, size_t at, uint64_t &value) {
  value = 0;
  for (size_t i = at; i < at + 16; ++i) {
    char c = text[i];
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
      return false;
    value = value << 4 | uint64_t(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  return true;
}

/// Refuses what is nested too deeply before anything is built of it.
bool isShallow(std::string_view text) {
  size_t depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMostDepth)
        return false;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return true;
}

/// Reads typed fields of one object; the first fault is kept.
class Reader {
public:
  Reader(const Json &object, std::string where) : object(object), where(std::move(where)) {
    if (!object.is_object())
      fail("is not an object");
  }

  Status status;

  int64_t integer(const char *key, int64_t least = 0) {
    const Json *field = find(key);
    if (!field)
      return least;
    return integerOf(*field, key, least);
  }
  /// One that goes on growing: what no run comes to would overflow in the next.
  int64_t count(const char *key) {
    constexpr int64_t kMost = int64_t(1) << 53;
    int64_t value = integer(key);
    if (value > kMost)
      fail("has a '" + std::string(key) + "' of " + std::to_string(value) + ", above " +
           std::to_string(kMost));
    return value;
  }
  uint64_t number(const char *key) {
    const Json *field = find(key);
    if (field && field->is_number_unsigned())
      return field->get<uint64_t>();
    fail("has no number '" + std::string(key) + "'");
    return 0;
  }
  std::string string(const char *key) {
    const Json *field = find(key);
    if (field && field->is_string())
      return field->get<std::string>();
    fail("has no string '" + std::string(key) + "'");
    return {};
  }
  std::vector<int64_t> integers(const char *key, size_t most) {
    std::vector<int64_t> result;
    for (const Json &item : array(key)) {
      result.push_back(integerOf(item, key, 0));
      if (result.size() > most) {
        fail("has too many values in '" + std::string(key) + "'");
        break;
      }
    }
    return result;
  }
  const Json &array(const char *key) {
    static const Json none = Json::array();
    const Json *field = find(key);
    if (field && field->is_array())
      return *field;
    fail("has no list '" + std::string(key) + "'");
    return none;
  }
  const Json &field(const char *key) {
    static const Json none;
    const Json *found = find(key);
    return found ? *found : none;
  }
  void fail(const std::string &what) {
    if (status.ok())
      status = Status::user("the manifest's " + where + " " + what);
  }

private:
  int64_t integerOf(const Json &item, const char *key, int64_t least) {
    if (item.is_number_unsigned() && item.get<uint64_t>() <= uint64_t(INT64_MAX) &&
        item.get<int64_t>() >= least)
      return item.get<int64_t>();
    fail("has a '" + std::string(key) + "' that is no number of at least " + std::to_string(least));
    return least;
  }
  const Json *find(const char *key) {
    if (!object.is_object())
      return nullptr;
    auto found = object.find(key);
    if (found != object.end())
      return &*found;
    fail("lacks '" + std::string(key) + "'");
    return nullptr;
  }

  const Json &object;
  std::string where;
};

Status parseFile(const Json &json, uint64_t blockBytes, size_t index,
                 CheckpointManifest::File &file) {
  Reader reader(json, "file " + std::to_string(index));
  file.bytes = uint64_t(reader.integer("bytes"));
  std::string hashes = reader.string("hashes");
  uint64_t blocks = file.bytes / blockBytes + (file.bytes % blockBytes != 0);
  if (reader.status.ok() && (hashes.size() % 16 != 0 || hashes.size() / 16 != blocks))
    reader.fail("has another number of checksums than blocks");
  if (!reader.status.ok())
    return reader.status;
  for (size_t i = 0; i < hashes.size(); i += 16) {
    uint64_t value = 0;
    if (!parseHex(hashes, i, value)) {
      reader.fail("has a checksum that is not hexadecimal");
      return reader.status;
    }
    file.hashes.push_back(value);
  }
  return {};
}

/// The product of `sizes`; false when it does not fit.
bool productOf(const std::vector<int64_t> &sizes, int64_t &result) {
  result = 1;
  for (int64_t size : sizes)
    if (size == 0) {
      result = 0;
      return true;
    }
  for (int64_t size : sizes)
    if (__builtin_mul_overflow(result, size, &result))
      return false;
  return true;
}

Status parseBox(const Json &json, const std::string &where, const CheckpointManifest &manifest,
                CheckpointManifest::Tensor &tensor) {
  Reader reader(json, "box " + std::to_string(tensor.boxes.size()) + " of " + where);
  CheckpointManifest::Box box;
  uint64_t file = uint64_t(reader.integer("file"));
  box.offset = uint64_t(reader.integer("offset"));
  box.view = reader.integers("view", kMostViewDims);
  box.start = reader.integers("start", kMostViewDims);
  box.size = reader.integers("size", kMostViewDims);
  if (!reader.status.ok())
    return reader.status;
  int64_t elements = 0;
  if (!productOf(box.view, elements) || elements != tensor.numElements() ||
      box.start.size() != box.view.size() || box.size.size() != box.view.size())
    reader.fail("is not of the tensor's shape");
  for (size_t d = 0; reader.status.ok() && d < box.view.size(); ++d)
    if (box.size[d] < 1 || box.start[d] > box.view[d] - box.size[d])
      reader.fail("reaches outside the tensor");
  if (reader.status.ok() && file >= manifest.files.size())
    reader.fail("is in a file that is not listed");
  if (!reader.status.ok())
    return reader.status;
  box.file = uint32_t(file);
  uint64_t size = manifest.files[file].bytes;
  // The box is no larger than the tensor, whose bytes fit.
  uint64_t bytes = uint64_t(box.count()) * dtypeBytes(tensor.dtype);
  if (box.offset > size || bytes > size - box.offset)
    reader.fail("reaches outside its file");
  tensor.boxes.push_back(std::move(box));
  return reader.status;
}

Status parseTensor(const Json &json, CheckpointManifest &manifest) {
  Reader reader(json, "tensor " + std::to_string(manifest.tensors.size()));
  CheckpointManifest::Tensor tensor;
  tensor.name = reader.string("name");
  std::string dtype = reader.string("dtype");
  std::string kind = reader.string("class");
  tensor.shape = reader.integers("shape", kMaxTensorRank);
  if (reader.status.ok() && !safetensorsType(dtype, tensor.dtype))
    reader.fail("has the unknown dtype " + quoteJson(dtype));
  tensor.optimizer = kind == "optimizer";
  if (reader.status.ok() && !tensor.optimizer && kind != "parameter")
    reader.fail("has the unknown class " + quoteJson(kind));
  int64_t elements = 0;
  if (reader.status.ok() && (!productOf(tensor.shape, elements) || elements > INT64_MAX / 8))
    reader.fail("is too large");
  if (!reader.status.ok())
    return reader.status;
  std::string where = "tensor " + quoteJson(tensor.name);
  for (const Json &box : reader.array("boxes"))
    WEFT_TRY(parseBox(box, where, manifest, tensor));
  // Counted here; that they do not overlap is checked where they are read.
  int64_t covered = 0;
  for (const CheckpointManifest::Box &box : tensor.boxes)
    if (__builtin_add_overflow(covered, box.count(), &covered))
      covered = -1;
  if (reader.status.ok() && covered != elements)
    reader.fail("(" + quoteJson(tensor.name) + ") has " + std::to_string(elements) +
                " elements, its boxes " + std::to_string(covered));
  manifest.tensors.push_back(std::move(tensor));
  return reader.status;
}

Status parseTop(const Json &json, CheckpointManifest &manifest) {
  Reader reader(json, "top level");
  manifest.info.step = reader.count("step");
  manifest.info.samples = reader.count("samples");
  manifest.info.seed = reader.number("seed");
  manifest.ordinal = uint64_t(reader.count("ordinal"));
  manifest.model = reader.string("model");
  manifest.executable = reader.string("executable");
  manifest.blockBytes = uint64_t(reader.integer("block_bytes"));
  if (manifest.blockBytes < kLeastBlock || manifest.blockBytes > kMostBlock)
    reader.fail("has a strange 'block_bytes'");
  const Json &notes = reader.field("notes");
  if (reader.status.ok() && (!notes.is_object() || notes.size() > kMostNotes))
    reader.fail("has strange 'notes'");
  if (!reader.status.ok())
    return reader.status;
  for (const auto &[key, value] : notes.items()) {
    if (!value.is_string()) {
      reader.fail("has a note that is not a string");
      return reader.status;
    }
    manifest.info.notes[key] = value.get<std::string>();
  }
  for (const Json &axis : reader.array("mesh")) {
    Reader entry(axis, "mesh");
    std::string name = entry.string("axis");
    manifest.mesh.push_back({name, entry.integer("size", 1)});
    WEFT_TRY(entry.status);
  }
  for (const Json &file : reader.array("files")) {
    manifest.files.emplace_back();
    WEFT_TRY(
        parseFile(file, manifest.blockBytes, manifest.files.size() - 1, manifest.files.back()));
  }
  for (const Json &tensor : reader.array("tensors"))
    WEFT_TRY(parseTensor(tensor, manifest));
  return reader.status;
}

} // namespace

int64_t CheckpointManifest::Tensor::numElements() const {
  int64_t result = 1;
  for (int64_t size : shape)
    result *= size;
  return result;
}

std::string weft::runtime::checkpointFileName(uint64_t rank) {
  char text[48];
  std::snprintf(text, sizeof text, "rank-%05llu.safetensors",
                static_cast<unsigned long long>(rank));
  return text;
}

std::string weft::runtime::writeManifest(const CheckpointManifest &m) {
  std::string text =
      "\"step\":" + std::to_string(m.info.step) + ",\"samples\":" + std::to_string(m.info.samples) +
      ",\"seed\":" + std::to_string(m.info.seed) + ",\"ordinal\":" + std::to_string(m.ordinal) +
      ",\n\"model\":" + quoteJson(m.model) + ",\"executable\":" + quoteJson(m.executable) +
      ",\"block_bytes\":" + std::to_string(m.blockBytes) + ",\n\"mesh\":[";
  for (const auto &[axis, size] : m.mesh)
    text += (text.back() == '[' ? "" : ",") + std::string("{\"axis\":") + quoteJson(axis) +
            ",\"size\":" + std::to_string(size) + "}";
  text += "],\n\"notes\":{";
  for (const auto &[key, value] : m.info.notes)
    text += (text.back() == '{' ? "" : ",") + quoteJson(key) + ":" + quoteJson(value);
  text += "},\n\"files\":[";
  for (const CheckpointManifest::File &file : m.files) {
    text += (text.back() == '[' ? "\n" : ",\n") + std::string("{\"bytes\":") +
            std::to_string(file.bytes) + ",\"hashes\":\"";
    for (uint64_t value : file.hashes)
      text += hex(value);
    text += "\"}";
  }
  text += "],\n\"tensors\":[";
  for (const CheckpointManifest::Tensor &tensor : m.tensors) {
    text += (text.back() == '[' ? "\n" : ",\n") + std::string("{\"name\":") +
            quoteJson(tensor.name) + ",\"dtype\":\"" + safetensorsName(tensor.dtype) +
            "\",\"class\":\"" + (tensor.optimizer ? "optimizer" : "parameter") +
            "\",\"shape\":" + list(tensor.shape) + ",\"boxes\":[";
    for (const CheckpointManifest::Box &box : tensor.boxes)
      text += (text.back() == '[' ? "" : ",") + std::string("{\"file\":") +
              std::to_string(box.file) + ",\"offset\":" + std::to_string(box.offset) +
              ",\"view\":" + list(box.view) + ",\"start\":" + list(box.start) +
              ",\"size\":" + list(box.size) + "}";
    text += "]}";
  }
  text += "]}\n";
  return firstLine(text) + text;
}

Status weft::runtime::parseManifest(const std::string &text, CheckpointManifest &manifest) {
  size_t line = text.find('\n');
  if (line == std::string::npos)
    return Status::user("the manifest is cut off");
  std::string_view rest = std::string_view(text).substr(line + 1);
  if (std::string_view(text).substr(0, line + 1) != firstLine(rest))
    return Status::user("the manifest does not match its checksum, or is of "
                        "another version of the format");
  if (!isShallow(text))
    return Status::user("the manifest is nested too deeply");
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded())
    return Status::user("the manifest is not JSON");
  manifest = {};
  return parseTop(json, manifest);
}
