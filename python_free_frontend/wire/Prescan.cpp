// The walk over the wire format, guided by the schema's descriptors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/wire/Prescan.h"
#include "onnx.pb.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>
#include <array>

using namespace weft::onnx;
using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

namespace {

enum WireType { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

/// Every field number of the schema is below this.
constexpr int kMaxField = 32;

struct MessageInfo {
  std::array<const FieldDescriptor *, kMaxField> fields = {};
  /// Estimate of what one such message and what we make of it occupy.
  uint64_t memory = 250;
  bool isTensor = false, isNode = false;
};

/// One part of the path from the model to the current message.
struct PathPart {
  const FieldDescriptor *field;
  unsigned index;
};

class Scanner {
public:
  Scanner(llvm::StringRef file, const ScanLimits &limits, Skeleton &skeleton)
      : file(file), limits(limits), skeleton(skeleton),
        memoryLimit(std::max<uint64_t>(limits.memoryBytes, 4 * file.size())) {}

  llvm::Error scan() {
    if (scanMessage(Model::descriptor(), 0, file.size(), 0))
      return llvm::Error::success();
    return llvm::createStringError(error);
  }

private:
  struct Field {
    size_t begin;    // of the tag
    size_t value;    // of the value, after a length
    size_t end;      // after the value
    uint64_t number; // of the field
    unsigned wireType;
    uint64_t varint; // value of a varint
  };

  bool scanMessage(const Descriptor *type, size_t begin, size_t end, unsigned depth);
  const MessageInfo &infoOf(const Descriptor *type);
  bool readVarint(size_t &at, size_t end, uint64_t &value);
  bool readField(size_t at, size_t end, Field &field);
  bool scanField(const FieldDescriptor *known, const Field &field, unsigned depth);
  bool countPayloadFields(size_t begin, size_t end, std::array<unsigned, kMaxField> &counts);
  bool charge(uint64_t bytes, size_t at);
  void copy(const Field &field) {
    skeleton.bytes.append(file.data() + field.begin, field.end - field.begin);
  }
  std::string describePath() const;
  bool fail(size_t at, const llvm::Twine &what) {
    error = (describePath() + ": " + what + " (at byte " + llvm::Twine(at) + ")").str();
    return false;
  }

  llvm::StringRef file;
  const ScanLimits &limits;
  Skeleton &skeleton;
  std::string error; ///< the first
  uint64_t memory = 0, memoryLimit;
  llvm::SmallVector<PathPart> path;
  llvm::DenseMap<const Descriptor *, MessageInfo> infos;
};

} // namespace

static void appendVarint(std::string &out, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

/// Lengths of messages are written last, in the widest form that protobuf
/// reads, because payloads vanish between begin and end.
static constexpr size_t kLengthBytes = 5;

static void patchLength(std::string &out, size_t at) {
  uint64_t length = out.size() - at - kLengthBytes;
  for (size_t i = 0; i < kLengthBytes; ++i, length >>= 7)
    out[at + i] = static_cast<char>((length & 0x7f) | (i + 1 < kLengthBytes ? 0x80 : 0));
}

/// Whether the field is a name, which the standard wants to be an identifier, and no free text.
static bool isName(const FieldDescriptor *field) {
  return field->type() == FieldDescriptor::TYPE_STRING && field->name() != "doc_string" &&
         field->containing_type() != weft::onnx::StringStringEntry::descriptor();
}

static bool isControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

static bool holdsPayload(int field) {
  switch (field) {
  case Tensor::kRawDataFieldNumber:
  case Tensor::kFloatDataFieldNumber:
  case Tensor::kInt32DataFieldNumber:
  case Tensor::kInt64DataFieldNumber:
  case Tensor::kDoubleDataFieldNumber:
  case Tensor::kUint64DataFieldNumber:
    return true;
  default:
    return false;
  }
}

/// The wire type of one value of `field`.
static WireType wireTypeOf(const FieldDescriptor *field) {
  switch (field->cpp_type()) {
  case FieldDescriptor::CPPTYPE_FLOAT:
    return Fixed32;
  case FieldDescriptor::CPPTYPE_DOUBLE:
    return Fixed64;
  case FieldDescriptor::CPPTYPE_STRING:
  case FieldDescriptor::CPPTYPE_MESSAGE:
    return Bytes;
  default:
    return Varint;
  }
}

std::string Scanner::describePath() const {
  std::string text = "model";
  for (const PathPart &part : path) {
    text += "." + part.field->name();
    if (part.field->is_repeated())
      text += "[" + std::to_string(part.index) + "]";
  }
  return text;
}

const MessageInfo &Scanner::infoOf(const Descriptor *type) {
  auto [it, inserted] = infos.try_emplace(type);
  MessageInfo &info = it->second;
  if (!inserted)
    return info;
  for (int i = 0; i < type->field_count(); ++i)
    info.fields[type->field(i)->number()] = type->field(i);
  info.isTensor = type == Tensor::descriptor();
  info.isNode = type == Node::descriptor();
  if (info.isNode)
    info.memory = 1500;
  else if (info.isTensor)
    info.memory = 1000;
  else if (type == Attribute::descriptor() || type == ValueInfo::descriptor())
    info.memory = 500;
  return info;
}

bool Scanner::charge(uint64_t bytes, size_t at) {
  memory += bytes;
  if (memory <= memoryLimit)
    return true;
  return fail(at, "the model has more parts than " + llvm::Twine(memoryLimit >> 20) +
                      " MiB of memory can hold; the file has " + llvm::Twine(file.size()) +
                      " bytes");
}

bool Scanner::readVarint(size_t &at, size_t end, uint64_t &value) {
  value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (at >= end)
      return fail(at, "the message ends inside a number");
    unsigned char byte = file[at++];
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (!(byte & 0x80))
      return true;
  }
  return fail(at, "a number has more than 10 bytes");
}

bool Scanner::readField(size_t at, size_t end, Field &field) {
  field.begin = at;
  uint64_t tag, length;
  if (!readVarint(at, end, tag))
    return false;
  field.number = tag >> 3;
  field.wireType = tag & 7;
  field.value = at;
  if (field.number == 0 || field.number >= (1u << 29))
    return fail(field.begin, "invalid field number " + llvm::Twine(field.number));
  switch (field.wireType) {
  case Varint:
    if (!readVarint(at, end, field.varint))
      return false;
    break;
  case Fixed32:
  case Fixed64: {
    size_t width = field.wireType == Fixed32 ? 4 : 8;
    if (end - at < width)
      return fail(at, "the message ends inside a number");
    at += width;
    break;
  }
  case Bytes:
    if (!readVarint(at, end, length))
      return false;
    if (length > end - at)
      return fail(field.begin, "field " + llvm::Twine(field.number) + " claims " +
                                   llvm::Twine(length) + " bytes, but only " +
                                   llvm::Twine(end - at) + " are left");
    field.value = at;
    at += length;
    break;
  default:
    return fail(field.begin, "invalid wire type " + llvm::Twine(field.wireType));
  }
  field.end = at;
  return true;
}

bool Scanner::countPayloadFields(size_t begin, size_t end,
                                 std::array<unsigned, kMaxField> &counts) {
  Field field;
  for (size_t at = begin; at < end; at = field.end) {
    if (!readField(at, end, field))
      return false;
    if (field.number < kMaxField && holdsPayload(field.number))
      ++counts[field.number];
  }
  return true;
}

bool Scanner::scanField(const FieldDescriptor *known, const Field &field, unsigned depth) {
  WireType expected = wireTypeOf(known);
  bool packed = field.wireType == Bytes && expected != Bytes;
  if (packed ? !known->is_repeated() : field.wireType != expected)
    return fail(field.begin,
                "field '" + known->name() + "' has wire type " + llvm::Twine(field.wireType));
  if (known->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    appendVarint(skeleton.bytes, field.number << 3 | Bytes);
    size_t lengthAt = skeleton.bytes.size();
    skeleton.bytes.append(kLengthBytes, '\0');
    if (!scanMessage(known->message_type(), field.value, field.end, depth + 1))
      return false;
    patchLength(skeleton.bytes, lengthAt);
    return true;
  }
  if (known->cpp_type() == FieldDescriptor::CPPTYPE_ENUM &&
      (field.varint > INT32_MAX ||
       !known->enum_type()->FindValueByNumber(static_cast<int>(field.varint))))
    return fail(field.begin,
                "field '" + known->name() + "' has the unknown value " + llvm::Twine(field.varint));
  llvm::StringRef content = file.slice(field.value, field.end);
  if (!limits.anyNames && isName(known) && llvm::any_of(content, isControl))
    return fail(field.begin, "the name '" + content +
                                 "' holds a control character, an end of a line or the like; "
                                 "give it another");
  // A packed number may take one byte here, of those of one size four, and eight, twice over while
  // the array grows, once parsed; a string at least its own object.
  uint64_t size = field.end - field.value;
  uint64_t cost = packed              ? (expected == Varint ? 24 : 3) * size
                  : expected == Bytes ? 100 + 3 * size
                                      : 24;
  if (!charge(cost, field.begin))
    return false;
  copy(field);
  return true;
}

bool Scanner::scanMessage(const Descriptor *type, size_t begin, size_t end, unsigned depth) {
  if (depth > limits.maxDepth)
    return fail(begin, "messages are nested more than " + llvm::Twine(limits.maxDepth) + " deep");
  const MessageInfo info = infoOf(type);
  if (!charge(info.memory, begin))
    return false;
  std::array<unsigned, kMaxField> payloads = {}, indices = {};
  if (info.isTensor && !countPayloadFields(begin, end, payloads))
    return false;
  if (payloads[Tensor::kRawDataFieldNumber] > 1)
    return fail(begin, "the tensor has raw_data twice");
  bool hasOperator = false;
  Field field;
  for (size_t at = begin; at < end; at = field.end) {
    if (!readField(at, end, field))
      return false;
    const FieldDescriptor *known = field.number < kMaxField ? info.fields[field.number] : nullptr;
    if (!known) {
      if (skeleton.numUnknownFields++ == 0)
        skeleton.firstUnknownField = describePath() + ", field " + std::to_string(field.number);
      continue;
    }
    if (info.isNode && field.number == Node::kOpTypeFieldNumber)
      hasOperator = field.end > field.value;
    if (info.isTensor && field.wireType == Bytes && payloads[field.number] == 1 &&
        field.end - field.value > limits.inlineBytes) {
      appendVarint(skeleton.bytes, Skeleton::kPlaceField << 3 | Varint);
      appendVarint(skeleton.bytes, skeleton.places.size());
      skeleton.places.push_back(
          {field.value, field.end - field.value, static_cast<int>(field.number)});
      continue;
    }
    path.push_back({known, indices[field.number]++});
    if (!scanField(known, field, depth))
      return false;
    path.pop_back();
    if (skeleton.bytes.size() > INT32_MAX - 16)
      return fail(at, "the model without its weights exceeds 2 GiB");
  }
  if (info.isNode && !hasOperator)
    return fail(begin, "the node has no op_type");
  return true;
}

llvm::Error weft::onnx::prescanModel(llvm::StringRef file, const ScanLimits &limits,
                                     Skeleton &skeleton) {
  return Scanner(file, limits, skeleton).scan();
}
