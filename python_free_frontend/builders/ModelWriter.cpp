// Streams models in protobuf wire format, and external data.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/ModelWriter.h"

#include "weft/Support/OutputFile.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace weft::builders {
namespace {

// protobuf refuses messages of 2 GiB; above the lower figure weights leave the
// file unasked.
constexpr int64_t kMessageLimit = (int64_t(1) << 31) - 1;
constexpr int64_t kInlineLimit = 1'500'000'000;
// The alignment that the standard recommends, so that weights can be mapped.
constexpr int64_t kAlignment = 4096;
constexpr int64_t kChunk = 1 << 16; // elements

int64_t alignUp(int64_t offset) { return (offset + kAlignment - 1) / kAlignment * kAlignment; }

std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7)
    bytes.push_back(char(value | 0x80));
  bytes.push_back(char(value));
  return bytes;
}

/// Tag and length of a length-delimited field.
std::string fieldHeader(int number, uint64_t length) {
  return varint(uint64_t(number) << 3 | 2) + varint(length);
}

/// Placement of one weight in the file or in the external data.
struct Slot {
  const Weight *weight;
  int64_t elements, bytes;
  int64_t offset; // in the external data
};

Expected<std::vector<Slot>> layOut(ArrayRef<Weight> weights, int32_t type) {
  std::vector<Slot> slots;
  int64_t end = 0;
  for (const Weight &weight : weights) {
    Slot slot{&weight, 1, 0, alignUp(end)};
    bool overflow = false;
    for (int64_t dim : weight.dims)
      overflow |= __builtin_mul_overflow(slot.elements, dim, &slot.elements);
    overflow |= __builtin_mul_overflow(slot.elements, elementSize(type), &slot.bytes);
    overflow |= __builtin_add_overflow(slot.offset, slot.bytes, &end);
    if (overflow || end > INT64_MAX / 2)
      return createStringError(inconvertibleErrorCode(),
                               "--build: the weights up to '%s' do not fit in "
                               "2^62 bytes; choose smaller dimensions",
                               weight.name.c_str());
    slots.push_back(slot);
  }
  return slots;
}

onnx::Tensor tensorHeader(const Weight &weight, int32_t type) {
  onnx::Tensor tensor;
  for (int64_t dim : weight.dims)
    tensor.add_dims(dim);
  tensor.set_data_type(type);
  tensor.set_name(weight.name);
  return tensor;
}

void addEntry(onnx::Tensor &tensor, const char *key, const std::string &value) {
  auto *entry = tensor.add_external_data();
  entry->set_key(key);
  entry->set_value(value);
}

/// Cuts the parts of the model that protobuf writes before and after the
/// weights, so that the streamed file has protobuf's own field order.
struct Frame {
  std::string modelHead, graphHead, graphTail, modelTail;

  explicit Frame(const onnx::Model &model) {
    onnx::Model head, tail;
    head.set_ir_version(model.ir_version());
    head.set_producer_name(model.producer_name());
    *tail.mutable_opset_import() = model.opset_import();
    *tail.mutable_metadata_props() = model.metadata_props();
    onnx::Graph before, after;
    *before.mutable_node() = model.graph().node();
    before.set_name(model.graph().name());
    *before.mutable_initializer() = model.graph().initializer();
    *after.mutable_input() = model.graph().input();
    *after.mutable_output() = model.graph().output();
    modelHead = head.SerializeAsString();
    modelTail = tail.SerializeAsString();
    graphHead = before.SerializeAsString();
    graphTail = after.SerializeAsString();
  }
};

/// Where weights come from and go to, and who is told how many did.
struct Stream {
  int32_t type;
  WeightSource *source;
  const Written &written;
  int64_t total, done = 0; // bytes

  void tell(int64_t more) {
    done += more;
    if (written)
      written(done, total);
  }
};

Error stream(const Slot &slot, Stream &weights, raw_ostream &os) {
  std::vector<double> values;
  std::string bytes;
  for (int64_t begin = 0; begin < slot.elements; begin += kChunk) {
    values.resize(std::min(kChunk, slot.elements - begin));
    if (Error error = weights.source->read(*slot.weight, begin, values))
      return error;
    bytes.clear();
    appendEncoded(values, weights.type, bytes);
    os << bytes;
    weights.tell(int64_t(bytes.size()));
  }
  return Error::success();
}

Error writeData(ArrayRef<Slot> slots, Stream &weights, OutputFile &file) {
  int64_t position = 0;
  for (const Slot &slot : slots) {
    file.os().write_zeros(slot.offset - position);
    if (Error error = stream(slot, weights, file.os()))
      return error;
    position = slot.offset + slot.bytes;
  }
  return Error::success();
}

} // namespace

Expected<WriteSummary> writeModel(GraphBuilder &g, WeightSource *source, StringRef path,
                                  const Written &written) {
  const onnx::Model &model = g.model();
  int32_t type = g.dataType();
  Expected<std::vector<Slot>> slots = layOut(g.weights(), type);
  if (!slots)
    return slots.takeError();

  WriteSummary summary;
  summary.nodes = model.graph().node_size();
  for (const Slot &slot : *slots) {
    summary.parameters += slot.elements;
    summary.weightBytes += slot.bytes;
  }
  const std::string &policy = g.spec().external;
  bool outside = policy == "1" || (policy == "auto" && summary.weightBytes > kInlineLimit);
  summary.external = outside || !source;
  if (summary.external && path == "-")
    return createStringError(inconvertibleErrorCode(),
                             "external data needs a file name beside which it "
                             "can lie; replace -o - by -o FILE.onnx");

  Frame frame(model);
  std::string dataName = (sys::path::filename(path) + ".data").str();
  int64_t graphSize = frame.graphHead.size() + frame.graphTail.size();
  std::vector<std::string> headers;
  for (const Slot &slot : *slots) {
    onnx::Tensor tensor = tensorHeader(*slot.weight, type);
    std::string header;
    if (summary.external) {
      addEntry(tensor, "location", dataName);
      addEntry(tensor, "offset", std::to_string(slot.offset));
      addEntry(tensor, "length", std::to_string(slot.bytes));
      tensor.set_data_location(onnx::Tensor::EXTERNAL);
      std::string body = tensor.SerializeAsString();
      header = fieldHeader(onnx::Graph::kInitializerFieldNumber, body.size()) + body;
    } else {
      std::string body =
          tensor.SerializeAsString() + fieldHeader(onnx::Tensor::kRawDataFieldNumber, slot.bytes);
      header = fieldHeader(onnx::Graph::kInitializerFieldNumber, body.size() + slot.bytes) + body;
      graphSize += slot.bytes;
    }
    graphSize += header.size();
    headers.push_back(std::move(header));
  }
  if (graphSize + int64_t(frame.modelHead.size() + frame.modelTail.size()) + 16 > kMessageLimit)
    return createStringError(
        inconvertibleErrorCode(),
        "--build %s: the file would have %lld bytes, above protobuf's limit of "
        "2 GiB; %s",
        g.spec().text.c_str(), (long long)graphSize,
        summary.external ? "choose fewer layers or a smaller seq" : "add the key external=1");

  OutputFile data, file;
  bool hasData = summary.external && source;
  Stream weights{type, source, written, summary.weightBytes};
  if (source)
    weights.tell(0);
  if (Error error = file.open(path))
    return std::move(error);
  if (hasData) {
    if (Error error = data.open(path.str() + ".data"))
      return std::move(error);
    if (Error error = writeData(*slots, weights, data))
      return std::move(error);
  }
  file.os() << frame.modelHead << fieldHeader(onnx::Model::kGraphFieldNumber, graphSize)
            << frame.graphHead;
  for (auto [slot, header] : zip(*slots, headers)) {
    file.os() << header;
    if (!summary.external)
      if (Error error = stream(slot, weights, file.os()))
        return std::move(error);
  }
  file.os() << frame.graphTail << frame.modelTail;
  // Both lie on the disk before the first takes its name: see weights/ModelFile.cpp.
  if (hasData) {
    if (Error error = data.prepare())
      return std::move(error);
    if (Error error = file.prepare())
      return std::move(error);
    if (Error error = data.commit())
      return std::move(error);
  }
  if (Error error = file.commit())
    return std::move(error);
  return summary;
}

} // namespace weft::builders
