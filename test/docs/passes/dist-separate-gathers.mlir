// RUN: %doctest %s
// The gradient reads the weight that was gathered for the forward pass, which would stay in memory until then; it
// gets a gather of its own.
//--- before
#mesh = #dist.mesh<["dp"=2]>
#rows = #dist.local<#mesh, [8{"dp"}, 8]>
#whole = #dist.local<#mesh, [8, 8]>
module attributes {dist.mesh = #mesh} {
  func.func @step(%x: tensor<4x8xf32, #rows>, %w: tensor<4x8xf32, #rows>) -> (tensor<4x8xf32, #rows>, tensor<4x8xf32, #rows>) {
    %0 = dist.all_gather %w ["dp"] dim 0 {dist.step_part = "forward"} : tensor<4x8xf32, #rows> -> tensor<8x8xf32, #whole>
    %1 = nn.contract %x, %0 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
        : (tensor<4x8xf32, #rows>, tensor<8x8xf32, #whole>) -> tensor<4x8xf32, #rows>
    %2 = nn.contract %1, %0 lhs = [0, 2] rhs = [1, 2] result = [0, 1] accumulate = f32 {nn.role = "input_gradient"}
        : (tensor<4x8xf32, #rows>, tensor<8x8xf32, #whole>) -> tensor<4x8xf32, #rows>
    return %1, %2 : tensor<4x8xf32, #rows>, tensor<4x8xf32, #rows>
  }
}
//--- after
#mesh = #dist.mesh<["dp"=2]>
module attributes {dist.mesh = #mesh} {
  func.func @step(%arg0: tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>>, %arg1: tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>>) -> (tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>>, tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>>) {
    %0 = dist.all_gather %arg1 ["dp"] dim 0 {dist.step_part = "forward"} : tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>> -> tensor<8x8xf32, #dist.local<#mesh, [8, 8]>>
    %1 = nn.contract %arg0, %0 lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>>, tensor<8x8xf32, #dist.local<#mesh, [8, 8]>>) -> tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>>
    %2 = dist.all_gather %arg1 ["dp"] dim 0 {dist.step_part = "backward"} : tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>> -> tensor<8x8xf32, #dist.local<#mesh, [8, 8]>>
    %3 = nn.contract %1, %2 lhs = [0, 2] rhs = [1, 2] result = [0, 1] accumulate = f32 {nn.role = "input_gradient"} : (tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>>, tensor<8x8xf32, #dist.local<#mesh, [8, 8]>>) -> tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>>
    return %1, %3 : tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>>, tensor<4x8xf32, #dist.local<#mesh, [8{"dp"}, 8]>>
  }
}
