// RUN: weft-opt %s --rt-set-target --split-input-file --verify-diagnostics
// RUN: not weft-opt %s --split-input-file --rt-plan-arena 2>&1 | FileCheck %s

// A pass that needs the target's numbers has none of a target that is not there.
// CHECK: error: the program is for target 'tpu', which is not one of: cpu
// expected-error@+1 {{the program is for target 'tpu', not for 'cpu'}}
module attributes {weft.target = "tpu"} {
}
