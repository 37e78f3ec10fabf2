// Types and bytes of elements.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Elements.h"

using namespace mlir;
using namespace weft;
namespace run = weft::runtime;

std::optional<run::DType> emit::dtypeOf(Type type) {
  if (type.isF64())
    return run::DType::F64;
  if (type.isF32())
    return run::DType::F32;
  if (type.isBF16())
    return run::DType::BF16;
  if (type.isF16())
    return run::DType::F16;
  if (type.isInteger(1))
    return run::DType::Bool;
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return std::nullopt;
  bool isUnsigned = integer.isUnsigned();
  switch (integer.getWidth()) {
  case 8:
    return isUnsigned ? run::DType::U8 : run::DType::I8;
  case 16:
    return isUnsigned ? run::DType::U16 : run::DType::I16;
  case 32:
    return isUnsigned ? run::DType::U32 : run::DType::I32;
  case 64:
    return isUnsigned ? run::DType::U64 : run::DType::I64;
  default:
    return std::nullopt;
  }
}

std::vector<uint8_t> emit::rawBytes(ElementsAttr value) {
  std::vector<uint8_t> bytes;
  auto append = [&](const APInt &bits) {
    unsigned count = (bits.getBitWidth() + 7) / 8;
    uint64_t word = bits.getZExtValue();
    for (unsigned i = 0; i < count; ++i)
      bytes.push_back(uint8_t(word >> (8 * i)));
  };
  if (isa<FloatType>(value.getElementType()))
    for (const APFloat &element : value.getValues<APFloat>())
      append(element.bitcastToAPInt());
  else
    for (const APInt &element : value.getValues<APInt>())
      append(element);
  return bytes;
}
