// Holds the enumerations of the IR to those of the program format, between which numbers are cast.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/rt/IR/Rt.h"
#include "weft/Emit/Memory.h"
#include "weft/runtime/Program.h"

using namespace weft;
namespace run = weft::runtime;

#define WEFT_SAME(COMPILER, RUNTIME)                                                               \
  static_assert(unsigned(COMPILER) == unsigned(run::RUNTIME), "compiler and runtime disagree")
WEFT_SAME(rt::BufferClass::Parameter, BufferClass::Parameter);
WEFT_SAME(rt::BufferClass::Input, BufferClass::Input);
WEFT_SAME(rt::BufferClass::Output, BufferClass::Output);
WEFT_SAME(rt::BufferClass::Activation, BufferClass::Activation);
WEFT_SAME(rt::BufferClass::Communication, BufferClass::Communication);
WEFT_SAME(rt::BufferClass::Workspace, BufferClass::Workspace);
WEFT_SAME(rt::BufferClass::Gradient, BufferClass::Gradient);
WEFT_SAME(rt::BufferClass::OptimizerState, BufferClass::OptimizerState);
WEFT_SAME(emit::kNumClasses, kNumBufferClasses);
WEFT_SAME(rt::CollectiveKind::AllGather, CollectiveKind::AllGather);
WEFT_SAME(rt::CollectiveKind::AllReduce, CollectiveKind::AllReduce);
WEFT_SAME(rt::CollectiveKind::ReduceScatter, CollectiveKind::ReduceScatter);
WEFT_SAME(rt::CollectiveKind::AllToAll, CollectiveKind::AllToAll);
WEFT_SAME(ReduceKind::Sum, Reduction::Sum);
WEFT_SAME(ReduceKind::Prod, Reduction::Product);
WEFT_SAME(ReduceKind::Max, Reduction::Max);
WEFT_SAME(ReduceKind::Min, Reduction::Min);
WEFT_SAME(ReduceKind::And, Reduction::And);
WEFT_SAME(ReduceKind::Or, Reduction::Or);
#undef WEFT_SAME
