// RUN: not weft-opt %s --dist-project-stages=schedule=1f2b 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not weft-opt %s --dist-project-stages=schedule=zb-v 2>&1 | FileCheck %s --check-prefix=CHUNKS
// RUN: not weft-opt %s --dist-project-stages="schedule='weft schedule 1'" 2>&1 | FileCheck %s --check-prefix=TEXT
// NAME: error: '1f2b' is no schedule; known are gpipe, 1f1b, interleaved, zb-h1, zb-h2, zb-v, dualpipev
// CHUNKS: error: schedule 'zb-v' wants 2 chunks of the model on each stage, but each stage is one; use 1f1b or zb-h1
// TEXT: error: line 1
#mesh = #dist.mesh<[stages "pp"=2, temporal "mb"=3]>
module attributes {dist.mesh = #mesh} {
}
