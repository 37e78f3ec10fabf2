// Which meshes have the axes that rules for values split over.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ChoosePlaces.h"

#include "weft/Support/Nearest.h"

#include "llvm/ADT/STLExtras.h"

#include <optional>
#include <utility>

using namespace weft;
using namespace weft::driver;
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

  /// Returns why there is no mesh that has this axis, too, or "".
  std::string add(const std::string &axis) {
    std::optional<Role> role = splittingRole(axis);
    if (!role && axis == planner::nameOf(Role::Stages))
      return "counts stages, and nothing is split over it; give dp or tp";
    std::vector<std::string> there = meshes(space);
    if (role) {
      if (std::exchange(space.isNeeded[size_t(*role)], true))
        return "";
      // Where there are none anyhow, it is not the rule that is wrong.
      if (there.empty() || !meshes(space).empty()) {
        needed += (needed.empty() ? " with '" : ", '") + axis + "'";
        return "";
      }
    }
    return "none of the meshes of " + numbers() + needed + " has: " + listNames(there) +
           (role ? nearest() : "; give dp or tp, or ask about a mesh of yours with --evaluate");
  }

private:
  std::string numbers() const {
    return std::to_string(devices.back()) + (devices.back() == 1 ? " device" : " devices") +
           (devices.size() > 1 ? " or fewer" : "");
  }

  std::vector<std::string> meshes(Space of) const {
    std::vector<std::string> all;
    for (int64_t number : devices) {
      of.devices = number;
      for (const std::string &mesh : of.meshes())
        all.push_back(mesh.empty() ? "one device" : mesh);
    }
    return all;
  }

  std::string nearest() const {
    Space open = space;
    open.allowedSizes = {};
    if (std::vector<std::string> found = meshes(open); !found.empty())
      return "; without --fix and --forbid there is '" + found.front() + "'";
    constexpr int kDoublings = 10;
    Space larger = space, wider = space;
    larger.devices = devices.back();
    for (int i = 0; i < kDoublings; ++i) {
      larger.devices *= 2;
      if (std::vector<std::string> found = larger.meshes(); !found.empty())
        return "; " + std::to_string(larger.devices) + " devices have '" + found.front() + "'";
    }
    for (int i = 0; i < kDoublings; ++i) {
      wider.batch *= 2;
      if (std::vector<std::string> found = meshes(wider); !found.empty())
        return "; with a batch of " + std::to_string(wider.batch) + " there is '" + found.front() +
               "'";
    }
    return "; leave it out, or ask about a mesh of yours with --evaluate";
  }

  llvm::ArrayRef<int64_t> devices;
  Space &space;
  std::string needed;
};

} // namespace

std::string driver::needAxes(llvm::ArrayRef<dist::PlacementRule> rules,
                             llvm::ArrayRef<int64_t> devices, Space &space) {
  Need need(devices, space);
  for (const dist::PlacementRule &rule : rules)
    for (const dist::PlacementRule::Dim &dim : rule.dims)
      for (const dist::PlacementRule::PlacedFactor &part : dim.parts)
        for (const std::string &axis : part.axes)
          if (std::string wrong = need.add(axis); !wrong.empty())
            return "--place '" + rule.text + "' splits over axis '" + axis + "', which " + wrong;
  return "";
}
