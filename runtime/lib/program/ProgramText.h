// Numbers, lists and names of a program as text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_PROGRAM_PROGRAMTEXT_H
#define WEFT_RUNTIME_LIB_PROGRAM_PROGRAMTEXT_H

#include "weft/runtime/Program.h"

#include <cstdio>

namespace weft::runtime {

/// As messages, --info and manifests have it.
inline std::string checksumText(const ProgramView &p) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(p.checksum()));
  return text;
}

class ProgramText {
public:
  explicit ProgramText(const ProgramView &p) : p(p) {}

  std::string str(StringId id) const { return std::string(p.string(id)); }
  template <typename T> static std::string num(T value) { return std::to_string(value); }
  static std::string real(double value) {
    char buffer[40];
    std::snprintf(buffer, sizeof buffer, "%.17g", value);
    return buffer;
  }
  std::string list(Range range) const {
    std::string result = "[";
    for (uint32_t i = 0; i < range.count; ++i)
      result += (i ? "," : "") + num(p.ints(range)[i]);
    return result + "]";
  }
  std::string names(Range axes) const {
    std::string result;
    for (uint32_t i = 0; i < axes.count; ++i)
      result += (i ? "," : "") + str(p.MeshAxes()[p.axes(axes)[i]].name);
    return result;
  }
  std::string axes(Range range) const { return "{" + names(range) + "}"; }
  std::string value(const ScalarValue &v) const {
    if (v.base == ValueBase::Constant)
      return num(v.addend);
    std::string base = "coordinate" + axes(v.axes);
    if (v.scale != 1)
      base += "*" + num(v.scale);
    return v.addend ? base + "+" + num(v.addend) : base;
  }

protected:
  const ProgramView &p;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_PROGRAM_PROGRAMTEXT_H
