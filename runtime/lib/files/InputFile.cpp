// Checks values of inputs by header and by range.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "files/InputFile.h"

#include "base/Convert.h"

#include "weft/runtime/Metadata.h"

#include <algorithm>
#include <cstdlib>
#include <type_traits>

using namespace weft::runtime;

namespace {

/// Which integers an input may have: `least` to `most`, and `others`.
struct Limit {
  int64_t least = 0, most = 0;
  std::vector<int64_t> others;

  bool allows(int64_t value) const {
    return (value >= least && value <= most) ||
           std::find(others.begin(), others.end(), value) != others.end();
  }
};

/// The first element that is beyond; -1 = none. Unsigned values past the middle of 64 bits count as
/// negative, and are as wrong.
int64_t firstBeyond(const NpyFile &file, const Limit &limit, int64_t &value) {
  int64_t found = -1;
  withType(file.dtype(), [&](auto type) {
    using T = decltype(type);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      int64_t count = file.numElements();
      for (int64_t i = 0; i < count && found < 0; ++i) {
        value = int64_t(elementAt<T>(file.data(), i));
        if (!limit.allows(value))
          found = i;
      }
    }
  });
  return found;
}

/// Labels that count are classes; 0 = the input has none, or they are not known.
int64_t classesOf(const ProgramView &p, const std::string &input) {
  bool areLabels = input == metadataOf(p, metadata::kTrainLabels);
  return areLabels ? std::atoll(metadataOf(p, metadata::kTrainClasses).c_str()) : 0;
}

} // namespace

std::vector<int64_t> weft::runtime::shapeOf(const ProgramView &p, Range shape) {
  return {p.ints(shape).begin(), p.ints(shape).end()};
}

std::string weft::runtime::metadataOf(const ProgramView &p, const std::string &key) {
  for (const MetadataEntry &entry : p.Metadata())
    if (p.string(entry.key) == key)
      return std::string(p.string(entry.value));
  return {};
}

std::optional<int64_t> weft::runtime::rowsOf(const ProgramView &p, std::string_view input) {
  std::string text = metadataOf(p, metadata::kLookupPrefix + std::string(input));
  int64_t rows = std::atoll(text.c_str());
  return rows > 0 ? std::optional(rows) : std::nullopt;
}

std::string weft::runtime::textOf(const NpyFile &file, const std::string &path) {
  return "'" + path + "' is " + shapeText(file.shape()) + " " + dtypeName(file.dtype());
}

Status weft::runtime::openInputFile(const ProgramView &p, const Port &port, const std::string &path,
                                    NpyFile &file) {
  std::string name(p.string(port.name));
  WEFT_TRY(NpyFile::open(path, file));
  bool sameType = file.dtype() == port.dtype ||
                  (file.dtype() == DType::U16 && port.dtype == DType::BF16) ||
                  (file.dtype() == DType::BF16 && port.dtype == DType::U16);
  std::vector<int64_t> shape = shapeOf(p, port.shape);
  if (!sameType || file.shape() != shape)
    return Status::user(
        "input '" + name + "' must be " + shapeText(shape) + " " + dtypeName(port.dtype) +
        ", but " + textOf(file, path) +
        (sameType ? "; bind the sizes when compiling (--bind)" : "; convert the file"));
  auto rows = rowsOf(p, p.string(port.name));
  int64_t classes = classesOf(p, name), value = 0;
  if (classes == 0 && !rows)
    return {};
  Limit limit;
  std::string end;
  if (classes > 0) {
    constexpr int64_t kIgnored = -100; // as everywhere
    limit = {0, classes - 1, {kIgnored}};
    if (std::string ignored = metadataOf(p, metadata::kTrainIgnored); !ignored.empty())
      limit.others.push_back(std::atoll(ignored.c_str()));
    end = ", which is not a class: these are 0 to " + std::to_string(limit.most);
  } else {
    limit = {isSigned(port.dtype) ? -*rows : 0, *rows - 1, {}};
    end = ", but the model looks it up in " + std::to_string(*rows) + " rows; these are 0 to " +
          std::to_string(limit.most);
  }
  int64_t at = firstBeyond(file, limit, value);
  if (at < 0)
    return {};
  return Status::user("input '" + name + "': element " + std::to_string(at) + " of '" + path +
                      "' is " + std::to_string(value) + end);
}
