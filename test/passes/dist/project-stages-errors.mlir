// RUN: not weft-opt %s --dist-project-stages=schedule=1f2b 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not weft-opt %s --dist-project-stages=schedule=zb-v 2>&1 | FileCheck %s --check-prefix=CHUNKS
// RUN: not weft-opt %s --dist-cut-stages=schedule=interleaved:x 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not weft-opt %s --dist-cut-stages=schedule=zb-v:3 2>&1 | FileCheck %s --check-prefix=FIXED
// RUN: not weft-opt %s --dist-project-stages="schedule='weft schedule 1'" 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not weft-opt %s "--dist-project-stages=schedule=" 2>&1 | FileCheck %s --check-prefix=SILENT
// SILENT: error: the program does not say its schedule; give --schedule
// NAME: error: '1f2b' is no schedule; known are gpipe, 1f1b, interleaved:V, zb-h1, zb-h2, zb-v, dualpipev
// CHUNKS: error: the schedule has chunks of the model on stages 0, 1, 1, 0, but it was cut for chunks on stages 0, 1;
// NUMBER: error: 'interleaved:x' does not say how many chunks of the model a rank has; write interleaved:2, for one
// FIXED: error: zb-v has 2 chunks a rank, not 3
// RUN: not weft-opt %s --dist-cut-stages=schedule=1f1b:x 2>&1 | FileCheck %s --check-prefix=NOTHING-BEHIND
// NOTHING-BEHIND: error: '1f1b:x': a rank has 1 chunk of the model with 1f1b; write 1f1b
// TEXT: error: line 1
#mesh = #dist.mesh<[stages "pp"=2, temporal "mb"=3]>
module attributes {dist.mesh = #mesh} {
}
