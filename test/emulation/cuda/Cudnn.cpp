// libcudnn.so.9 without a GPU: what Weft calls of it, as work of the emulated one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// It refuses to plan a graph whose products read what NVIDIA's attention does not, and of its
// advice as much as it is told to (WEFT_EMULATED_CUDNN_REFUSES). A plan writes all of its
// workspace.
#include "CudnnBackend.h"
#include "Gpu.h"

#include <cstdlib>

using namespace weft;
using namespace weft::emulated;
using namespace weft::emulated::dnn;
using namespace weft::runtime;
using namespace weft::runtime::cuda;

namespace {

constexpr int64_t kWorkspace = 1024;
/// Of a head: the most of chips from sm_80 on, and what is read at a time, in elements of 16 bits.
constexpr int64_t kMostDepth = 128, kGranule = 8;

size_t bytesOf(DnnType type) { return type == DnnF32 || type == DnnI32 ? 4 : 2; }

/// The operands of an operation that may be tensors.
constexpr DnnAttribute kReads[] = {DnnProductA,   DnnProductB,   DnnPointwiseX, DnnPointwiseB,
                                   DnnPointwiseT, DnnReductionX, DnnReshapeX};
constexpr DnnAttribute kWrites[] = {DnnProductC, DnnPointwiseY, DnnReductionY, DnnReshapeY};

/// The bytes of a tensor's elements, in as few pieces as there are.
void touch(std::vector<Touch> &touches, const Object &object, uint64_t begin, bool writes) {
  Tensor tensor;
  tensor.sizes = object.values<int64_t>(DnnTensorSizes);
  tensor.strides = object.values<int64_t>(DnnTensorStrides);
  size_t bytes = bytesOf(object.value(DnnTensorType, DnnF32));
  std::vector<int64_t> places;
  forEach(tensor.sizes, [&](const int64_t *i) { places.push_back(tensor.place(i)); });
  std::sort(places.begin(), places.end());
  for (size_t first = 0, i = 1; i <= places.size(); ++i)
    if (i == places.size() || places[i] > places[i - 1] + 1) {
      touches.push_back({begin + uint64_t(places[first]) * bytes,
                         uint64_t(places[i - 1] - places[first] + 1) * bytes, writes});
      first = i;
    }
}

/// Whether the tensor, if it is in memory, is one that products read there: of 16 bits, the
/// elements of a head side by side and not too many.
bool isRead(const Object &tensor) {
  if (tensor.value(DnnTensorIsVirtual, char(0)))
    return true;
  auto type = tensor.value(DnnTensorType, DnnF32);
  auto sizes = tensor.values<int64_t>(DnnTensorSizes);
  auto strides = tensor.values<int64_t>(DnnTensorStrides);
  bool hasDepth = false;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (strides[d] == 1)
      hasDepth = sizes[d] <= kMostDepth && sizes[d] % kGranule == 0;
    else if (sizes[d] != 1 && strides[d] % kGranule != 0)
      return false;
  return hasDepth && (type == DnnBF16 || type == DnnF16);
}

bool isPlanned(const Object &configuration) {
  const char *refuses = std::getenv("WEFT_EMULATED_CUDNN_REFUSES");
  if (refuses && configuration.advice < std::atol(refuses))
    return false;
  for (const Ref &operation : graphOf(configuration)->attributes.at(DnnGraphOperations).objects)
    for (DnnAttribute name : {DnnProductA, DnnProductB})
      if (operation->has(name) && !isRead(operation->object(name)))
        return false;
  return true;
}

} // namespace

#define WEFT_ENTER(SYMBOL)                                                                         \
  auto held = Gpu::get().lock();                                                                   \
  if (Result enteredResult = Gpu::get().enter(SYMBOL))                                             \
  return DnnStatus(int(enteredResult))

extern "C" {

size_t cudnnGetVersion() {
  const char *wish = std::getenv("WEFT_EMULATED_CUDNN");
  return wish ? size_t(std::atol(wish)) : 91900;
}
const char *cudnnGetErrorString(DnnStatus status) {
  return status == DnnBadParam       ? "CUDNN_STATUS_BAD_PARAM"
         : status == DnnNotSupported ? "CUDNN_STATUS_NOT_SUPPORTED"
                                     : nullptr;
}
void cudnnGetLastErrorString(char *text, size_t bytes) {
  if (bytes > 0)
    *text = '\0';
}

DnnStatus cudnnCreate(DnnHandle *handle) {
  WEFT_ENTER("cudnnCreate");
  *handle = reinterpret_cast<DnnHandle>(new StreamState *(nullptr));
  return DnnSuccess;
}
DnnStatus cudnnDestroy(DnnHandle handle) {
  delete reinterpret_cast<StreamState **>(handle);
  return DnnSuccess;
}
DnnStatus cudnnSetStream(DnnHandle handle, Stream stream) {
  *reinterpret_cast<StreamState **>(handle) = reinterpret_cast<StreamState *>(stream);
  return DnnSuccess;
}

DnnStatus cudnnBackendCreateDescriptor(DnnKind kind, DnnObject *object) {
  *object = new Ref(std::make_shared<Object>());
  of(*object)->kind = kind;
  return DnnSuccess;
}
DnnStatus cudnnBackendDestroyDescriptor(DnnObject object) {
  delete &of(object);
  return DnnSuccess;
}
DnnStatus cudnnBackendFinalize(DnnObject object) {
  WEFT_ENTER("cudnnBackendFinalize");
  if (of(object)->kind == DnnPlan && !isPlanned(of(object)->object(DnnPlanConfiguration)))
    return DnnNotSupported;
  of(object)->isFinal = true;
  return DnnSuccess;
}

DnnStatus cudnnBackendSetAttribute(DnnObject object, DnnAttribute name, DnnValue type,
                                   int64_t count, const void *values) {
  return setAttribute(object, name, type, count, values);
}
DnnStatus cudnnBackendGetAttribute(DnnObject object, DnnAttribute name, DnnValue, int64_t wanted,
                                   int64_t *count, void *values) {
  return getAttribute(object, name, wanted, count, values, kWorkspace);
}

DnnStatus cudnnBackendExecute(DnnHandle handle, DnnObject plan, DnnObject pack) {
  WEFT_ENTER("cudnnBackendExecute");
  Gpu &gpu = Gpu::get();
  auto numbers = of(pack)->values<int64_t>(DnnPackNumbers);
  auto pointers = of(pack)->values<void *>(DnnPackPointers);
  auto workspace = uint64_t(uintptr_t(of(pack)->value<void *>(DnnPackWorkspace, nullptr)));
  if (numbers.size() != pointers.size())
    return DnnBadParam;
  std::map<int64_t, void *> given;
  for (size_t i = 0; i < numbers.size(); ++i)
    given[numbers[i]] = pointers[i];
  // The plan may go before its work is done.
  const Ref &graph = graphOf(of(plan)->object(DnnPlanConfiguration));
  Work work;
  work.label = "cuDNN graph";
  Memory memory;
  std::map<int64_t, float> scalars;
  for (const Ref &operation : graph->attributes.at(DnnGraphOperations).objects) {
    auto look = [&](DnnAttribute name, bool writes) {
      if (!operation->has(name))
        return DnnSuccess;
      const Object &tensor = operation->object(name);
      if (tensor.value(DnnTensorIsVirtual, char(0)))
        return DnnSuccess;
      auto number = tensor.value<int64_t>(DnnTensorNumber, 0);
      auto found = given.find(number);
      if (found == given.end())
        return DnnBadParam;
      if (tensor.value(DnnTensorIsByValue, char(0))) {
        std::memcpy(&scalars[number], found->second, sizeof(float));
        return DnnSuccess;
      }
      auto address = uint64_t(uintptr_t(found->second));
      if (address % uint64_t(tensor.value<int64_t>(DnnTensorAlignment, 1)) != 0)
        return DnnBadParam;
      touch(work.touches, tensor, address, writes);
      memory[number] = gpu.bytesAt(address);
      return DnnSuccess;
    };
    for (DnnAttribute name : kReads)
      if (DnnStatus status = look(name, false))
        return status;
    for (DnnAttribute name : kWrites)
      if (DnnStatus status = look(name, true))
        return status;
  }
  work.touches.push_back({workspace, uint64_t(kWorkspace), true});
  char *scratch = gpu.bytesAt(workspace);
  work.run = [graph, memory, scalars, scratch] {
    std::memset(scratch, 0x5A, size_t(kWorkspace));
    Memory all = memory;
    std::map<int64_t, float> values = scalars;
    for (auto &[number, value] : values)
      all[number] = reinterpret_cast<char *>(&value);
    Execution execution(std::move(all));
    for (const Ref &operation : graph->attributes.at(DnnGraphOperations).objects)
      execution.run(*operation);
  };
  Result put = gpu.put(**reinterpret_cast<StreamState **>(handle), std::move(work));
  return put == Success ? DnnSuccess : DnnExecutionFailed;
}

} // extern "C"
