// Parser of IDX: two zero bytes, type, tensor rank, big-endian sizes, data.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Idx.h"
#include "weft/runtime/OutputFile.h"

#include "base/Convert.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

using namespace weft::runtime;

namespace {

struct Closer {
  void operator()(std::FILE *file) const {
    if (file != stdin)
      std::fclose(file);
  }
};
using File = std::unique_ptr<std::FILE, Closer>;

bool typeOf(uint8_t code, DType &type) {
  switch (code) {
  case 0x08:
    type = DType::U8;
    return true;
  case 0x09:
    type = DType::I8;
    return true;
  case 0x0B:
    type = DType::I16;
    return true;
  case 0x0C:
    type = DType::I32;
    return true;
  case 0x0D:
    type = DType::F32;
    return true;
  case 0x0E:
    type = DType::F64;
    return true;
  default:
    return false;
  }
}

Status readAll(const std::string &path, std::vector<uint8_t> &bytes) {
  File file(path == "-" ? stdin : std::fopen(path.c_str(), "rb"));
  if (!file)
    return Status::user("'" + path + "' cannot be read: " + std::strerror(errno));
  uint8_t block[1 << 16];
  while (size_t count = std::fread(block, 1, sizeof block, file.get()))
    bytes.insert(bytes.end(), block, block + count);
  if (std::ferror(file.get()))
    return Status::user("'" + path + "' cannot be read: " + std::strerror(errno));
  return {};
}

} // namespace

Status weft::data::idxToNpy(const IdxOptions &options) {
  std::vector<uint8_t> bytes;
  WEFT_TRY(readAll(options.input, bytes));
  auto bad = [&](const std::string &what) {
    return Status::user("'" + options.input + "' " + what);
  };
  DType type = DType::U8;
  if (bytes.size() < 8 || bytes[0] != 0 || bytes[1] != 0 || !typeOf(bytes[2], type) ||
      bytes[3] == 0)
    return bad("is not an IDX file (is it still compressed?)");
  size_t rank = bytes[3], header = 4 + 4 * rank;
  std::vector<int64_t> shape;
  int64_t count = 1;
  for (size_t d = 0; d < rank && header <= bytes.size(); ++d) {
    const uint8_t *at = bytes.data() + 4 + 4 * d;
    shape.push_back(int64_t(at[0]) << 24 | at[1] << 16 | at[2] << 8 | at[3]);
    if (__builtin_mul_overflow(count, shape.back(), &count))
      return bad("has an impossible shape");
  }
  size_t width = dtypeBytes(type), held = bytes.size() - header;
  if (shape.size() != rank || held % width != 0 || uint64_t(count) != held / width)
    return bad("is cut off or too long: it promises " + shapeText(shape) + " elements");
  if (!options.sampleShape.empty()) {
    int64_t wanted = shape[0];
    bool isTooLarge = false;
    for (int64_t size : options.sampleShape)
      isTooLarge |= __builtin_mul_overflow(wanted, size, &wanted);
    if (isTooLarge || wanted != count)
      return bad("is " + shapeText(shape) + ", so samples cannot be " +
                 shapeText(options.sampleShape));
    shape.resize(1);
    shape.insert(shape.end(), options.sampleShape.begin(), options.sampleShape.end());
  }
  for (size_t at = header; width > 1 && at < bytes.size(); at += width)
    std::reverse(bytes.data() + at, bytes.data() + at + width);
  // The header may leave elements unaligned.
  bytes.erase(bytes.begin(), bytes.begin() + int64_t(header));
  DType to = options.scale == 0 && !isFloat(type) ? DType::I64 : DType::F32;
  std::vector<double> values(static_cast<size_t>(count));
  convertElements(type, bytes.data(), DType::F64, values.data(), count);
  for (double &value : values)
    value *= options.scale == 0 ? 1 : options.scale;
  std::vector<char> data(size_t(count) * dtypeBytes(to));
  convertElements(DType::F64, values.data(), to, data.data(), count);
  std::string head = npyHeader(to, shape);
  OutputFile output(options.output);
  WEFT_TRY(output.open());
  WEFT_TRY(output.write(head.data(), head.size()));
  WEFT_TRY(output.write(data.data(), data.size()));
  return output.commit();
}
