// Counter-based random weights and their encoding.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/builders/Weights.h"

#include "onnx.pb.h"
#include <cmath>
#include <cstring>

using namespace llvm;

namespace weft::builders {
namespace {

/// The finaliser of SplitMix64: a bijection of 64-bit words that spreads every
/// input bit over all output bits.
uint64_t mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

uint64_t streamOf(int64_t seed, StringRef name) {
  uint64_t hash = mix(uint64_t(seed) + 0x9e3779b97f4a7c15u);
  for (unsigned char c : name)
    hash = mix((hash ^ c) + 0x9e3779b97f4a7c15u);
  return hash;
}

double nearlyNormal(uint64_t stream, uint64_t index) {
  uint64_t word = mix(stream + index * 0x9e3779b97f4a7c15u);
  int64_t sum = int64_t(word & 0xffff) + int64_t(word >> 16 & 0xffff) +
                int64_t(word >> 32 & 0xffff) + int64_t(word >> 48);
  // Mean of the sum is 4 * 65535/2, its variance 4 * (2^32 - 1)/12.
  static const double deviation = std::sqrt(4294967295.0 / 3);
  return double(sum - 2 * 65535) / deviation;
}

template <typename T> void append(std::string &bytes, T value) {
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  bytes.append(raw, sizeof(T));
}

/// Rounds to a binary format of 16 bits with the given exponent bits, to
/// nearest even from the double at once (rounding twice would be wrong).
uint16_t roundTo16(double value, int exponentBits) {
  int mantissaBits = 15 - exponentBits;
  int bias = (1 << (exponentBits - 1)) - 1;
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  double magnitude = std::fabs(value);
  uint16_t infinity = uint16_t(((1 << exponentBits) - 1) << mantissaBits);
  if (std::isnan(magnitude))
    return uint16_t(sign | infinity | 1 << (mantissaBits - 1));
  if (magnitude == 0)
    return sign;
  if (std::isinf(magnitude))
    return uint16_t(sign | infinity);
  int exponent;
  std::frexp(magnitude, &exponent); // magnitude = f * 2^exponent, f in [.5, 1)
  exponent = std::max(exponent - 1, 1 - bias);
  // The unit in the last place divides; nearbyint rounds to nearest even.
  double units = std::nearbyint(std::ldexp(magnitude, mantissaBits - exponent));
  uint64_t code = uint64_t(units);
  // The leading bit of `code` counts as one exponent step, so a carry into the
  // next binade and a subnormal both come out right by themselves.
  code += uint64_t(exponent + bias - 1) << mantissaBits;
  return uint16_t(sign | std::min<uint64_t>(code, infinity));
}

} // namespace

Error RandomWeights::read(const Weight &weight, int64_t begin, MutableArrayRef<double> values) {
  uint64_t stream = streamOf(seed, weight.name);
  double spread = varied && weight.init.std == 0 ? weight.init.varied : weight.init.std;
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = spread == 0 ? weight.init.center
                            : weight.init.center + spread * nearlyNormal(stream, begin + i);
  return Error::success();
}

int32_t onnxType(DType type) {
  switch (type) {
  case DType::F64:
    return onnx::Tensor::DOUBLE;
  case DType::F16:
    return onnx::Tensor::FLOAT16;
  case DType::BF16:
    return onnx::Tensor::BFLOAT16;
  case DType::F32:
    return onnx::Tensor::FLOAT;
  }
  llvm_unreachable("all element types are listed");
}

int64_t elementSize(int32_t onnxType) {
  switch (onnxType) {
  case onnx::Tensor::DOUBLE:
    return 8;
  case onnx::Tensor::FLOAT:
    return 4;
  default:
    return 2;
  }
}

void appendEncoded(ArrayRef<double> values, int32_t onnxType, std::string &bytes) {
  bytes.reserve(bytes.size() + values.size() * elementSize(onnxType));
  for (double value : values)
    switch (onnxType) {
    case onnx::Tensor::DOUBLE:
      append(bytes, value);
      break;
    case onnx::Tensor::FLOAT:
      append(bytes, float(value));
      break;
    case onnx::Tensor::FLOAT16:
      append(bytes, roundTo16(value, 5));
      break;
    case onnx::Tensor::BFLOAT16:
      append(bytes, roundTo16(value, 8));
      break;
    default:
      llvm_unreachable("weights are floating-point");
    }
}

} // namespace weft::builders
