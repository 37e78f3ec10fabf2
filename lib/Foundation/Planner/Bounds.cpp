// Bounds of what a layout takes and holds.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Bounds.h"

#include <algorithm>

using namespace weft;
using namespace weft::planner;
using runtime::CollectiveKind;

Bounds::Pass Bounds::priceOf(const std::vector<cost::Item> &items) {
  Pass pass;
  cost::Remarks remarks;
  for (const cost::Item &item : items)
    if (item.isWork)
      (item.work.shape.kind == cost::Shape::Kind::Stream ? pass.stream : pass.work) +=
          item.count * cost::timeOf(item.work, cluster.device, remarks);
    else if (item.communication.role == cost::Role::Exposed)
      pass.sent[{item.communication.kind, item.communication.bytes}] += item.count;
  return pass;
}

const Bounds::Priced &Bounds::pricedOf(const ModelAccount &model) {
  auto [found, isNew] = priced.try_emplace(&model);
  if (isNew) {
    auto price = [&](const Share &share) {
      return Passes{priceOf(share.forward), priceOf(share.backward), priceOf(share.weight)};
    };
    found->second = {price(model.before), price(model.block), price(model.behind)};
  }
  return found->second;
}

Assembly Bounds::assemblyOf(const ModelAccount &model) {
  const Priced &all = pricedOf(model);
  auto work = [](const Passes &passes) {
    return double(passes.forward.work + passes.backward.work + passes.weight.work +
                  passes.forward.stream + passes.backward.stream + passes.weight.stream);
  };
  Assembly assembly;
  assembly.bucketBytes = options.bucketBytes;
  double block = std::max(1.0, work(all.block));
  assembly.before = work(all.before) / block;
  assembly.behind = work(all.behind) / block;
  return assembly;
}

int64_t Bounds::timeOf(CollectiveKind kind, int64_t bytes, const Layout &layout) {
  Links &found = links[{layout.sizes, layout.order}];
  if (!found.groups) {
    found.mesh = std::make_unique<std::vector<cost::Axis>>();
    int32_t tensor = 0;
    for (Role role : layout.order) {
      if (layout.size(role) == 1)
        continue;
      if (role == Role::Tensor)
        tensor = int32_t(found.mesh->size());
      found.mesh->push_back({nameOf(role), layout.size(role)});
    }
    found.groups =
        std::make_unique<cost::Groups>(*found.mesh, std::vector<int32_t>{tensor}, cluster);
  }
  auto [time, isNew] = found.times.try_emplace({kind, bytes}, 0);
  if (isNew) {
    cost::Remarks remarks;
    time->second = cost::picosecondsOf(found.groups->seconds(kind, double(bytes), remarks));
  }
  return time->second;
}

int64_t Bounds::timeOf(const Pass &pass, const Layout &layout, const Known &known) {
  int64_t time = pass.work / known.times + pass.stream / known.streamTimes;
  if (layout.size(Role::Tensor) > 1)
    for (auto [what, count] : pass.sent)
      time += count * timeOf(what.first, what.second, layout);
  return time;
}

int64_t Bounds::time(const Layout &layout, const Known &known) {
  const ModelAccount &model = *known.model;
  const Priced &all = pricedOf(model);
  struct Times {
    int64_t forward, backward, weight;
  };
  auto timesOf = [&](const Passes &passes) {
    return Times{timeOf(passes.forward, layout, known), timeOf(passes.backward, layout, known),
                 timeOf(passes.weight, layout, known)};
  };
  Times before = timesOf(all.before), block = timesOf(all.block), behind = timesOf(all.behind);
  int64_t stages = layout.size(Role::Stages);
  if (known.times > 1 || known.isOther) {
    // Which stage gets which blocks is not known. One has its even share, and of what the others
    // have one microbatch comes before and behind its own, but for gradients of weights, which a
    // schedule may put off. Rounded down, as shares are.
    auto sumOf = [&](auto of) { return of(before) + model.blocks * of(block) + of(behind); };
    int64_t chain = sumOf([](const Times &part) { return part.forward + part.backward; });
    int64_t weights = sumOf([](const Times &part) { return part.weight; });
    return std::max(chain + (layout.microbatches - 1) * chain / stages,
                    layout.microbatches * (chain + weights) / stages);
  }
  Assembly assembly = assemblyOf(model);
  std::vector<int64_t> counts =
      blocksOfStages(model.blocks, stages, assembly.before, assembly.behind);
  int64_t most = 0, filled = 0, emptied = 0;
  for (int64_t stage = 0; stage < stages; ++stage) {
    Times here = {0, 0, 0};
    auto add = [&](const Times &part, int64_t count) {
      here.forward += count * part.forward;
      here.backward += count * part.backward;
      here.weight += count * part.weight;
    };
    add(block, counts[size_t(stage)]);
    if (stage == 0)
      add(before, 1);
    if (stage + 1 == stages)
      add(behind, 1);
    int64_t each = here.forward + here.backward;
    // Gradients of weights may come last; others wait for those of inputs alone.
    most = std::max({most, filled + layout.microbatches * each + emptied,
                     filled + layout.microbatches * (each + here.weight)});
    filled += here.forward;
    emptied += here.backward;
  }
  return most;
}

int64_t Bounds::stateBytes(const Layout &layout,
                           const std::array<int64_t, cost::kStateClassCount> &whole) {
  int64_t total = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    auto kind = cost::StateClass(i);
    int64_t from = kind == cost::StateClass::Parameter  ? 3
                   : kind == cost::StateClass::Gradient ? 2
                   : kind == cost::StateClass::Other    ? 4
                                                        : 1;
    total += layout.zero >= from ? whole[i] / layout.size(Role::Data) : whole[i];
  }
  return total;
}

int64_t Bounds::bytes(const Layout &layout, const Known &known) {
  const ModelAccount &model = *known.model;
  int64_t stages = layout.size(Role::Stages);
  std::array<int64_t, cost::kStateClassCount> state = {};
  for (size_t i = 0; i < state.size(); ++i)
    if (cost::StateClass(i) != cost::StateClass::Other)
      state[i] = model.before.stateBytes[i] + model.blocks * model.block.stateBytes[i] +
                 model.behind.stateBytes[i];
  // Some stage has its even share.
  int64_t least = stateBytes(layout, state) / known.times / stages;
  if (known.isOther || known.times > 1)
    return least;
  auto keptBy = [](const Share &share) { return share.keptForBackward + share.keptForWeight; };
  if (stages == 1)
    return least + model.blocks * keptBy(model.block) + keptBy(model.behind) +
           layout.microbatches * model.outputBytes;
  Assembly assembly = assemblyOf(model);
  int64_t blocks = blocksOfStages(model.blocks, stages, assembly.before, assembly.behind).front();
  for (size_t i = 0; i < state.size(); ++i)
    state[i] = model.before.stateBytes[i] + blocks * model.block.stateBytes[i];
  // The first stage has as many microbatches under way as there are stages; other schedules fewer.
  int64_t underWay = layout.schedule == "1f1b" ? std::min(stages, layout.microbatches) : 1;
  return std::max(least, stateBytes(layout, state) + underWay * blocks * keptBy(model.block));
}
