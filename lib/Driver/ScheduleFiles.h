// The schedule of a pipeline as files: --dump-schedule and --plot-schedule.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DRIVER_SCHEDULEFILES_H
#define WEFT_LIB_DRIVER_SCHEDULEFILES_H

#include "weft/Driver/Options.h"
#include "weft/Pipeline/Costs.h"

#include "mlir/IR/BuiltinOps.h"

namespace weft::driver {

class ScheduleFiles {
public:
  explicit ScheduleFiles(const Options &options) : options(options) {}

  /// Behind each phase: the schedule and the times of its chunks, as far as the module has them.
  void note(mlir::ModuleOp module);
  /// Writes what the flags ask for.
  llvm::Error write() const;

private:
  const Options &options;
  std::string text;   ///< of the schedule; "": there is none yet
  std::string reason; ///< begins with its name; "": why it was chosen is not known
  std::vector<pipeline::ChunkCosts> chunks; ///< in microseconds
};

} // namespace weft::driver

#endif // WEFT_LIB_DRIVER_SCHEDULEFILES_H
