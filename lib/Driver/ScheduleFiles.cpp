// Writes and draws the schedule that a program was compiled with.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ScheduleFiles.h"

#include "dialects/dist/IR/ChunkRows.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/ScheduleAttrs.h"
#include "weft/Pipeline/Check.h"
#include "weft/Pipeline/Generate.h"
#include "weft/Pipeline/Plot.h"
#include "weft/Support/OutputFile.h"

#include "llvm/Support/Path.h"

using namespace mlir;
using namespace weft;
using namespace weft::driver;

static llvm::Error writeInto(StringRef path, const std::string &text) {
  OutputFile file;
  if (llvm::Error wrong = file.open(path))
    return wrong;
  file.os() << text;
  return file.commit();
}

void ScheduleFiles::note(ModuleOp module) {
  if (auto schedule = module->getAttrOfType<StringAttr>(dist::kScheduleAttr);
      schedule && schedule.getValue() != text) {
    text = schedule.str();
    reason.clear();
  }
  if (auto why = module->getAttrOfType<StringAttr>(dist::kScheduleReasonAttr))
    reason = why.str();
  if (auto rows = dist::readChunkRows(module->getAttr(dist::kChunkRowsAttr))) {
    chunks.clear();
    for (const dist::ChunkRow &row : *rows)
      chunks.push_back({row.forward * 1e6, row.backward * 1e6, row.weight * 1e6});
  }
}

llvm::Error ScheduleFiles::write() const {
  if (options.dumpSchedule.empty() && options.plotSchedule.empty())
    return llvm::Error::success();
  if (text.empty())
    return llvm::createStringError(
        "--dump-schedule and --plot-schedule: the program has no schedule; it has no stages, or "
        "these were made programs of their own, in one microbatch, before this run; give the flags "
        "where the model is cut (phase sharded)");
  std::string why;
  std::optional<pipeline::Schedule> schedule = pipeline::readChecked(text, why);
  if (!schedule)
    return llvm::createStringError("--dump-schedule and --plot-schedule: 'dist.schedule' of the "
                                   "program is no schedule: " +
                                   why + "; correct it, or cut the model anew (phase sharded)");
  if (!options.dumpSchedule.empty())
    if (llvm::Error wrong = writeInto(options.dumpSchedule, text))
      return wrong;
  if (options.plotSchedule.empty())
    return llvm::Error::success();
  if (std::string wrong = pipeline::checkPicture(*schedule); !wrong.empty())
    return llvm::createStringError("--plot-schedule " + wrong);
  pipeline::Costs costs;
  costs.chunks = chunks;
  costs.chunks.resize(schedule->place.size());
  pipeline::Timing timing = *pipeline::simulate(*schedule, costs);
  std::string name = StringRef(reason).split(':').first.str();
  if (name.empty()) {
    std::string known = pipeline::nameOf(*schedule);
    name = (known.empty() ? "an order" : known) + " of " + std::to_string(schedule->ranks.size()) +
           " stages";
  }
  std::string title = (llvm::sys::path::filename(options.model) + ": " + name + ", " +
                       (chunks.empty() ? "all actions as long" : "microseconds"))
                          .str();
  return writeInto(options.plotSchedule, pipeline::plotSchedule(*schedule, timing, costs, title));
}
