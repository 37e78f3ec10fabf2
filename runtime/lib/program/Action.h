// Actions of a pipeline's schedule, as commands name them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_PROGRAM_ACTION_H
#define WEFT_RUNTIME_LIB_PROGRAM_ACTION_H

#include "weft/runtime/Program.h"

#include <string_view>
#include <vector>

namespace weft::runtime {

/// What one chunk of a model does for one microbatch: the forward pass (F), the gradient of its
/// input (B), those of its weights (W), or both (D). As text "F0.3": kind, chunk, microbatch.
struct Action {
  char kind = 'F';
  uint32_t chunk = 0, microbatch = 0;

  bool isForward() const { return kind == 'F'; }
  /// Whether the chunk before waits for it.
  bool givesGradient() const { return kind == 'B' || kind == 'D'; }
};

/// False if `text` is no action.
bool parse(std::string_view text, Action &action);

/// The actions of a body in the order in which its stream 0 ends with them: it may begin with what
/// waits for nobody, a slice of labels say, long before.
std::vector<Action> actionsOf(const ProgramView &program, const Body &body);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_PROGRAM_ACTION_H
