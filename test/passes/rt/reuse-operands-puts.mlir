// RUN: weft-opt %s --rt-reuse-operands | FileCheck %s
// RUN: weft-opt %s --rt-reuse-operands --rt-lower-to-commands | FileCheck %s --check-prefix=COMMANDS
// RUN: sed 's/"cpu"/"cuda"/' %s | weft-opt --rt-reuse-operands | FileCheck %s --check-prefix=GPU

module attributes {weft.target = "cpu"} {

func.func private @make(%x: tensor<3x2xf32>) -> tensor<3x2xf32> attributes {rt.routine} {
  %0 = rt.dense %x : tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
func.func private @over(%x: tensor<3x2xf32>, %sum: tensor<3x2xf32>) -> tensor<3x2xf32> attributes {rt.routine, rt.in_place = array<i64: 1>} {
  %0 = rt.dense %x : tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// A routine writes its rows where they are put; on a GPU only where a kernel may start. No command copies them.
// CHECK-LABEL: func.func @rows
// CHECK-COUNT-3: {rt.placed}
// GPU-LABEL: func.func @rows
// GPU: rt.put %{{[0-9]+}} at 0 {rt.placed}
// GPU: rt.put %{{[0-9]+}} at 3 into %{{[0-9]+}} : (
// GPU: rt.put %{{[0-9]+}} at 6 into %{{[0-9]+}} {rt.placed}
// COMMANDS-LABEL: rt.program @rows
// COMMANDS: %[[Y:.+]] = rt.buffer "y" output : memref<9x2xf32>
// COMMANDS: %[[A:.+]] = rt.view %[[Y]] : memref<9x2xf32> to memref<3x2xf32>
// COMMANDS: rt.invoke @make reads({{.*}}) writes(%[[A]]
// COMMANDS: %[[B:.+]] = rt.view %[[Y]] : memref<9x2xf32> to memref<3x2xf32, strided<[2, 1], offset: 6>>
// COMMANDS: rt.invoke @make reads({{.*}}) writes(%[[B]]
// COMMANDS: %[[C:.+]] = rt.view %[[Y]] : memref<9x2xf32> to memref<3x2xf32, strided<[2, 1], offset: 12>>
// COMMANDS: rt.invoke @make reads({{.*}}) writes(%[[C]]
// COMMANDS-NOT: rt.copy
// COMMANDS: rt.output "y" %[[Y]]
func.func @rows(%x: tensor<3x2xf32> {nn.name = "x"}) -> (tensor<9x2xf32> {nn.name = "y"}) {
  %0 = rt.call @make(%x) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %1 = nn.reshape %0 : tensor<3x2xf32> -> tensor<1x3x2xf32>
  %2 = rt.put %1 at 0 : (tensor<1x3x2xf32>) -> tensor<9x2xf32>
  %3 = rt.call @make(%x) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %4 = nn.reshape %3 : tensor<3x2xf32> -> tensor<1x3x2xf32>
  %5 = rt.put %4 at 3 into %2 : (tensor<1x3x2xf32>, tensor<9x2xf32>) -> tensor<9x2xf32>
  %6 = rt.call @make(%x) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %7 = nn.reshape %6 : tensor<3x2xf32> -> tensor<1x3x2xf32>
  %8 = rt.put %7 at 6 into %5 : (tensor<1x3x2xf32>, tensor<9x2xf32>) -> tensor<9x2xf32>
  return %8 : tensor<9x2xf32>
}

// What a routine cannot write in place is copied. Here it is read besides, and what it is put into is returned, too.
// CHECK-LABEL: func.func @read_besides
// CHECK-NOT: rt.placed
// COMMANDS-LABEL: rt.program @read_besides
// COMMANDS-COUNT-2: rt.copy
func.func @read_besides(%x: tensor<3x2xf32> {nn.name = "x"})
    -> (tensor<3x2xf32> {nn.name = "a"}, tensor<6x2xf32> {nn.name = "b"}, tensor<6x2xf32> {nn.name = "c"}) {
  %0 = rt.call @make(%x) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %1 = nn.reshape %0 : tensor<3x2xf32> -> tensor<1x3x2xf32>
  %2 = rt.put %1 at 0 : (tensor<1x3x2xf32>) -> tensor<6x2xf32>
  %3 = rt.call @make(%x) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %4 = nn.reshape %3 : tensor<3x2xf32> -> tensor<1x3x2xf32>
  %5 = rt.put %4 at 3 into %2 : (tensor<1x3x2xf32>, tensor<6x2xf32>) -> tensor<6x2xf32>
  return %0, %2, %5 : tensor<3x2xf32>, tensor<6x2xf32>, tensor<6x2xf32>
}

// It is made before there is what it is put into.
// CHECK-LABEL: func.func @made_before
// CHECK: rt.put %{{[0-9]+}} at 0 {rt.placed}
// CHECK: rt.put %{{[0-9]+}} at 3 into %{{[0-9]+}} : (
// COMMANDS-LABEL: rt.program @made_before
// COMMANDS-COUNT-1: rt.copy
func.func @made_before(%x: tensor<3x2xf32> {nn.name = "x"}) -> (tensor<6x2xf32> {nn.name = "y"}) {
  %0 = rt.call @make(%x) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %1 = rt.call @make(%x) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %2 = nn.reshape %0 : tensor<3x2xf32> -> tensor<1x3x2xf32>
  %3 = rt.put %2 at 0 : (tensor<1x3x2xf32>) -> tensor<6x2xf32>
  %4 = nn.reshape %1 : tensor<3x2xf32> -> tensor<1x3x2xf32>
  %5 = rt.put %4 at 3 into %3 : (tensor<1x3x2xf32>, tensor<6x2xf32>) -> tensor<6x2xf32>
  return %5 : tensor<6x2xf32>
}

// Columns do not lie in a row, rows are a part of what is made, another argument is overwritten, no routine makes it.
// CHECK-LABEL: func.func @others
// CHECK-NOT: rt.placed
// COMMANDS-LABEL: rt.program @others
// COMMANDS-COUNT-6: rt.copy
func.func @others(%x: tensor<3x2xf32> {nn.name = "x"}) -> (tensor<3x4xf32> {nn.name = "columns"},
    tensor<2x2xf32> {nn.name = "part"}, tensor<3x2xf32> {nn.name = "over"}, tensor<3x2xf32> {nn.name = "copied"}) {
  %0 = rt.call @make(%x) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %1 = nn.reshape %0 : tensor<3x2xf32> -> tensor<3x1x2xf32>
  %2 = rt.put %1 at 0 : (tensor<3x1x2xf32>) -> tensor<3x4xf32>
  %3 = rt.call @make(%x) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %4 = nn.reshape %3 : tensor<3x2xf32> -> tensor<1x3x2xf32>
  %5 = nn.slice %4 starts = [0, 0, 0] strides = [1, 1, 1] : tensor<1x3x2xf32> -> tensor<1x2x2xf32>
  %6 = rt.put %5 at 0 : (tensor<1x2x2xf32>) -> tensor<2x2xf32>
  %7 = rt.dense %x : tensor<3x2xf32>
  %8 = rt.call @over(%x, %7) : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %9 = nn.reshape %8 : tensor<3x2xf32> -> tensor<1x3x2xf32>
  %10 = rt.put %9 at 0 : (tensor<1x3x2xf32>) -> tensor<3x2xf32>
  %11 = rt.dense %x : tensor<3x2xf32>
  %12 = nn.reshape %11 : tensor<3x2xf32> -> tensor<1x3x2xf32>
  %13 = rt.put %12 at 0 : (tensor<1x3x2xf32>) -> tensor<3x2xf32>
  return %2, %6, %10, %13 : tensor<3x4xf32>, tensor<2x2xf32>, tensor<3x2xf32>, tensor<3x2xf32>
}

// The new value of a state is written behind all that reads the old one, which the call is not.
// CHECK-LABEL: func.func @state
// CHECK-NOT: rt.placed
// CHECK: return
func.func @state(%x: tensor<3x2xf32> {nn.name = "x"}, %s: tensor<3x2xf32> {nn.name = "s", nn.initial = 0.0 : f32})
    -> (tensor<3x2xf32> {nn.updates = "s"}) {
  %0 = rt.call @make(%x) : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %1 = nn.reshape %0 : tensor<3x2xf32> -> tensor<1x3x2xf32>
  %2 = rt.put %1 at 0 : (tensor<1x3x2xf32>) -> tensor<3x2xf32>
  return %2 : tensor<3x2xf32>
}
}
