// RUN: weft-opt %s --pass-pipeline="builtin.module(gpu.module(cuda-lower-gpu-to-nvvm))" --verify-diagnostics

gpu.module @unexpanded {
  gpu.func @unexpanded(%x: memref<32xf64>) kernel {
    %i = gpu.thread_id x
    %0 = memref.load %x[%i] : memref<32xf64>
    // expected-error @below {{is no instruction of the GPU; kernels-expand-math and cuda-expand-functions make it arithmetic}}
    %1 = math.exp %0 : f64
    memref.store %1, %x[%i] : memref<32xf64>
    gpu.return
  }
}
