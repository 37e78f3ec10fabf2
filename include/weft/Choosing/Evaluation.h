// What is known of one layout of a program.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_CHOOSING_EVALUATION_H
#define WEFT_CHOOSING_EVALUATION_H

#include "weft/Cost/SimulateStep.h"
#include "weft/Explain/Document.h"

#include "mlir/IR/Location.h"
#include "llvm/ADT/StringSet.h"

namespace weft::choosing {

struct Evaluation {
  std::string model, layout, clusterName;
  double uncertainty = 0; // of seconds, as a share; 0: nothing is known
  bool trains = false;
  int64_t microbatches = 1;
  std::string schedule; // "" without stages
  /// Of the whole model, however it is split: elements of parameters, and bytes of all that stays
  /// from step to step, with the gradients.
  int64_t parameters = 0, stateBytes = 0;
  cost::StepAccount account;
  cost::Prediction prediction;
  /// What a rank of each stage does when.
  std::vector<cost::Event> events;
  /// What a process of the cluster may have.
  int64_t deviceBytes = 0;
  /// Exact memory of a process and bytes that our transports send, where the program was compiled
  /// to `scheduled`; else memory is that of values (Prediction::memory).
  bool isScheduled = false;
  /// Compiled as the flags say: the arena is that of weft-compile with the same flags.
  bool isExact = false;
  /// What the compiler warned of, if nobody heard it.
  std::vector<std::pair<mlir::Location, std::string>> warnings;
  explain::Document document;
  std::string program; // of the document, that the account is of
  /// Of the account's updates, by name.
  llvm::StringSet<> optimizerNodes;

  /// Of the fullest process.
  int64_t memoryBytes() const;
  bool fits() const { return memoryBytes() <= deviceBytes; }
  /// Devices that hold the state, however it is split; with what this layout keeps beside it.
  int64_t leastDevices() const;
  int64_t leastDevicesOfLayout() const;
};

} // namespace weft::choosing

#endif // WEFT_CHOOSING_EVALUATION_H
