// cuDNN's backend graph interface, opened at run time: descriptors, tensors,
// operations, plans.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Cudnn.h"

#include <algorithm>
#include <chrono>

namespace weft::gpukit {

Cudnn::Cudnn() : library({"libcudnn.so.9", "libcudnn.so"}) {
  library.load(getVersion, "cudnnGetVersion");
  library.load(errorString, "cudnnGetErrorString");
  library.load(lastErrorString, "cudnnGetLastErrorString");
  library.load(create, "cudnnCreate");
  library.load(destroy, "cudnnDestroy");
  library.load(setStream, "cudnnSetStream");
  library.load(createDescriptor, "cudnnBackendCreateDescriptor");
  library.load(destroyDescriptor, "cudnnBackendDestroyDescriptor");
  library.load(finalize, "cudnnBackendFinalize");
  library.load(setAttribute, "cudnnBackendSetAttribute");
  library.load(getAttribute, "cudnnBackendGetAttribute");
  library.load(execute, "cudnnBackendExecute");
}

Cudnn::~Cudnn() {
  if (handle)
    destroy(handle);
}

void Cudnn::createHandle(cudaStream_t stream) {
  check(create(&handle), "cudnnCreate");
  check(setStream(handle, stream), "cudnnSetStream");
}

void Cudnn::check(cudnnStatus_t status, const std::string &call) const {
  if (status == CUDNN_STATUS_SUCCESS)
    return;
  char detail[1024] = "";
  lastErrorString(detail, sizeof(detail));
  throw Failure(call + ": " + errorString(status) + (detail[0] ? std::string("; ") + detail : ""));
}

Descriptor::Descriptor(const Cudnn &cudnn, cudnnBackendDescriptorType_t type) : cudnn(cudnn) {
  cudnn.check(cudnn.createDescriptor(type, &descriptor),
              format("cudnnBackendCreateDescriptor(%d)", int(type)));
}

Descriptor::~Descriptor() {
  if (descriptor)
    cudnn.destroyDescriptor(descriptor);
}

void Descriptor::set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                     int64_t count, const void *values) {
  cudnn.check(cudnn.setAttribute(descriptor, name, type, count, values),
              format("cudnnBackendSetAttribute(%d)", int(name)));
}

void Descriptor::finalize(const char *what) {
  cudnn.check(cudnn.finalize(descriptor), format("cudnnBackendFinalize(%s)", what));
}

Extents contiguous(const Extents &dims) {
  Extents strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;)
    strides[i - 1] = strides[i] * dims[i];
  return strides;
}

Tensor GraphBuilder::tensor(Extents dims, Extents strides, cudnnDataType_t type, bool isVirtual,
                            bool byValue) {
  Tensor made{nextUid++, std::move(dims), std::move(strides), nullptr};
  made.descriptor = std::make_shared<Descriptor>(cudnn, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  Descriptor &d = *made.descriptor;
  d.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type);
  d.set(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, int64_t(made.dims.size()),
        made.dims.data());
  d.set(CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, int64_t(made.strides.size()),
        made.strides.data());
  d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, made.uid);
  d.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, int64_t(16));
  if (isVirtual)
    d.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true);
  if (byValue)
    d.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, true);
  d.finalize("tensor");
  tensors.push_back(made.descriptor);
  return made;
}

Tensor GraphBuilder::real(Extents dims, Extents strides, cudnnDataType_t type) {
  return tensor(std::move(dims), std::move(strides), type, false, false);
}
Tensor GraphBuilder::temporary(Extents dims, Extents strides, cudnnDataType_t type) {
  return tensor(std::move(dims), std::move(strides), type, true, false);
}
Tensor GraphBuilder::scalar() {
  return tensor({1, 1, 1, 1}, {1, 1, 1, 1}, CUDNN_DATA_FLOAT, false, true);
}

void GraphBuilder::matmul(const Tensor &a, const Tensor &b, const Tensor &c) {
  Descriptor &detail = details.emplace_back(cudnn, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  detail.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  detail.finalize("matmul");
  Descriptor &operation = operations.emplace_back(cudnn, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, *a.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, *b.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, *c.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, detail);
  operation.finalize("matmul operation");
}

void GraphBuilder::pointwise(cudnnPointwiseMode_t mode, const Tensor &x, const Tensor *b,
                             const Tensor *select, const Tensor &y, cudnnDataType_t compute,
                             int64_t axis) {
  Descriptor &detail = details.emplace_back(cudnn, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  detail.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
  detail.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, compute);
  if (axis >= 0)
    detail.set(CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, axis);
  detail.finalize("pointwise");
  Descriptor &operation =
      operations.emplace_back(cudnn, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, detail);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, *x.descriptor);
  if (b)
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b->descriptor);
  if (select)
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *select->descriptor);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, *y.descriptor);
  operation.finalize("pointwise operation");
}

void GraphBuilder::reduce(cudnnReduceTensorOp_t mode, const Tensor &x, const Tensor &y) {
  Descriptor &detail = details.emplace_back(cudnn, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  detail.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, mode);
  detail.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
  detail.finalize("reduction");
  Descriptor &operation =
      operations.emplace_back(cudnn, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, *x.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, *y.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, detail);
  operation.finalize("reduction operation");
}

void GraphBuilder::reshape(const Tensor &x, const Tensor &y) {
  Descriptor &operation =
      operations.emplace_back(cudnn, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, *x.descriptor);
  operation.set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, *y.descriptor);
  operation.finalize("reshape operation");
}

std::unique_ptr<Descriptor> GraphBuilder::finish() {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const Descriptor &operation : operations)
    raw.push_back(operation.raw());
  auto graph = std::make_unique<Descriptor>(cudnn, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph->set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, int64_t(raw.size()),
             raw.data());
  // Deprecated since plans take the device from their configuration, yet what
  // versions before 9.8 need.
  if (cudnn.handle)
    graph->set(cudnnBackendAttributeName_t(800) /* OPERATIONGRAPH_HANDLE */, CUDNN_TYPE_HANDLE,
               cudnn.handle);
  graph->finalize("operation graph");
  return graph;
}

std::unique_ptr<Descriptor> deviceProperties(const Cudnn &cudnn) {
  auto properties = std::make_unique<Descriptor>(cudnn, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties->set(CUDNN_ATTR_DEVICEPROP_HANDLE, CUDNN_TYPE_HANDLE, cudnn.handle);
  properties->finalize("device properties");
  return properties;
}

std::unique_ptr<Descriptor> deviceProperties(const Cudnn &cudnn, const std::string &json) {
  auto properties = std::make_unique<Descriptor>(cudnn, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  properties->set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, int64_t(json.size()),
                  json.data());
  properties->finalize("device properties from JSON");
  return properties;
}

std::string toJsonText(const Cudnn &cudnn, const Descriptor &properties) {
  int64_t length = 0;
  auto get = [&](int64_t count, void *out) {
    cudnn.check(cudnn.getAttribute(properties.raw(), CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                   CUDNN_TYPE_CHAR, count, &length, out),
                "cudnnBackendGetAttribute(DEVICEPROP_JSON_REPRESENTATION)");
  };
  get(0, nullptr);
  std::string text(size_t(std::max<int64_t>(length, 0)), '\0');
  get(length, text.data());
  while (!text.empty() && text.back() == '\0')
    text.pop_back();
  return text;
}

Plan buildPlan(const Cudnn &cudnn, const Descriptor &graph, const Descriptor *properties) {
  using Clock = std::chrono::steady_clock;
  auto since = [](Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  };
  Plan plan;
  auto start = Clock::now();
  Descriptor heuristic(cudnn, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristic.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
  if (properties)
    heuristic.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *properties);
  heuristic.finalize("heuristic");
  int64_t available = 0;
  cudnn.check(cudnn.getAttribute(heuristic.raw(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &available, nullptr),
              "cudnnBackendGetAttribute(ENGINEHEUR_RESULTS)");
  std::vector<cudnnBackendDescriptor_t> raw;
  for (int64_t i = 0; i < available; ++i)
    raw.push_back(
        plan.configurations.emplace_back(cudnn, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).raw());
  int64_t returned = 0;
  if (available)
    cudnn.check(cudnn.getAttribute(heuristic.raw(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                   CUDNN_TYPE_BACKEND_DESCRIPTOR, available, &returned, raw.data()),
                "cudnnBackendGetAttribute(ENGINEHEUR_RESULTS)");
  plan.heuristicMs = since(start);

  std::string reasons;
  for (int64_t i = 0; i < returned; ++i) {
    try {
      start = Clock::now();
      auto candidate = std::make_unique<Descriptor>(cudnn, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      candidate->set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, plan.configurations[size_t(i)]);
      if (properties)
        candidate->set(CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, *properties);
      else
        candidate->set(cudnnBackendAttributeName_t(400) /* EXECUTION_PLAN_HANDLE */,
                       CUDNN_TYPE_HANDLE, cudnn.handle);
      candidate->finalize("execution plan");
      plan.buildMs = since(start);
      int64_t count = 0;
      cudnn.check(cudnn.getAttribute(candidate->raw(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                     CUDNN_TYPE_INT64, 1, &count, &plan.workspaceBytes),
                  "cudnnBackendGetAttribute(EXECUTION_PLAN_WORKSPACE_SIZE)");
      plan.descriptor = std::move(candidate);
      plan.configuration = size_t(i);
      return plan;
    } catch (const Failure &failure) {
      reasons += std::string("; ") + failure.what();
    }
  }
  throw Failure(format("none of %lld engine configurations builds", (long long)returned) + reasons);
}

void execute(const Cudnn &cudnn, const Plan &plan,
             const std::vector<std::pair<int64_t, void *>> &pointers, void *workspace) {
  std::vector<int64_t> uids;
  std::vector<void *> addresses;
  for (auto &[uid, address] : pointers) {
    uids.push_back(uid);
    addresses.push_back(address);
  }
  Descriptor pack(cudnn, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, int64_t(uids.size()), uids.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, int64_t(addresses.size()),
           addresses.data());
  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
  pack.finalize("variant pack");
  cudnn.check(cudnn.execute(cudnn.handle, plan.descriptor->raw(), pack.raw()),
              "cudnnBackendExecute");
}

} // namespace weft::gpukit
