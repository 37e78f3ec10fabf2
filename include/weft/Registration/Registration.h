// The one list of dialects, passes and targets that every tool knows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_REGISTRATION_REGISTRATION_H
#define WEFT_REGISTRATION_REGISTRATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace weft {

/// Makes our targets known.
void registerAllTargets();

/// Inserts our dialects, the upstream ones they stand on, the external models of their
/// interfaces, and what the targets need, which it makes known.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers our passes and pipelines, and the upstream passes that are useful
/// between them.
void registerAllPasses();

} // namespace weft

#endif // WEFT_REGISTRATION_REGISTRATION_H
