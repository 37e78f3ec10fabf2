// Chooses kernels by the processor, or by name.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/host/Libraries.h"

#include "weft/runtime/Processor.h"

using namespace weft::runtime;

namespace {

/// Each is better than the one before; the build flags say what it needs.
struct Variant {
  const DenseKernels *kernels;
  const char *needs;
};
const Variant kVariants[] = {
    {&baseline::kDenseKernels, ""},
#ifdef WEFT_X86_KERNELS
    {&avx2::kDenseKernels, "avx2,fma,f16c"},
    {&avx512::kDenseKernels, "avx512f,avx512dq,avx512bw,avx512vl,fma,f16c"},
#endif
};

bool runs(const Variant &variant) { return missingFeatures(variant.needs).empty(); }

} // namespace

Libraries::Libraries() {
  for (const Variant &variant : kVariants)
    if (runs(variant))
      kernels = variant.kernels;
}

std::vector<std::string> Libraries::executable() {
  std::vector<std::string> names;
  for (const Variant &variant : kVariants)
    if (runs(variant))
      names.push_back(variant.kernels->name);
  return names;
}

Status Libraries::choose(const std::string &name) {
  std::string known;
  for (const Variant &variant : kVariants) {
    if (variant.kernels->name != name) {
      known += (known.empty() ? "" : ", ") + std::string(variant.kernels->name);
      continue;
    }
    std::string missing = missingFeatures(variant.needs);
    if (!missing.empty())
      return Status::user("WEFT_KERNELS: this processor does not execute '" + name +
                          "': it lacks " + missing);
    kernels = variant.kernels;
    return {};
  }
  return {StatusCode::Usage,
          "WEFT_KERNELS: there are no kernels '" + name + "'; there are " + known};
}
