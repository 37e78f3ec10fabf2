// Which meshes have the axes that rules for values split over.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "NeededAxes.h"

#include "weft/Choosing/Failure.h"

#include "llvm/ADT/STLExtras.h"

#include <utility>

using namespace weft;
using namespace weft::choosing;
using planner::Role;
using planner::Space;

namespace {

/// What values can be split over: a stage has whole ones.
std::optional<Role> splittingRole(llvm::StringRef axis) {
  for (Role role : {Role::Data, Role::Tensor})
    if (axis == planner::nameOf(role))
      return role;
  return std::nullopt;
}

class Need {
public:
  Need(llvm::ArrayRef<int64_t> devices, Space &space) : devices(devices), space(space) {}

  llvm::Error add(const std::string &rule, const std::string &axis) {
    NoMesh fault;
    fault.rule = rule, fault.axis = axis;
    std::optional<Role> role = splittingRole(axis);
    if (!role && axis == planner::nameOf(Role::Stages)) {
      fault.kind = NoMesh::Axis::Stages;
      return llvm::make_error<NoMesh>(std::move(fault));
    }
    std::vector<std::string> there = meshes(space);
    if (role) {
      if (std::exchange(space.isNeeded[size_t(*role)], true))
        return llvm::Error::success();
      // Where there are none anyhow, it is not the rule that is wrong.
      if (there.empty() || !meshes(space).empty()) {
        needed.push_back(axis);
        return llvm::Error::success();
      }
      fault.kind = NoMesh::Axis::Absent;
      fault.nearest = nearest();
    }
    fault.devices = devices.back();
    fault.orFewer = devices.size() > 1;
    fault.needed = needed;
    fault.meshes = std::move(there);
    return llvm::make_error<NoMesh>(std::move(fault));
  }

private:
  std::vector<std::string> meshes(Space of) const {
    std::vector<std::string> all;
    for (int64_t number : devices) {
      of.devices = number;
      for (const std::string &mesh : of.meshes())
        all.push_back(mesh.empty() ? "one device" : mesh);
    }
    return all;
  }

  std::optional<NoMesh::Nearest> nearest() const {
    using Change = NoMesh::Nearest::Change;
    Space open = space;
    open.allowedSizes = {};
    if (std::vector<std::string> found = meshes(open); !found.empty())
      return NoMesh::Nearest{Change::AnySizes, 0, found.front()};
    constexpr int kDoublings = 10;
    Space larger = space, wider = space;
    larger.devices = devices.back();
    for (int i = 0; i < kDoublings; ++i) {
      larger.devices *= 2;
      if (std::vector<std::string> found = larger.meshes(); !found.empty())
        return NoMesh::Nearest{Change::Devices, larger.devices, found.front()};
    }
    for (int i = 0; i < kDoublings; ++i) {
      wider.batch *= 2;
      if (std::vector<std::string> found = meshes(wider); !found.empty())
        return NoMesh::Nearest{Change::Batch, wider.batch, found.front()};
    }
    return std::nullopt;
  }

  llvm::ArrayRef<int64_t> devices;
  Space &space;
  std::vector<std::string> needed;
};

} // namespace

llvm::Error choosing::needAxes(llvm::ArrayRef<dist::PlacementRule> rules,
                               llvm::ArrayRef<int64_t> devices, Space &space) {
  Need need(devices, space);
  for (const dist::PlacementRule &rule : rules)
    for (const dist::PlacementRule::Dim &dim : rule.dims)
      for (const dist::PlacementRule::PlacedFactor &part : dim.parts)
        for (const std::string &axis : part.axes)
          if (llvm::Error wrong = need.add(rule.text, axis))
            return wrong;
  return llvm::Error::success();
}
