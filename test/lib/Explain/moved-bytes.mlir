// RUN: weft-compile -q %s --compile-to scheduled --explain=json -o %t.mlir | FileCheck %s --check-prefix=JSON
// RUN: weft-compile -q %s --compile-to scheduled --explain=full -o %t.mlir | FileCheck %s --check-prefix=TEXT
// What commands read and write: of a table the rows that are looked up, of all else every element once. Here two kernels
// and a product: the look-up reads 32 numbers of 8 bytes, 32 rows of 64 and a row of 64 for the sum, and the activation
// behind the product 1024 bytes.

// JSON: "name": "forward"
// JSON: "generated_bytes": 6464
// JSON-NEXT: "unit": "token"
// JSON-NEXT: "units": 32
// JSON-NEXT: "moved": [
// JSON-NEXT: {
// JSON-NEXT:   "command": "launch"
// JSON-NEXT:   "commands": 2
// JSON-NEXT:   "read": 3392
// JSON-NEXT:   "written": 3072
// JSON-NEXT: }
// JSON-NEXT: {
// JSON-NEXT:   "command": "gemm"
// JSON-NEXT:   "commands": 1
// JSON-NEXT:   "read": 2560
// JSON-NEXT:   "written": 1024

// TEXT: program forward: 0 collectives, 0 B sent by a rank in a run; 5.81 KiB of memory read, 4 KiB written, 314 B a token{{$}}
// TEXT: memory: 2 launch read 3.31 KiB and write 3 KiB
// TEXT-NEXT: memory: 1 gemm read 2.5 KiB and write 1 KiB
module attributes {weft.phase = "step"} {
  func.func @forward(%ids: tensor<4x8x1xi64> {nn.name = "ids"}, %table: tensor<1000x16xf32> {nn.name = "table", nn.source = #nn.source<file = "m.bin", offset = 0, length = 64000>},
                     %bias: tensor<16xf32> {nn.name = "bias", nn.source = #nn.source<file = "m.bin", offset = 64000, length = 64>},
                     %w: tensor<16x8xf32> {nn.name = "w", nn.source = #nn.source<file = "m.bin", offset = 64064, length = 512>}) -> (tensor<32x8xf32> {nn.name = "y"}) {
    %0 = nn.gather %table, %ids indexed = [0] operand_batch = [] indices_batch = [] : (tensor<1000x16xf32>, tensor<4x8x1xi64>) -> tensor<4x8x16xf32>
    %1 = nn.broadcast %bias dims = [2] : tensor<16xf32> -> tensor<4x8x16xf32>
    %2 = nn.add %0, %1 : tensor<4x8x16xf32>
    %3 = nn.reshape %2 : tensor<4x8x16xf32> -> tensor<32x16xf32>
    %4 = nn.contract %3, %w lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<32x16xf32>, tensor<16x8xf32>) -> tensor<32x8xf32>
    %5 = nn.tanh %4 : (tensor<32x8xf32>) -> tensor<32x8xf32>
    return %5 : tensor<32x8xf32>
  }
}
