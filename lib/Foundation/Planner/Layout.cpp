// All uniform layouts of a space.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Planner/Layout.h"

#include "weft/Pipeline/Generate.h"

#include <algorithm>
#include <tuple>

using namespace weft;
using namespace weft::planner;

const char *planner::nameOf(Role role) {
  static constexpr const char *kNames[] = {"pp", "dp", "tp"};
  return kNames[size_t(role)];
}

int64_t Layout::chunks() const {
  std::string why;
  std::optional<pipeline::NamedSchedule> named = pipeline::findSchedule(schedule, why);
  bool isCut = size(Role::Stages) > 1 && named;
  return size(Role::Stages) * (isCut ? named->chunksPerRank : 1);
}

std::string Layout::mesh() const {
  std::string text;
  for (Role role : order)
    if (size(role) > 1)
      text +=
          (text.empty() ? "" : ",") + std::string(nameOf(role)) + "=" + std::to_string(size(role));
  return text;
}

std::string Layout::text() const {
  std::string text;
  for (Role role : order)
    if (size(role) > 1)
      text += (text.empty() ? "" : " x ") + std::string(nameOf(role)) + "=" +
              std::to_string(size(role));
  if (text.empty())
    text = "one device";
  if (microbatches > 1)
    text += ", " + std::to_string(microbatches) + " microbatches";
  if (size(Role::Stages) > 1)
    text += ", " + schedule;
  if (zero > 0)
    text += ", ZeRO-" + std::to_string(zero);
  if (recompute != Recompute::None)
    text += std::string(", recompute ") + nameOf(recompute);
  if (sequenceParallel)
    text += ", sequence parallel";
  return text;
}

int64_t Layout::complexity() const {
  int64_t points = 0;
  for (Role role : {Role::Stages, Role::Data, Role::Tensor})
    points += size(role) > 1 ? 4 : 0;
  if (size(Role::Stages) > 1) {
    std::string why;
    std::optional<pipeline::NamedSchedule> named = pipeline::findSchedule(schedule, why);
    points += 2 + (named && named->generator->splitsWeights) + chunks() / size(Role::Stages) - 1;
  }
  points += microbatches > 1 && size(Role::Stages) == 1;
  points += zero + int64_t(recompute) + sequenceParallel;
  return points;
}

/// What is written of it.
static auto wordsOf(const Layout &layout) {
  return std::tie(layout.sizes, layout.order, layout.microbatches, layout.zero, layout.recompute,
                  layout.sequenceParallel, layout.schedule);
}

bool Layout::operator==(const Layout &other) const { return wordsOf(*this) == wordsOf(other); }
bool Layout::operator<(const Layout &other) const {
  int64_t own = complexity(), others = other.complexity();
  return own != others ? own < others : wordsOf(*this) < wordsOf(other);
}

namespace {

std::vector<int64_t> divisorsOf(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t small = 1; small * small <= number; ++small)
    if (number % small == 0) {
      divisors.push_back(small);
      if (small != number / small)
        divisors.push_back(number / small);
    }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

template <typename T> bool allows(const std::vector<T> &allowed, T value) {
  return allowed.empty() || std::find(allowed.begin(), allowed.end(), value) != allowed.end();
}

class Enumeration {
public:
  explicit Enumeration(const Space &space) : space(space) {}

  std::vector<Layout> run() {
    for (const Layout &layout : meshes())
      addOrders(layout);
    return sorted();
  }

  /// Layouts that differ in their sizes, the simplest first.
  std::vector<Layout> meshes() const {
    std::vector<Layout> found;
    Layout layout;
    for (int64_t stages : divisorsOf(space.devices))
      for (int64_t tensor : divisorsOf(space.devices / stages)) {
        layout.sizes = {stages, space.devices / stages / tensor, tensor};
        bool isAsked = !space.allowedSizes[size_t(Role::Tensor)].empty();
        if ((isAsked || tensor <= space.mostTensor) && (stages == 1 || stages <= space.blocks) &&
            space.batch % layout.size(Role::Data) == 0 && areAllowed(layout.sizes))
          found.push_back(layout);
      }
    std::sort(found.begin(), found.end());
    return found;
  }

private:
  /// As Layout::operator< orders them, but how complex one is is asked once, as it takes time.
  std::vector<Layout> sorted() {
    std::vector<std::pair<int64_t, size_t>> order;
    for (size_t i = 0; i < layouts.size(); ++i)
      order.emplace_back(layouts[i].complexity(), i);
    std::sort(order.begin(), order.end(), [&](const auto &a, const auto &b) {
      return a.first != b.first ? a.first < b.first
                                : wordsOf(layouts[a.second]) < wordsOf(layouts[b.second]);
    });
    std::vector<Layout> result;
    result.reserve(layouts.size());
    for (const auto &[complexity, i] : order)
      result.push_back(std::move(layouts[i]));
    return result;
  }

  bool areAllowed(const std::array<int64_t, kRoleCount> &sizes) const {
    for (size_t role = 0; role < kRoleCount; ++role)
      if (!allows(space.allowedSizes[role], sizes[role]) ||
          (space.isNeeded[role] && sizes[role] == 1))
        return false;
    return true;
  }

  void addOrders(Layout layout) {
    // Axes of one device have one place.
    std::vector<Role> single, several;
    for (Role role : {Role::Stages, Role::Data, Role::Tensor})
      (layout.size(role) == 1 ? single : several).push_back(role);
    do {
      std::copy(single.begin(), single.end(), layout.order.begin());
      std::copy(several.begin(), several.end(), layout.order.begin() + long(single.size()));
      addMicrobatches(layout);
    } while (space.ordersMatter && std::next_permutation(several.begin(), several.end()));
  }

  void addMicrobatches(Layout layout) {
    int64_t stages = layout.size(Role::Stages);
    for (int64_t count : divisorsOf(space.batch / layout.size(Role::Data))) {
      layout.microbatches = count;
      if (!allows(space.allowedMicrobatches, count))
        continue;
      if (stages == 1) {
        layout.schedule = "1f1b";
        addMemory(layout);
        continue;
      }
      for (const std::string &schedule : space.schedules) {
        std::string why;
        std::optional<pipeline::NamedSchedule> named = pipeline::findSchedule(schedule, why);
        layout.schedule = schedule;
        if (named && pipeline::fits(*named->generator, stages, named->chunksPerRank, count, why) &&
            layout.chunks() <= space.blocks)
          addMemory(layout);
      }
    }
  }

  /// What trades memory for time.
  void addMemory(Layout layout) {
    int64_t mostZero = space.trains && layout.size(Role::Data) > 1 ? 3 : 0;
    for (layout.zero = 0; layout.zero <= mostZero; ++layout.zero)
      for (Recompute recompute : kUniformRecompute)
        for (int sequence = 0; sequence <= (layout.size(Role::Tensor) > 1 ? 1 : 0); ++sequence) {
          layout.recompute = recompute;
          layout.sequenceParallel = sequence == 1;
          if ((space.trains || recompute == Recompute::None) &&
              allows(space.allowedZero, layout.zero) &&
              allows(space.allowedRecompute, layout.recompute) &&
              allows(space.allowedSequenceParallel, layout.sequenceParallel))
            layouts.push_back(layout);
        }
  }

  const Space &space;
  std::vector<Layout> layouts;
};

} // namespace

std::vector<Layout> Space::layouts() const { return Enumeration(*this).run(); }

std::vector<std::string> Space::meshes() const {
  std::vector<std::string> texts;
  for (const Layout &layout : Enumeration(*this).meshes())
    texts.push_back(layout.mesh());
  return texts;
}
