// Precompiled header: what kernels become, for the passes and targets that compile them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convenience of the build only: every file still includes what it uses.
#include "dialects/Pch.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
