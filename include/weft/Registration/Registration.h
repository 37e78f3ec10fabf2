// The one list of dialects and passes that every tool knows.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_REGISTRATION_REGISTRATION_H
#define WEFT_REGISTRATION_REGISTRATION_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace weft {

/// Inserts our dialects, the upstream ones they stand on, and the external
/// models of their interfaces.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers our passes and pipelines, and the upstream passes that are useful
/// between them.
void registerAllPasses();

} // namespace weft

#endif // WEFT_REGISTRATION_REGISTRATION_H
