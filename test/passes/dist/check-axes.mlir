// RUN: weft-opt %s --split-input-file --dist-check-axes --verify-diagnostics
// Every axis of more than one process must split some op.

#mesh = #dist.mesh<["dp"=2, "tp"=2]>

// Over one axis the rows are split, over the other the sum: both work.
module attributes {dist.mesh = #mesh} {
  func.func @both(%x: tensor<8x64xf32, #dist.placement<#mesh, [8{"dp"}, 64{"tp"}]>>, %w: tensor<64x4xf32, #dist.placement<#mesh, [64{"tp"}, 4]>>)
      -> tensor<8x4xf32, #dist.placement<#mesh, [8{"dp"}, 4]>> {
    %0 = nn.contract %x, %w lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<8x64xf32, #dist.placement<#mesh, [8{"dp"}, 64{"tp"}]>>, tensor<64x4xf32, #dist.placement<#mesh, [64{"tp"}, 4]>>) -> tensor<8x4xf32, #dist.placement<#mesh, [8{"dp"}, 4], partial = sum["tp"]>>
    %1 = dist.reshard %0 : tensor<8x4xf32, #dist.placement<#mesh, [8{"dp"}, 4], partial = sum["tp"]>> -> tensor<8x4xf32, #dist.placement<#mesh, [8{"dp"}, 4]>>
    return %1 : tensor<8x4xf32, #dist.placement<#mesh, [8{"dp"}, 4]>>
  }
}

// -----

#mesh = #dist.mesh<["dp"=2, "tp"=3, temporal "mb"=4]>

// What is only stored in parts is no work, and an axis that nothing names is none; microbatches are not processes.
// expected-error @below {{axis dp=2 splits nothing: what is placed over it has 8 parts, but every op reads it whole; make it smaller or leave it out, or let its processes repeat the work of others with --allow-idle-axes}}
// expected-error @below {{axis tp=3 splits nothing: neither the batch nor a weight can be cut over it}}
module attributes {dist.mesh = #mesh} {
  func.func @stored(%x: tensor<8xf32, #dist.placement<#mesh, [8{"dp"}]>>) -> tensor<8xf32, #dist.placement<#mesh, [8]>> {
    %0 = dist.reshard %x : tensor<8xf32, #dist.placement<#mesh, [8{"dp"}]>> -> tensor<8xf32, #dist.placement<#mesh, [8]>>
    %1 = nn.exp %0 : (tensor<8xf32, #dist.placement<#mesh, [8]>>) -> tensor<8xf32, #dist.placement<#mesh, [8]>>
    return %1 : tensor<8xf32, #dist.placement<#mesh, [8]>>
  }
}

// -----

#mesh = #dist.mesh<["dp.0"=4, "dp.1"=4]>

// Sub-axes that share a dim count together.
// expected-error @below {{axis dp.0=4 splits nothing}}
// expected-error @below {{axis dp.1=4 splits nothing}}
module attributes {dist.mesh = #mesh} {
  func.func @together(%x: tensor<8xf32, #dist.placement<#mesh, [8{"dp.0","dp.1"}]>>) -> tensor<8xf32, #dist.placement<#mesh, [8{"dp.0","dp.1"}]>> {
    %1 = nn.exp %x : (tensor<8xf32, #dist.placement<#mesh, [8{"dp.0","dp.1"}]>>) -> tensor<8xf32, #dist.placement<#mesh, [8{"dp.0","dp.1"}]>>
    return %1 : tensor<8xf32, #dist.placement<#mesh, [8{"dp.0","dp.1"}]>>
  }
}

// -----

#mesh = #dist.mesh<["dp"=2]>

// A program without work has nothing to split.
module attributes {dist.mesh = #mesh} {
  func.func @identity(%x: tensor<8xf32, #dist.placement<#mesh, [8]>>) -> tensor<8xf32, #dist.placement<#mesh, [8]>> {
    return %x : tensor<8xf32, #dist.placement<#mesh, [8]>>
  }
}
