// Seeded edits of a manifest's text, from slight to hostile.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_FAULTS_CHECKPOINT_MANIFESTEDITS_H
#define WEFT_TEST_FAULTS_CHECKPOINT_MANIFESTEDITS_H

#include <cstdint>
#include <string>

namespace weft::runtime::test {

/// An edited copy of `text`; `what` says what was done. The same seed gives the
/// same edit.
std::string editManifest(const std::string &text, uint64_t seed, std::string &what);

} // namespace weft::runtime::test

#endif // WEFT_TEST_FAULTS_CHECKPOINT_MANIFESTEDITS_H
