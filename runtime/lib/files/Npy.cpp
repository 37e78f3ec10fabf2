// Parser and writer of the .npy format, versions 1 to 3.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/Npy.h"

#include "files/MappedFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace weft::runtime;

namespace {

struct DescrName {
  const char *text; // without the byte order mark
  DType type;
};
constexpr DescrName kDescrs[] = {{"f8", DType::F64}, {"f4", DType::F32}, {"V2", DType::BF16},
                                 {"f2", DType::F16}, {"i1", DType::I8},  {"i2", DType::I16},
                                 {"i4", DType::I32}, {"i8", DType::I64}, {"u1", DType::U8},
                                 {"u2", DType::U16}, {"u4", DType::U32}, {"u8", DType::U64},
                                 {"b1", DType::Bool}};

/// The text of `key`'s value in the header's dictionary, or empty.
std::string valueOf(const std::string &header, const std::string &key) {
  size_t at = header.find("'" + key + "'");
  if (at == std::string::npos)
    return {};
  at = header.find(':', at);
  if (at == std::string::npos)
    return {};
  at = header.find_first_not_of(' ', at + 1);
  if (at == std::string::npos)
    return {};
  char first = header[at];
  size_t end;
  if (first == '\'')
    end = header.find('\'', at + 1);
  else if (first == '(')
    end = header.find(')', at);
  else
    end = header.find_first_of(",}", at) - 1;
  return end == std::string::npos || end < at ? std::string() : header.substr(at, end - at + 1);
}

bool parseShape(const std::string &text, std::vector<int64_t> &shape) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')')
    return false;
  size_t at = 1;
  while (true) {
    at = text.find_first_not_of(", ", at);
    if (at == std::string::npos || text[at] == ')')
      return true;
    int64_t value = 0;
    size_t digits = 0;
    for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, ++digits)
      if (__builtin_mul_overflow(value, int64_t(10), &value) ||
          __builtin_add_overflow(value, int64_t(text[at] - '0'), &value))
        return false;
    if (digits == 0 || shape.size() == kMaxTensorRank)
      return false;
    shape.push_back(value);
  }
}

} // namespace

NpyFile::NpyFile() = default;
NpyFile::NpyFile(NpyFile &&other) noexcept = default;
NpyFile &NpyFile::operator=(NpyFile &&other) noexcept = default;
NpyFile::~NpyFile() = default;

int64_t NpyFile::numElements() const {
  int64_t count = 1;
  for (int64_t size : dims)
    count *= size;
  return count;
}

Status NpyFile::open(const std::string &path, NpyFile &file) {
  auto bad = [&](const std::string &what) { return Status::user("'" + path + "' " + what); };
  NpyFile result;
  result.mapping = std::make_unique<MappedFile>();
  WEFT_TRY(MappedFile::open(path, *result.mapping));
  const auto *bytes = reinterpret_cast<const unsigned char *>(result.mapping->data());
  size_t size = result.mapping->size();
  if (size < 10 || std::memcmp(bytes, "\x93NUMPY", 6) != 0)
    return bad("is not a .npy file");
  size_t start = bytes[6] == 1 ? 10 : 12;
  if (bytes[6] < 1 || bytes[6] > 3 || size < start)
    return bad("has an unknown .npy version " + std::to_string(bytes[6]));
  size_t length = bytes[8] | size_t(bytes[9]) << 8;
  if (start == 12)
    length |= size_t(bytes[10]) << 16 | size_t(bytes[11]) << 24;
  if (length > size - start)
    return bad("has a cut-off header");
  std::string header(reinterpret_cast<const char *>(bytes) + start, length);
  std::string descr = valueOf(header, "descr");
  if (descr.size() < 5 || descr[0] != '\'')
    return bad("has no plain dtype; structured arrays are not supported");
  std::string order = descr.substr(1, 1), kind = descr.substr(2);
  kind.pop_back();
  bool known = false;
  for (const DescrName &name : kDescrs)
    if (kind == name.text) {
      result.type = name.type;
      known = true;
    }
  if (!known)
    return bad("has dtype " + descr + ", which is not supported");
  if (order == ">" && dtypeBytes(result.type) > 1)
    return bad("is big-endian; save it in little-endian order");
  if (!parseShape(valueOf(header, "shape"), result.dims))
    return bad("has a shape that cannot be read");
  if (valueOf(header, "fortran_order").substr(0, 4) == "True" && result.dims.size() > 1)
    return bad("is in Fortran order; save it in C order");
  int64_t count = dtypeBytes(result.type);
  for (int64_t size : result.dims)
    if (__builtin_mul_overflow(count, size, &count))
      return bad("has an impossible shape");
  if (uint64_t(count) > size - start - length)
    return bad("is cut off: its header promises " + std::to_string(count) +
               " bytes of data, it has " + std::to_string(size - start - length));
  if (uint64_t(count) < size - start - length)
    return bad("is too long: its header promises " + std::to_string(count) +
               " bytes of data, it has " + std::to_string(size - start - length) +
               "; save one array a file");
  result.elements = bytes + start + length;
  file = std::move(result);
  return {};
}

std::string weft::runtime::npyHeader(DType type, const std::vector<int64_t> &shape) {
  std::string text = "{'descr': '";
  text += type == DType::BF16 || dtypeBytes(type) == 1 ? "|" : "<";
  for (const DescrName &name : kDescrs)
    if (name.type == type)
      text += name.text;
  text += "', 'fortran_order': False, 'shape': (";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? " " : "") + std::to_string(shape[i]) + ",";
  text += "), }";
  size_t total = (10 + text.size() + 1 + 63) / 64 * 64;
  text.append(total - 10 - text.size() - 1, ' ');
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += char(text.size() & 0xff);
  header += char(text.size() >> 8);
  return header + text;
}

Status weft::runtime::createNpy(const std::string &path, DType type,
                                const std::vector<int64_t> &shape) {
  std::string header = npyHeader(type, shape);
  int64_t bytes = dtypeBytes(type);
  for (int64_t size : shape)
    bytes *= size;
  // What was there is nobody's: others would have it open, or it is a link.
  struct stat info{};
  if (lstat(path.c_str(), &info) == 0 && (S_ISREG(info.st_mode) || S_ISLNK(info.st_mode)))
    unlink(path.c_str());
  int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  bool good = descriptor >= 0 &&
              pwrite(descriptor, header.data(), header.size(), 0) == ssize_t(header.size()) &&
              ftruncate(descriptor, off_t(header.size() + bytes)) == 0;
  int error = errno;
  if (descriptor >= 0)
    close(descriptor);
  if (!good)
    return Status::user("'" + path + "' cannot be written: " + std::strerror(error));
  return {};
}

std::string weft::runtime::shapeText(const std::vector<int64_t> &shape) {
  if (shape.empty())
    return "scalar";
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}
