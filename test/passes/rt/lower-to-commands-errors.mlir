// RUN: weft-opt %s --split-input-file --rt-lower-to-commands --verify-diagnostics
// What no list of commands can say.

func.func @forward(%x: tensor<4xf32> {nn.name = "x"}) -> (tensor<4xf32> {nn.name = "y"}) {
  // expected-error @below {{is no view of what it reads, and no command does it; run rt-fuse-kernels before}}
  %0 = nn.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @forward(%x: tensor<4x2xf32> {nn.name = "x"}) -> (tensor<2x4xf32> {nn.name = "y"}) {
  // expected-note @below {{this is the view}}
  %0 = nn.transpose %x permutation = [1, 0] : tensor<4x2xf32> -> tensor<2x4xf32>
  // expected-error @below {{returns a view, which has no memory of its own; run rt-fuse-kernels before}}
  return %0 : tensor<2x4xf32>
}

// -----

func.func @forward(%x: tensor<4xf32> {nn.name = "x"}) -> (tensor<4xf32> {nn.name = "y"}) {
  // expected-error @below {{has no command}}
  %0 = math.exp %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

#mesh = #dist.mesh<["tp"=4]>
module attributes {dist.mesh = #mesh} {
func.func @forward(%x: tensor<3xf32, #dist.local<#mesh, [10{"tp"}]>> {nn.name = "x"}) -> (tensor<3xf32, #dist.local<#mesh, [10{"tp"}], padding = sum>> {nn.name = "y"}) {
  // expected-error @below {{a mask is a kernel; run rt-materialize-device-bodies before}}
  %0 = dist.mask %x : tensor<3xf32, #dist.local<#mesh, [10{"tp"}]>> -> tensor<3xf32, #dist.local<#mesh, [10{"tp"}], padding = sum>>
  return %0 : tensor<3xf32, #dist.local<#mesh, [10{"tp"}], padding = sum>>
}
}

// -----

func.func @forward(%x: tensor<4x8xf32> {nn.name = "x"}, %w: tensor<8x4xf32> {nn.name = "w"}) -> (tensor<4x4xf64> {nn.name = "y"}) {
  %0 = rt.fusion library(%x, %w : tensor<4x8xf32>, tensor<8x4xf32>) -> (tensor<4x4xf64>) {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>):
    // expected-error @below {{is no library call that target 'cpu' takes with these types and layouts}}
    %1 = nn.contract %a, %b lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f64 : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf64>
    rt.yield %1 : tensor<4x4xf64>
  }
  return %0 : tensor<4x4xf64>
}

// -----

// expected-note @below {{the state is 'tensor<4xf32>'}}
func.func @step(%w: tensor<4xf32> {nn.name = "w", nn.initial = 0.0 : f32}) {
  return
}
// expected-error @below {{has another type, placement or source of state "w" than a program before}}
func.func @eval(%w: tensor<4xf32> {nn.name = "w", nn.initial = 1.0 : f32}) {
  return
}

// -----

func.func private @r(%x: tensor<2xf32>) -> tensor<2xf32> attributes {rt.routine} {
  // expected-error @below {{stands in a routine; run rt-hoist-constants before}}
  %c = nn.constant dense<[1.0, 2.0]> : tensor<2xf32> : tensor<2xf32>
  %0 = rt.call @k(%x, %c) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func private @k(tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>

// -----

// What a routine overwrites is a value with memory of its own.
func.func private @r(%x: tensor<2xf32>) -> tensor<2xf32> attributes {rt.routine, rt.in_place = array<i64: 0>} {
  %0 = rt.dense %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
func.func @p(%x: tensor<4xf32>, %s: tensor<2xf32>) -> tensor<2xf32> {
  // expected-note @below {{the view is made here}}
  %0 = nn.slice %x starts = [2] strides = [1] : tensor<4xf32> -> tensor<2xf32>
  // expected-error @below {{overwrites operand of type 'tensor<2xf32>', which is only a view}}
  %1 = rt.call @r(%0) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = rt.dense %1 : tensor<2xf32>
  return %2 : tensor<2xf32>
}

// -----

// A library adds to its result, and does no more to it.
func.func @p(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = rt.fusion library(%x : tensor<4x4xf32>) -> (tensor<4x4xf32>) {
  ^bb0(%a: tensor<4x4xf32>):
    // expected-error @below {{is followed by more than a library call does: to place its results, to add inputs to the first}}
    %1 = nn.contract %a, %a lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = nn.sub %1, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    rt.yield %2 : tensor<4x4xf32>
  }
  return %0 : tensor<4x4xf32>
}

// -----

// What it packs is what it makes: here an argument is beside it.
func.func @p(%x: tensor<4x4xf32>) -> tensor<8x4xf32> {
  %0 = rt.fusion library(%x : tensor<4x4xf32>) -> (tensor<8x4xf32>) {
  ^bb0(%a: tensor<4x4xf32>):
    // expected-error @below {{is followed by more than a library call does: to place its results, to add inputs to the first}}
    %1 = nn.contract %a, %a lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = nn.concat %1, %a dim = 0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    rt.yield %2 : tensor<8x4xf32>
  }
  return %0 : tensor<8x4xf32>
}

// -----

// What it always writes dense, such as the logarithms of sums, it does not permute.
func.func @p(%q: tensor<1x4x6x8xf32>) -> (tensor<1x4x6x8xf32>, tensor<1x6x4xf32>) {
  %0:2 = rt.fusion library(%q : tensor<1x4x6x8xf32>) -> (tensor<1x4x6x8xf32>, tensor<1x6x4xf32>) {
  ^bb0(%a: tensor<1x4x6x8xf32>):
    // expected-error @below {{is followed by more than a library call does: to place its results, to add inputs to the first}}
    %1:2 = nn.attention %a, %a, %a scale = 1.0
      : (tensor<1x4x6x8xf32>, tensor<1x4x6x8xf32>, tensor<1x4x6x8xf32>) -> (tensor<1x4x6x8xf32>, tensor<1x4x6xf32>)
    %2 = nn.transpose %1#1 permutation = [0, 2, 1] : tensor<1x4x6xf32> -> tensor<1x6x4xf32>
    rt.yield %1#0, %2 : tensor<1x4x6x8xf32>, tensor<1x6x4xf32>
  }
  return %0#0, %0#1 : tensor<1x4x6x8xf32>, tensor<1x6x4xf32>
}

// -----

// What it adds to is its result: here neither addend is.
func.func @p(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = rt.fusion library(%x, %y : tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>) {
  ^bb0(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>):
    // expected-error @below {{is followed by more than a library call does: to place its results, to add inputs to the first}}
    %1 = nn.contract %a, %a lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = nn.add %a, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    rt.yield %2 : tensor<4x4xf32>
  }
  return %0 : tensor<4x4xf32>
}

// -----

// What it returns is the sum: here the product is.
func.func @p(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = rt.fusion library(%x, %y : tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>) {
  ^bb0(%a: tensor<4x4xf32>, %b: tensor<4x4xf32>):
    // expected-error @below {{is followed by more than a library call does: to place its results, to add inputs to the first}}
    %1 = nn.contract %a, %a lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = nn.add %1, %b : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    rt.yield %1 : tensor<4x4xf32>
  }
  return %0 : tensor<4x4xf32>
}

// -----

#mesh = #dist.mesh<[stages "pp"=2]>
module attributes {dist.mesh = #mesh} {
func.func @forward(%x: tensor<4xf32, #dist.local<#mesh, [4], held = "pp"[0]>> {nn.name = "x"}) -> (tensor<4xf32, #dist.local<#mesh, [4], held = "pp"[1]>> {nn.name = "y"}) {
  // expected-error @below {{is of several stages of a pipeline; run dist-project-stages before}}
  %0 = dist.move %x ["pp"] : tensor<4xf32, #dist.local<#mesh, [4], held = "pp"[0]>> -> tensor<4xf32, #dist.local<#mesh, [4], held = "pp"[1]>>
  return %0 : tensor<4xf32, #dist.local<#mesh, [4], held = "pp"[1]>>
}
}

// -----

// Constants are tensors of numbers.
func.func @forward(%x: tensor<4xf32> {nn.name = "x"}) -> (tensor<4xf32> {nn.name = "y"}) {
  // expected-error @below {{has a constant value that cannot be read}}
  %c = arith.constant 1 : index
  %1 = arith.addi %c, %c : index
  %0 = rt.dense %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
