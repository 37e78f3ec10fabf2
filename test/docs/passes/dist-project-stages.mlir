// RUN: %doctest %s
// The first product is the first stage's, the second one the second's. What crosses between them stands in both.
//--- before
#mesh = #dist.mesh<[stages "pp"=2]>
module attributes {dist.mesh = #mesh} {
  func.func @forward(%x: tensor<8x16xf32, #dist.local<#mesh, [8, 16]>> {nn.name = "x"},
      %w0: tensor<16x16xf32, #dist.local<#mesh, [16, 16], held = "pp"[0]>> {nn.name = "w0", nn.initial = 0.0 : f32},
      %w1: tensor<16x16xf32, #dist.local<#mesh, [16, 16], held = "pp"[1]>> {nn.name = "w1", nn.initial = 0.0 : f32}) -> (tensor<8x16xf32, #dist.local<#mesh, [8, 16], held = "pp"[1]>> {nn.name = "y"}) {
    %0 = nn.contract %x, %w0 lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<8x16xf32, #dist.local<#mesh, [8, 16]>>, tensor<16x16xf32, #dist.local<#mesh, [16, 16], held = "pp"[0]>>) -> tensor<8x16xf32, #dist.local<#mesh, [8, 16], held = "pp"[0]>>
    %1 = dist.move %0 ["pp"] : tensor<8x16xf32, #dist.local<#mesh, [8, 16], held = "pp"[0]>> -> tensor<8x16xf32, #dist.local<#mesh, [8, 16], held = "pp"[1]>>
    %2 = nn.contract %1, %w1 lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<8x16xf32, #dist.local<#mesh, [8, 16], held = "pp"[1]>>, tensor<16x16xf32, #dist.local<#mesh, [16, 16], held = "pp"[1]>>) -> tensor<8x16xf32, #dist.local<#mesh, [8, 16], held = "pp"[1]>>
    return %2 : tensor<8x16xf32, #dist.local<#mesh, [8, 16], held = "pp"[1]>>
  }
}
//--- after
#mesh = #dist.mesh<[stages "pp"=2]>
module attributes {dist.mesh = #mesh, rt.ports = {forward = [["x"], ["y"]]}} {
  module @stage0 attributes {dist.mesh = #mesh, weft.stage = 0 : i64} {
    func.func @forward(%arg0: tensor<8x16xf32, #dist.local<#mesh, [8, 16]>> {nn.name = "x"}, %arg1: tensor<16x16xf32, #dist.local<#mesh, [16, 16]>> {nn.initial = 0.000000e+00 : f32, nn.name = "w0"}) {
      %0 = nn.contract %arg0, %arg1 lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 {dist.section = 0 : i64} : (tensor<8x16xf32, #dist.local<#mesh, [8, 16]>>, tensor<16x16xf32, #dist.local<#mesh, [16, 16]>>) -> tensor<8x16xf32, #dist.local<#mesh, [8, 16]>>
      dist.send %0 to 1 on "nn.contract" {dist.section = 0 : i64} : tensor<8x16xf32, #dist.local<#mesh, [8, 16]>>
      return
    }
  }
  module @stage1 attributes {dist.mesh = #mesh, weft.stage = 1 : i64} {
    func.func @forward(%arg0: tensor<16x16xf32, #dist.local<#mesh, [16, 16]>> {nn.initial = 0.000000e+00 : f32, nn.name = "w1"}) -> (tensor<8x16xf32, #dist.local<#mesh, [8, 16]>> {nn.name = "y"}) {
      %0 = dist.receive from 0 on "nn.contract" {dist.section = 0 : i64} : tensor<8x16xf32, #dist.local<#mesh, [8, 16]>>
      %1 = nn.contract %0, %arg0 lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 {dist.section = 1 : i64} : (tensor<8x16xf32, #dist.local<#mesh, [8, 16]>>, tensor<16x16xf32, #dist.local<#mesh, [16, 16]>>) -> tensor<8x16xf32, #dist.local<#mesh, [8, 16]>>
      return %1 : tensor<8x16xf32, #dist.local<#mesh, [8, 16]>>
    }
  }
}

