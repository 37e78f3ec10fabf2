// A first look at a model file that trusts nothing and copies no weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_WIRE_PRESCAN_H
#define WEFT_PYTHON_FREE_FRONTEND_WIRE_PRESCAN_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace weft::onnx {

struct ScanLimits {
  /// Payloads of more bytes are left in the file.
  uint64_t inlineBytes = 1024;
  /// Messages within messages. Each nested graph takes three; protobuf's own
  /// parser stops at 100.
  unsigned maxDepth = 96;
  /// What the model may take in memory while it is imported, as estimated from
  /// the numbers of its parts; raised to 4 times the file for larger files.
  uint64_t memoryBytes = uint64_t(1) << 30;
  /// Whether names may hold ends of lines and other control characters, which would let a model
  /// write lines of its own into listings, traces and comments of kernels.
  bool anyNames = false;
};

/// A payload that was left in the file.
struct PayloadPlace {
  uint64_t offset;
  uint64_t length;
  /// Number of the tensor message's field.
  int field;
};

/// The model message without its large payloads.
struct Skeleton {
  /// Field number, unused by the standard, under which a tensor of `bytes`
  /// holds the index into `places` of the payload it lost.
  static constexpr int kPlaceField = 19000;

  /// Serialised form that any protobuf parser reads.
  std::string bytes;
  std::vector<PayloadPlace> places;
  /// Where the first field stands that the schema does not know; such fields
  /// are left out of `bytes`.
  std::string firstUnknownField;
  uint64_t numUnknownFields = 0;
};

/// Walks the serialised model in `file` and checks it against schema and
/// limits: every length within its message, no deep nesting, no known field of
/// the wrong kind, no node without an operator, no more parts than the limits
/// allow. Takes time linear in what is not payload. An error says what and where.
llvm::Error prescanModel(llvm::StringRef file, const ScanLimits &limits, Skeleton &skeleton);

} // namespace weft::onnx

#endif // WEFT_PYTHON_FREE_FRONTEND_WIRE_PRESCAN_H
