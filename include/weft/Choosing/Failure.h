// Why a question about layouts has no answer.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_CHOOSING_FAILURE_H
#define WEFT_CHOOSING_FAILURE_H

#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace weft::choosing {

/// No layout is to blame.
class Failure : public llvm::ErrorInfo<Failure> {
public:
  enum class Cause : uint8_t {
    Program,     // it does not compile so: a diagnostic of its context has said why, the text is ""
    Schedule,    // the text says why no account follows the schedule of the program
    Transformer, // a profile is of training one, and the program is something else; "", too
    Profile,     // the text says why it has nothing for this model and layout
    Ours         // a bug: the text says of an account what contradicts itself
  };

  explicit Failure(Cause cause, std::string text = "") : cause(cause), text(std::move(text)) {}

  void log(llvm::raw_ostream &out) const override { out << text; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

  static char ID;
  const Cause cause;
  const std::string text;
};

/// Of a program whose diagnostic says why.
llvm::Error doesNotCompile();

/// No mesh has the axes over which values are said to be split.
class NoMesh : public llvm::ErrorInfo<NoMesh> {
public:
  enum class Axis : uint8_t {
    Unknown, // no mesh that is chosen has it
    Stages,  // it counts stages, and nothing is split over it
    Absent   // others have it
  };
  /// What has the axes, too, and differs least from what was asked.
  struct Nearest {
    enum class Change : uint8_t { AnySizes, Devices, Batch } change;
    int64_t number = 0; // of devices, or of samples
    std::string mesh;
  };

  void log(llvm::raw_ostream &out) const override { out << "no mesh has '" << axis << "'"; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

  static char ID;
  std::string rule, axis;
  Axis kind = Axis::Unknown;
  /// Of the meshes that were looked at: devices, or these and fewer, and what else they have.
  int64_t devices = 1;
  bool orFewer = false;
  std::vector<std::string> needed;
  /// Which these are.
  std::vector<std::string> meshes;
  std::optional<Nearest> nearest;
};

} // namespace weft::choosing

#endif // WEFT_CHOOSING_FAILURE_H
