// Registration of dialects and passes; each area adds its line here.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Registration/Registration.h"
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/Nn.h"
#include "dialects/onnx/IR/Onnx.h"
#include "dialects/rt/IR/Rt.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "passes/cpu/Passes.h"
#include "passes/cuda/Passes.h"
#include "passes/dist/Passes.h"
#include "passes/kernels/Passes.h"
#include "passes/nn/Passes.h"
#include "passes/nn/step/Passes.h"
#include "passes/onnx/Passes.h"
#include "passes/rt/Passes.h"
#include "passes/twin/Passes.h"
#include "weft/Target/Cpu/CpuTarget.h"
#include "weft/Target/Cuda/CudaTarget.h"
#include "weft/Target/Twin/TwinTarget.h"

void weft::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<mlir::arith::ArithDialect, mlir::cf::ControlFlowDialect, mlir::func::FuncDialect,
                  mlir::gpu::GPUDialect, mlir::LLVM::LLVMDialect, mlir::linalg::LinalgDialect,
                  mlir::math::MathDialect, mlir::memref::MemRefDialect, mlir::scf::SCFDialect,
                  mlir::tensor::TensorDialect, mlir::vector::VectorDialect>();
  registry.insert<dist::DistDialect>();
  registry.insert<nn::NnDialect>();
  registry.insert<onnx::OnnxDialect>();
  registry.insert<rt::RtDialect>();
  registerAllTargets();
  registerTargetDialects(registry);
}

void weft::registerAllTargets() {
  registerTarget(cpu::createCpuTarget());
  for (std::unique_ptr<Target> &target : cuda::createCudaTargets())
    registerTarget(std::move(target));
  registerTarget(twin::createTwinTarget(*lookupTarget("cuda"), *lookupTarget(kDefaultTarget)));
}

void weft::registerAllPasses() {
  kernels::registerKernelsPasses();
  cpu::registerCpuPasses();
  cpu::registerKernelPipeline();
  cuda::registerCudaPasses();
  cuda::registerKernelPipelines();
  dist::registerDistPasses();
  nn::registerNnPasses();
  onnx::registerOnnxPasses();
  mlir::registerCanonicalizerPass();
  mlir::registerCSEPass();
  mlir::registerPrintIRPass();
  mlir::registerPrintOpStats();
  mlir::registerStripDebugInfo();
  mlir::registerSymbolDCEPass();
  mlir::registerViewOpGraph();
  rt::registerRtPasses();
  step::registerStepPasses();
  twin::registerTwinPasses();
  twin::registerTwinPipeline();
}
