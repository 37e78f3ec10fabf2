// RUN: weft-opt %s --pass-pipeline='builtin.module(func.func(step-keep-log-sums{target=cuda}))' | FileCheck %s
// RUN: weft-opt %s --pass-pipeline='builtin.module(func.func(step-keep-log-sums))' | FileCheck %s --check-prefix=CPU

// Where cuDNN makes both, attention tells its gradient the sums of its rows. The CPU's gradient makes them again.
// CHECK-LABEL: @both
// CHECK: %[[OUT:.+]], %[[SUMS:.+]] = nn.attention %{{.+}}, %{{.+}}, %{{.+}} scale = 1.250000e-01 {causal, nn.recompute} : {{.+}} -> (tensor<1x4x16x64xbf16>, tensor<1x4x16xf32>)
// CHECK: nn.attention_grad %{{.+}}, %{{.+}}, %{{.+}}, %[[OUT]], %{{.+}} log_sum_exp %[[SUMS]] scale
// CHECK: return %[[OUT]]
// CPU-LABEL: @both
// CPU-NOT: log_sum_exp
func.func @both(%q: tensor<1x4x16x64xbf16>, %k: tensor<1x2x16x64xbf16>, %g: tensor<1x4x16x64xbf16>) -> (tensor<1x4x16x64xbf16>, tensor<1x4x16x64xbf16>) {
  %0 = nn.attention %q, %k, %k scale = 0.125 {causal, nn.recompute} : (tensor<1x4x16x64xbf16>, tensor<1x2x16x64xbf16>, tensor<1x2x16x64xbf16>) -> tensor<1x4x16x64xbf16>
  %1:3 = nn.attention_grad %q, %k, %k, %0, %g scale = 0.125 {causal} : (tensor<1x4x16x64xbf16>, tensor<1x2x16x64xbf16>, tensor<1x2x16x64xbf16>, tensor<1x4x16x64xbf16>, tensor<1x4x16x64xbf16>) -> (tensor<1x4x16x64xbf16>, tensor<1x2x16x64xbf16>, tensor<1x2x16x64xbf16>)
  return %0, %1#0 : tensor<1x4x16x64xbf16>, tensor<1x4x16x64xbf16>
}

// What cuDNN does not do is a kernel, and its gradient another.
// CHECK-LABEL: @odd
// CHECK-NOT: log_sum_exp
func.func @odd(%q: tensor<1x4x16x20xbf16>, %k: tensor<1x2x16x20xbf16>, %g: tensor<1x4x16x20xbf16>) -> tensor<1x4x16x20xbf16> {
  %0 = nn.attention %q, %k, %k scale = 0.125 : (tensor<1x4x16x20xbf16>, tensor<1x2x16x20xbf16>, tensor<1x2x16x20xbf16>) -> tensor<1x4x16x20xbf16>
  %1:3 = nn.attention_grad %q, %k, %k, %0, %g scale = 0.125 : (tensor<1x4x16x20xbf16>, tensor<1x2x16x20xbf16>, tensor<1x2x16x20xbf16>, tensor<1x4x16x20xbf16>, tensor<1x4x16x20xbf16>) -> (tensor<1x4x16x20xbf16>, tensor<1x2x16x20xbf16>, tensor<1x2x16x20xbf16>)
  return %1#0 : tensor<1x4x16x20xbf16>
}

// The gradient of another attention reads nothing of this one.
// CHECK-LABEL: @others
// CHECK-NOT: log_sum_exp
func.func @others(%q: tensor<1x4x16x64xbf16>, %k: tensor<1x2x16x64xbf16>, %g: tensor<1x4x16x64xbf16>) -> tensor<1x4x16x64xbf16> {
  %0 = nn.attention %q, %k, %k scale = 0.125 {causal} : (tensor<1x4x16x64xbf16>, tensor<1x2x16x64xbf16>, tensor<1x2x16x64xbf16>) -> tensor<1x4x16x64xbf16>
  %1:3 = nn.attention_grad %q, %k, %k, %0, %g scale = 0.25 {causal} : (tensor<1x4x16x64xbf16>, tensor<1x2x16x64xbf16>, tensor<1x2x16x64xbf16>, tensor<1x4x16x64xbf16>, tensor<1x4x16x64xbf16>) -> (tensor<1x4x16x64xbf16>, tensor<1x2x16x64xbf16>, tensor<1x2x16x64xbf16>)
  return %1#0 : tensor<1x4x16x64xbf16>
}
