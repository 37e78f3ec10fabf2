// Which schedule a pipeline runs by, and on which rank it puts each chunk of the model.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/stages/StageSchedule.h"

#include "dialects/dist/IR/Dist.h"
#include "weft/Pipeline/Check.h"
#include "weft/Pipeline/Generate.h"

using namespace mlir;
using namespace weft;
using namespace weft::dist;

ScheduleRequest dist::requestOf(llvm::StringRef text) {
  return text.empty()               ? ScheduleRequest::Best
         : text == kSearch          ? ScheduleRequest::Search
         : text.starts_with("weft") ? ScheduleRequest::Written
                                    : ScheduleRequest::Named;
}

static llvm::Expected<pipeline::Schedule> readWritten(llvm::StringRef text, int64_t ranks,
                                                      int64_t microbatches) {
  std::string why;
  std::optional<pipeline::Schedule> schedule = pipeline::readChecked(text.str(), why);
  if (!schedule)
    return llvm::createStringError(why);
  auto counts = [](int64_t ranks, int64_t microbatches) {
    return std::to_string(ranks) + " ranks and " + std::to_string(microbatches) + " microbatches";
  };
  if (int64_t(schedule->ranks.size()) != ranks || schedule->microbatches != microbatches)
    return llvm::createStringError("the schedule is of " +
                                   counts(schedule->ranks.size(), schedule->microbatches) +
                                   "; the program wants " + counts(ranks, microbatches));
  for (int64_t rank = 0; rank < ranks; ++rank)
    if (!llvm::is_contained(schedule->place, rank))
      return llvm::createStringError("rank " + std::to_string(rank) +
                                     " of the schedule has no chunk of the model");
  return std::move(*schedule);
}

static llvm::Expected<pipeline::Schedule> makeNamed(llvm::StringRef text, int64_t ranks,
                                                    int64_t microbatches) {
  std::string why;
  std::optional<pipeline::Schedule> schedule =
      pipeline::makeSchedule(text.str(), ranks, microbatches, why);
  if (!schedule)
    return llvm::createStringError(why);
  return std::move(*schedule);
}

llvm::Expected<pipeline::Schedule> dist::scheduleOf(llvm::StringRef text, int64_t ranks,
                                                    int64_t microbatches) {
  switch (requestOf(text)) {
  case ScheduleRequest::Best:
    return llvm::createStringError("the program does not say its schedule; give --schedule");
  case ScheduleRequest::Search:
    return llvm::createStringError("a schedule is searched for when the model is cut; compile "
                                   "anew (phase sharded)");
  case ScheduleRequest::Named:
    return makeNamed(text, ranks, microbatches);
  case ScheduleRequest::Written:
    return readWritten(text, ranks, microbatches);
  }
  llvm_unreachable("unknown request");
}

static SmallVector<int64_t> oneEach(int64_t ranks) {
  return llvm::to_vector(llvm::seq<int64_t>(0, ranks));
}

std::vector<int32_t> dist::placeOf(ModuleOp module, int64_t ranks) {
  SmallVector<int64_t> place = oneEach(ranks);
  if (auto attribute = module->getAttrOfType<DenseI64ArrayAttr>(kPlaceAttr))
    place = llvm::to_vector(attribute.asArrayRef());
  return {place.begin(), place.end()};
}

void dist::setPlace(ModuleOp module, ArrayRef<int32_t> place, int64_t ranks) {
  SmallVector<int64_t> list(place.begin(), place.end());
  if (list != oneEach(ranks))
    module->setAttr(kPlaceAttr, DenseI64ArrayAttr::get(module.getContext(), list));
}

std::vector<SmallVector<int64_t, 2>> dist::chunksByRank(ArrayRef<int32_t> place, int64_t ranks) {
  std::vector<SmallVector<int64_t, 2>> chunks(static_cast<size_t>(ranks));
  for (auto [chunk, rank] : llvm::enumerate(place))
    chunks[size_t(rank)].push_back(int64_t(chunk));
  return chunks;
}
