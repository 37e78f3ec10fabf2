// RUN: %doctest %s
// For a GPU, whose cuDNN makes and takes them: attention has a second result, which its gradient reads.
// options: target=cuda
//--- before
module {
  func.func @step(%q: tensor<1x4x16x64xbf16>, %k: tensor<1x2x16x64xbf16>, %g: tensor<1x4x16x64xbf16>) -> (tensor<1x4x16x64xbf16>, tensor<1x4x16x64xbf16>) {
    %0 = nn.attention %q, %k, %k scale = 0.125 {causal} : (tensor<1x4x16x64xbf16>, tensor<1x2x16x64xbf16>, tensor<1x2x16x64xbf16>) -> tensor<1x4x16x64xbf16>
    %1:3 = nn.attention_grad %q, %k, %k, %0, %g scale = 0.125 {causal} : (tensor<1x4x16x64xbf16>, tensor<1x2x16x64xbf16>, tensor<1x2x16x64xbf16>, tensor<1x4x16x64xbf16>, tensor<1x4x16x64xbf16>) -> (tensor<1x4x16x64xbf16>, tensor<1x2x16x64xbf16>, tensor<1x2x16x64xbf16>)
    return %0, %1#0 : tensor<1x4x16x64xbf16>, tensor<1x4x16x64xbf16>
  }
}
//--- after
module {
  func.func @step(%arg0: tensor<1x4x16x64xbf16>, %arg1: tensor<1x2x16x64xbf16>, %arg2: tensor<1x4x16x64xbf16>) -> (tensor<1x4x16x64xbf16>, tensor<1x4x16x64xbf16>) {
    %result, %log_sum_exp = nn.attention %arg0, %arg1, %arg1 scale = 1.250000e-01 {causal} : (tensor<1x4x16x64xbf16>, tensor<1x2x16x64xbf16>, tensor<1x2x16x64xbf16>) -> (tensor<1x4x16x64xbf16>, tensor<1x4x16xf32>)
    %query_gradient, %key_gradient, %value_gradient = nn.attention_grad %arg0, %arg1, %arg1, %result, %arg2 log_sum_exp %log_sum_exp scale = 1.250000e-01 {causal} : (tensor<1x4x16x64xbf16>, tensor<1x2x16x64xbf16>, tensor<1x2x16x64xbf16>, tensor<1x4x16x64xbf16>, tensor<1x4x16x64xbf16>, tensor<1x4x16xf32>) -> (tensor<1x4x16x64xbf16>, tensor<1x2x16x64xbf16>, tensor<1x2x16x64xbf16>)
    return %result, %query_gradient : tensor<1x4x16x64xbf16>, tensor<1x4x16x64xbf16>
  }
}

