// Parsing of meshes and arithmetic on device coordinates.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Sharding/Mesh.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace weft {

static bool isAxisName(StringRef name) {
  return (isAlpha(name.front()) || name.front() == '_') &&
         llvm::all_of(name, [](char c) { return isAlnum(c) || c == '_' || c == '-' || c == '.'; });
}

std::optional<Mesh> Mesh::parse(StringRef text, std::string *why) {
  auto fail = [&](const Twine &message) -> std::optional<Mesh> {
    if (why)
      *why = message.str();
    return std::nullopt;
  };
  Mesh mesh;
  SmallVector<StringRef> entries;
  text.split(entries, ',', -1, /*KeepEmpty=*/false);
  int64_t devices = 1;
  for (StringRef entry : entries) {
    auto [name, sizes] = entry.split('=');
    name = name.trim(), sizes = sizes.trim();
    if (name.empty() || sizes.empty())
      return fail("expected NAME=SIZE or NAME=SIZExSIZE, found '" + entry + "'");
    if (!isAxisName(name))
      return fail("axis '" + name +
                  "': a name begins with a letter and goes on with letters, digits, "
                  "'_', '-' and '.'");
    if (!mesh.resolve(name).empty())
      return fail("axis '" + name + "' is given twice");
    SmallVector<StringRef> factors;
    sizes.split(factors, 'x');
    for (auto [index, factor] : llvm::enumerate(factors)) {
      int64_t size = 0;
      if (factor.getAsInteger(10, size) || size < 1)
        return fail("size of axis '" + name + "' must be a positive integer, found '" +
                    (factor.empty() ? sizes : factor) + "'");
      // A bound that no machine reaches keeps all products in 64 bits.
      if (size > (1 << 20) || devices * size > (1 << 20))
        return fail("mesh '" + text + "' has more than 2^20 devices");
      devices *= size;
      std::string full = name.str();
      if (factors.size() > 1)
        full += "." + std::to_string(index);
      mesh.axes.push_back({full, size});
    }
  }
  return mesh;
}

int64_t Mesh::deviceCount() const {
  int64_t count = 1;
  for (const Axis &axis : axes)
    count *= axis.size;
  return count;
}

int64_t Mesh::groupSize(ArrayRef<AxisId> list) const {
  int64_t count = 1;
  for (AxisId axis : list)
    count *= size(axis);
  return count;
}

int64_t Mesh::processCount() const {
  int64_t count = 1;
  for (const Axis &axis : axes)
    count *= axis.kind == AxisKind::Temporal ? 1 : axis.size;
  return count;
}

bool Mesh::anyTemporal(ArrayRef<AxisId> list) const {
  return llvm::any_of(list, [&](AxisId axis) { return isTemporal(axis); });
}

bool Mesh::allTemporal(ArrayRef<AxisId> list) const {
  return llvm::all_of(list, [&](AxisId axis) { return isTemporal(axis); });
}

AxisList Mesh::temporalAxes() const {
  AxisList found;
  for (auto [id, axis] : llvm::enumerate(axes))
    if (axis.kind == AxisKind::Temporal)
      found.push_back(id);
  return found;
}

std::optional<AxisId> Mesh::stageAxis() const {
  for (auto [id, axis] : llvm::enumerate(axes))
    if (axis.kind == AxisKind::Stages)
      return id;
  return std::nullopt;
}

AxisList Mesh::resolve(StringRef name) const {
  AxisList found;
  for (auto [index, axis] : llvm::enumerate(axes)) {
    StringRef full = axis.name;
    if (full == name)
      return {static_cast<AxisId>(index)};
    if (full.consume_front(name) && full.consume_front(".") && !full.empty() &&
        llvm::all_of(full, isDigit))
      found.push_back(index);
  }
  return found;
}

SmallVector<int64_t, 4> Mesh::coordinates(int64_t rank) const {
  SmallVector<int64_t, 4> result(axes.size());
  for (size_t i = axes.size(); i-- > 0;) {
    result[i] = rank % axes[i].size;
    rank /= axes[i].size;
  }
  return result;
}

int64_t Mesh::rank(ArrayRef<int64_t> coordinates) const {
  int64_t result = 0;
  for (auto [axis, coordinate] : llvm::zip_equal(axes, coordinates))
    result = result * axis.size + coordinate;
  return result;
}

int64_t Mesh::memberIndex(ArrayRef<AxisId> list, ArrayRef<int64_t> coordinates) const {
  int64_t result = 0;
  for (AxisId axis : list)
    result = result * size(axis) + coordinates[axis];
  return result;
}

std::string toString(const Mesh &mesh) {
  std::string text, last;
  unsigned next = 0; // number of the sub-axis that would continue `last`
  for (auto [i, axis] : llvm::enumerate(mesh.axes)) {
    auto [name, number] = StringRef(axis.name).rsplit('.');
    if (next > 0 && name == last && number == std::to_string(next)) {
      text += "x" + std::to_string(axis.size);
      ++next;
      continue;
    }
    // One without a second is no `dp=2`, which is called `dp`.
    bool isFirst =
        number == "0" && i + 1 < mesh.axes.size() && mesh.axes[i + 1].name == (name + ".1").str();
    last = isFirst ? name.str() : axis.name;
    next = isFirst ? 1 : 0;
    text += (text.empty() ? "" : ",") + last + "=" + std::to_string(axis.size);
  }
  return text;
}

void printAxes(const Mesh &mesh, ArrayRef<AxisId> axes, raw_ostream &os) {
  llvm::interleave(axes, os, [&](AxisId axis) { os << '"' << mesh.axes[axis].name << '"'; }, ",");
}

} // namespace weft
