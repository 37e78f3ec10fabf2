// RUN: weft-opt %s --pass-pipeline='builtin.module(func.func(step-set-precision{type=bf16},canonicalize,cse))' | FileCheck %s
// RUN: weft-opt %s --pass-pipeline='builtin.module(func.func(step-set-precision{type=f16},canonicalize,cse))' | FileCheck %s --check-prefix=F16

// What small types have too few digits for stays in f32 until it meets what is computed in them.

// Angles of places: 257 is no bf16.
// CHECK-LABEL: func.func @angles
// CHECK: %[[PLACE:.+]] = nn.cast %{{.+}} : (tensor<8xi64>) -> tensor<8xf32>
// CHECK: %[[ANGLE:.+]] = nn.mul %[[PLACE]], %{{.+}} : tensor<8xf32>
// CHECK: %[[COS:.+]] = nn.cos %[[ANGLE]] : tensor<8xf32>
// CHECK: %[[SMALL:.+]] = nn.cast %[[COS]] : (tensor<8xf32>) -> tensor<8xbf16>
// CHECK: nn.mul %{{.+}}, %[[SMALL]] : tensor<8xbf16>
func.func @angles(%ids: tensor<8xi64> {nn.name = "position_ids"}, %x: tensor<8xf32> {nn.name = "x"}) -> tensor<8xf32> {
  %place = nn.cast %ids : (tensor<8xi64>) -> tensor<8xf32>
  %frequency = nn.constant dense<1.100000e-01> : tensor<8xf32> : tensor<8xf32>
  %angle = nn.mul %place, %frequency : tensor<8xf32>
  %cos = nn.cos %angle : tensor<8xf32>
  %y = nn.mul %x, %cos : tensor<8xf32>
  return %y : tensor<8xf32>
}

// A mask of the lowest f32 is none of them: in f32 it would become infinity where it is rounded.
// CHECK-LABEL: func.func @mask
// CHECK: nn.mul %{{.+}}, %{{.+}} : tensor<8xbf16>
// F16-LABEL: func.func @mask
// F16: nn.constant dense<-6.550400e+04> : tensor<8xf16>
// F16: nn.mul %{{.+}}, %{{.+}} : tensor<8xf16>
func.func @mask(%seen: tensor<8xi64> {nn.name = "attention_mask"}, %x: tensor<8xf32> {nn.name = "x"}) -> tensor<8xf32> {
  %one = nn.constant dense<1.0> : tensor<8xf32> : tensor<8xf32>
  %lowest = nn.constant dense<-3.40282347E+38> : tensor<8xf32> : tensor<8xf32>
  %float = nn.cast %seen : (tensor<8xi64>) -> tensor<8xf32>
  %hidden = nn.sub %one, %float : tensor<8xf32>
  %far = nn.mul %hidden, %lowest : tensor<8xf32>
  %y = nn.add %x, %far : tensor<8xf32>
  return %y : tensor<8xf32>
}

// Of more squares than f16 has room for, and of more of them than it can count.
// F16-LABEL: func.func @variance
// F16: %[[WIDE:.+]] = nn.cast %{{.+}} : (tensor<2x401408xf16>) -> tensor<2x401408xf32>
// F16: %[[SQUARE:.+]] = nn.mul %[[WIDE]], %[[WIDE]] : tensor<2x401408xf32>
// F16: %[[SUM:.+]] = nn.reduce sum %[[SQUARE]] dims = [1] : tensor<2x401408xf32> -> tensor<2xf32>
// F16: %[[MEAN:.+]] = nn.div %[[SUM]], %{{.+}} : tensor<2xf32>
// F16: nn.cast %[[MEAN]] : (tensor<2xf32>) -> tensor<2xf16>
func.func @variance(%x: tensor<2x401408xf32> {nn.name = "x"}) -> tensor<2xf32> {
  %twice = nn.add %x, %x : tensor<2x401408xf32>
  %square = nn.mul %twice, %twice : tensor<2x401408xf32>
  %sum = nn.reduce sum %square dims = [1] : tensor<2x401408xf32> -> tensor<2xf32>
  %count = nn.constant dense<401408.0> : tensor<2xf32> : tensor<2xf32>
  %mean = nn.div %sum, %count : tensor<2xf32>
  %root = nn.sqrt %mean : tensor<2xf32>
  return %root : tensor<2xf32>
}

// The root of a large sum is small, and so is a share of it; the sum is neither.
// F16-LABEL: func.func @norm
// F16: %[[SUM:.+]] = nn.reduce sum %{{.+}} dims = [1] : tensor<2x1024xf32> -> tensor<2xf32>
// F16: %[[ZERO:.+]] = nn.compare eq %[[SUM]], %{{.+}} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
// F16: %[[ROOT:.+]] = nn.sqrt %{{.+}} : tensor<2xf32>
// F16: nn.select %[[ZERO]], %{{.+}}, %[[ROOT]]
// F16-LABEL: func.func @share
// F16: %[[SUM:.+]] = nn.reduce sum
// F16: nn.mul %{{.+}}, %[[SUM]] : tensor<2xf32>
func.func @norm(%x: tensor<2x1024xf32> {nn.name = "x"}) -> tensor<2xf32> {
  %zero = nn.constant dense<0.0> : tensor<2xf32> : tensor<2xf32>
  %one = nn.constant dense<1.0> : tensor<2xf32> : tensor<2xf32>
  %square = nn.mul %x, %x : tensor<2x1024xf32>
  %sum = nn.reduce sum %square dims = [1] : tensor<2x1024xf32> -> tensor<2xf32>
  %empty = nn.compare eq %sum, %zero : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  %seen = nn.select %empty, %one, %sum : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %root = nn.sqrt %seen : tensor<2xf32>
  %norm = nn.select %empty, %zero, %root : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %norm : tensor<2xf32>
}
func.func @share(%x: tensor<2x1024xf32> {nn.name = "x"}) -> tensor<2xf32> {
  %part = nn.constant dense<1.0e-5> : tensor<2xf32> : tensor<2xf32>
  %sum = nn.reduce sum %x dims = [1] : tensor<2x1024xf32> -> tensor<2xf32>
  %share = nn.mul %part, %sum : tensor<2xf32>
  return %share : tensor<2xf32>
}

// Ids that come as floats, and classes that go as such: 257 is no bf16.
// CHECK-LABEL: func.func @ids
// CHECK-SAME: %[[IDS:[a-z0-9]+]]: tensor<8xf32>
// CHECK: nn.cast %[[IDS]] : (tensor<8xf32>) -> tensor<8xi64>
// CHECK: nn.cast %{{.+}} : (tensor<8xi64>) -> tensor<8xf32>
// CHECK-NEXT: return
func.func @ids(%ids: tensor<8xf32> {nn.name = "ids"}) -> tensor<8xf32> {
  %whole = nn.cast %ids : (tensor<8xf32>) -> tensor<8xi64>
  %twice = nn.add %whole, %whole : tensor<8xi64>
  %told = nn.cast %twice : (tensor<8xi64>) -> tensor<8xf32>
  return %told : tensor<8xf32>
}

// Running statistics, which a step changes by less than a small type can tell.
// CHECK-LABEL: func.func @running
// CHECK-SAME: %[[OLD:[a-z0-9]+]]: tensor<4xf32> {nn.name = "mean"
// CHECK: %[[KEPT:.+]] = nn.mul %[[OLD]], %{{.+}} : tensor<4xf32>
// CHECK: nn.add %[[KEPT]], %{{.+}} : tensor<4xf32>
func.func @running(%x: tensor<8x4xf32> {nn.name = "x"}, %old: tensor<4xf32> {nn.name = "mean", nn.statistic, nn.source = #nn.source<file = "m.bin", offset = 0, length = 16>})
    -> (tensor<8x4xf32>, tensor<4xf32> {nn.updates = "mean"}) {
  %sum = nn.reduce sum %x dims = [0] : tensor<8x4xf32> -> tensor<4xf32>
  %count = nn.constant dense<8.0> : tensor<4xf32> : tensor<4xf32>
  %mean = nn.div %sum, %count : tensor<4xf32>
  %rest = nn.constant dense<0.9> : tensor<4xf32> : tensor<4xf32>
  %part = nn.constant dense<0.1> : tensor<4xf32> : tensor<4xf32>
  %kept = nn.mul %old, %rest : tensor<4xf32>
  %added = nn.mul %mean, %part : tensor<4xf32>
  %new = nn.add %kept, %added : tensor<4xf32>
  %wide = nn.broadcast %mean dims = [1] : tensor<4xf32> -> tensor<8x4xf32>
  %y = nn.sub %x, %wide : tensor<8x4xf32>
  return %y, %new : tensor<8x4xf32>, tensor<4xf32>
}
