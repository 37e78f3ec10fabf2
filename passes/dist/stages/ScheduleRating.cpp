// Simulates the schedules that a program's pipeline could run by.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/stages/ScheduleRating.h"

#include "passes/dist/stages/StageAssignment.h"
#include "passes/dist/stages/StageChoice.h"
#include "passes/dist/stages/StageCut.h"
#include "passes/dist/stages/StageSchedule.h"
#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Pipeline/Generate.h"
#include "weft/Pipeline/Search.h"
#include "weft/Pipeline/Simulate.h"

#include "llvm/Support/Threading.h"

#include <map>

using namespace mlir;

namespace weft::dist {

/// Times within this of each other are alike: models of costs are not better.
static constexpr double kAlike = 1.01;

pipeline::Costs chunkCosts(func::FuncOp program, StageAssignment &chunks, const OpCosts &costs) {
  const Mesh &mesh = costs.model().mesh();
  double parts = double(mesh.deviceCount() / mesh.size(*mesh.stageAxis()));
  pipeline::Costs result;
  result.chunks.resize(chunks.everywhere().size(), {0, 0, 0, 0, 0, 0, 0});
  auto isGradient = [&](Operation *op) { return chunks.classOf(op) == StageClass::Gradient; };
  for (Operation &op : program.getBody().front().without_terminator()) {
    bool isForward = chunks.classOf(&op) == StageClass::Activation,
         isWeight = isWeightGradient(&op);
    if (!isForward && !isGradient(&op))
      continue;
    bool readByWeight = false, readByBackward = false;
    for (Operation *reader : op.getUsers())
      if (!reader->hasTrait<OpTrait::IsTerminator>() && isGradient(reader))
        (isWeightGradient(reader) ? readByWeight : readByBackward) = true;
    double bytes = 0;
    for (Value value : op.getResults())
      bytes += globalBytes(value) / parts;
    for (int64_t number : chunks.of(&op)) {
      pipeline::ChunkCosts &chunk = result.chunks[size_t(number)];
      (isForward  ? chunk.forward
       : isWeight ? chunk.weight
                  : chunk.backward) += costs.seconds(&op, parts);
      if (isForward && readByWeight)
        chunk.keptForWeight += bytes;
      else if (isForward && readByBackward)
        chunk.keptForBackward += bytes;
      else if (!isForward && !isWeight && readByWeight)
        chunk.madeForWeight += bytes;
    }
  }
  std::vector<Operation *> line = chunks.line();
  std::vector<double> crossing = crossingSeconds(line, costs, parts);
  for (size_t i = 1; i < line.size(); ++i)
    if (int64_t before = chunks.of(line[i - 1]).front(); chunks.of(line[i]).front() != before)
      result.chunks[size_t(before)].transfer = crossing[i];
  return result;
}

/// Not if the program has no gradients.
static bool hasWayBack(const pipeline::Costs &costs) {
  return llvm::any_of(costs.chunks, [](const pipeline::ChunkCosts &chunk) {
    return chunk.backward + chunk.weight > 0;
  });
}

RatedSchedule rate(std::string name, pipeline::Schedule schedule, const pipeline::Costs &chunks,
                   bool meet) {
  RatedSchedule rated{std::move(name), std::move(schedule)};
  pipeline::Schedule run = rated.schedule;
  // The way back would take the time of transfers.
  if (!hasWayBack(chunks))
    for (std::vector<pipeline::Action> &actions : run.ranks)
      llvm::erase_if(actions, [](const pipeline::Action &action) {
        return action.kind != pipeline::Kind::Forward;
      });
  pipeline::Timing timing = *pipeline::simulate(run, chunks);
  rated.seconds = meet ? timing.wall : timing.span;
  rated.wallBubble = std::max(0.0, pipeline::bubbleOf(chunks, rated.schedule, timing.wall));
  rated.spanBubble = std::max(0.0, pipeline::bubbleOf(chunks, rated.schedule, timing.span));
  rated.kept = *llvm::max_element(timing.peak);
  return rated;
}

static void sortBestFirst(std::vector<RatedSchedule> &all) {
  for (auto first = all.begin(); first != all.end(); ++first) {
    double seconds = first->seconds, kept = std::numeric_limits<double>::infinity();
    for (auto it = first; it != all.end(); ++it)
      seconds = std::min(seconds, it->seconds);
    for (auto it = first; it != all.end(); ++it)
      if (it->seconds <= kAlike * seconds)
        kept = std::min(kept, it->kept);
    auto best = std::find_if(first, all.end(), [&](const RatedSchedule &rated) {
      return rated.seconds <= kAlike * seconds && rated.kept <= kAlike * kept;
    });
    std::rotate(first, best, best + 1);
  }
}

SmallVector<func::FuncOp> programsByLead(ModuleOp module) {
  auto updates = [](func::FuncOp function) {
    return llvm::any_of(llvm::seq<unsigned>(0, function.getNumResults()),
                        [&](unsigned result) { return bool(nn::updatedState(function, result)); });
  };
  SmallVector<func::FuncOp> list;
  for (bool leads : {true, false})
    for (auto function : module.getOps<func::FuncOp>())
      if (!function.isExternal() && updates(function) == leads)
        list.push_back(function);
  return list;
}

namespace {

/// What the chunks of a cut cost; schedules that place chunks alike share the cut.
struct Cut {
  pipeline::Costs costs;
  bool isAsAsked, meet;
};
using Cuts = std::map<std::vector<int32_t>, Cut>;

} // namespace

/// Cuts the program for all schedules with names, of which `all` has those that can be.
static LogicalResult rateAll(ModuleOp module, const CostModel &costs, StringRef stages,
                             StringRef stageCosts, Cuts &cuts, std::vector<RatedSchedule> &all) {
  SmallVector<func::FuncOp> programs = programsByLead(module);
  if (programs.empty())
    return success();
  func::FuncOp program = programs.front();
  const Mesh &mesh = costs.mesh();
  int64_t ranks = mesh.size(*mesh.stageAxis()), microbatches = mesh.groupSize(mesh.temporalAxes());
  StageAssignment whole(program, {0});
  int64_t most = whole.line().size();
  FailureOr<OpCosts> ops = opCostsOf(program, whole, costs, stageCosts);
  if (failed(ops))
    return failure();
  int64_t asked = llvm::divideCeil(uint64_t(chunksAsked(stagesAsked(whole.line()))), ranks);
  for (const pipeline::Generator &generator : pipeline::generators()) {
    bool hasNumber = generator.leastChunksPerRank != generator.mostChunksPerRank;
    int64_t perRank = generator.leastChunksPerRank;
    if (hasNumber)
      perRank = std::max<int64_t>(2, stages.empty() ? asked : chunksSaid(stages) / ranks);
    std::string why;
    if (perRank * ranks > most || (!stages.empty() && perRank * ranks != chunksSaid(stages)) ||
        !pipeline::fits(generator, ranks, perRank, microbatches, why))
      continue;
    std::vector<int32_t> place = generator.place(int32_t(ranks), int32_t(perRank));
    auto [cut, isNew] = cuts.try_emplace(place);
    if (isNew) {
      StageAssignment chunks(program, place);
      StateHomes homes;
      if (failed(chunks.cut(*ops, stages, homes)))
        return failure();
      cut->second = {chunkCosts(program, chunks, *ops), chunks.isAsAsked(), chunks.meet()};
    }
    all.push_back(rate(generator.name + (hasNumber ? ":" + std::to_string(perRank) : std::string()),
                       generator.make(int32_t(ranks), int32_t(perRank), int32_t(microbatches)),
                       cut->second.costs, cut->second.meet));
    all.back().isAsAsked = cut->second.isAsAsked;
  }
  auto isAsAsked = [](const RatedSchedule &rated) { return rated.isAsAsked; };
  if (llvm::any_of(all, isAsAsked))
    llvm::erase_if(all, std::not_fn(isAsAsked));
  sortBestFirst(all);
  return success();
}

FailureOr<std::vector<RatedSchedule>> rateSchedules(ModuleOp module, const CostModel &costs,
                                                    StringRef stages, StringRef stageCosts) {
  Cuts cuts;
  std::vector<RatedSchedule> all;
  if (failed(rateAll(module, costs, stages, stageCosts, cuts, all)))
    return failure();
  return all;
}

FailureOr<std::vector<RatedSchedule>> searchSchedule(ModuleOp module, const CostModel &costs,
                                                     StringRef stages, StringRef stageCosts,
                                                     double most) {
  Cuts cuts;
  std::vector<RatedSchedule> all, found;
  if (failed(rateAll(module, costs, stages, stageCosts, cuts, all)))
    return failure();
  for (const auto &[place, cut] : cuts) {
    if (!hasWayBack(cut.costs) || llvm::none_of(all, [&, &place = place](const auto &rated) {
          return rated.schedule.place == place;
        }))
      continue;
    pipeline::SearchRequest request;
    request.ranks = int32_t(costs.mesh().size(*costs.mesh().stageAxis()));
    request.chunksPerRank = int32_t(place.size()) / request.ranks;
    request.microbatches = all.front().schedule.microbatches;
    request.place = place;
    request.objective = cut.meet ? pipeline::Objective::Wall : pipeline::Objective::Span;
    request.threads = llvm::hardware_concurrency().compute_thread_count();
    pipeline::Costs within = cut.costs;
    within.limit.assign(size_t(request.ranks), most);
    std::string error;
    if (std::optional<pipeline::SearchResult> best = pipeline::search(request, within, error))
      found.push_back(rate(kSearch.str(), std::move(best->schedule), cut.costs, cut.meet));
  }
  // Forward passes alone have no order to search for.
  if (found.empty() && !all.empty() && !hasWayBack(cuts.begin()->second.costs))
    found.push_back(all.front());
  if (found.empty())
    return all;
  // The shortest, whatever it keeps: what that may be is said by `most`.
  auto best = llvm::min_element(found, [](const RatedSchedule &a, const RatedSchedule &b) {
    return std::tie(a.seconds, a.kept) < std::tie(b.seconds, b.kept);
  });
  best->name = kSearch.str();
  best->isFound = true;
  all.insert(all.begin(), std::move(*best));
  return all;
}

} // namespace weft::dist
