// Writes the kernels that reduce, and launches them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/nccl/ReduceKernels.h"

#include "comm/Reduce.h"

#include <vector>

using namespace weft::runtime;
using namespace weft::runtime::cuda;

namespace {

/// A launch, whatever it reduces: each thread takes every so many elements.
constexpr unsigned kBlocks = 264, kThreads = 256;

/// How an element at [%at] becomes a float %value, and a float %sum what is at [%to]; a double of
/// doubles. %none is 0.
struct TypeText {
  const char *name, *load, *store;
  int bytes;
};
TypeText textOf(DType type) {
  if (type == DType::BF16)
    return {"bf16",
            "  ld.global.b16 %half, [%at];\n"
            "  mov.b32 %word, {%none, %half};\n"
            "  mov.b32 %value, %word;\n",
            "  cvt.rn.bf16.f32 %half, %sum;\n"
            "  st.global.b16 [%to], %half;\n",
            2};
  if (type == DType::F16)
    return {"f16",
            "  ld.global.b16 %half, [%at];\n"
            "  cvt.f32.f16 %value, %half;\n",
            "  cvt.rn.f16.f32 %half, %sum;\n"
            "  st.global.b16 [%to], %half;\n",
            2};
  if (type == DType::F64)
    return {"f64", "  ld.global.f64 %value, [%at];\n", "  st.global.f64 [%to], %sum;\n", 8};
  return {"f32", "  ld.global.f32 %value, [%at];\n", "  st.global.f32 [%to], %sum;\n", 4};
}

/// How %value joins %sum. Of two of which none is greater the first stays; a NaN stays, and the
/// first one of all.
struct OpText {
  const char *name, *text;
};
#define WEFT_NAN_STAYS                                                                             \
  "  setp.nan.f32 %isNew, %value, %value;\n"                                                       \
  "  or.pred %takes, %takes, %isNew;\n"                                                            \
  "  setp.num.f32 %isOld, %sum, %sum;\n"                                                           \
  "  and.pred %takes, %takes, %isOld;\n"                                                           \
  "  selp.f32 %sum, %value, %sum, %takes;\n"
OpText textOf(Reduction reduction) {
  switch (reduction) {
  case Reduction::Sum:
    return {"sum", "  add.rn.f32 %sum, %sum, %value;\n"};
  case Reduction::Product:
    return {"product", "  mul.rn.f32 %sum, %sum, %value;\n"};
  case Reduction::Max:
    return {"max", "  setp.lt.f32 %takes, %sum, %value;\n" WEFT_NAN_STAYS};
  case Reduction::Min:
    return {"min", "  setp.lt.f32 %takes, %value, %sum;\n" WEFT_NAN_STAYS};
  case Reduction::And:
  case Reduction::Or:
    break;
  }
  return {"", ""};
}

/// The same as a function of this process, for a driver that emulates a GPU.
template <DType type, Reduction reduction>
void reduceHere(int64_t begin, int64_t end, void *const *pointers, const int64_t *scalars) {
  int64_t count = scalars[0], stride = scalars[1], number = scalars[2];
  std::vector<const void *> members;
  for (int64_t m = 0; m < number; ++m)
    members.push_back(static_cast<const char *>(pointers[0]) + m * stride);
  constexpr DType kAccumulator = type == DType::F64 ? DType::F64 : DType::F32;
  reductionFor(type, kAccumulator)(reduction, members.data(), number, count * begin / kBlocks,
                                   count * end / kBlocks, pointers[1]);
}
template <DType type> weft_kernel_fn functionOf(Reduction reduction) {
  switch (reduction) {
  case Reduction::Sum:
    return reduceHere<type, Reduction::Sum>;
  case Reduction::Product:
    return reduceHere<type, Reduction::Product>;
  case Reduction::Max:
    return reduceHere<type, Reduction::Max>;
  case Reduction::Min:
    return reduceHere<type, Reduction::Min>;
  case Reduction::And:
  case Reduction::Or:
    break;
  }
  return nullptr;
}

} // namespace

bool cuda::hasReduceKernel(DType type, DType accumulator, Reduction reduction) {
  if (type == DType::F64 || accumulator == DType::F64)
    return type == accumulator && reduction != Reduction::And && reduction != Reduction::Or;
  bool isFloat = type == DType::F32 || type == DType::BF16 || type == DType::F16;
  // A sum in a type of 16 bits is one in f32 (Reduce.h).
  bool isInF32 =
      accumulator == DType::F32 || accumulator == DType::BF16 || accumulator == DType::F16;
  return isFloat && isInF32 && reduction != Reduction::And && reduction != Reduction::Or;
}

std::string cuda::reduceKernelName(DType type, Reduction reduction) {
  return std::string("weft_reduce_") + textOf(reduction).name + "_" + textOf(type).name;
}

std::string cuda::reduceKernelText(DType type, Reduction reduction) {
  TypeText element = textOf(type);
  std::string bytes = std::to_string(element.bytes);
  std::string combined = textOf(reduction).text, accumulator = type == DType::F64 ? "f64" : "f32";
  for (size_t at = 0; (at = combined.find("f32", at)) != std::string::npos;)
    combined.replace(at, 3, accumulator), at += 3;
  return ".version 7.0\n"
         ".target sm_80\n"
         ".address_size 64\n"
         ".visible .entry " +
         reduceKernelName(type, reduction) +
         "(.param .u64 members, .param .u64 result, .param .u64 count, .param .u64 stride, "
         ".param .u64 number) {\n"
         "  .reg .pred %done, %takes, %isNew, %isOld;\n"
         "  .reg .b16 %half, %none;\n"
         "  .reg .b32 %word, %block, %blocks, %threads, %thread;\n"
         "  .reg ." +
         accumulator +
         " %sum, %value;\n"
         "  .reg .b64 %members, %result, %count, %stride, %number;\n"
         "  .reg .b64 %at, %to, %i, %step, %m, %first;\n"
         "  ld.param.u64 %members, [members];\n"
         "  ld.param.u64 %result, [result];\n"
         "  ld.param.u64 %count, [count];\n"
         "  ld.param.u64 %stride, [stride];\n"
         "  ld.param.u64 %number, [number];\n"
         "  cvta.to.global.u64 %members, %members;\n"
         "  cvta.to.global.u64 %result, %result;\n"
         "  mov.b16 %none, 0;\n"
         "  mov.u32 %block, %ctaid.x;\n"
         "  mov.u32 %blocks, %nctaid.x;\n"
         "  mov.u32 %threads, %ntid.x;\n"
         "  mov.u32 %thread, %tid.x;\n"
         "  cvt.u64.u32 %first, %thread;\n"
         "  mul.wide.u32 %i, %block, %threads;\n"
         "  add.u64 %i, %i, %first;\n"
         "  mul.wide.u32 %step, %blocks, %threads;\n"
         "ELEMENT:\n"
         "  setp.ge.u64 %done, %i, %count;\n"
         "  @%done bra END;\n"
         "  mad.lo.u64 %at, %i, " +
         bytes + ", %members;\n" + element.load + "  mov." + accumulator +
         " %sum, %value;\n"
         "  mov.u64 %m, 1;\n"
         "MEMBER:\n"
         "  setp.ge.u64 %done, %m, %number;\n"
         "  @%done bra STORE;\n"
         "  add.u64 %at, %at, %stride;\n" +
         element.load + combined +
         "  add.u64 %m, %m, 1;\n"
         "  bra MEMBER;\n"
         "STORE:\n"
         "  mad.lo.u64 %to, %i, " +
         bytes + ", %result;\n" + element.store +
         "  add.u64 %i, %i, %step;\n"
         "  bra ELEMENT;\n"
         "END:\n"
         "  ret;\n"
         "}\n";
}

ReduceKernels::~ReduceKernels() {
  for (const auto &entry : slots)
    if (entry.second.module)
      (void)driver.unloadModule(entry.second.module);
}

Status ReduceKernels::load(DType type, Reduction reduction, Slot &slot) const {
  slot.name = reduceKernelName(type, reduction);
  std::string text = reduceKernelText(type, reduction);
  const void *image = text.c_str();
  if (driver.emulates()) {
    slot.emulated.function = type == DType::BF16  ? functionOf<DType::BF16>(reduction)
                             : type == DType::F16 ? functionOf<DType::F16>(reduction)
                             : type == DType::F64 ? functionOf<DType::F64>(reduction)
                                                  : functionOf<DType::F32>(reduction);
    slot.emulated.name = slot.name.c_str();
    slot.emulated.extent = slot.emulated.blocks = kBlocks;
    slot.emulated.threads = kThreads;
    slot.emulated.pointers = 2;
    slot.emulated.scalars = 3;
    image = &slot.emulated;
  }
  WEFT_CUDA_TRY(driver, loadModule(&slot.module, image), "loading a kernel that reduces");
  return driver.check(driver.getFunction(&slot.function, slot.module, slot.name.c_str()),
                      "finding a kernel that reduces");
}

Status ReduceKernels::find(DType type, Reduction reduction, Function &kernel) {
  Slot &slot = slots[{type, reduction}];
  if (!slot.function)
    WEFT_TRY(load(type, reduction, slot));
  kernel = slot.function;
  return {};
}

Status ReduceKernels::launch(Function kernel, Stream stream, DevicePointer members,
                             DevicePointer result, int64_t count, int64_t bytes, int64_t stride,
                             int64_t number) const {
  if (count == 0)
    return {};
  void *parameters[] = {&members, &result, &count, &stride, &number};
  if (driver.emulates())
    driver.touches({{members, uint64_t((number - 1) * stride + count * bytes), false},
                    {result, uint64_t(count * bytes), true}});
  return driver.check(
      driver.launch(kernel, kBlocks, 1, 1, kThreads, 1, 1, 0, stream, parameters, nullptr),
      "launching a kernel that reduces");
}
