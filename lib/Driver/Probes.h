// Small programs of which each command is one measurement.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DRIVER_PROBES_H
#define WEFT_LIB_DRIVER_PROBES_H

#include "weft/Cost/Cluster.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <map>
#include <string>
#include <vector>

namespace weft::driver {

/// The text of a program. Each command has a name of its own, as its location.
struct Probe {
  std::string name, text;
  int64_t ranks = 1;
  /// What a collective is, by name, without its seconds.
  std::map<std::string, CollectivePoint> collectives;
};

/// Products of all sizes in three layouts (both operands as they lie, one or the other
/// transposed), attention and its gradient, and batches of products. `type`: f32, bf16, ...
Probe productsProbe(const std::string &type);
Probe attentionProbe(const std::string &type);
/// Convolutions; what passes over memory, in all sizes; functions of elements, rows and columns.
Probe convolutionsProbe();
Probe streamsProbe();

/// A collective of each kind and size over all ranks.
Probe collectivesProbe(int64_t ranks);

/// What each op of a program with a location of its own does, by that name.
std::map<std::string, cost::Work> workByName(mlir::ModuleOp module);

/// What a trace of several runs tells.
struct Timings {
  /// Seconds of each command by name, one for each run.
  std::map<std::string, std::vector<double>> byName;
  /// From the end of a command to the start of the next one.
  std::vector<double> gaps;
};

/// Reads a trace of weft-run. `ofProcessor`: seconds of the processor instead of those that have
/// passed. Of several ranks, in each run, those of the one that came last: the others waited.
llvm::Expected<Timings> readTimings(llvm::StringRef json, bool ofProcessor);

} // namespace weft::driver

#endif // WEFT_LIB_DRIVER_PROBES_H
