// RUN: weft-opt %s --dist-attach-mesh="mesh=pp=2 stages=pp" --dist-insert-reshards --dist-cut-stages=stages=layers.3 --dist-verify-spmd | FileCheck %s --check-prefix=NAME
// RUN: weft-opt %s --dist-attach-mesh="mesh=pp=3 stages=pp" --dist-insert-reshards "--dist-cut-stages=stages='layers.1.act;layers.[23].product'" --dist-verify-spmd | FileCheck %s --check-prefix=NAMES
// RUN: weft-opt %s --dist-attach-mesh="mesh=pp=2 stages=pp" --dist-insert-reshards --dist-cut-stages=stages=blocks:1,3 --dist-verify-spmd | FileCheck %s --check-prefix=BLOCKS
// RUN: not weft-opt %s --dist-attach-mesh="mesh=pp=2 stages=pp" --dist-insert-reshards "--dist-cut-stages=stages='layers.1;layers.2'" 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not weft-opt %s --dist-attach-mesh="mesh=pp=3 stages=pp" --dist-insert-reshards "--dist-cut-stages=stages='layers.2;layers.1'" 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not weft-opt %s --dist-attach-mesh="mesh=pp=2 stages=pp" --dist-insert-reshards --dist-cut-stages=stages=scale 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not weft-opt %s --dist-attach-mesh="mesh=pp=2 stages=pp" --dist-insert-reshards --dist-cut-stages=stages=blocks:2,3 2>&1 | FileCheck %s --check-prefix=SUM
// RUN: not weft-opt %s --dist-attach-mesh="mesh=pp=2 stages=pp" --dist-insert-reshards --dist-cut-stages=stages=blocks:1,1,2 2>&1 | FileCheck %s --check-prefix=CHUNKS
// RUN: not weft-opt %s --dist-attach-mesh="mesh=pp=2 stages=pp" --dist-insert-reshards --dist-cut-stages=stages=blocks:4,0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: weft-opt %s --dist-attach-mesh="mesh=pp=4 stages=pp" --dist-insert-reshards "--dist-cut-stages=stages='layers.0.act;layers.1.product;layers.1.act'" 2>&1 | FileCheck %s --check-prefix=UNEVEN

// COUNT: error: --stages says where 2 chunks of the model begin, but of 2 all but the first want that: 1 name
// ORDER: error: --stages 'layers.1' matches no node behind 'layers.2.product', where the last chunk begins, but one before it: name them in the order of the model
// NONE: error: --stages 'scale' matches no node that depends on weights and inputs behind 'layers.0.product', where the last chunk begins; the next ones are 'layers.0.act', 'layers.1.product', 'layers.1.act'
// SUM: error: --stages says where 5 blocks go, but the model repeats 4 blocks; write blocks:2,2, for one
// CHUNKS: error: --stages says of 3 chunks how many blocks each has, but there are 2
// ZERO: error: --stages '0' is no number of blocks; write blocks:5,7
// UNEVEN: warning: stage 3 takes 5{{[0-9]}} % of the time of all 4 stages, so that they idle 5{{[0-9]}} % of a step on average; use fewer stages

// A block of the model is a product and what follows it; a cut after the product or after the other parts as many bytes, so the
// first counts. A chunk begins with the first node that its name matches.
// NAME: nn.contract {{.*}}held = "pp"[0]>>
// NAME: nn.contract {{.*}}held = "pp"[0]>>
// NAME: nn.contract {{.*}}held = "pp"[0]>>
// NAME: dist.reshard
// NAME: nn.contract {{.*}}held = "pp"[1]>>
func.func @four(%x: tensor<256x1024xf32> {nn.name = "x"}, %w: tensor<1024x1024xf32> {nn.name = "w", nn.initial = 0.0 : f32})
    -> (tensor<256x1024xf32> {nn.name = "y"}) {
  %s = nn.exp %x : tensor<256x1024xf32> loc("scale")
  %0 = nn.contract %s, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x1024xf32>, tensor<1024x1024xf32>) -> tensor<256x1024xf32> loc("layers.0.product")
  %1 = nn.abs %0 : tensor<256x1024xf32> loc("layers.0.act")
  %2 = nn.contract %1, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x1024xf32>, tensor<1024x1024xf32>) -> tensor<256x1024xf32> loc("layers.1.product")
  %3 = nn.abs %2 : tensor<256x1024xf32> loc("layers.1.act")
  %4 = nn.contract %3, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x1024xf32>, tensor<1024x1024xf32>) -> tensor<256x1024xf32> loc("layers.2.product")
  %5 = nn.abs %4 : tensor<256x1024xf32> loc("layers.2.act")
  %6 = nn.contract %5, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x1024xf32>, tensor<1024x1024xf32>) -> tensor<256x1024xf32> loc("layers.3.product")
  %7 = nn.abs %6 : tensor<256x1024xf32> loc("layers.3.act")
  return %7 : tensor<256x1024xf32>
}

// NAMES: nn.contract {{.*}}held = "pp"[0]>>
// NAMES: nn.contract {{.*}}held = "pp"[0]>>
// NAMES: dist.reshard
// NAMES-NEXT: nn.abs {{.*}}held = "pp"[1]>>
// NAMES: dist.reshard
// NAMES-NEXT: nn.contract {{.*}}held = "pp"[2]>>
// NAMES: nn.contract {{.*}}held = "pp"[2]>>

// BLOCKS: nn.contract {{.*}}held = "pp"[0]>>
// BLOCKS-NEXT: nn.abs {{.*}}held = "pp"[0]>>
// BLOCKS-NEXT: dist.reshard
// BLOCKS-NEXT: nn.contract {{.*}}held = "pp"[1]>>
// BLOCKS: nn.contract {{.*}}held = "pp"[1]>>
