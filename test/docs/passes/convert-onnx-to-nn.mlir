// RUN: %doctest %s
// The batch is bound to 8, and the product says by labels which dims it sums over.
// options: bind=batch=8
//--- before
module attributes {onnx.model = #onnx.model<ir_version = 11 : i64, opset_import = [#onnx.opset<domain = "", version = 17 : i64>]>} {
  onnx.graph <name = "main", inputs = [#onnx.value_info<name = "x", type = tensor<?x4xf32, #onnx.dims<["batch", unit]>>>, #onnx.value_info<name = "w", type = tensor<4x6xf32>>],
      outputs = [#onnx.value_info<name = "y", type = tensor<?x6xf32, #onnx.dims<["batch", unit]>>>]> {
  ^bb0(%x: tensor<?x4xf32, #onnx.dims<["batch", unit]>>, %w: tensor<4x6xf32>):
    %y = onnx.node "MatMul"(%x, %w) outputs ["y"] name "mm" : (tensor<?x4xf32, #onnx.dims<["batch", unit]>>, tensor<4x6xf32>) -> tensor<?x6xf32, #onnx.dims<["batch", unit]>> loc("mm"("MatMul"))
    onnx.yield %y : tensor<?x6xf32, #onnx.dims<["batch", unit]>>
  }
}
//--- after
module {
  func.func @forward(%arg0: tensor<8x4xf32> {nn.dims = ["batch", ""], nn.name = "x"}, %arg1: tensor<4x6xf32> {nn.name = "w"}) -> (tensor<8x6xf32> {nn.name = "y"}) {
    %0 = nn.contract %arg0, %arg1 lhs = [0, 2] rhs = [2, 1] result = [0, 1] accumulate = f32 : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
    return %0 : tensor<8x6xf32>
  }
}
