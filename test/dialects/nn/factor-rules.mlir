// RUN: weft-opt %s --nn-print-factor-rules --verify-diagnostics
// The rule of every op that is not elementwise, and of one elementwise op, as text.

// Elementwise ops share one factor a dim; a sum commutes with both operands summed.
func.func @elementwise(%x: tensor<2x4xf32>) {
  // expected-remark @below {{(a)(b), (a)(b) -> (a)(b) {a=2, b=4}}}
  // expected-remark @below {{partial sum: {0, 1}}}
  %0 = nn.add %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // expected-remark @below {{(a)(b), (a)(b) -> (a)(b) {a=2, b=4}}}
  // expected-remark @below {{partial sum: {0} {1}}}
  // expected-remark @below {{partial prod: {0, 1}}}
  %1 = nn.mul %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // The exponential of a sum is no sum.
  // expected-remark @below {{(a)(b) -> (a)(b) {a=2, b=4}}}
  %2 = nn.exp %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // expected-remark @below {{(a)(b), (a)(b) -> (a)(b) {a=2, b=4}}}
  // expected-remark @below {{partial max: {0} {1} {0, 1}}}
  // expected-remark @below {{partial min: {0} {1}}}
  %3 = nn.max %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  // Widening keeps sums and order, narrowing keeps order only.
  // expected-remark @below {{(a)(b) -> (a)(b) {a=2, b=4}}}
  // expected-remark @below {{partial sum max min: {0}}}
  %4 = nn.cast %x : (tensor<2x4xf32>) -> tensor<2x4xf64>
  // expected-remark @below {{(a)(b) -> (a)(b) {a=2, b=4}}}
  // expected-remark @below {{partial max min: {0}}}
  %5 = nn.cast %x : (tensor<2x4xf32>) -> tensor<2x4xbf16>
  return
}

// A splat may be split, other constants are whole.
func.func @constants() {
  // expected-remark @below {{ -> (a) {a=4}}}
  %0 = nn.constant dense<1.0> : tensor<4xf32> : tensor<4xf32>
  // expected-remark @below {{ -> (a) {a=2:whole}}}
  %1 = nn.constant dense<[1.0, 2.0]> : tensor<2xf32> : tensor<2xf32>
  // expected-remark @below {{ -> (a) {a=8:whole}}}
  %2 = nn.iota : tensor<8xi64>
  return
}

// New dims have factors of the result alone.
func.func @broadcast(%x: tensor<4xf32>) {
  // expected-remark @below {{(b) -> (a)(b) {a=2, b=4}}}
  // expected-remark @below {{partial sum prod max min and or: {0}}}
  %0 = nn.broadcast %x dims = [1] : tensor<4xf32> -> tensor<2x4xf32>
  return
}

// Splitting heads off and merging them keeps both factors; sizes that interleave stay whole.
func.func @reshape(%x: tensor<2x3x32xf32>, %y: tensor<5x2x3xf32>) {
  // expected-remark @below {{(a)(b)(c d) -> (a)(b)(c)(d) {a=2, b=3, c=4, d=8}}}
  // expected-remark @below {{partial sum prod max min and or: {0}}}
  %0 = nn.reshape %x : tensor<2x3x32xf32> -> tensor<2x3x4x8xf32>
  // expected-remark @below {{(a)(b)(c) -> (a b)(c) {a=2, b=3, c=32}}}
  // expected-remark @below {{partial sum prod max min and or: {0}}}
  %1 = nn.reshape %x : tensor<2x3x32xf32> -> tensor<6x32xf32>
  // expected-remark @below {{(a)(b)(c) -> (a)(d)(e) {a=5, b=2:whole, c=3:whole, d=3:whole, e=2:whole}}}
  // expected-remark @below {{partial sum prod max min and or: {0}}}
  %2 = nn.reshape %y : tensor<5x2x3xf32> -> tensor<5x3x2xf32>
  return
}

// A permutation moves factors, a reversal needs its dims whole.
func.func @transpose(%x: tensor<2x3x4xf32>) {
  // expected-remark @below {{(a)(b)(c) -> (c)(a)(b) {a=2, b=3, c=4}}}
  // expected-remark @below {{partial sum prod max min and or: {0}}}
  %0 = nn.transpose %x permutation = [2, 0, 1] : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
  // expected-remark @below {{(a)(b)(c) -> (a)(b)(c) {a=2, b=3:whole, c=4}}}
  // expected-remark @below {{partial sum prod max min and or: {0}}}
  %1 = nn.reverse %x dims = [1] : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
  return
}

// One third of a fused weight leaves the block free; an odd cut leaves only what
// divides it, a stride nothing.
func.func @slice(%qkv: tensor<5x24xf32>) {
  // expected-remark @below {{(a)(c b) -> (a)(b) {a=5, b=8, c=3:whole}}}
  // expected-remark @below {{partial sum prod max min and or: {0}}}
  %0 = nn.slice %qkv starts = [0, 8] strides = [1, 1] : tensor<5x24xf32> -> tensor<5x8xf32>
  // expected-remark @below {{(a)(c b) -> (a)(d b) {a=5, b=8, c=3:whole, d=2:whole}}}
  // expected-remark @below {{partial sum prod max min and or: {0}}}
  %1 = nn.slice %qkv starts = [0, 8] strides = [1, 1] : tensor<5x24xf32> -> tensor<5x16xf32>
  // expected-remark @below {{(a)(c b) -> (a)(d b) {a=5, b=1, c=24:whole, d=23:whole}}}
  // expected-remark @below {{partial sum prod max min and or: {0}}}
  %2 = nn.slice %qkv starts = [0, 0] strides = [1, 1] : tensor<5x24xf32> -> tensor<5x23xf32>
  // expected-remark @below {{(a)(b) -> (a)(c) {a=5, b=24:whole, c=12:whole}}}
  // expected-remark @below {{partial sum prod max min and or: {0}}}
  %3 = nn.slice %qkv starts = [0, 0] strides = [1, 2] : tensor<5x24xf32> -> tensor<5x12xf32>
  return
}

func.func @concat(%a: tensor<5x8xf32>, %b: tensor<5x4xf32>) {
  // expected-remark @below {{(a)(b), (a)(b), (a)(b) -> (a)(c b) {a=5, b=8, c=3:whole}}}
  // expected-remark @below {{partial sum prod max min and or: {0, 1, 2}}}
  %0 = nn.concat %a, %a, %a dim = 1 : (tensor<5x8xf32>, tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<5x24xf32>
  // expected-remark @below {{(a)(c b), (a)(b) -> (a)(d b) {a=5, b=4, c=2:whole, d=3:whole}}}
  // expected-remark @below {{partial sum prod max min and or: {0, 1}}}
  %1 = nn.concat %a, %b dim = 1 : (tensor<5x8xf32>, tensor<5x4xf32>) -> tensor<5x12xf32>
  return
}

// The gradient of a slice by blocks; a border of ones is none for sums.
func.func @pad(%x: tensor<5x8xf32>) {
  // expected-remark @below {{(a)(b) -> (a)(c b) {a=5, b=8, c=3:whole}}}
  // expected-remark @below {{partial sum prod max min and or: {0}}}
  %0 = nn.pad %x low = [0, 8] high = [0, 8] value = 0.0 : f32 : tensor<5x8xf32> -> tensor<5x24xf32>
  // expected-remark @below {{(a)(c b) -> (a)(d b) {a=5, b=1, c=8:whole, d=9:whole}}}
  // expected-remark @below {{partial prod max min and or: {0}}}
  %1 = nn.pad %x low = [0, 1] high = [0, 0] value = 1.0 : f32 : tensor<5x8xf32> -> tensor<5x9xf32>
  return
}

// Shared labels that vanish are sums; attention scores keep batch and heads.
func.func @contract(%a: tensor<4x8xf32>, %b: tensor<8x16xf32>, %q: tensor<2x3x4x8xf32>, %n: tensor<4x8xi8>, %o: tensor<8x16xi8>) {
  // expected-remark @below {{(a)(b), (b)(c) -> (a)(c) {a=4, b=8:sum, c=16}}}
  // expected-remark @below {{partial sum: {0} {1}}}
  %0 = nn.contract %a, %b lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = f32 : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  // expected-remark @below {{(a)(b)(c)(d), (a)(b)(e)(d) -> (a)(b)(c)(e) {a=2, b=3, c=4, d=8:sum, e=4}}}
  // expected-remark @below {{partial sum: {0} {1}}}
  %1 = nn.contract %q, %q lhs = [0, 1, 2, 3] rhs = [0, 1, 4, 3] result = [0, 1, 2, 4] accumulate = f32 : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x4x4xf32>
  // Parts of narrow integers wrap where the wide sum does not.
  // expected-remark @below {{(a)(b), (b)(c) -> (a)(c) {a=4, b=8:sum, c=16}}}
  %2 = nn.contract %n, %o lhs = [0, 1] rhs = [1, 2] result = [0, 2] accumulate = i32 : (tensor<4x8xi8>, tensor<8x16xi8>) -> tensor<4x16xi32>
  return
}

// Channels are summed, groups shared, spatial dims whole but under a filter of one.
func.func @conv(%x: tensor<2x6x8xf32>, %w: tensor<10x6x3xf32>, %g: tensor<9x2x3xf32>, %p: tensor<10x6x1xf32>) {
  // expected-remark @below {{(a)(b)(e), (c)(b)(d) -> (a)(c)(f) {a=2, b=6:sum, c=10, d=3:whole, e=8:whole, f=6:whole}}}
  // expected-remark @below {{partial sum: {0} {1}}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, input_dilation = array<i64: 1>, filter_dilation = array<i64: 1>, groups = 1 : i64} : (tensor<2x6x8xf32>, tensor<10x6x3xf32>) -> tensor<2x10x6xf32>
  // expected-remark @below {{(a)(b c)(f), (b d)(c)(e) -> (a)(b d)(g) {a=2, b=3, c=2:sum, d=3, e=3:whole, f=8:whole, g=6:whole}}}
  // expected-remark @below {{partial sum: {0} {1}}}
  %1 = nn.conv %x, %g {strides = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, input_dilation = array<i64: 1>, filter_dilation = array<i64: 1>, groups = 3 : i64} : (tensor<2x6x8xf32>, tensor<9x2x3xf32>) -> tensor<2x9x6xf32>
  // expected-remark @below {{(a)(b)(e), (c)(b)(d) -> (a)(c)(e) {a=2, b=6:sum, c=10, d=1:whole, e=8}}}
  // expected-remark @below {{partial sum: {0} {1}}}
  %2 = nn.conv %x, %p {strides = array<i64: 1>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, input_dilation = array<i64: 1>, filter_dilation = array<i64: 1>, groups = 1 : i64} : (tensor<2x6x8xf32>, tensor<10x6x1xf32>) -> tensor<2x10x8xf32>
  return
}

func.func @reductions(%x: tensor<4x8xf32>) {
  // expected-remark @below {{(a)(b) -> (a) {a=4, b=8:max}}}
  // expected-remark @below {{partial max: {0}}}
  %0 = nn.reduce max %x dims = [1] : tensor<4x8xf32> -> tensor<4xf32>
  // expected-remark @below {{(a)(b) -> (b) {a=4:whole, b=8}}}
  %1 = nn.arg_reduce max %x dim = 0 : tensor<4x8xf32> -> tensor<8xi64>
  // expected-remark @below {{(a)(b) -> (a)(c) {a=4, b=8:whole, c=4:whole}}}
  // expected-remark @below {{partial sum: {0}}}
  %2 = nn.reduce_window sum %x {window = array<i64: 2>, strides = array<i64: 2>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, dilations = array<i64: 1>} : tensor<4x8xf32> -> tensor<4x4xf32>
  // expected-remark @below {{(a)(b) -> (a)(c) {a=4, b=8:whole, c=4:whole}}}
  %3 = nn.arg_window %x {window = array<i64: 2>, strides = array<i64: 2>, pad_low = array<i64: 0>, pad_high = array<i64: 0>, dilations = array<i64: 1>} : tensor<4x8xf32> -> tensor<4x4xi64>
  // expected-remark @below {{(a)(b) -> (a)(b) {a=4, b=8:whole}}}
  // expected-remark @below {{partial sum: {0}}}
  %4 = nn.scan sum %x dim = 1 : tensor<4x8xf32> -> tensor<4x8xf32>
  // expected-remark @below {{(a)(b) -> (a)(c), (a)(c) {a=4, b=8:whole, c=2:whole}}}
  %5:2 = nn.top_k %x dim = 1 : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  return
}

// A vocabulary that is split gives partial sums, since other shards read zeros.
func.func @gather(%table: tensor<100x8xf32>, %ids: tensor<2x4x1xi64>, %x: tensor<2x6x8xf32>, %i: tensor<2x3x1xi64>) {
  // expected-remark @below {{(a)(e), (b)(c)(d) -> (b)(c)(e) {a=100:sum:index(1,0), b=2, c=4, d=1:whole, e=8}}}
  // expected-remark @below {{partial sum prod max min and or: {0}}}
  %0 = nn.gather %table, %ids indexed = [0] operand_batch = [] indices_batch = [] : (tensor<100x8xf32>, tensor<2x4x1xi64>) -> tensor<2x4x8xf32>
  // A batch dim runs along.
  // expected-remark @below {{(b)(a)(e), (b)(c)(d) -> (b)(c)(e) {a=6:sum:index(1,0), b=2, c=3, d=1:whole, e=8}}}
  // expected-remark @below {{partial sum prod max min and or: {0}}}
  %1 = nn.gather %x, %i indexed = [1] operand_batch = [0] indices_batch = [0] : (tensor<2x6x8xf32>, tensor<2x3x1xi64>) -> tensor<2x3x8xf32>
  return
}

// Each shard of the rows drops the updates of others. Only updates that are added
// to zeros may be split as well: their results add up.
func.func @scatter(%table: tensor<100x8xf32>, %ids: tensor<2x4x1xi64>, %rows: tensor<2x4x8xf32>) {
  // expected-remark @below {{(a)(e), (b)(c)(d), (b)(c)(e) -> (a)(e) {a=100:index(1,0), b=2:whole, c=4:whole, d=1:whole, e=8}}}
  // expected-remark @below {{partial sum: {0, 2}}}
  %0 = nn.scatter add %table, %ids, %rows indexed = [0] operand_batch = [] indices_batch = [] : (tensor<100x8xf32>, tensor<2x4x1xi64>, tensor<2x4x8xf32>) -> tensor<100x8xf32>
  // expected-remark @below {{ -> (a)(b) {a=100, b=8}}}
  %zeros = nn.constant dense<0.0> : tensor<100x8xf32> : tensor<100x8xf32>
  // expected-remark @below {{(a)(e), (b)(c)(d), (b)(c)(e) -> (a)(e) {a=100:index(1,0), b=2:sum, c=4:sum, d=1:whole, e=8}}}
  // expected-remark @below {{partial sum: {0, 2} {2}}}
  %1 = nn.scatter add %zeros, %ids, %rows indexed = [0] operand_batch = [] indices_batch = [] : (tensor<100x8xf32>, tensor<2x4x1xi64>, tensor<2x4x8xf32>) -> tensor<100x8xf32>
  return
}

// Normalised dims are whole, pairs of a rotation stay together.
func.func @norms(%x: tensor<4x8xf32>, %s: tensor<8xf32>, %angle: tensor<4x4xf32>) {
  // expected-remark @below {{(a)(b) -> (a)(b) {a=4, b=8:whole}}}
  %0 = nn.softmax %x dim = 1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{(a)(b), (b), (b) -> (a)(b) {a=4, b=8:whole}}}
  // expected-remark @below {{partial sum: {1, 2}}}
  %1 = nn.layer_norm %x, %s, %s dim = 1 epsilon = 1.0e-5 : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{(a)(b), (b) -> (a)(b) {a=4, b=8:whole}}}
  // expected-remark @below {{partial sum: {1}}}
  %2 = nn.rms_norm %x, %s dim = 1 epsilon = 1.0e-5 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{(a)(c b), (a)(b), (a)(b) -> (a)(c b) {a=4, b=4, c=2:whole}}}
  // expected-remark @below {{partial sum: {0} {1, 2}}}
  %3 = nn.rope %x, %angle, %angle : (tensor<4x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  // expected-remark @below {{(a)(b c), (a)(b), (a)(b) -> (a)(b c) {a=4, b=4, c=2:whole}}}
  // expected-remark @below {{partial sum: {0} {1, 2}}}
  %4 = nn.rope %x, %angle, %angle {interleaved} : (tensor<4x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  return
}

// Query heads are (group)(head of the group); a causal row needs the whole sequence.
func.func @attention(%q: tensor<1x4x6x8xf32>, %k: tensor<1x2x5x8xf32>, %v: tensor<1x2x5x3xf32>, %m: tensor<1x4x6x5xf32>) {
  // expected-remark @below {{(a)(b c)(d)(f), (a)(b)(e)(f), (a)(b)(e)(g), (a)(b c)(d)(e) -> (a)(b c)(d)(g) {a=1, b=2, c=2, d=6, e=5:whole, f=8:whole, g=3}}}
  // expected-remark @below {{partial sum: {2}}}
  %0 = nn.attention %q, %k, %v mask %m scale = 0.125 : (tensor<1x4x6x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x3xf32>, tensor<1x4x6x5xf32>) -> tensor<1x4x6x3xf32>
  // expected-remark @below {{(a)(b c)(d)(f), (a)(b)(e)(f), (a)(b)(e)(g) -> (a)(b c)(d)(g) {a=1, b=2, c=2, d=6:whole, e=5:whole, f=8:whole, g=3}}}
  // expected-remark @below {{partial sum: {2}}}
  %1 = nn.attention %q, %k, %v scale = 0.125 {causal} : (tensor<1x4x6x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x3xf32>) -> tensor<1x4x6x3xf32>
  // Heads that share a key head sum up its gradients, so they stay together.
  // expected-remark @below {{(a)(b c)(d)(f), (a)(b)(e)(f), (a)(b)(e)(g), (a)(b c)(d)(g), (a)(b c)(d)(g) -> (a)(b c)(d)(f), (a)(b)(e)(f), (a)(b)(e)(g) {a=1, b=2, c=2:whole, d=6:whole, e=5:whole, f=8:whole, g=3:whole}}}
  // expected-remark @below {{partial sum: {4}}}
  %2:3 = nn.attention_grad %q, %k, %v, %0, %1 scale = 0.125 : (tensor<1x4x6x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x3xf32>, tensor<1x4x6x3xf32>, tensor<1x4x6x3xf32>) -> (tensor<1x4x6x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x3xf32>)
  // What sums are made of is not split by parts of values, nor are sums over values sums of them.
  // expected-remark @below {{(a)(b c)(d)(f), (a)(b)(e)(f), (a)(b)(e)(g) -> (a)(b c)(d)(g), (a)(b c)(d) {a=1, b=2, c=2, d=6, e=5:whole, f=8:whole, g=3:whole}}}
  %3:2 = nn.attention %q, %k, %v scale = 0.125 : (tensor<1x4x6x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x3xf32>) -> (tensor<1x4x6x3xf32>, tensor<1x4x6xf32>)
  return
}
