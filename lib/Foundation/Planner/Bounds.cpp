// Bounds of what a layout takes and holds.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Bounds.h"

#include "weft/Pipeline/Generate.h"

#include <algorithm>

using namespace weft;
using namespace weft::planner;
using runtime::CollectiveKind;

Bounds::Pass Bounds::priceOf(const std::vector<cost::Item> &items, bool isOfWeights,
                             const Device &device) {
  Pass pass;
  cost::Remarks remarks;
  for (const cost::Item &item : items) {
    if ((item.purpose != cost::Purpose::Pass) != isOfWeights)
      continue;
    if (item.isWork)
      (item.purpose == cost::Purpose::Accumulation         ? pass.accumulation
       : item.work.shape.kind == cost::Shape::Kind::Stream ? pass.stream
                                                           : pass.work) +=
          item.count * cost::timeOf(item.work, device, remarks);
    else if (item.communication.role == cost::Role::GradientSum)
      pass.partAccumulation +=
          item.count * cost::timeOf(accumulationOf(item.communication.bytes), fastest, remarks);
    else if (item.communication.role == cost::Role::Exposed)
      pass.sent[{item.communication.kind, item.communication.bytes}] += item.count;
  }
  return pass;
}

const Bounds::Priced &Bounds::pricedOf(const ModelAccount &model) {
  auto [found, isNew] = priced.try_emplace(&model);
  if (isNew) {
    auto passesOn = [&](const Device &device, const Share &share) {
      return Passes{priceOf(share.forward, false, device), priceOf(share.backward, false, device),
                    priceOf(share.backward, true, device)};
    };
    auto partsOn = [&](const Device &device) {
      return Parts{passesOn(device, model.before), passesOn(device, model.block),
                   passesOn(device, model.behind)};
    };
    found->second = {partsOn(cluster.device), partsOn(fastest), sharedOf(model)};
  }
  return found->second;
}

Assembly Bounds::assemblyOf(const ModelAccount &model) {
  const Parts &all = pricedOf(model).whole;
  auto work = [](const Passes &passes) {
    return double(passes.forward.work + passes.backward.work + passes.weight.work +
                  passes.forward.stream + passes.backward.stream + passes.weight.stream +
                  passes.weight.accumulation);
  };
  Assembly assembly;
  assembly.bucketBytes = options.bucketBytes;
  double block = std::max(1.0, work(all.block));
  assembly.before = work(all.before) / block;
  assembly.behind = work(all.behind) / block;
  return assembly;
}

const std::vector<int64_t> &Bounds::countsOf(const ModelAccount &model, const Layout &layout) {
  auto [found, isNew] = counts.try_emplace({&model, layout.chunks()});
  if (isNew)
    found->second = blocksOfChunks(model.blocks, layout, assemblyOf(model));
  return found->second;
}

int64_t Bounds::timeOf(Role axis, CollectiveKind kind, int64_t bytes, const Layout &layout) {
  Links &found = links[{{layout.sizes, layout.order}, axis}];
  if (!found.groups) {
    found.mesh = std::make_unique<std::vector<cost::Axis>>();
    int32_t number = 0;
    for (Role role : layout.order) {
      if (layout.size(role) == 1)
        continue;
      if (role == axis)
        number = int32_t(found.mesh->size());
      found.mesh->push_back({nameOf(role), layout.size(role)});
    }
    found.groups =
        std::make_unique<cost::Groups>(*found.mesh, std::vector<int32_t>{number}, cluster);
  }
  auto [time, isNew] = found.times.try_emplace({kind, bytes}, 0);
  if (isNew) {
    cost::Remarks remarks;
    time->second = cost::picosecondsOf(found.groups->seconds(kind, double(bytes), remarks));
  }
  return time->second;
}

int64_t Bounds::timeOf(const Messages &messages, const Layout &layout) {
  return messages.count == 0
             ? 0
             : messages.count * timeOf(Role::Data, messages.kind, messages.bytes, layout);
}

int64_t Bounds::timeOf(const Pass &pass, const Layout &layout, const Known &known) {
  // A part of it takes at least that part of the time; bounds of others are of any ZeRO.
  int64_t parts = pass.partAccumulation / layout.size(Role::Data);
  int64_t accumulated = layout.microbatches == 1           ? 0
                        : known.times > 1 || known.isOther ? std::min(parts, pass.accumulation)
                        : layout.zero >= 2                 ? parts
                                                           : pass.accumulation;
  int64_t time = pass.work / known.times + (pass.stream + accumulated) / known.streamTimes;
  if (layout.size(Role::Tensor) > 1)
    for (auto [what, count] : pass.sent)
      time += count * timeOf(Role::Tensor, what.first, what.second, layout);
  return time;
}

int64_t Bounds::updateTime(const Share &share, const Layout &layout) {
  auto [found, isNew] =
      updates.try_emplace({&share, layout.zero >= 1 ? layout.size(Role::Data) : 1}, 0);
  cost::Remarks remarks;
  for (const cost::Item &item : share.update)
    if (isNew && item.isWork)
      found->second +=
          item.count * cost::timeOf(updateOf(item.work, layout), cluster.device, remarks);
  return found->second;
}

Bounds::Times Bounds::timesOf(const Share &share, const Passes &passes, const Layout &layout,
                              const Known &known) {
  Times times;
  times.forward = timeOf(passes.forward, layout, known);
  times.backward = timeOf(passes.backward, layout, known);
  times.weight = timeOf(passes.weight, layout, known);
  times.update = updateTime(share, layout);
  times.exchanges = exchangeTime(share, layout);
  return times;
}

int64_t Bounds::exchangeTime(const Share &share, const Layout &layout) {
  if (layout.zero < 2 || layout.size(Role::Data) == 1)
    return 0;
  int64_t time = 0;
  if (layout.zero == 3)
    for (const std::vector<cost::Item> *items : {&share.forward, &share.backward})
      for (const cost::Item &item : *items)
        if (isOfReplicas(item) && item.communication.role == cost::Role::ParameterGather)
          time += item.count *
                  timeOf(Role::Data, CollectiveKind::AllGather, item.communication.bytes, layout);
  for (int64_t bytes : sumsIn(share).within)
    if (bytes > 0)
      time += timeOf(Role::Data, CollectiveKind::ReduceScatter, bytes, layout);
  return time;
}

const EachSum &Bounds::sumsIn(const Share &share) {
  auto [found, isNew] = eachSums.try_emplace(&share);
  if (isNew)
    found->second = eachSumOf(share.backward, options.bucketBytes);
  return found->second;
}

int64_t Bounds::bundleTime(const Share &share, int64_t count, const Layout &layout) {
  const EachSum &sums = sumsIn(share);
  if (layout.zero < 2 || layout.size(Role::Data) == 1 || sums.passes == 0)
    return 0;
  auto timeOfSome = [&](int64_t passes) {
    return passes == 0 ? 0
                       : timeOf(Role::Data, CollectiveKind::ReduceScatter,
                                passes * sums.bytesOfPass, layout);
  };
  return count / sums.passes * timeOfSome(sums.passes) + timeOfSome(count % sums.passes);
}

int64_t Bounds::time(const Layout &layout, const Known &known) {
  const ModelAccount &model = *known.model;
  const Priced &all = pricedOf(model);
  return known.times > 1 || known.isOther ? timeOfOther(all, layout, known)
                                          : timeOfOwn(all, layout, known);
}

/// Which stage gets which blocks is not known. One has its even share, and where stages have one
/// chunk, a microbatch of what the others have comes before and behind its own, but for gradients
/// of weights, which a schedule may put off. Rounded down, as shares are.
int64_t Bounds::timeOfOther(const Priced &priced, const Layout &layout, const Known &known) {
  const Parts &all = known.times > 1 || known.streamTimes > 1 ? priced.divisible : priced.whole;
  auto sumOf = [&](Pass Passes::*pass) {
    return timeOf(all.before.*pass, layout, known) +
           known.model->blocks * timeOf(all.block.*pass, layout, known) +
           timeOf(all.behind.*pass, layout, known);
  };
  int64_t stages = layout.size(Role::Stages), microbatches = layout.microbatches;
  int64_t chain = sumOf(&Passes::forward) + sumOf(&Passes::backward);
  // Between its own chunks a stage is with other microbatches.
  bool isCutOnce = layout.chunks() == stages;
  return std::max(isCutOnce ? chain + (microbatches - 1) * chain / stages : chain,
                  microbatches * (chain + sumOf(&Passes::weight)) / stages);
}

int64_t Bounds::timeOfOwn(const Priced &priced, const Layout &layout, const Known &known) {
  const ModelAccount &model = *known.model;
  const Parts &all = priced.whole;
  Times before = timesOf(model.before, all.before, layout, known),
        block = timesOf(model.block, all.block, layout, known),
        behind = timesOf(model.behind, all.behind, layout, known),
        shared = timesOf(priced.shared, {}, layout, known);
  int64_t stages = layout.size(Role::Stages), microbatches = layout.microbatches;
  const std::vector<int64_t> &counts = countsOf(model, layout);
  const Order &order = orderOf(layout);
  if (order.place.size() != counts.size())
    return 0; // there is no such schedule
  auto work = std::vector<StageTimes>(size_t(stages));
  int64_t filled = 0, emptied = 0;
  for (size_t number = 0; number < counts.size(); ++number) {
    StageTimes &stage = work[size_t(order.place[number])];
    bool isFirst = number == 0, isLast = number + 1 == counts.size();
    Times here;
    auto add = [&](const Times &part, const Share &share, int64_t count) {
      here.forward += count * part.forward;
      here.backward += count * part.backward;
      here.weight += count * part.weight;
      stage.exchanges += count * part.exchanges + bundleTime(share, count, layout);
      stage.update += count * part.update;
      stage.addState(share, count);
    };
    // The last action of a stage is a backward one of its first chunk.
    if (!stage.isUsed) {
      stage.filled = filled;
      stage.emptied = emptied;
      stage.isUsed = true;
    }
    add(block, model.block, counts[number]);
    if (isFirst)
      add(before, model.before, 1);
    if (isLast)
      add(behind, model.behind, 1);
    if (isLast && order.place.front() != order.place.back())
      add(shared, priced.shared, 1);
    filled += here.forward;
    emptied += here.backward;
    stage.each += here.forward + here.backward;
    stage.weight += here.weight;
    // Sums run beside it: of a chunk, the last of the stage's.
    stage.leastBack = std::min(stage.leastBack, here.backward + here.weight);
  }
  int64_t most = 0;
  for (StageTimes &stage : work)
    stage.update +=
        timeOf(gathersBehindUpdate(layout, stage.parameters, options.bucketBytes), layout);
  for (const StageTimes &stage : work) {
    int64_t computed = stage.filled + microbatches * (stage.each + stage.weight);
    // Links are busy from the first action on, or with sums beside the last one.
    int64_t sums = counts.size() > work.size()
                       ? 0
                       : timeOf(sumsOf(layout, stage.gradients, options.bucketBytes), layout);
    int64_t sent = layout.zero >= 2 ? stage.filled + microbatches * stage.exchanges
                                    : computed - stage.leastBack + sums;
    // Gradients of weights may come last; others wait for those of inputs alone.
    most = std::max({most,
                     stage.filled + microbatches * stage.each + stage.emptied +
                         work[size_t(order.place.front())].update,
                     std::max(computed, sent) + stage.update});
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
  const std::vector<int64_t> &counts = countsOf(model, layout);
  const Order &order = orderOf(layout);
  if (order.place.size() != counts.size())
    return least; // there is no such schedule
  int64_t blocks = 0, fewest = counts.front();
  for (size_t number = 0; number < counts.size(); ++number)
    if (order.place[number] == order.place.front()) {
      blocks += counts[number];
      fewest = std::min(fewest, counts[number]);
    }
  for (size_t i = 0; i < state.size(); ++i)
    state[i] = model.before.stateBytes[i] + blocks * model.block.stateBytes[i];
  return std::max(least, stateBytes(layout, state) + order.underWay * fewest * keptBy(model.block));
}

const Bounds::Order &Bounds::orderOf(const Layout &layout) {
  int64_t stages = layout.size(Role::Stages);
  auto [found, isNew] = orders.try_emplace({layout.schedule, stages, layout.microbatches});
  std::string misfit;
  std::optional<pipeline::Schedule> schedule;
  if (isNew)
    schedule = stages == 1
                   ? pipeline::withoutStages(layout.microbatches)
                   : pipeline::makeSchedule(layout.schedule, stages, layout.microbatches, misfit);
  if (!schedule)
    return found->second;
  Order &order = found->second;
  order.place = schedule->place;
  int64_t now = 0;
  for (const pipeline::Action &action : schedule->ranks.front()) {
    now += action.kind == pipeline::Kind::Forward  ? 1
           : action.kind == pipeline::Kind::Weight ? 0
                                                   : -1;
    order.underWay = std::max(order.underWay, now);
  }
  return order;
}
