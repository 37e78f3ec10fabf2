// RUN: weft-opt %s --split-input-file --pass-pipeline="builtin.module(weft-begin-phase{phase=sharded},weft-end-phase{phase=sharded},weft-on-mesh{pipeline=builtin.module(dist-check-axes)})" --verify-diagnostics | FileCheck %s
// RUN: not weft-opt %s --pass-pipeline="builtin.module(weft-begin-phase{phase=import})" 2>&1 | FileCheck %s --check-prefix=IMPORT
// RUN: not weft-opt %s --pass-pipeline="builtin.module(weft-on-mesh{pipeline=func.func(canonicalize)})" 2>&1 | FileCheck %s --check-prefix=ANCHOR
// IMPORT: error: 'import' is no phase that passes lead to
// ANCHOR: error: {{.*}}'func.func(canonicalize)' is no pipeline builtin.module(...)
// A program says at which phase it is; phases follow one another.

// CHECK: module attributes {weft.phase = "sharded"}
module attributes {weft.phase = "step"} {
}

// -----

// Who says nothing is believed.
// CHECK: module attributes {weft.phase = "sharded"}
module {
}

// -----

// expected-error @below {{the program is at phase 'graph', but what leads to 'sharded' begins at 'step'}}
module attributes {weft.phase = "graph"} {
}

// -----

// expected-error @below {{'weft.phase' is "done", which is no phase}}
module attributes {weft.phase = "done"} {
}

// -----

// expected-error @below {{'weft.flags' of the program have --train; give it to the pipeline, too, or delete it there}}
module attributes {weft.phase = "step", weft.flags = ["--train", "--seed=3"]} {
}

// -----

// What depends on a mesh runs where there is one.
// expected-error @below {{axis dp=2 splits nothing}}
module attributes {dist.mesh = #dist.mesh<["dp"=2]>} {
  func.func @forward(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = nn.exp %x : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
