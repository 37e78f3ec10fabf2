// Uniform layouts: every device of a stage does the same, all blocks alike.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PLANNER_LAYOUT_H
#define WEFT_PLANNER_LAYOUT_H

#include "weft/Cost/Recompute.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

/// Plain C++, without LLVM.
namespace weft::planner {

/// What an axis of the mesh is for, by the names that the compiler knows.
enum class Role : uint8_t { Stages, Data, Tensor };
constexpr size_t kRoleCount = 3;
/// "pp", "dp", "tp".
const char *nameOf(Role role);

/// One way to split a program over devices.
struct Layout {
  /// Sizes by Role.
  std::array<int64_t, kRoleCount> sizes = {1, 1, 1};
  /// From the major axis to the minor one: neighbours in rank differ in the last.
  std::array<Role, kRoleCount> order = {Role::Stages, Role::Data, Role::Tensor};
  int64_t microbatches = 1;
  /// As pipeline::findSchedule knows it; only asked for with stages.
  std::string schedule = "1f1b";
  /// As --zero: 0 to 3.
  int64_t zero = 0;
  /// One of kUniformRecompute.
  Recompute recompute = Recompute::None;
  bool sequenceParallel = false;

  int64_t size(Role role) const { return sizes[size_t(role)]; }
  int64_t &size(Role role) { return sizes[size_t(role)]; }
  int64_t devices() const { return sizes[0] * sizes[1] * sizes[2]; }
  /// The parts that the model is cut into: several on a stage, if the schedule has it so.
  int64_t chunks() const;
  /// `pp=2,dp=4`: the axes longer than 1; "" for one device.
  std::string mesh() const;
  /// For people: `dp=4 x tp=2, 8 microbatches, ZeRO-1, recompute full`.
  std::string text() const;
  /// How much there is to it: of two that are as fast the one with less of it is chosen.
  int64_t complexity() const;

  bool operator==(const Layout &other) const;
  /// A total order: simpler ones first, then by what is written.
  bool operator<(const Layout &other) const;
};

/// The layouts that are looked at: all of them that these limits allow.
struct Space {
  int64_t devices = 1;
  /// Samples of a step, in whatever a model counts them; 1: nothing to split.
  int64_t batch = 1;
  bool trains = true;
  /// Blocks that stages can be made of; fewer than 2: no stages.
  int64_t blocks = 0;
  /// The most devices that weights are split over, where `allowedSizes` does not say.
  int64_t mostTensor = 64;
  /// Whether another order of axes has other links: not where all devices have the same.
  bool ordersMatter = true;
  /// What each may be; empty: anything.
  std::array<std::vector<int64_t>, kRoleCount> allowedSizes;
  /// Which must have several devices, as something is to be split over them.
  std::array<bool, kRoleCount> isNeeded = {};
  std::vector<int64_t> allowedMicrobatches, allowedZero;
  std::vector<Recompute> allowedRecompute;
  std::vector<bool> allowedSequenceParallel;
  std::vector<std::string> schedules = {"1f1b",  "interleaved:2", "interleaved:4", "zb-h1",
                                        "zb-h2", "zb-v",          "dualpipev"};

  /// In the order of Layout::operator<. Each divides the devices, the batch and the blocks' count
  /// is at least that of chunks.
  std::vector<Layout> layouts() const;
  /// What their meshes can be, but for the order of axes (Layout::mesh), the simplest first.
  std::vector<std::string> meshes() const;
};

} // namespace weft::planner

#endif // WEFT_PLANNER_LAYOUT_H
