// Decoding of tensor payloads: plain bytes, packed varints, widened elements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/onnx/IR/TensorData.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Diagnostics.h"
#include "weft/Interfaces/TensorTypes.h"
#include "weft/Support/ConfinedFile.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace weft::onnx;

unsigned weft::onnx::getStoredBits(Type element) {
  if (auto complex = dyn_cast<ComplexType>(element))
    return 2 * getStoredBits(complex.getElementType());
  if (!element.isIntOrFloat())
    return 0;
  return element.isInteger(1) ? 8 : element.getIntOrFloatBitWidth();
}

std::optional<int64_t> weft::onnx::getStoredBytes(RankedTensorType type) {
  int64_t bits = getStoredBits(type.getElementType());
  if (bits == 0 || !type.hasStaticShape())
    return std::nullopt;
  // A zero extent makes the product zero however large the others are.
  if (llvm::is_contained(type.getShape(), 0))
    return 0;
  for (int64_t extent : type.getShape())
    if (llvm::MulOverflow(bits, extent, bits))
      return std::nullopt;
  return llvm::divideCeil(bits, 8);
}

bool weft::onnx::isPlainFileData(TensorAttr tensor) {
  auto data = dyn_cast_or_null<DataAttr>(tensor.getData());
  if (!data)
    return false;
  // `float` and `double` hold what they say; the other fields are varints.
  return data.getField() == DataField::Raw || data.getField() == DataField::Float ||
         data.getField() == DataField::Double;
}

static unsigned fieldBytes(DataField field) {
  switch (field) {
  case DataField::Raw:
    return 1;
  case DataField::Float:
  case DataField::Int32:
    return 4;
  case DataField::Int64:
  case DataField::Double:
  case DataField::Uint64:
    return 8;
  }
  llvm_unreachable("unknown field");
}

/// Appends the varints in `text` as elements of `width` bytes.
static LogicalResult decodeVarints(llvm::StringRef text, unsigned width,
                                   SmallVectorImpl<char> &out) {
  uint64_t value = 0;
  unsigned shift = 0;
  for (unsigned char byte : text) {
    if (shift >= 64)
      return failure();
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    shift += 7;
    if (byte & 0x80)
      continue;
    const char *begin = reinterpret_cast<const char *>(&value);
    out.append(begin, begin + width);
    value = 0;
    shift = 0;
  }
  return success(shift == 0);
}

std::vector<std::string> weft::onnx::dataFilesOf(ModuleOp model) {
  llvm::StringSet<> found;
  AttrTypeWalker attributes;
  attributes.addWalk([&](DataAttr data) { found.insert(data.getFile().getValue()); });
  model.walk([&](Operation *op) { attributes.walk(op->getAttrDictionary()); });
  std::vector<std::string> files;
  for (llvm::StringRef file : found.keys())
    files.push_back(file.str());
  llvm::sort(files);
  return files;
}

/// Opens the file of `data`. A path that a model's text gave is held to the
/// model's folder again: the file may have been exchanged since the import.
static llvm::Error openData(TensorAttr tensor, DataAttr data, weft::ConfinedFile &file) {
  llvm::StringRef path = data.getFile().getValue();
  llvm::StringRef location = llvm::sys::path::filename(path);
  if (ArrayAttr entries = tensor.getExternal())
    for (auto entry : entries.getAsRange<EntryAttr>())
      if (entry.getKey() && entry.getKey() == "location" && entry.getValue() &&
          path.ends_with(entry.getValue().getValue()))
        location = path.take_back(entry.getValue().size());
  llvm::StringRef folder = path.drop_back(location.size());
  // The model file itself may be a link: only external data is untrusted.
  if (!tensor.getExternal()) {
    llvm::SmallString<256> real;
    if (std::error_code error = llvm::sys::fs::real_path(path, real))
      return llvm::createStringError(error.message());
    return file.open(llvm::sys::path::parent_path(real), llvm::sys::path::filename(real));
  }
  return file.open(folder, location);
}

FailureOr<Payload> weft::onnx::readPayload(TensorAttr tensor, EmitError emitError) {
  Payload payload;
  if (!tensor.getData())
    return payload;
  if (auto held = dyn_cast<BytesAttr>(tensor.getData())) {
    payload.field = held.getField();
    llvm::append_range(payload.bytes, held.getBytes().getValue());
    return payload;
  }
  auto data = dyn_cast<DataAttr>(tensor.getData());
  if (!data) {
    emitError() << "cannot read a tensor of strings as numbers";
    return failure();
  }
  payload.field = data.getField();
  llvm::StringRef path = data.getFile().getValue();
  weft::ConfinedFile file;
  auto cannotRead = [&](llvm::Error reason) {
    emitError() << "cannot read '" << path << "': " << llvm::toString(std::move(reason));
    return failure();
  };
  if (llvm::Error reason = openData(tensor, data, file))
    return cannotRead(std::move(reason));
  uint64_t offset = data.getOffset(), length = data.getLength();
  if (offset > file.getSize() || length > file.getSize() - offset) {
    emitError() << "needs " << length << " bytes at offset " << offset << " of '" << path
                << "', which has " << file.getSize();
    return failure();
  }
  SmallVector<char, 0> bytes;
  bytes.resize_for_overwrite(length);
  if (llvm::Error reason = file.read(offset, length, bytes.data()))
    return cannotRead(std::move(reason));
  if (isPlainFileData(tensor)) {
    payload.bytes = std::move(bytes);
  } else if (failed(decodeVarints({bytes.data(), bytes.size()}, fieldBytes(payload.field),
                                  payload.bytes))) {
    emitError() << "holds a damaged varint in '" << path << "'";
    return failure();
  }
  return payload;
}

FailureOr<SmallVector<char, 0>> weft::onnx::readTensor(TensorAttr tensor, EmitError emitError) {
  RankedTensorType type = tensor.getType();
  std::optional<int64_t> expected = getStoredBytes(type);
  if (!expected) {
    emitError() << "cannot read the elements of a constant of type " << type;
    return failure();
  }
  FailureOr<Payload> payload = readPayload(tensor, emitError);
  if (failed(payload))
    return failure();
  SmallVector<char, 0> result;
  unsigned bits = getStoredBits(type.getElementType());
  unsigned from = fieldBytes(payload->field);
  bool same = payload->field == DataField::Raw || isa<ComplexType>(type.getElementType()) ||
              bits == 8 * from;
  if (same) {
    result = std::move(payload->bytes);
  } else {
    // The field is wider than the element: int32 for bytes and halves, uint64
    // for uint32. Sub-byte types come two or four to a field element.
    int64_t to = elementBytes(type);
    for (size_t i = 0; i + from <= payload->bytes.size(); i += from)
      result.append(payload->bytes.begin() + i, payload->bytes.begin() + i + to);
  }
  if (static_cast<int64_t>(result.size()) != *expected) {
    emitError() << "holds " << result.size() << " bytes, but its type " << type << " needs "
                << *expected;
    return failure();
  }
  return result;
}
