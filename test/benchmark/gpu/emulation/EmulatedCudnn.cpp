// cuDNN's backend graph on the host, with faults that the kit must call wrong.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulation.h"
#include "emulation/cuda/CudnnBackend.h"

#include <cudnn.h>

using namespace weft::emulated::dnn;
using namespace weft::gpukit;

static constexpr int64_t kWorkspace = 64;

extern "C" {

size_t cudnnGetVersion() { return 91900; }
const char *cudnnGetErrorString(cudnnStatus_t) { return "emulated error"; }
void cudnnGetLastErrorString(char *message, size_t size) {
  if (size)
    message[0] = '\0';
}
cudnnStatus_t cudnnCreate(cudnnHandle_t *handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(new int(0));
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete reinterpret_cast<int *>(handle);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; }

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t *descriptor) {
  *descriptor = new Ref(std::make_shared<Object>());
  of(*descriptor)->kind = DnnKind(type);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  delete &of(descriptor);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  of(descriptor)->isFinal = true;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void *values) {
  return cudnnStatus_t(setAttribute(descriptor, DnnAttribute(name), DnnValue(type), count, values));
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t wanted, int64_t *count,
                                       void *values) {
  if (name != CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION)
    return cudnnStatus_t(
        getAttribute(descriptor, DnnAttribute(name), wanted, count, values, kWorkspace));
  const char text[] = "{\"deviceName\":\"emulated\"}";
  *count = sizeof(text);
  if (values)
    std::memcpy(values, text, size_t(std::min<int64_t>(wanted, *count)));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  auto numbers = of(pack)->values<int64_t>(DnnPackNumbers);
  auto addresses = of(pack)->values<char *>(DnnPackPointers);
  if (numbers.size() != addresses.size())
    return CUDNN_STATUS_BAD_PARAM;
  Memory memory;
  for (size_t i = 0; i < numbers.size(); ++i)
    memory[numbers[i]] = addresses[i];
  Mistakes mistakes;
  mistakes.takesTurns = hasFault("cudnn-heads");
  mistakes.dropsFirst = hasFault("cudnn-product");
  mistakes.seesOneLess = hasFault("cudnn-mask");
  const Ref &graph = graphOf(of(plan)->object(DnnPlanConfiguration));
  // A tensor without an address is an exception.
  try {
    Execution execution(std::move(memory), mistakes);
    for (const Ref &operation : graph->attributes.at(DnnGraphOperations).objects)
      execution.run(*operation);
  } catch (const std::exception &) {
    return CUDNN_STATUS_EXECUTION_FAILED;
  }
  return CUDNN_STATUS_SUCCESS;
}

} // extern "C"
