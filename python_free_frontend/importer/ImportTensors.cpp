// Tensors: types, payloads held or left in their files, external data.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/onnx/IR/TensorData.h"
#include "mlir/IR/Diagnostics.h"
#include "python_free_frontend/importer/AttributeImporter.h"
#include "weft/Interfaces/TensorSize.h"
#include "weft/Support/ConfinedFile.h"
#include "llvm/Support/MathExtras.h"

using namespace weft::onnx;
using mlir::failure;
using mlir::FailureOr;
using mlir::Location;
using mlir::RankedTensorType;

/// The number of entries that `field` needs for all elements of `type`; none
/// if it cannot hold such elements.
static std::optional<int64_t> entriesFor(DataField field, RankedTensorType type) {
  std::optional<int64_t> bytes = getStoredBytes(type);
  if (!bytes)
    return std::nullopt;
  mlir::Type element = type.getElementType();
  mlir::Type part = element;
  if (auto complex = mlir::dyn_cast<mlir::ComplexType>(element))
    part = complex.getElementType();
  unsigned bits = getStoredBits(element);
  switch (field) {
  case DataField::Raw:
    return bytes;
  case DataField::Float:
    return part.isF32() ? std::optional<int64_t>(*bytes / 4) : std::nullopt;
  case DataField::Double:
    return part.isF64() ? std::optional<int64_t>(*bytes / 8) : std::nullopt;
  case DataField::Int64:
    return element.isInteger(64) && !element.isUnsignedInteger()
               ? std::optional<int64_t>(*bytes / 8)
               : std::nullopt;
  case DataField::Uint64:
    return element.isUnsignedInteger(32) || element.isUnsignedInteger(64)
               ? std::optional<int64_t>(*bytes / (bits / 8))
               : std::nullopt;
  case DataField::Int32:
    // Small types come one to an entry, or a byte full of them.
    if (element.isUnsignedInteger(32) || bits > 32 || element.isF32() || part != element)
      return std::nullopt;
    return bits < 8 ? *bytes : *bytes / (bits / 8);
  }
  llvm_unreachable("unknown field");
}

static DataField fieldOf(int number) {
  switch (number) {
  case Tensor::kFloatDataFieldNumber:
    return DataField::Float;
  case Tensor::kInt32DataFieldNumber:
    return DataField::Int32;
  case Tensor::kInt64DataFieldNumber:
    return DataField::Int64;
  case Tensor::kDoubleDataFieldNumber:
    return DataField::Double;
  case Tensor::kUint64DataFieldNumber:
    return DataField::Uint64;
  default:
    return DataField::Raw;
  }
}

template <typename Element>
static llvm::StringRef bytesOf(const google::protobuf::RepeatedField<Element> &values) {
  return llvm::StringRef(reinterpret_cast<const char *>(values.data()),
                         values.size() * sizeof(Element));
}

FailureOr<mlir::Attribute> AttributeImporter::importPayload(const Tensor &message,
                                                            RankedTensorType type, Location loc) {
  auto error = [&]() { return mlir::emitError(loc) << "tensor '" << message.name() << "' "; };
  mlir::Attribute data;
  unsigned numPayloads = 0;
  // Checks the number of entries of a field that is held in the message.
  auto hold = [&](DataField field, llvm::StringRef bytes, int64_t entries) -> mlir::LogicalResult {
    ++numPayloads;
    std::optional<int64_t> expected = entriesFor(field, type);
    if (!expected)
      return error() << "has elements of type " << type.getElementType()
                     << ", which do not go into "
                     << (field == DataField::Raw ? "raw" : stringify(field)) << "_data";
    if (entries != *expected)
      return error() << "has type " << type << ", which needs " << *expected
                     << (field == DataField::Raw ? " bytes" : " entries") << ", but holds "
                     << entries;
    data = BytesAttr::get(context, field, text(bytes));
    return mlir::success();
  };
  if (message.has_raw_data() &&
      failed(hold(DataField::Raw, message.raw_data(), message.raw_data().size())))
    return failure();
  if (message.float_data_size() &&
      failed(hold(DataField::Float, bytesOf(message.float_data()), message.float_data_size())))
    return failure();
  if (message.int32_data_size() &&
      failed(hold(DataField::Int32, bytesOf(message.int32_data()), message.int32_data_size())))
    return failure();
  if (message.int64_data_size() &&
      failed(hold(DataField::Int64, bytesOf(message.int64_data()), message.int64_data_size())))
    return failure();
  if (message.double_data_size() &&
      failed(hold(DataField::Double, bytesOf(message.double_data()), message.double_data_size())))
    return failure();
  if (message.uint64_data_size() &&
      failed(hold(DataField::Uint64, bytesOf(message.uint64_data()), message.uint64_data_size())))
    return failure();
  if (message.string_data_size()) {
    ++numPayloads;
    if (!mlir::isa<StringType>(type.getElementType()) ||
        type.getNumElements() != message.string_data_size()) {
      error() << "has type " << type << ", but holds " << message.string_data_size() << " strings";
      return failure();
    }
    data = texts(message.string_data());
  }
  const google::protobuf::UnknownFieldSet &unknown = message.unknown_fields();
  for (int i = 0; i < unknown.field_count(); ++i) {
    if (unknown.field(i).number() != Skeleton::kPlaceField || places.empty())
      continue;
    ++numPayloads;
    const PayloadPlace &place = places[unknown.field(i).varint()];
    DataField field = fieldOf(place.field);
    std::optional<int64_t> expected = entriesFor(field, type);
    uint64_t low = 1, high = 1;
    if (field == DataField::Float)
      low = high = 4;
    else if (field == DataField::Double)
      low = high = 8;
    else if (field != DataField::Raw)
      high = 10;
    if (!expected || place.length / low < static_cast<uint64_t>(*expected) ||
        place.length > high * static_cast<uint64_t>(*expected)) {
      error() << "has type " << type << ", which does not fit its " << place.length << " bytes of "
              << (field == DataField::Raw ? "raw" : stringify(field)) << "_data";
      return failure();
    }
    data = DataAttr::get(context, field, text(path), place.offset, place.length);
  }
  if (numPayloads > 1) {
    error() << "holds its elements in more than one field";
    return failure();
  }
  return data;
}

FailureOr<mlir::Attribute>
AttributeImporter::importExternalData(const Tensor &message, RankedTensorType type, Location loc) {
  auto error = [&]() {
    return mlir::emitError(loc) << "external data of tensor '" << message.name() << "': ";
  };
  std::optional<std::string> location;
  std::optional<uint64_t> offset, length;
  bool checksum = false;
  for (const StringStringEntry &entry : message.external_data()) {
    auto number = [&](std::optional<uint64_t> &out) -> mlir::LogicalResult {
      uint64_t value;
      if (out)
        return error() << "key '" << entry.key() << "' is given twice";
      if (!llvm::all_of(entry.value(), llvm::isDigit) ||
          llvm::StringRef(entry.value()).getAsInteger(10, value) || value > INT64_MAX)
        return error() << entry.key() << " '" << entry.value()
                       << "' is not a decimal number from 0 to 2^63-1";
      out = value;
      return mlir::success();
    };
    if (entry.key() == "location") {
      if (location)
        return error() << "key 'location' is given twice", failure();
      location = entry.value();
    } else if (entry.key() == "offset") {
      if (failed(number(offset)))
        return failure();
    } else if (entry.key() == "length") {
      if (failed(number(length)))
        return failure();
    } else if (entry.key() == "checksum" && !checksum) {
      checksum = true;
    } else {
      error() << "key '" << entry.key()
              << (checksum && entry.key() == "checksum"
                      ? "' is given twice"
                      : "' is not one of location, offset, length, checksum");
      return failure();
    }
  }
  if (!location)
    return error() << "key 'location' is missing", failure();
  std::optional<int64_t> needed = getStoredBytes(type);
  if (!needed)
    return error() << "elements of type " << type.getElementType() << " have no fixed size",
           failure();
  if (length && *length != static_cast<uint64_t>(*needed))
    return error() << "type " << type << " needs " << *needed << " bytes, but length is "
                   << *length,
           failure();
  ConfinedFile file;
  std::string found;
  llvm::Error wrong = file.openBeside(path, *location, found);
  bool isMissing = wrong.isA<MissingFile>();
  bool missing = isMissing && options.allowMissingData;
  if (wrong && !missing)
    return error() << "location '" << *location << "': " << llvm::toString(std::move(wrong))
                   << (isMissing ? options.hintAtMissingData : ""),
           failure();
  llvm::consumeError(std::move(wrong));
  numMissing += missing;
  uint64_t begin = offset.value_or(0);
  if (!missing &&
      (begin > file.getSize() || static_cast<uint64_t>(*needed) > file.getSize() - begin))
    return error() << "needs " << *needed << " bytes at offset " << begin << ", but '" << *location
                   << "' has only " << file.getSize() << " bytes",
           failure();
  return mlir::Attribute(DataAttr::get(context, DataField::Raw, text(found), begin, *needed));
}

FailureOr<TensorAttr> AttributeImporter::importTensor(const Tensor &message, Location loc) {
  auto error = [&]() { return mlir::emitError(loc) << "tensor '" << message.name() << "' "; };
  mlir::Type element = decodeElementType(context, message.data_type());
  if (!element) {
    error() << "has data type " << message.data_type() << ", which is not known; known are 1 to "
            << Tensor::DataType_MAX;
    return failure();
  }
  if (message.has_segment())
    return error() << "is a segment of a tensor, which is not supported", failure();
  llvm::SmallVector<int64_t> shape(message.dims().begin(), message.dims().end());
  for (int64_t extent : shape)
    if (extent < 0)
      return error() << "has the negative extent " << extent, failure();
  if (!weft::countElements(shape))
    return error() << weft::describeExcess(shape), failure();
  auto type = RankedTensorType::get(shape, element);
  FailureOr<mlir::Attribute> data = importPayload(message, type, loc);
  if (failed(data))
    return failure();
  bool external = message.data_location() == Tensor::EXTERNAL;
  if (external) {
    if (*data)
      return error() << "is external but also holds elements", failure();
    data = importExternalData(message, type, loc);
    if (failed(data))
      return failure();
  }
  return TensorAttr::get(
      context, type, message.has_name() ? text(message.name()) : mlir::StringAttr(), *data,
      importEntries(message.external_data()),
      message.has_data_location() ? text(Tensor::DataLocation_Name(message.data_location()))
                                  : mlir::StringAttr(),
      message.has_doc_string() ? text(message.doc_string()) : mlir::StringAttr(),
      importEntries(message.metadata_props()));
}

FailureOr<SparseTensorAttr> AttributeImporter::importSparseTensor(const SparseTensor &message,
                                                                  Location loc) {
  FailureOr<TensorAttr> values = TensorAttr(), indices = TensorAttr();
  if (message.has_values())
    values = importTensor(message.values(), loc);
  if (message.has_indices())
    indices = importTensor(message.indices(), loc);
  if (failed(values) || failed(indices))
    return failure();
  return SparseTensorAttr::get(context, *values, *indices,
                               message.dims_size()
                                   ? builder.getDenseI64ArrayAttr(llvm::ArrayRef<int64_t>(
                                         message.dims().data(), message.dims_size()))
                                   : mlir::DenseI64ArrayAttr());
}
