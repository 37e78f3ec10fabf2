// RUN: %doctest %s
// The first product and its weight are on the first stage, the second on the second; what is between them crosses.
//--- before
#mesh = #dist.mesh<[stages "pp"=2]>
module attributes {dist.mesh = #mesh} {
  func.func @forward(%x: tensor<256x1024xf32, #dist.placement<#mesh, [256, 1024]>>,
      %w0: tensor<1024x1024xf32, #dist.placement<#mesh, [1024, 1024]>> {nn.name = "w0", nn.initial = 0.0 : f32},
      %w1: tensor<1024x1024xf32, #dist.placement<#mesh, [1024, 1024]>> {nn.name = "w1", nn.initial = 0.0 : f32}) -> tensor<256x1024xf32, #dist.placement<#mesh, [256, 1024]>> {
    %0 = nn.contract %x, %w0 lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x1024xf32, #dist.placement<#mesh, [256, 1024]>>, tensor<1024x1024xf32, #dist.placement<#mesh, [1024, 1024]>>) -> tensor<256x1024xf32, #dist.placement<#mesh, [256, 1024]>>
    %1 = nn.contract %0, %w1 lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x1024xf32, #dist.placement<#mesh, [256, 1024]>>, tensor<1024x1024xf32, #dist.placement<#mesh, [1024, 1024]>>) -> tensor<256x1024xf32, #dist.placement<#mesh, [256, 1024]>>
    return %1 : tensor<256x1024xf32, #dist.placement<#mesh, [256, 1024]>>
  }
}
//--- after
#mesh = #dist.mesh<[stages "pp"=2]>
#reason = #dist.reason<maker = "nn.contract", readers = ["result 0"], reader_count = 1, role = "forward", from = <#mesh, [256, 1024], held = "pp"[0]>, to = <#mesh, [256, 1024], held = "pp"[1]>>
module attributes {dist.chunk_rows = [{activation_bytes = 0 : i64, backward = 0.000000e+00 : f64, bytes_in = 0 : i64, first = "nn.contract", forward = 1.250000e-03 : f64, gradient_bytes = 0 : i64, in_flight = 1 : i64, last = "nn.contract", optimizer_bytes = 0 : i64, other_bytes = 0 : i64, parameter_bytes = 4194304 : i64, parameters = 1048576 : i64, stage = 0 : i64, weight = 0.000000e+00 : f64}, {activation_bytes = 0 : i64, backward = 0.000000e+00 : f64, bytes_in = 1048576 : i64, first = "nn.contract", forward = 1.250000e-03 : f64, gradient_bytes = 0 : i64, in_flight = 1 : i64, last = "nn.contract", optimizer_bytes = 0 : i64, other_bytes = 0 : i64, parameter_bytes = 4194304 : i64, parameters = 1048576 : i64, stage = 1 : i64, weight = 0.000000e+00 : f64}], dist.mesh = #mesh, dist.schedule = "weft schedule 1\0Aranks 2  chunks 2  microbatches 1\0Aplace 0 1\0Arank 0: F0.0 D0.0\0Arank 1: F1.0 D1.0\0A", dist.schedule_reason = "1f1b of 2 stages: ranks idle 52.4 % of a step, 0.0 % of their own time"} {
  func.func @forward(%arg0: tensor<256x1024xf32, #dist.placement<#mesh, [256, 1024]>>, %arg1: tensor<1024x1024xf32, #dist.placement<#mesh, [1024, 1024], held = "pp"[0]>> {nn.initial = 0.000000e+00 : f32, nn.name = "w0"}, %arg2: tensor<1024x1024xf32, #dist.placement<#mesh, [1024, 1024], held = "pp"[1]>> {nn.initial = 0.000000e+00 : f32, nn.name = "w1"}) -> tensor<256x1024xf32, #dist.placement<#mesh, [256, 1024], held = "pp"[1]>> {
    %0 = nn.contract %arg0, %arg1 lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x1024xf32, #dist.placement<#mesh, [256, 1024]>>, tensor<1024x1024xf32, #dist.placement<#mesh, [1024, 1024], held = "pp"[0]>>) -> tensor<256x1024xf32, #dist.placement<#mesh, [256, 1024], held = "pp"[0]>>
    %1 = dist.reshard %0 {dist.reason = #reason} : tensor<256x1024xf32, #dist.placement<#mesh, [256, 1024], held = "pp"[0]>> -> tensor<256x1024xf32, #dist.placement<#mesh, [256, 1024], held = "pp"[1]>>
    %2 = nn.contract %1, %arg2 lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<256x1024xf32, #dist.placement<#mesh, [256, 1024], held = "pp"[1]>>, tensor<1024x1024xf32, #dist.placement<#mesh, [1024, 1024], held = "pp"[1]>>) -> tensor<256x1024xf32, #dist.placement<#mesh, [256, 1024], held = "pp"[1]>>
    return %2 : tensor<256x1024xf32, #dist.placement<#mesh, [256, 1024], held = "pp"[1]>>
  }
}

