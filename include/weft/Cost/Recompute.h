// How much the backward pass computes again instead of reading what the forward pass has kept.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_COST_RECOMPUTE_H
#define WEFT_COST_RECOMPUTE_H

#include <array>
#include <cstdint>
#include <optional>
#include <string>

/// Plain C++, without LLVM.
namespace weft {

enum class Recompute : uint8_t {
  None,
  Selective, // all but products, and the cuts between them
  Full,      // all but one cut a repeated block
  Best,      // of these the parts that save most, up to a share of what Full saves
  Auto       // the least that fits into a limit of memory; no pass knows it, as it takes trials
};
/// Those in which all blocks do alike, from the least on.
inline constexpr std::array<Recompute, 3> kUniformRecompute = {
    Recompute::None, Recompute::Selective, Recompute::Full};

/// "none", "selective", "full", "best", "auto".
const char *nameOf(Recompute recompute);
std::optional<Recompute> parseRecompute(const std::string &name);

} // namespace weft

#endif // WEFT_COST_RECOMPUTE_H
