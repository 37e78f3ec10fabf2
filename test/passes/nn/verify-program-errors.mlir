// RUN: weft-opt %s --split-input-file --nn-verify-program --verify-diagnostics
// One violation of each rule that holds at `graph`, and which `step` keeps.

// expected-error @below {{'rt.mesh' stands beside programs, which are functions; delete it}}
rt.mesh ["tp"] sizes [2]

// -----

// expected-error @below {{@forward has no body; a program is one list of ops, so write it as one}}
func.func private @forward(tensor<4xf32>) -> tensor<4xf32>

// -----

// expected-error @below {{@forward has branches; a program is one list of ops, so write it as one}}
func.func @forward(%x: tensor<4xf32> {nn.name = "x"}) -> (tensor<4xf32> {nn.name = "y"}) {
  cf.br ^next
^next:
  return %x : tensor<4xf32>
}

// -----

func.func @forward(%x: tensor<4xf32> {nn.name = "x"}) {
  // expected-error @below {{@forward ends in 'llvm.unreachable'; a program ends in what it returns, so write 'return'}}
  llvm.unreachable
}

// -----

// expected-error @below {{argument 0 of @forward has a dim that is not bound: 'tensor<?xf32>'; give it its size}}
func.func @forward(%x: tensor<?xf32> {nn.name = "x"}) {
  return
}

// -----

// expected-error @below {{argument 0 of @forward is no tensor of numbers: 'f32'; use a ranked tensor of floats or integers}}
func.func @forward(%x: f32 {nn.name = "x"}) {
  return
}

// -----

// expected-error @below {{argument 0 of @forward has shape [2097152x2097152], more than the 2^40 elements that are supported; make it smaller}}
func.func @forward(%x: tensor<2097152x2097152xf32> {nn.name = "x"}) {
  return
}

// -----

#mesh = #dist.mesh<["tp"=2]>
// expected-error-re @below {{argument 0 of @forward is placed, but the module has no mesh: 'tensor<8xf32, #dist.placement<{{.*}}>'; give the module 'dist.mesh', or leave the placement out}}
func.func @forward(%x: tensor<8xf32, #dist.placement<#mesh, [8{"tp"}]>> {nn.name = "x"}) {
  return
}

// -----

func.func @forward(%x: tensor<8xf32> {nn.name = "x"}) {
  // expected-error @below {{'math.exp' is no op of nn; a program of one device has no others, so write it with these}}
  %0 = math.exp %x : tensor<8xf32>
  return
}

// -----

// expected-note @below {{this is argument 0}}
func.func @forward(%x: tensor<4xf32> {nn.name = "x"},
                   // expected-error @below {{argument 1 of @forward has the name "x" of another; give each its own}}
                   %y: tensor<4xf32> {nn.name = "x"}) {
  return
}

// -----

// expected-error @below {{argument 0 of @forward has 2 dims, but nn.dims names 1; name each of them}}
func.func @forward(%x: tensor<4x4xf32> {nn.dims = ["batch"], nn.name = "x"}) {
  return
}

// -----

// expected-error @below {{argument 0 of @forward has both a source of its bytes (nn.source) and a value at the start (nn.initial); a state has one, so leave the other out}}
func.func @forward(%w: tensor<4xf32> {nn.name = "w", nn.initial = 0.0 : f32, nn.source = #nn.source<file = "m.onnx", offset = 0, length = 16>}) {
  return
}

// -----

// expected-error @below {{argument 0 of @forward has nn.source_type, but no nn.source; say where the bytes are, or leave it out}}
func.func @forward(%w: tensor<4xf32> {nn.name = "w", nn.initial = 0.0 : f32, nn.source_type = bf16}) {
  return
}

// -----

// expected-error @below {{argument 0 of @forward has nn.class, but neither nn.source nor nn.initial, so it is no state; give it one of them, or leave nn.class out}}
func.func @forward(%w: tensor<4xf32> {nn.name = "w", nn.class = "optimizer"}) {
  return
}

// -----

// expected-error @below {{argument 0 of @forward has 4 elements in 16 bytes, but its source has 12; correct its length, or nn.source_type}}
func.func @forward(%w: tensor<4xf32> {nn.name = "w", nn.source = #nn.source<file = "m.onnx", offset = 0, length = 12>}) {
  return
}

// -----

// expected-error @below {{argument 0 of @forward is 'tensor<4xf32>', but starts at 'tensor<3xf32>' (nn.initial); give each element its own number, or all of them one}}
func.func @forward(%w: tensor<4xf32> {nn.name = "w", nn.initial = dense<0.0> : tensor<3xf32>}) {
  return
}

// -----

// expected-error @below {{argument 0 of @forward has elements of 'i32', but starts at 'f64' (nn.initial); start floats at floats and integers at integers}}
func.func @forward(%w: tensor<2xi32> {nn.name = "w", nn.initial = dense<0.5> : tensor<2xf64>}) {
  return
}

// -----

// expected-error @below {{argument 0 of @forward has elements of 'f32', but starts at 'i64' (nn.initial)}}
func.func @forward(%w: tensor<2xf32> {nn.name = "w", nn.initial = 1 : i64}) {
  return
}

// -----

// expected-error @below {{argument 0 of @forward belongs to "v" (nn.of), which is no argument; name one of @forward}}
func.func @forward(%w: tensor<4xf32> {nn.name = "w", nn.initial = 0.0 : f32, nn.of = "v"}) {
  return
}

// -----

// expected-note @below {{this is the state of @step}}
func.func @step(%w: tensor<4xf32> {nn.name = "w", nn.initial = 0.0 : f32}) {
  return
}
// expected-error @below {{argument 0 of @eval has another type, source or value at the start of state "w" than a program before; make them agree}}
func.func @eval(%w: tensor<4xf32> {nn.name = "w", nn.initial = 1.0 : f32}) {
  return
}

// -----

// expected-error @below {{result 1 of @forward is output y, as result 0 is; give it another name}}
func.func @forward(%x: tensor<4xf32> {nn.name = "x"}) -> (tensor<4xf32> {nn.name = "y"}, tensor<4xf32> {nn.name = "y"}) {
  return %x, %x : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @below {{result 1 of @forward is state w, as result 0 is; update a state once}}
func.func @forward(%w: tensor<4xf32> {nn.name = "w", nn.initial = 0.0 : f32})
    -> (tensor<4xf32> {nn.updates = "w"}, tensor<4xf32> {nn.updates = "w"}) {
  return %w, %w : tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error @below {{result 0 of @forward updates "x", which is no state of the program; name an argument with nn.source or nn.initial}}
func.func @forward(%x: tensor<4xf32> {nn.name = "x"}) -> (tensor<4xf32> {nn.updates = "x"}) {
  return %x : tensor<4xf32>
}

// -----

// expected-note @below {{the state is 'tensor<4xf32>'}}
func.func @forward(%w: tensor<4xf32> {nn.name = "w", nn.initial = 0.0 : f32}) -> (tensor<4xbf16> {nn.updates = "w"}) {
  // expected-error @below {{result 0 of @forward updates state "w" by 'tensor<4xbf16>'; cast it to the type of the state}}
  %0 = nn.cast %w : (tensor<4xf32>) -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// -----

func.func @forward(%x: tensor<4xf32> {nn.name = "x"}) {
  // expected-error @below {{has nn.role, but what an op is for is decided by 'step'; leave it out}}
  %0 = nn.exp %x {nn.role = "optimizer"} : (tensor<4xf32>) -> tensor<4xf32>
  // expected-error @below {{has nn.recompute, but is no op of the forward pass of a step; leave it out}}
  %1 = nn.exp %x {nn.recompute} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// expected-error @below {{is a state without a name, by which programs share it; give it an nn.name}}
func.func @forward(%w: tensor<4xf32> {nn.initial = 0.0 : f32}) -> tensor<4xf32> {
  return %w : tensor<4xf32>
}
