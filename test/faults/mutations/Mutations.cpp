// Mutations of bytes and of fields found by reflection.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/faults/mutations/Mutations.h"
#include "onnx.pb.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using weft::onnx::Model;
using weft::test::pick;
using weft::test::Random;

uint64_t weft::test::pick(Random &random, uint64_t bound) { return bound ? random() % bound : 0; }

/// Values that sit on edges.
static int64_t oddNumber(Random &random) {
  static const int64_t odd[] = {0,         -1,      1,   INT32_MAX, INT32_MIN, INT64_MAX,
                                INT64_MIN, 1 << 20, 255, 26,        27,        99};
  return odd[pick(random, std::size(odd))];
}

static void mutateBytes(std::string &bytes, const std::string &other, Random &random) {
  for (uint64_t i = 0, e = 1 + pick(random, 8); i < e && !bytes.empty(); ++i) {
    size_t at = pick(random, bytes.size());
    size_t size = 1 + pick(random, std::min<size_t>(64, bytes.size() - at));
    switch (pick(random, 7)) {
    case 0:
      bytes[at] ^= 1 << pick(random, 8);
      break;
    case 1:
      bytes[at] = static_cast<char>(random());
      break;
    case 2:
      bytes.erase(at, size);
      break;
    case 3:
      bytes.insert(at, bytes.substr(at, size));
      break;
    case 4:
      bytes.resize(at);
      break;
    case 5:
      bytes[at] = static_cast<char>(0xff);
      break;
    case 6:
      if (!other.empty())
        bytes.insert(at, other, pick(random, other.size()), size);
      break;
    }
  }
}

static void mutateField(Message &message, const FieldDescriptor *field, Random &random) {
  const auto *reflection = message.GetReflection();
  if (field->is_repeated()) {
    int size = reflection->FieldSize(message, field);
    if (size > 1 && pick(random, 3) == 0) {
      reflection->SwapElements(&message, field, pick(random, size), pick(random, size));
      return;
    }
    if (size > 0 && pick(random, 2) == 0) {
      reflection->RemoveLast(&message, field);
      return;
    }
    if (field->message_type())
      reflection->AddMessage(&message, field);
    else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING)
      reflection->AddString(&message, field, pick(random, 2) ? "x" : "");
    else if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT64)
      reflection->AddInt64(&message, field, oddNumber(random));
    else if (field->cpp_type() == FieldDescriptor::CPPTYPE_FLOAT)
      reflection->AddFloat(&message, field, 0.5f);
    return;
  }
  if (pick(random, 3) == 0) {
    reflection->ClearField(&message, field);
    return;
  }
  switch (field->cpp_type()) {
  case FieldDescriptor::CPPTYPE_INT64:
    return reflection->SetInt64(&message, field, oddNumber(random));
  case FieldDescriptor::CPPTYPE_INT32:
    return reflection->SetInt32(&message, field, oddNumber(random));
  case FieldDescriptor::CPPTYPE_FLOAT:
    return reflection->SetFloat(&message, field, oddNumber(random));
  case FieldDescriptor::CPPTYPE_ENUM:
    return reflection->SetEnumValue(&message, field, pick(random, 16));
  case FieldDescriptor::CPPTYPE_STRING:
    return reflection->SetString(&message, field,
                                 pick(random, 2) ? std::string(pick(random, 3000), 'a') : "x");
  case FieldDescriptor::CPPTYPE_MESSAGE:
    reflection->MutableMessage(&message, field);
    return;
  default:
    return;
  }
}

/// Walks a random way down the message and changes one field there.
static void mutateTree(Message &message, Random &random) {
  const auto *type = message.GetDescriptor();
  const auto *reflection = message.GetReflection();
  const FieldDescriptor *field = type->field(pick(random, type->field_count()));
  if (field->message_type() && pick(random, 8) != 0) {
    if (!field->is_repeated() && reflection->HasField(message, field))
      return mutateTree(*reflection->MutableMessage(&message, field), random);
    if (field->is_repeated() && reflection->FieldSize(message, field) > 0)
      return mutateTree(*reflection->MutableRepeatedMessage(
                            &message, field, pick(random, reflection->FieldSize(message, field))),
                        random);
  }
  mutateField(message, field, random);
}

std::vector<std::string> weft::test::loadCorpus(const std::string &folder) {
  std::vector<std::string> corpus;
  std::error_code error;
  for (llvm::sys::fs::recursive_directory_iterator it(folder, error), end; it != end && !error;
       it.increment(error))
    if (llvm::StringRef(it->path()).ends_with(".onnx"))
      if (auto buffer = llvm::MemoryBuffer::getFile(it->path()))
        corpus.push_back((*buffer)->getBuffer().str());
  llvm::sort(corpus);
  return corpus;
}

std::string weft::test::mutatedFields(const std::vector<std::string> &corpus, Random &random) {
  Model model;
  const std::string &bytes = corpus[pick(random, corpus.size())];
  if (!model.ParseFromString(bytes))
    return bytes;
  for (uint64_t i = 0, e = 1 + pick(random, 12); i < e; ++i)
    mutateTree(model, random);
  return model.SerializePartialAsString();
}

std::string weft::test::mutatedModel(const std::vector<std::string> &corpus, Random &random) {
  if (pick(random, 2))
    return mutatedFields(corpus, random);
  std::string bytes = corpus[pick(random, corpus.size())];
  mutateBytes(bytes, corpus[pick(random, corpus.size())], random);
  return bytes;
}
