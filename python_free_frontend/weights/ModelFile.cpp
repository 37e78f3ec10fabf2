// A model file whose initializers are read, replaced and written back.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/weights/ModelFile.h"

#include "python_free_frontend/weights/TensorBytes.h"
#include "python_free_frontend/wire/MappedFile.h"
#include "python_free_frontend/wire/Prescan.h"
#include "weft/Support/ConfinedFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace weft::weights {
namespace {

constexpr uint64_t kMessageLimit = (uint64_t(1) << 31) - 1;
constexpr uint64_t kAlignment = 4096; // so that weights can be mapped

template <typename... Parts> Error fail(const char *format, Parts... parts) {
  return createStringError(inconvertibleErrorCode(), format, parts...);
}

void addEntry(onnx::Tensor &tensor, const char *key, const std::string &value) {
  auto *entry = tensor.add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

} // namespace

Error ModelFile::open(const std::string &path) {
  onnx::MappedFile file;
  if (Error wrong = file.open(path))
    return fail("cannot read '%s': %s", path.c_str(), toString(std::move(wrong)).c_str());
  onnx::Skeleton skeleton;
  onnx::ScanLimits limits;
  limits.inlineBytes = UINT64_MAX; // a message is below 2 GiB
  if (file.getBytes().size() > kMessageLimit)
    return fail("'%s' has more than 2 GiB, which no protobuf message has", path.c_str());
  if (Error wrong = onnx::prescanModel(file.getBytes(), limits, skeleton))
    return fail("'%s' is not a model file: %s", path.c_str(), toString(std::move(wrong)).c_str());
  numUnknown = skeleton.numUnknownFields;
  if (!model.ParseFromString(skeleton.bytes))
    return fail("'%s' is not a model file", path.c_str());
  this->path = path;
  return Error::success();
}

std::vector<const onnx::Tensor *> ModelFile::trainingInitializers() const {
  std::vector<const onnx::Tensor *> found;
  for (const onnx::TrainingInfo &info : model.training_info())
    for (const onnx::Tensor &tensor : info.algorithm().initializer())
      found.push_back(&tensor);
  return found;
}

std::vector<onnx::Tensor *> ModelFile::mutableInitializers() {
  std::vector<onnx::Tensor *> found;
  auto add = [&](onnx::Graph &graph) {
    for (onnx::Tensor &tensor : *graph.mutable_initializer())
      found.push_back(&tensor);
  };
  add(*model.mutable_graph());
  for (onnx::TrainingInfo &info : *model.mutable_training_info()) {
    if (info.has_initialization())
      add(*info.mutable_initialization());
    if (info.has_algorithm())
      add(*info.mutable_algorithm());
  }
  return found;
}

Error ModelFile::readExternal(const onnx::Tensor &tensor, std::string &bytes) const {
  std::string location;
  uint64_t offset = 0, length = bytesOf(tensor);
  for (const auto &entry : tensor.external_data()) {
    uint64_t value = 0;
    bool number = !StringRef(entry.value()).getAsInteger(10, value);
    if (entry.key() == "location")
      location = entry.value();
    else if ((entry.key() == "offset" || entry.key() == "length") && !number)
      return fail("%s '%s' of the external data of tensor '%s' is no number of bytes",
                  entry.key().c_str(), entry.value().c_str(), tensor.name().c_str());
    else if (entry.key() == "offset")
      offset = value;
    else if (entry.key() == "length" && value != length)
      return fail("tensor '%s' declares %llu bytes of external data, its shape "
                  "takes %llu",
                  tensor.name().c_str(), (unsigned long long)value, (unsigned long long)length);
  }
  auto cannotRead = [&](Error why) {
    return fail("external data '%s' of tensor '%s': %s", location.c_str(), tensor.name().c_str(),
                toString(std::move(why)).c_str());
  };
  ConfinedFile file;
  std::string found;
  if (Error error = file.openBeside(path, location, found))
    return cannotRead(std::move(error));
  if (length > file.getSize() || offset > file.getSize() - length)
    return fail("external data '%s' ends before tensor '%s' does", location.c_str(),
                tensor.name().c_str());
  bytes.resize(length);
  if (Error error = file.read(offset, length, bytes.data()))
    return cannotRead(std::move(error));
  return Error::success();
}

std::string dataFileOf(const std::string &path) { return path + ".data"; }

Error ModelWriter::open() { return external ? data.open(dataFileOf(path)) : Error::success(); }

Error ModelWriter::place(onnx::Tensor &tensor, std::string bytes, bool outside) {
  if (bytes.size() != bytesOf(tensor))
    return fail("tensor '%s' has %zu bytes, its shape takes %llu", tensor.name().c_str(),
                bytes.size(), (unsigned long long)bytesOf(tensor));
  tensor.clear_float_data();
  tensor.clear_int32_data();
  tensor.clear_int64_data();
  tensor.clear_double_data();
  tensor.clear_uint64_data();
  tensor.clear_raw_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
  if (!outside) {
    tensor.set_raw_data(std::move(bytes));
    return Error::success();
  }
  uint64_t at = data.os().tell();
  uint64_t offset = (at + kAlignment - 1) / kAlignment * kAlignment;
  data.os().write_zeros(unsigned(offset - at));
  data.os() << bytes;
  addEntry(tensor, "location", sys::path::filename(dataFileOf(path)).str());
  addEntry(tensor, "offset", std::to_string(offset));
  addEntry(tensor, "length", std::to_string(bytes.size()));
  tensor.set_data_location(onnx::Tensor::EXTERNAL);
  return Error::success();
}

Error ModelWriter::finish(const ModelFile &model) {
  if (model.message().ByteSizeLong() > kMessageLimit)
    return fail("'%s' would have more than 2 GiB, protobuf's limit; add "
                "--external-data",
                path.c_str());
  OutputFile file;
  if (Error error = file.open(path))
    return error;
  file.os() << model.message().SerializeAsString();
  if (!external)
    return file.commit();
  // Both lie on the disk before the first takes its name, so that no lack of place leaves the new
  // data beside the old model. Only an end between the two names could, and then the data has its
  // name first: a new model never names data that are not there.
  if (Error error = data.prepare())
    return error;
  if (Error error = file.prepare())
    return error;
  if (Error error = data.commit())
    return error;
  return file.commit();
}

} // namespace weft::weights
