// Reads cases through our own schema and importer, and compares tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Case.h"

#include "Closeness.h"

#include "dialects/onnx/IR/Onnx.h"
#include "dialects/onnx/IR/TensorData.h"
#include "onnx.pb.h"
#include "python_free_frontend/importer/AttributeImporter.h"
#include "python_free_frontend/importer/Importer.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace weft;
using namespace weft::conformance;

static std::string readTensorFile(const std::string &path, MLIRContext *context,
                                  HostTensor &result) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return path + ": " + buffer.getError().message();
  onnx::Tensor message;
  if (!message.ParseFromArray((*buffer)->getBufferStart(), (*buffer)->getBufferSize()))
    return path + " is not a tensor";
  onnx::ImportOptions options;
  options.inlineData = true;
  onnx::AttributeImporter importer(context, path, {}, options);
  Location loc = UnknownLoc::get(context);
  auto tensor = importer.importTensor(message, loc);
  if (failed(tensor))
    return path + " cannot be imported";
  RankedTensorType type = tensor->getType();
  if (!type.getElementType().isIntOrFloat() || type.getElementType().getIntOrFloatBitWidth() > 64 ||
      onnx::getStoredBits(type.getElementType()) < 8)
    return path + " has elements that are not numbers";
  auto bytes = onnx::readTensor(*tensor, [&] { return emitError(loc); });
  if (failed(bytes))
    return path + " cannot be read";
  result = decodeHostTensor(RankedTensorType::get(type.getShape(), type.getElementType()), *bytes);
  return "";
}

static std::string readTensors(const std::string &folder, llvm::StringRef prefix, ArrayAttr infos,
                               MLIRContext *context, std::vector<NamedTensor> &tensors) {
  for (unsigned i = 0;; ++i) {
    std::string path = folder + "/" + prefix.str() + "_" + std::to_string(i) + ".pb";
    if (!llvm::sys::fs::exists(path))
      return "";
    if (!infos || i >= infos.size())
      return path + " belongs to nothing in the graph";
    auto info = cast<onnx::ValueInfoAttr>(infos[i]);
    NamedTensor named;
    named.name = info.getName() ? info.getName().str() : "";
    if (std::string why = readTensorFile(path, context, named.tensor); !why.empty())
      return why;
    tensors.push_back(std::move(named));
  }
}

std::string conformance::loadCase(Case &test, MLIRContext *context) {
  test.model = onnx::importModel(test.folder + "/model.onnx", context);
  if (!test.model)
    return "the model does not import";
  onnx::GraphOp graph = onnx::getMainGraph(*test.model);
  if (!graph)
    return "the model has no graph";
  for (unsigned i = 0;; ++i) {
    std::string folder = test.folder + "/test_data_set_" + std::to_string(i);
    if (!llvm::sys::fs::exists(folder))
      break;
    DataSet data;
    std::string why =
        readTensors(folder, "input", graph.getInfo().getInputs(), context, data.inputs);
    if (why.empty())
      why = readTensors(folder, "output", graph.getInfo().getOutputs(), context, data.outputs);
    if (!why.empty())
      return why;
    test.dataSets.push_back(std::move(data));
  }
  return test.dataSets.empty() ? "the case has no recorded data" : "";
}

HostTensor conformance::asElementType(const HostTensor &recorded, Type element) {
  if (!element.isBF16() || !recorded.elementType.isUnsignedInteger(16))
    return recorded;
  HostTensor tensor(RankedTensorType::get(recorded.shape, element));
  for (auto [real, bits] : llvm::zip_equal(tensor.reals, recorded.integers))
    real = llvm::APFloat(llvm::APFloat::BFloat(), llvm::APInt(16, bits)).convertToDouble();
  return tensor;
}

static std::string textOf(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (auto [i, extent] : llvm::enumerate(shape))
    text += (i ? "x" : "") + std::to_string(extent);
  return text + "]";
}

/// Bits of the significand of a type of 16 bits; 0 of others.
static int digitsOf(Type element) { return element.isBF16() ? 8 : element.isF16() ? 11 : 0; }

std::string conformance::compare(const HostTensor &found, const HostTensor &expected,
                                 unsigned units) {
  if (found.shape != expected.shape)
    return "shape " + textOf(found.shape) + ", expected " + textOf(expected.shape);
  if (found.elementType != expected.elementType) {
    std::string text;
    llvm::raw_string_ostream(text)
        << "element type " << found.elementType << ", expected " << expected.elementType;
    return text;
  }
  for (int64_t i = 0, e = expected.size(); i < e; ++i) {
    if (!expected.isFloat()) {
      if (found.integers[i] != expected.integers[i])
        return "element " + std::to_string(i) + " is " + std::to_string(found.integers[i]) +
               ", expected " + std::to_string(expected.integers[i]);
      continue;
    }
    double y = found.reals[i], o = expected.reals[i];
    if (!isClose(y, o, units, digitsOf(expected.elementType)))
      return "element " + std::to_string(i) + " is " + std::to_string(y) + ", expected " +
             std::to_string(o);
  }
  return "";
}
