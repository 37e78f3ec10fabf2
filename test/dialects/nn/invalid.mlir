// RUN: weft-opt %s --split-input-file --verify-diagnostics
// What verifiers reject, with what they found and what they expected.

// Shapes of elementwise ops are equal.
func.func @f(%x: tensor<2x4xf32>, %y: tensor<4x2xf32>) {
  // expected-error @below {{'nn.add' op operand 1 has shape 4x2, expected 2x4: the result's shape}}
  %0 = nn.add %x, %y : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x4xf32>
  return
}

// -----

// So are their element types.
func.func @f(%x: tensor<2x4xf32>, %y: tensor<2x4xf64>) {
  // expected-error @below {{'nn.add' op operand 1 has element type 'f64', expected 'f32': the result's element type}}
  %0 = nn.add %x, %y : (tensor<2x4xf32>, tensor<2x4xf64>) -> tensor<2x4xf32>
  return
}

// -----

// A scalar has no dims to show.
func.func @f(%x: tensor<2x4xf32>, %y: tensor<f32>) {
  // expected-error @below {{'nn.mul' op operand 1 has shape scalar, expected 2x4: the result's shape}}
  %0 = nn.mul %x, %y : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return
}

// -----

// Arithmetic is not defined on bool.
func.func @f(%x: tensor<2xi1>) {
  // expected-error @below {{'nn.negate' op operand #0 must be statically shaped tensor of 64-bit float or 32-bit float or 16-bit float or bfloat16 type or 8-bit integer or 16-bit integer or 32-bit integer or 64-bit integer values of at most 64 dims and 2^40 elements, but got 'tensor<2xi1>'}}
  %0 = nn.negate %x : (tensor<2xi1>) -> tensor<2xi1>
  return
}

// -----

// Shapes are static.
func.func @f(%x: tensor<?xf32>) {
  // expected-error @below {{'nn.exp' op operand #0 must be statically shaped tensor of 64-bit float or 32-bit float or 16-bit float or bfloat16 type values of at most 64 dims and 2^40 elements, but got 'tensor<?xf32>'}}
  %0 = nn.exp %x : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

// Functions of reals take floats.
func.func @f(%x: tensor<2xi32>) {
  // expected-error @below {{'nn.exp' op operand #0 must be statically shaped tensor of 64-bit float or 32-bit float or 16-bit float or bfloat16 type values of at most 64 dims and 2^40 elements, but got 'tensor<2xi32>'}}
  %0 = nn.exp %x : (tensor<2xi32>) -> tensor<2xi32>
  return
}

// -----

// Comparisons are between values of one type.
func.func @f(%x: tensor<2xf32>, %y: tensor<2xi32>) {
  // expected-error @below {{'nn.compare' op operand 1 has element type 'i32', expected 'f32': the type of operand 0}}
  %0 = nn.compare lt %x, %y : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xi1>
  return
}

// -----

// A selection is between values of one type.
func.func @f(%p: tensor<2xi1>, %x: tensor<2xf32>, %y: tensor<2xi32>) {
  // expected-error @below {{'nn.select' op operand 2 has element type 'i32', expected 'f32': the type of operand 1}}
  %0 = nn.select %p, %x, %y : (tensor<2xi1>, tensor<2xf32>, tensor<2xi32>) -> tensor<2xf32>
  return
}

// -----

// And of that type itself.
func.func @f(%p: tensor<2xi1>, %x: tensor<2xf32>) {
  // expected-error @below {{'nn.select' op result has element type 'f64', expected 'f32': the type of operand 1}}
  %0 = nn.select %p, %x, %x : (tensor<2xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

// A constant has the element type of its value.
func.func @f() {
  // expected-error @below {{'nn.constant' op value has element type 'f32', expected 'f64': the result's element type}}
  %0 = nn.constant dense<1.0> : tensor<4xf32> : tensor<4xf64>
  return
}

// -----

// And its shape.
func.func @f() {
  // expected-error @below {{'nn.constant' op value has shape 4, expected 2x2: the result's shape}}
  %0 = nn.constant dense<1.0> : tensor<4xf32> : tensor<2x2xf32>
  return
}

// -----

// Its elements are in the program.
func.func @f() {
  // expected-error @below {{'nn.constant' op value holds no elements, expected a dense constant}}
  %0 = "nn.constant"() {value = sparse<[[0]], [1.0]> : tensor<4xf32>} : () -> tensor<4xf32>
  return
}

// -----

// Iota has one dim.
func.func @f() {
  // expected-error @below {{'nn.iota' op result has tensor rank 2, expected 1}}
  %0 = nn.iota : tensor<2x2xi64>
  return
}

// -----

// A broadcast names the result dim of each operand dim.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.broadcast' op dims has 1 entries, expected 2: one for each operand dimension}}
  %0 = nn.broadcast %x dims = [0] : tensor<2x4xf32> -> tensor<2x4x3xf32>
  return
}

// -----

// In order.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.broadcast' op dims[1] is 0, expected more than 1}}
  %0 = nn.broadcast %x dims = [1, 0] : tensor<2x4xf32> -> tensor<4x2xf32>
  return
}

// -----

// Within the result.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.broadcast' op dims[1] is 2, expected at least 0 and less than 2}}
  %0 = nn.broadcast %x dims = [0, 2] : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

// With equal sizes.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.broadcast' op result dimension 2 has size 3, expected 4: the size of operand dimension 1}}
  %0 = nn.broadcast %x dims = [0, 2] : tensor<2x4xf32> -> tensor<2x4x3xf32>
  return
}

// -----

// Without a change of element type.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.broadcast' op result has element type 'f64', expected 'f32': the operand's element type}}
  %0 = nn.broadcast %x dims = [0, 1] : tensor<2x4xf32> -> tensor<2x4xf64>
  return
}

// -----

// A reshape keeps the number of elements.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.reshape' op result of shape 3x3 has 9 elements, expected 8 as the operand of shape 2x4}}
  %0 = nn.reshape %x : tensor<2x4xf32> -> tensor<3x3xf32>
  return
}

// -----

// And the element type.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.reshape' op result has element type 'i32', expected 'f32': the operand's element type}}
  %0 = nn.reshape %x : tensor<2x4xf32> -> tensor<8xi32>
  return
}

// -----

// A permutation names every dim.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.transpose' op permutation has 1 entries, expected 2: one for each operand dimension}}
  %0 = nn.transpose %x permutation = [0] : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

// Once.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.transpose' op permutation names dimension 0 twice}}
  %0 = nn.transpose %x permutation = [0, 0] : tensor<2x4xf32> -> tensor<2x2xf32>
  return
}

// -----

// And gives the result shape.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.transpose' op result has shape 2x4, expected 4x2: the permuted shape of the operand}}
  %0 = nn.transpose %x permutation = [1, 0] : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

// A reversal keeps the shape.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.reverse' op result has shape 4x2, expected 2x4: the operand's shape}}
  %0 = nn.reverse %x dims = [0] : tensor<2x4xf32> -> tensor<4x2xf32>
  return
}

// -----

// And has dims of the operand.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.reverse' op dims[0] is 2, expected at least 0 and less than 2}}
  %0 = nn.reverse %x dims = [2] : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

// A slice has a start for every dim.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.slice' op starts has 1 entries, expected 2: one for each operand dimension}}
  %0 = nn.slice %x starts = [0] strides = [1, 1] : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

// And a stride.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.slice' op strides has 1 entries, expected 2: one for each operand dimension}}
  %0 = nn.slice %x starts = [0, 0] strides = [1] : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

// Starts are within the operand.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.slice' op starts[1] is -1, expected at least 0}}
  %0 = nn.slice %x starts = [0, -1] strides = [1, 1] : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

// Strides go forward.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.slice' op strides[1] is 0, expected at least 1}}
  %0 = nn.slice %x starts = [0, 0] strides = [1, 0] : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

// Slicing keeps dims.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.slice' op result has tensor rank 1, expected 2 as the operand}}
  %0 = nn.slice %x starts = [0, 0] strides = [1, 1] : tensor<2x4xf32> -> tensor<4xf32>
  return
}

// -----

// The last element read is within the operand.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.slice' op dimension 1 reads index 5, expected less than 4: the operand's size}}
  %0 = nn.slice %x starts = [0, 1] strides = [1, 2] : tensor<2x4xf32> -> tensor<2x3xf32>
  return
}

// -----

// A concatenation has inputs.
func.func @f() {
  // expected-error @below {{'nn.concat' op has no inputs, expected at least one}}
  %0 = "nn.concat"() {dim = 0 : i64} : () -> tensor<0xf32>
  return
}

// -----

// Along a dim of the result.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.concat' op dim is 2, expected at least 0 and less than 2}}
  %0 = nn.concat %x, %x dim = 2 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

// Of one element type.
func.func @f(%x: tensor<2x4xf32>, %y: tensor<2x4xf64>) {
  // expected-error @below {{'nn.concat' op input 1 has element type 'f64', expected 'f32': the result's element type}}
  %0 = nn.concat %x, %y dim = 0 : (tensor<2x4xf32>, tensor<2x4xf64>) -> tensor<4x4xf32>
  return
}

// -----

// Whose other sizes agree.
func.func @f(%x: tensor<2x4xf32>, %y: tensor<2x3xf32>) {
  // expected-error @below {{'nn.concat' op input 1 has shape 2x3, expected 2x4: the result's sizes but for dimension 0}}
  %0 = nn.concat %x, %y dim = 0 : (tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<4x4xf32>
  return
}

// -----

// And whose sizes add up.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.concat' op result dimension 0 has size 5, expected 4: the sum of the inputs' sizes}}
  %0 = nn.concat %x, %x dim = 0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<5x4xf32>
  return
}

// -----

// Padding has an entry for every dim.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.pad' op low has 1 entries, expected 2: one for each operand dimension}}
  %0 = nn.pad %x low = [0] high = [0, 0] value = 0.0 : f32 : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

// And does not cut.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.pad' op high[1] is -1, expected at least 0}}
  %0 = nn.pad %x low = [0, 0] high = [0, -1] value = 0.0 : f32 : tensor<2x4xf32> -> tensor<2x3xf32>
  return
}

// -----

// Its value has the element type.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.pad' op value has element type 'i32', expected 'f32': the operand's element type}}
  %0 = nn.pad %x low = [0, 0] high = [0, 1] value = 0 : i32 : tensor<2x4xf32> -> tensor<2x5xf32>
  return
}

// -----

// And is one number.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.pad' op value is dense<0.000000e+00> : tensor<2xf32>, expected one number}}
  %0 = nn.pad %x low = [0, 0] high = [0, 1] value = dense<0.0> : tensor<2xf32> : tensor<2x4xf32> -> tensor<2x5xf32>
  return
}

// -----

// It gives the result shape.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.pad' op result has shape 2x5, expected 2x6: low + size + high in every dimension}}
  %0 = nn.pad %x low = [0, 1] high = [0, 1] value = 0.0 : f32 : tensor<2x4xf32> -> tensor<2x5xf32>
  return
}

// -----

// Every dim has a label.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @below {{'nn.contract' op lhs labels has 1 entries, expected 2: one for each dimension}}
  %0 = nn.contract %a, %b lhs = [0] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// Which is its own within a tensor.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @below {{'nn.contract' op lhs labels name 0 twice}}
  %0 = nn.contract %a, %b lhs = [0, 0] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// Equal labels mean equal sizes.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @below {{'nn.contract' op label 1 has size 16 in rhs, expected 8 as in lhs}}
  %0 = nn.contract %a, %b lhs = [0, 1] rhs = [2, 1] result = [0, 2] accumulate = f32 : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// A label in one tensor alone has no meaning.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @below {{'nn.contract' op label 1 is in lhs only, expected in a second tensor}}
  %0 = nn.contract %a, %b lhs = [0, 1] rhs = [3, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// Both operands have one element type.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x16xf64>) {
  // expected-error @below {{'nn.contract' op rhs has element type 'f64', expected 'f32': the element type of lhs}}
  %0 = nn.contract %a, %b lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xf32>, tensor<8x16xf64>) -> tensor<4x16xf32>
  return
}

// -----

// Floats give floats.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @below {{'nn.contract' op result has element type 'i32', expected a float as the operands}}
  %0 = nn.contract %a, %b lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xi32>
  return
}

// -----

// And are summed as floats.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @below {{'nn.contract' op accumulate has element type 'i32', expected a float as the operands}}
  %0 = nn.contract %a, %b lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = i32 : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// Labels are not negative.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @below {{'nn.contract' op lhs labels[1] is -1, expected at least 0}}
  %0 = nn.contract %a, %b lhs = [0, -1] rhs = [-1, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// And small.
func.func @f(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>) {
  // expected-error @below {{'nn.contract' op lhs labels[1] is 9223372036854775807, expected at most 1073741824}}
  %0 = nn.contract %a, %b lhs = [0, 9223372036854775807] rhs = [9223372036854775807, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// Entries are of a size that sums do not overflow.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.slice' op starts[1] is 9223372036854775807, expected at most 1073741824}}
  %0 = nn.slice %x starts = [0, 9223372036854775807] strides = [1, 1] : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

// An input has batch and channels.
func.func @f(%x: tensor<4xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{'nn.conv' op input has tensor rank 1, expected at least 2}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, input_dilation = array<i64: 1>, filter_dilation = array<i64: 1>, groups = 1 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// A filter has as many dims.
func.func @f(%x: tensor<2x6x8xf32>, %w: tensor<10x6xf32>) {
  // expected-error @below {{'nn.conv' op filter has tensor rank 2, expected 3 as the input}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, input_dilation = array<i64: 1>, filter_dilation = array<i64: 1>, groups = 1 : i64} : (tensor<2x6x8xf32>, tensor<10x6xf32>) -> tensor<2x10x8xf32>
  return
}

// -----

// Lists have one entry a spatial dim.
func.func @f(%x: tensor<2x6x8xf32>, %w: tensor<10x6x3xf32>) {
  // expected-error @below {{'nn.conv' op strides has 2 entries, expected 1: one for each spatial dimension}}
  %0 = nn.conv %x, %w {strides = array<i64: 1, 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, input_dilation = array<i64: 1>, filter_dilation = array<i64: 1>, groups = 1 : i64} : (tensor<2x6x8xf32>, tensor<10x6x3xf32>) -> tensor<2x10x6xf32>
  return
}

// -----

// Strides go forward.
func.func @f(%x: tensor<2x6x8xf32>, %w: tensor<10x6x3xf32>) {
  // expected-error @below {{'nn.conv' op strides[0] is 0, expected at least 1}}
  %0 = nn.conv %x, %w {strides = array<i64: 0>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, input_dilation = array<i64: 1>, filter_dilation = array<i64: 1>, groups = 1 : i64} : (tensor<2x6x8xf32>, tensor<10x6x3xf32>) -> tensor<2x10x6xf32>
  return
}

// -----

// There is a group.
func.func @f(%x: tensor<2x6x8xf32>, %w: tensor<10x6x3xf32>) {
  // expected-error @below {{'nn.conv' op groups is 0, expected at least 1 and less than 1073741824}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, input_dilation = array<i64: 1>, filter_dilation = array<i64: 1>, groups = 0 : i64} : (tensor<2x6x8xf32>, tensor<10x6x3xf32>) -> tensor<2x10x6xf32>
  return
}

// -----

// Channels are those of all groups.
func.func @f(%x: tensor<2x6x8xf32>, %w: tensor<10x4x3xf32>) {
  // expected-error @below {{'nn.conv' op input has 6 channels, expected 8: 2 groups of 4 filter channels}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, input_dilation = array<i64: 1>, filter_dilation = array<i64: 1>, groups = 2 : i64} : (tensor<2x6x8xf32>, tensor<10x4x3xf32>) -> tensor<2x10x6xf32>
  return
}

// -----

// Output channels are shared out evenly.
func.func @f(%x: tensor<2x6x8xf32>, %w: tensor<9x3x3xf32>) {
  // expected-error @below {{'nn.conv' op filter has 9 output channels, expected a multiple of 2 groups}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, input_dilation = array<i64: 1>, filter_dilation = array<i64: 1>, groups = 2 : i64} : (tensor<2x6x8xf32>, tensor<9x3x3xf32>) -> tensor<2x9x6xf32>
  return
}

// -----

// The filter fits in.
func.func @f(%x: tensor<2x6x2xf32>, %w: tensor<10x6x3xf32>) {
  // expected-error @below {{'nn.conv' op filter reaches over 3 elements of spatial dimension 0, expected at most 2: the input's extent with dilation and padding}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, input_dilation = array<i64: 1>, filter_dilation = array<i64: 1>, groups = 1 : i64} : (tensor<2x6x2xf32>, tensor<10x6x3xf32>) -> tensor<2x10x1xf32>
  return
}

// -----

// Element types agree.
func.func @f(%x: tensor<2x6x8xf32>, %w: tensor<10x6x3xf64>) {
  // expected-error @below {{'nn.conv' op filter has element type 'f64', expected 'f32': the input's element type}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, input_dilation = array<i64: 1>, filter_dilation = array<i64: 1>, groups = 1 : i64} : (tensor<2x6x8xf32>, tensor<10x6x3xf64>) -> tensor<2x10x6xf32>
  return
}

// -----

// In the result too.
func.func @f(%x: tensor<2x6x8xf32>, %w: tensor<10x6x3xf32>) {
  // expected-error @below {{'nn.conv' op result has element type 'f64', expected 'f32': the input's element type}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, input_dilation = array<i64: 1>, filter_dilation = array<i64: 1>, groups = 1 : i64} : (tensor<2x6x8xf32>, tensor<10x6x3xf32>) -> tensor<2x10x6xf64>
  return
}

// -----

// The result has the shape of the formula.
func.func @f(%x: tensor<2x6x8xf32>, %w: tensor<10x6x3xf32>) {
  // expected-error @below {{'nn.conv' op result has shape 2x10x8, expected 2x10x6: batch, output channels and (dilated + pads - reach) / stride + 1}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, input_dilation = array<i64: 1>, filter_dilation = array<i64: 1>, groups = 1 : i64} : (tensor<2x6x8xf32>, tensor<10x6x3xf32>) -> tensor<2x10x8xf32>
  return
}

// -----

// Reduced dims increase.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.reduce' op dims[1] is 0, expected more than 1}}
  %0 = nn.reduce sum %x dims = [1, 0] : tensor<2x4xf32> -> tensor<f32>
  return
}

// -----

// Logic is not defined on floats.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.reduce' op kind is and for element type 'f32', expected an integer or bool}}
  %0 = nn.reduce and %x dims = [1] : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

// Nor sums on bool.
func.func @f(%x: tensor<2xi1>) {
  // expected-error @below {{'nn.reduce' op kind is sum for bool, expected and, or, max or min}}
  %0 = nn.reduce sum %x dims = [0] : tensor<2xi1> -> tensor<i1>
  return
}

// -----

// A reduction keeps the element type.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.reduce' op result has element type 'f64', expected 'f32': the operand's element type}}
  %0 = nn.reduce sum %x dims = [1] : tensor<2x4xf32> -> tensor<2xf64>
  return
}

// -----

// And drops dims.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.reduce' op result has shape 2x1, expected 2: the operand's shape without the reduced dimensions}}
  %0 = nn.reduce sum %x dims = [1] : tensor<2x4xf32> -> tensor<2x1xf32>
  return
}

// -----

// Indices are of greatest or least elements.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.arg_reduce' op kind is sum, expected max or min}}
  %0 = nn.arg_reduce sum %x dim = 1 : tensor<2x4xf32> -> tensor<2xi64>
  return
}

// -----

// Along a dim.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.arg_reduce' op dim is 2, expected at least 0 and less than 2}}
  %0 = nn.arg_reduce max %x dim = 2 : tensor<2x4xf32> -> tensor<2xi64>
  return
}

// -----

// Which has elements.
func.func @f(%x: tensor<2x0xf32>) {
  // expected-error @below {{'nn.arg_reduce' op operand dimension 1 has size 0, expected at least 1}}
  %0 = nn.arg_reduce max %x dim = 1 : tensor<2x0xf32> -> tensor<2xi64>
  return
}

// -----

// Indices are i64.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.arg_reduce' op result has element type 'i32', expected 'i64': the type of indices}}
  %0 = nn.arg_reduce max %x dim = 1 : tensor<2x4xf32> -> tensor<2xi32>
  return
}

// -----

// The dim vanishes.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.arg_reduce' op result has shape 4, expected 2: the operand's shape without the reduced dimension}}
  %0 = nn.arg_reduce max %x dim = 1 : tensor<2x4xf32> -> tensor<4xi64>
  return
}

// -----

// Windows combine numbers.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.reduce_window' op kind is or, expected sum, prod, max or min}}
  %0 = nn.reduce_window or %x {window = array<i64: 2>, strides = array<i64: 2>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, dilations = array<i64: 1>} : tensor<2x4xf32> -> tensor<2x2xf32>
  return
}

// -----

// Of one element type.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.reduce_window' op result has element type 'f64', expected 'f32': the operand's element type}}
  %0 = nn.reduce_window sum %x {window = array<i64: 2>, strides = array<i64: 2>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, dilations = array<i64: 1>} : tensor<2x4xf32> -> tensor<2x2xf64>
  return
}

// -----

// Windows are over dims of the operand.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.reduce_window' op window has 3 entries, expected at most the operand's tensor rank 2}}
  %0 = nn.reduce_window sum %x {window = array<i64: 2, 2, 2>, strides = array<i64: 2>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, dilations = array<i64: 1>} : tensor<2x4xf32> -> tensor<2x2xf32>
  return
}

// -----

// Lists have one entry a windowed dim.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.reduce_window' op strides has 2 entries, expected 1: one for each windowed dimension}}
  %0 = nn.reduce_window sum %x {window = array<i64: 2>, strides = array<i64: 2, 2>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, dilations = array<i64: 1>} : tensor<2x4xf32> -> tensor<2x2xf32>
  return
}

// -----

// Padding does not cut.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.reduce_window' op pad_low[0] is -1, expected at least 0}}
  %0 = nn.reduce_window sum %x {window = array<i64: 2>, strides = array<i64: 2>, pad_low = array<i64: -1>, pad_high = array<i64: 0>, dilations = array<i64: 1>} : tensor<2x4xf32> -> tensor<2x2xf32>
  return
}

// -----

// A window has elements.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.reduce_window' op window[0] is 0, expected at least 1}}
  %0 = nn.reduce_window sum %x {window = array<i64: 0>, strides = array<i64: 2>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, dilations = array<i64: 1>} : tensor<2x4xf32> -> tensor<2x2xf32>
  return
}

// -----

// It fits in.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.reduce_window' op window reaches over 5 elements of dimension 1, expected at most 4: the operand's size with padding}}
  %0 = nn.reduce_window sum %x {window = array<i64: 5>, strides = array<i64: 2>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, dilations = array<i64: 1>} : tensor<2x4xf32> -> tensor<2x1xf32>
  return
}

// -----

// The result has the shape of the formula.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.reduce_window' op result has shape 2x3, expected 2x2: (size + pads - reach) / stride + 1 in every windowed dimension}}
  %0 = nn.reduce_window sum %x {window = array<i64: 2>, strides = array<i64: 2>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, dilations = array<i64: 1>} : tensor<2x4xf32> -> tensor<2x3xf32>
  return
}

// -----

// Indices of windows are i64.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.arg_window' op result has element type 'i32', expected 'i64': the type of indices}}
  %0 = nn.arg_window %x {window = array<i64: 2>, strides = array<i64: 2>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, dilations = array<i64: 1>} : tensor<2x4xf32> -> tensor<2x2xi32>
  return
}

// -----

// And have the geometry of windows.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.arg_window' op result has shape 2x4, expected 2x2: (size + pads - reach) / stride + 1 in every windowed dimension}}
  %0 = nn.arg_window %x {window = array<i64: 2>, strides = array<i64: 2>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, dilations = array<i64: 1>} : tensor<2x4xf32> -> tensor<2x4xi64>
  return
}

// -----

// Scans combine numbers.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.scan' op kind is or, expected sum, prod, max or min}}
  %0 = nn.scan or %x dim = 1 : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

// Along a dim.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.scan' op dim is -1, expected at least 0 and less than 2}}
  %0 = nn.scan sum %x dim = -1 : tensor<2x4xf32> -> tensor<2x4xf32>
  return
}

// -----

// And keep the shape.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.scan' op result has shape 2, expected 2x4: the operand's shape}}
  %0 = nn.scan sum %x dim = 1 : tensor<2x4xf32> -> tensor<2xf32>
  return
}

// -----

// The greatest elements have a dim.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.top_k' op dim is 3, expected at least 0 and less than 2}}
  %0:2 = nn.top_k %x dim = 3 : (tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xi64>)
  return
}

// -----

// And the operand's other sizes.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.top_k' op result 0 has shape 3x2, expected 2x2: the operand's sizes but for dimension 1}}
  %0:2 = nn.top_k %x dim = 1 : (tensor<2x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xi64>)
  return
}

// -----

// Their indices are i64.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.top_k' op result 1 has element type 'i32', expected 'i64': the type of indices}}
  %0:2 = nn.top_k %x dim = 1 : (tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
  return
}

// -----

// Of the same shape.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.top_k' op result 1 has shape 2x3, expected 2x2: the shape of result 0}}
  %0:2 = nn.top_k %x dim = 1 : (tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x3xi64>)
  return
}

// -----

// No more than there are.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.top_k' op takes 5 elements of dimension 1, expected at most 4}}
  %0:2 = nn.top_k %x dim = 1 : (tensor<2x4xf32>) -> (tensor<2x5xf32>, tensor<2x5xi64>)
  return
}

// -----

// Index vectors have a dim.
func.func @f(%x: tensor<10x8xf32>, %i: tensor<i64>) {
  // expected-error @below {{'nn.gather' op indices have tensor rank 0, expected at least 1}}
  %0 = nn.gather %x, %i indexed = [0] operand_batch = [] indices_batch = [] : (tensor<10x8xf32>, tensor<i64>) -> tensor<8xf32>
  return
}

// -----

// Indices are no bools.
func.func @f(%x: tensor<10x8xf32>, %i: tensor<2x1xi1>) {
  // expected-error @below {{'nn.gather' op indices have element type bool, expected an integer}}
  %0 = nn.gather %x, %i indexed = [0] operand_batch = [] indices_batch = [] : (tensor<10x8xf32>, tensor<2x1xi1>) -> tensor<2x8xf32>
  return
}

// -----

// Indexed dims are of the operand.
func.func @f(%x: tensor<10x8xf32>, %i: tensor<2x1xi64>) {
  // expected-error @below {{'nn.gather' op indexed[0] is 2, expected at least 0 and less than 2}}
  %0 = nn.gather %x, %i indexed = [2] operand_batch = [] indices_batch = [] : (tensor<10x8xf32>, tensor<2x1xi64>) -> tensor<2x8xf32>
  return
}

// -----

// Batch dims of the indices are before the vectors.
func.func @f(%x: tensor<10x8xf32>, %i: tensor<2x1xi64>) {
  // expected-error @below {{'nn.gather' op indices_batch[0] is 1, expected at least 0 and less than 1}}
  %0 = nn.gather %x, %i indexed = [0] operand_batch = [1] indices_batch = [1] : (tensor<10x8xf32>, tensor<2x1xi64>) -> tensor<2x8xf32>
  return
}

// -----

// Batch dims come in pairs.
func.func @f(%x: tensor<10x8xf32>, %i: tensor<2x1xi64>) {
  // expected-error @below {{'nn.gather' op indices_batch has 0 entries, expected 1: one for each of operand_batch}}
  %0 = nn.gather %x, %i indexed = [0] operand_batch = [1] indices_batch = [] : (tensor<10x8xf32>, tensor<2x1xi64>) -> tensor<2x8xf32>
  return
}

// -----

// A dim is indexed or runs along.
func.func @f(%x: tensor<10x8xf32>, %i: tensor<10x1xi64>) {
  // expected-error @below {{'nn.gather' op dimension 0 is in indexed and in operand_batch}}
  %0 = nn.gather %x, %i indexed = [0] operand_batch = [0] indices_batch = [0] : (tensor<10x8xf32>, tensor<10x1xi64>) -> tensor<10x8xf32>
  return
}

// -----

// Vectors have a component for each indexed dim.
func.func @f(%x: tensor<10x8xf32>, %i: tensor<2x2xi64>) {
  // expected-error @below {{'nn.gather' op index vectors have 2 components, expected 1: one for each indexed dimension}}
  %0 = nn.gather %x, %i indexed = [0] operand_batch = [] indices_batch = [] : (tensor<10x8xf32>, tensor<2x2xi64>) -> tensor<2x8xf32>
  return
}

// -----

// Paired sizes are equal.
func.func @f(%x: tensor<10x8xf32>, %i: tensor<2x1xi64>) {
  // expected-error @below {{'nn.gather' op batch dimension 0 of the indices has size 2, expected 8 as operand dimension 1}}
  %0 = nn.gather %x, %i indexed = [0] operand_batch = [1] indices_batch = [0] : (tensor<10x8xf32>, tensor<2x1xi64>) -> tensor<2x10xf32>
  return
}

// -----

// Gathering keeps the element type.
func.func @f(%x: tensor<10x8xf32>, %i: tensor<2x1xi64>) {
  // expected-error @below {{'nn.gather' op result has element type 'f64', expected 'f32': the operand's element type}}
  %0 = nn.gather %x, %i indexed = [0] operand_batch = [] indices_batch = [] : (tensor<10x8xf32>, tensor<2x1xi64>) -> tensor<2x8xf64>
  return
}

// -----

// The result has index dims, then what is read whole.
func.func @f(%x: tensor<10x8xf32>, %i: tensor<2x1xi64>) {
  // expected-error @below {{'nn.gather' op result has shape 8x2, expected 2x8: index dimensions, then the operand's remaining dimensions}}
  %0 = nn.gather %x, %i indexed = [0] operand_batch = [] indices_batch = [] : (tensor<10x8xf32>, tensor<2x1xi64>) -> tensor<8x2xf32>
  return
}

// -----

// Updates have the element type.
func.func @f(%x: tensor<10x8xf32>, %i: tensor<2x1xi64>, %u: tensor<2x8xf64>) {
  // expected-error @below {{'nn.scatter' op updates has element type 'f64', expected 'f32': the operand's element type}}
  %0 = nn.scatter add %x, %i, %u indexed = [0] operand_batch = [] indices_batch = [] : (tensor<10x8xf32>, tensor<2x1xi64>, tensor<2x8xf64>) -> tensor<10x8xf32>
  return
}

// -----

// Bools are not added.
func.func @f(%x: tensor<10x8xi1>, %i: tensor<2x1xi64>, %u: tensor<2x8xi1>) {
  // expected-error @below {{'nn.scatter' op kind is add for bool, expected assign, max or min}}
  %0 = nn.scatter add %x, %i, %u indexed = [0] operand_batch = [] indices_batch = [] : (tensor<10x8xi1>, tensor<2x1xi64>, tensor<2x8xi1>) -> tensor<10x8xi1>
  return
}

// -----

// Updates have the shape that a gather would read.
func.func @f(%x: tensor<10x8xf32>, %i: tensor<2x1xi64>, %u: tensor<2x4xf32>) {
  // expected-error @below {{'nn.scatter' op updates has shape 2x4, expected 2x8: index dimensions, then the operand's remaining dimensions}}
  %0 = nn.scatter add %x, %i, %u indexed = [0] operand_batch = [] indices_batch = [] : (tensor<10x8xf32>, tensor<2x1xi64>, tensor<2x4xf32>) -> tensor<10x8xf32>
  return
}

// -----

// The result has the operand's.
func.func @f(%x: tensor<10x8xf32>, %i: tensor<2x1xi64>, %u: tensor<2x8xf32>) {
  // expected-error @below {{'nn.scatter' op result has shape 10x4, expected 10x8: the operand's shape}}
  %0 = nn.scatter add %x, %i, %u indexed = [0] operand_batch = [] indices_batch = [] : (tensor<10x8xf32>, tensor<2x1xi64>, tensor<2x8xf32>) -> tensor<10x4xf32>
  return
}

// -----

// A softmax runs along a dim.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.softmax' op dim is 2, expected at least 0 and less than 2}}
  %0 = nn.softmax %x dim = 2 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

// And keeps the shape.
func.func @f(%x: tensor<2x4xf32>) {
  // expected-error @below {{'nn.softmax' op result has shape 2, expected 2x4: the operand's shape}}
  %0 = nn.softmax %x dim = 1 : (tensor<2x4xf32>) -> tensor<2xf32>
  return
}

// -----

// Scales have the normalised dims.
func.func @f(%x: tensor<2x4xf32>, %s: tensor<2xf32>) {
  // expected-error @below {{'nn.rms_norm' op scale has shape 2, expected 4: the normalised dimensions}}
  %0 = nn.rms_norm %x, %s dim = 1 epsilon = 1.0e-5 : (tensor<2x4xf32>, tensor<2xf32>) -> tensor<2x4xf32>
  return
}

// -----

// Biases too.
func.func @f(%x: tensor<2x4xf32>, %s: tensor<4xf32>, %b: tensor<1xf32>) {
  // expected-error @below {{'nn.layer_norm' op bias has shape 1, expected 4: the normalised dimensions}}
  %0 = nn.layer_norm %x, %s, %b dim = 1 epsilon = 1.0e-5 : (tensor<2x4xf32>, tensor<4xf32>, tensor<1xf32>) -> tensor<2x4xf32>
  return
}

// -----

// Element types of a norm agree.
func.func @f(%x: tensor<2x4xf32>, %s: tensor<4xf64>) {
  // expected-error @below {{'nn.layer_norm' op scale has element type 'f64', expected 'f32': the operand's element type}}
  %0 = nn.layer_norm %x, %s dim = 1 epsilon = 1.0e-5 : (tensor<2x4xf32>, tensor<4xf64>) -> tensor<2x4xf32>
  return
}

// -----

// Norms run from a dim to the last.
func.func @f(%x: tensor<2x4xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{'nn.layer_norm' op dim is 2, expected at least 0 and less than 2}}
  %0 = nn.layer_norm %x, %s dim = 2 epsilon = 1.0e-5 : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return
}

// -----

// Rotations have a dim of pairs.
func.func @f(%x: tensor<f32>) {
  // expected-error @below {{'nn.rope' op operand has tensor rank 0, expected at least 1}}
  %0 = nn.rope %x, %x, %x : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

// Which is even.
func.func @f(%x: tensor<3xf32>, %a: tensor<1xf32>) {
  // expected-error @below {{'nn.rope' op innermost dimension has size 3, expected an even size}}
  %0 = nn.rope %x, %a, %a : (tensor<3xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<3xf32>
  return
}

// -----

// With an angle for each pair.
func.func @f(%x: tensor<4xf32>, %a: tensor<4xf32>) {
  // expected-error @below {{'nn.rope' op cosine has shape 4, expected 2: the operand's shape with half the innermost dimension}}
  %0 = nn.rope %x, %a, %a : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// Attention is on batch, heads, sequence and depth.
func.func @f(%q: tensor<4x6x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x3xf32>) {
  // expected-error @below {{'nn.attention' op query has tensor rank 3, expected 4}}
  %0 = nn.attention %q, %k, %v scale = 1.0 : (tensor<4x6x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x3xf32>) -> tensor<1x4x6x3xf32>
  return
}

// -----

// Of one element type.
func.func @f(%q: tensor<1x4x6x8xf32>, %k: tensor<1x2x5x8xf64>, %v: tensor<1x2x5x3xf32>) {
  // expected-error @below {{'nn.attention' op key has element type 'f64', expected 'f32': the query's element type}}
  %0 = nn.attention %q, %k, %v scale = 1.0 : (tensor<1x4x6x8xf32>, tensor<1x2x5x8xf64>, tensor<1x2x5x3xf32>) -> tensor<1x4x6x3xf32>
  return
}

// -----

// A gradient has the type of what it belongs to.
func.func @f(%q: tensor<1x4x6x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x3xf32>, %o: tensor<1x4x6x3xf32>) {
  // expected-error @below {{'nn.attention_grad' op key_gradient has shape 1x2x5x3, expected 1x2x5x8: that of the key}}
  %0:3 = nn.attention_grad %q, %k, %v, %o, %o scale = 1.0 : (tensor<1x4x6x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x3xf32>) -> (tensor<1x4x6x8xf32>, tensor<1x2x5x3xf32>, tensor<1x2x5x3xf32>)
  return
}

// -----

// Query heads share key heads evenly.
func.func @f(%q: tensor<1x3x6x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x3xf32>) {
  // expected-error @below {{'nn.attention' op query has 3 heads, expected a multiple of the key's 2}}
  %0 = nn.attention %q, %k, %v scale = 1.0 : (tensor<1x3x6x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x3xf32>) -> tensor<1x3x6x3xf32>
  return
}

// -----

// Keys have the query's depth.
func.func @f(%q: tensor<1x4x6x8xf32>, %k: tensor<1x2x5x7xf32>, %v: tensor<1x2x5x3xf32>) {
  // expected-error @below {{'nn.attention' op key has shape 1x2x5x7, expected 1x2x5x8: batch and depth of the query}}
  %0 = nn.attention %q, %k, %v scale = 1.0 : (tensor<1x4x6x8xf32>, tensor<1x2x5x7xf32>, tensor<1x2x5x3xf32>) -> tensor<1x4x6x3xf32>
  return
}

// -----

// Values have the key's sequence.
func.func @f(%q: tensor<1x4x6x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x4x3xf32>) {
  // expected-error @below {{'nn.attention' op value has shape 1x2x4x3, expected 1x2x5x3: batch, heads and sequence of the key}}
  %0 = nn.attention %q, %k, %v scale = 1.0 : (tensor<1x4x6x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x4x3xf32>) -> tensor<1x4x6x3xf32>
  return
}

// -----

// A mask is given for every head.
func.func @f(%q: tensor<1x4x6x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x3xf32>, %m: tensor<1x1x6x5xf32>) {
  // expected-error @below {{'nn.attention' op mask has shape 1x1x6x5, expected 1x4x6x5: batch, heads, query and key sequence}}
  %0 = nn.attention %q, %k, %v mask %m scale = 1.0 : (tensor<1x4x6x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x3xf32>, tensor<1x1x6x5xf32>) -> tensor<1x4x6x3xf32>
  return
}

// -----

// A cap is positive.
func.func @f(%q: tensor<1x4x6x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x3xf32>) {
  // expected-error @below {{'nn.attention' op softcap is -1.000000e+00, expected 0 (none) or more}}
  %0 = nn.attention %q, %k, %v scale = 1.0 {softcap = -1.0 : f64} : (tensor<1x4x6x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x3xf32>) -> tensor<1x4x6x3xf32>
  return
}

// -----

// The result has the value's depth.
func.func @f(%q: tensor<1x4x6x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x3xf32>) {
  // expected-error @below {{'nn.attention' op result has shape 1x4x6x8, expected 1x4x6x3: batch, heads and sequence of the query, depth of the value}}
  %0 = nn.attention %q, %k, %v scale = 1.0 : (tensor<1x4x6x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x3xf32>) -> tensor<1x4x6x8xf32>
  return
}

// -----

// Sums have the type in which they are made, and one for each row.
func.func @f(%q: tensor<1x4x6x8xbf16>, %k: tensor<1x2x5x8xbf16>) {
  // expected-error @below {{'nn.attention' op log_sum_exp has element type 'bf16', expected 'f32'}}
  %0:2 = nn.attention %q, %k, %k scale = 1.0 : (tensor<1x4x6x8xbf16>, tensor<1x2x5x8xbf16>, tensor<1x2x5x8xbf16>) -> (tensor<1x4x6x8xbf16>, tensor<1x4x6xbf16>)
  return
}

// -----

func.func @f(%q: tensor<1x4x6x8xf64>, %k: tensor<1x2x5x8xf64>, %s: tensor<1x2x6xf64>) {
  // expected-error @below {{'nn.attention_grad' op log_sum_exp has shape 1x2x6, expected 1x4x6: batch, heads and sequence of the query}}
  %0:3 = nn.attention_grad %q, %k, %k, %q, %q log_sum_exp %s scale = 1.0 : (tensor<1x4x6x8xf64>, tensor<1x2x5x8xf64>, tensor<1x2x5x8xf64>, tensor<1x4x6x8xf64>, tensor<1x4x6x8xf64>, tensor<1x2x6xf64>) -> (tensor<1x4x6x8xf64>, tensor<1x2x5x8xf64>, tensor<1x2x5x8xf64>)
  return
}

// -----

// One type stands for all, or a function's for each.
func.func @one_type(%x: tensor<4xf32>) {
  // expected-error @below {{expected 2 operand types and one result type}}
  %0 = nn.add %x, %x : (tensor<4xf32>) -> tensor<4xf32>
  return
}
