// Element types and bytes of tensors, between ONNX and safetensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/weights/TensorBytes.h"

#include "python_free_frontend/builders/SafeTensors.h"
#include "python_free_frontend/builders/Weights.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cstring>

using namespace llvm;

namespace weft::weights {
namespace {

struct TypeInfo {
  int32_t onnx;
  StringLiteral stored; // "" = safetensors have no such type
  unsigned bits;
};

constexpr TypeInfo kTypes[] = {
    {onnx::Tensor::FLOAT, "F32", 32},      {onnx::Tensor::UINT8, "U8", 8},
    {onnx::Tensor::INT8, "I8", 8},         {onnx::Tensor::UINT16, "U16", 16},
    {onnx::Tensor::INT16, "I16", 16},      {onnx::Tensor::INT32, "I32", 32},
    {onnx::Tensor::INT64, "I64", 64},      {onnx::Tensor::BOOL, "BOOL", 8},
    {onnx::Tensor::FLOAT16, "F16", 16},    {onnx::Tensor::DOUBLE, "F64", 64},
    {onnx::Tensor::UINT32, "U32", 32},     {onnx::Tensor::UINT64, "U64", 64},
    {onnx::Tensor::COMPLEX64, "", 64},     {onnx::Tensor::COMPLEX128, "", 128},
    {onnx::Tensor::BFLOAT16, "BF16", 16},  {onnx::Tensor::FLOAT8E4M3FN, "F8_E4M3", 8},
    {onnx::Tensor::FLOAT8E4M3FNUZ, "", 8}, {onnx::Tensor::FLOAT8E5M2, "F8_E5M2", 8},
    {onnx::Tensor::FLOAT8E5M2FNUZ, "", 8}, {onnx::Tensor::UINT4, "", 4},
    {onnx::Tensor::INT4, "", 4},           {onnx::Tensor::FLOAT4E2M1, "", 4},
    {onnx::Tensor::FLOAT8E8M0, "", 8},     {onnx::Tensor::UINT2, "", 2},
    {onnx::Tensor::INT2, "", 2},
};

const TypeInfo *infoOf(int32_t type) {
  const TypeInfo *found = find_if(kTypes, [&](const TypeInfo &info) { return info.onnx == type; });
  return found == std::end(kTypes) ? nullptr : found;
}

const TypeInfo *infoOf(StringRef stored) {
  const TypeInfo *found =
      find_if(kTypes, [&](const TypeInfo &info) { return info.stored == stored; });
  return found == std::end(kTypes) ? nullptr : found;
}

} // namespace

StringRef storedTypeOf(int32_t onnxType) {
  const TypeInfo *info = infoOf(onnxType);
  return info ? StringRef(info->stored) : StringRef();
}

bool isFloatType(StringRef type) {
  return type == "F32" || type == "F64" || type == "F16" || type == "BF16";
}

uint64_t bytesOf(const onnx::Tensor &tensor) {
  const TypeInfo *info = infoOf(tensor.data_type());
  if (!info)
    return 0;
  uint64_t elements = 1;
  for (int64_t dim : tensor.dims())
    if (dim < 0 || __builtin_mul_overflow(elements, uint64_t(dim), &elements))
      return UINT64_MAX / 64;
  return elements > UINT64_MAX / 256 ? UINT64_MAX / 64 : (elements * info->bits + 7) / 8;
}

std::string convertFloats(StringRef bytes, StringRef from, StringRef to) {
  builders::StoredTensor source{from.str(), {}, bytes};
  size_t count = bytes.size() * 8 / infoOf(from)->bits;
  std::string result;
  result.reserve(count * infoOf(to)->bits / 8);
  constexpr size_t kChunk = 1 << 16;
  std::vector<double> values;
  for (size_t begin = 0; begin < count; begin += kChunk) {
    values.resize(std::min(kChunk, count - begin));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = builders::elementOf(source, int64_t(begin + i));
    builders::appendEncoded(values, infoOf(to)->onnx, result);
  }
  return result;
}

std::string transposeMatrix(StringRef bytes, int64_t rows, int64_t columns) {
  if (rows == 0 || columns == 0)
    return bytes.str();
  size_t width = bytes.size() / size_t(rows) / size_t(columns);
  std::string result(bytes.size(), '\0');
  for (size_t r = 0; r < size_t(rows); ++r)
    for (size_t c = 0; c < size_t(columns); ++c)
      std::memcpy(&result[(c * size_t(rows) + r) * width],
                  bytes.data() + (r * size_t(columns) + c) * width, width);
  return result;
}

} // namespace weft::weights
