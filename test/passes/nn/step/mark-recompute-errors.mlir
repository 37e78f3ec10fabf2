// RUN: not weft-opt %s --step-mark-recompute="mode=all" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not weft-opt %s --step-mark-recompute="mode=auto" 2>&1 | FileCheck %s --check-prefix=AUTO

// What `auto` comes to is found by trials, which no pass makes.
// UNKNOWN: error: unknown mode 'all'; choose none, selective, full or best
// AUTO: error: unknown mode 'auto'; choose none, selective, full or best
func.func @step(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
