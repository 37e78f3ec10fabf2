// The correspondence of file types and MLIR types.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/types/TypeCodec.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace weft::onnx;
namespace proto = weft::onnx;
using mlir::ArrayAttr;
using mlir::IntegerType;
using mlir::MLIRContext;
using mlir::StringAttr;

mlir::Type weft::onnx::decodeElementType(MLIRContext *context, int dataType) {
  mlir::Builder builder(context);
  auto integer = [&](unsigned width) -> mlir::Type { return IntegerType::get(context, width); };
  auto natural = [&](unsigned width) -> mlir::Type {
    return IntegerType::get(context, width, IntegerType::Unsigned);
  };
  switch (dataType) {
  case Tensor::FLOAT:
    return builder.getF32Type();
  case Tensor::UINT8:
    return natural(8);
  case Tensor::INT8:
    return integer(8);
  case Tensor::UINT16:
    return natural(16);
  case Tensor::INT16:
    return integer(16);
  case Tensor::INT32:
    return integer(32);
  case Tensor::INT64:
    return integer(64);
  case Tensor::STRING:
    return StringType::get(context);
  case Tensor::BOOL:
    return integer(1);
  case Tensor::FLOAT16:
    return builder.getF16Type();
  case Tensor::DOUBLE:
    return builder.getF64Type();
  case Tensor::UINT32:
    return natural(32);
  case Tensor::UINT64:
    return natural(64);
  case Tensor::COMPLEX64:
    return mlir::ComplexType::get(builder.getF32Type());
  case Tensor::COMPLEX128:
    return mlir::ComplexType::get(builder.getF64Type());
  case Tensor::BFLOAT16:
    return builder.getBF16Type();
  case Tensor::FLOAT8E4M3FN:
    return mlir::Float8E4M3FNType::get(context);
  case Tensor::FLOAT8E4M3FNUZ:
    return mlir::Float8E4M3FNUZType::get(context);
  case Tensor::FLOAT8E5M2:
    return mlir::Float8E5M2Type::get(context);
  case Tensor::FLOAT8E5M2FNUZ:
    return mlir::Float8E5M2FNUZType::get(context);
  case Tensor::UINT4:
    return natural(4);
  case Tensor::INT4:
    return integer(4);
  case Tensor::FLOAT4E2M1:
    return mlir::Float4E2M1FNType::get(context);
  case Tensor::FLOAT8E8M0:
    return mlir::Float8E8M0FNUType::get(context);
  case Tensor::UINT2:
    return natural(2);
  case Tensor::INT2:
    return integer(2);
  default:
    return mlir::Type();
  }
}

Tensor::DataType weft::onnx::encodeElementType(mlir::Type type) {
  for (int number = Tensor::DataType_MIN; number <= Tensor::DataType_MAX; ++number)
    if (decodeElementType(type.getContext(), number) == type)
      return static_cast<Tensor::DataType>(number);
  return Tensor::UNDEFINED;
}

//===----------------------------------------------------------------------===//
// Messages to types
//===----------------------------------------------------------------------===//

/// Decodes element type and shape of a dense or sparse tensor; null if the
/// message says something that a tensor type cannot.
template <typename Message>
static mlir::Type decodeTensor(MLIRContext *context, const Message &message,
                               StringAttr denotation) {
  mlir::Type element = decodeElementType(context, message.elem_type());
  if (!element)
    return mlir::Type();
  if (!message.has_shape())
    return denotation ? mlir::Type() : mlir::UnrankedTensorType::get(element);
  auto unit = mlir::UnitAttr::get(context);
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<mlir::Attribute> names, denotations;
  bool named = false, denoted = false;
  for (const TensorShape::Dimension &dim : message.shape().dim()) {
    bool fixed = dim.has_dim_value() && dim.dim_value() >= 0;
    shape.push_back(fixed ? dim.dim_value() : mlir::ShapedType::kDynamic);
    if (dim.has_dim_param())
      names.push_back(StringAttr::get(context, dim.dim_param()));
    else if (dim.has_dim_value() && !fixed)
      names.push_back(mlir::Builder(context).getI64IntegerAttr(dim.dim_value()));
    else
      names.push_back(unit);
    named |= names.back() != unit;
    denotations.push_back(
        dim.has_denotation() ? mlir::Attribute(StringAttr::get(context, dim.denotation())) : unit);
    denoted |= dim.has_denotation();
  }
  mlir::Attribute encoding;
  if (named || denoted || denotation)
    encoding =
        DimsAttr::get(context, ArrayAttr::get(context, names),
                      denoted ? ArrayAttr::get(context, denotations) : ArrayAttr(), denotation);
  return mlir::RankedTensorType::get(shape, element, encoding);
}

static mlir::Type decodeStructure(TypeDecoder &decoder, MLIRContext *context,
                                  const proto::Type &message) {
  StringAttr denotation =
      message.has_denotation() ? StringAttr::get(context, message.denotation()) : StringAttr();
  if (message.has_tensor_type())
    return decodeTensor(context, message.tensor_type(), denotation);
  if (message.has_sparse_tensor_type()) {
    mlir::Type dense = decodeTensor(context, message.sparse_tensor_type(), denotation);
    return dense ? SparseType::get(context, dense) : mlir::Type();
  }
  if (denotation)
    return mlir::Type();
  if (message.has_sequence_type() && message.sequence_type().has_elem_type())
    return SequenceType::get(context, decoder.decode(message.sequence_type().elem_type()));
  if (message.has_optional_type() && message.optional_type().has_elem_type())
    return OptionalType::get(context, decoder.decode(message.optional_type().elem_type()));
  if (message.has_map_type() && message.map_type().has_value_type()) {
    mlir::Type key = decodeElementType(context, message.map_type().key_type());
    mlir::Type value = decoder.decode(message.map_type().value_type());
    return key ? MapType::get(context, key, value) : mlir::Type();
  }
  return mlir::Type();
}

mlir::Type TypeDecoder::decode(const proto::Type &message) {
  std::string bytes = message.SerializeAsString();
  auto it = known.find(bytes);
  if (it != known.end())
    return it->second;
  mlir::Type type = decodeStructure(*this, context, message);
  proto::Type back;
  if (!type || !encodeType(type, back) || back.SerializeAsString() != bytes)
    type = WireType::get(context, StringAttr::get(context, bytes));
  known[bytes] = type;
  return type;
}

//===----------------------------------------------------------------------===//
// Types to messages
//===----------------------------------------------------------------------===//

template <typename Message>
static bool encodeTensor(mlir::Type type, proto::Type &whole, Message &message) {
  auto tensor = mlir::dyn_cast<mlir::TensorType>(type);
  if (!tensor)
    return false;
  Tensor::DataType element = encodeElementType(tensor.getElementType());
  if (element == Tensor::UNDEFINED)
    return false;
  message.set_elem_type(element);
  auto ranked = mlir::dyn_cast<mlir::RankedTensorType>(type);
  if (!ranked)
    return true;
  auto dims = mlir::dyn_cast_or_null<DimsAttr>(ranked.getEncoding());
  if (ranked.getEncoding() && !dims)
    return false;
  auto entry = [&](ArrayAttr array, int64_t i) {
    return array && i < static_cast<int64_t>(array.size()) ? array[i] : mlir::Attribute();
  };
  if (dims && dims.getDenotation())
    whole.set_denotation(dims.getDenotation().str());
  message.mutable_shape();
  for (auto [i, extent] : llvm::enumerate(ranked.getShape())) {
    TensorShape::Dimension *dim = message.mutable_shape()->add_dim();
    mlir::Attribute name = dims ? entry(dims.getNames(), i) : mlir::Attribute();
    if (auto text = mlir::dyn_cast_or_null<StringAttr>(name))
      dim->set_dim_param(text.str());
    else if (auto odd = mlir::dyn_cast_or_null<mlir::IntegerAttr>(name))
      dim->set_dim_value(odd.getInt());
    else if (!mlir::ShapedType::isDynamic(extent))
      dim->set_dim_value(extent);
    if (auto text = mlir::dyn_cast_or_null<StringAttr>(dims ? entry(dims.getDenotations(), i)
                                                            : mlir::Attribute()))
      dim->set_denotation(text.str());
  }
  return true;
}

bool weft::onnx::encodeType(mlir::Type type, proto::Type &message) {
  return llvm::TypeSwitch<mlir::Type, bool>(type)
      .Case([&](WireType wire) { return message.ParseFromString(wire.getBytes().str()); })
      .Case([&](mlir::TensorType tensor) {
        return encodeTensor(tensor, message, *message.mutable_tensor_type());
      })
      .Case([&](SparseType sparse) {
        return encodeTensor(sparse.getDense(), message, *message.mutable_sparse_tensor_type());
      })
      .Case([&](SequenceType sequence) {
        return encodeType(sequence.getElement(),
                          *message.mutable_sequence_type()->mutable_elem_type());
      })
      .Case([&](OptionalType optional) {
        return encodeType(optional.getElement(),
                          *message.mutable_optional_type()->mutable_elem_type());
      })
      .Case([&](MapType map) {
        message.mutable_map_type()->set_key_type(encodeElementType(map.getKey()));
        return encodeType(map.getValue(), *message.mutable_map_type()->mutable_value_type());
      })
      .Default([](mlir::Type) { return false; });
}
