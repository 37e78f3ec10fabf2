// Describes graphs to cuDNN and lets it plan them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/libraries/CudnnGraph.h"

using namespace weft::runtime;
using namespace weft::runtime::cuda;

/// Of every tensor's address.
static constexpr int64_t kAlignment = 16;

Extents cuda::contiguous(const Extents &sizes) {
  Extents strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;)
    strides[d - 1] = strides[d] * sizes[d];
  return strides;
}

//===----------------------------------------------------------------------===//
// Objects
//===----------------------------------------------------------------------===//

CudnnObject::CudnnObject(const Cudnn &cudnn, DnnKind kind) : cudnn(cudnn) {
  status = cudnn.check(cudnn.createObject(kind, &object), "making a descriptor");
}

CudnnObject::~CudnnObject() {
  if (object)
    (void)cudnn.destroyObject(object);
}

void CudnnObject::set(DnnAttribute attribute, DnnValue type, int64_t count, const void *values) {
  if (status.ok())
    status = cudnn
                 .check(cudnn.setAttribute(object, attribute, type, count, values),
                        "setting an attribute")
                 .prefix("attribute " + std::to_string(int(attribute)));
}

Status CudnnObject::get(DnnAttribute attribute, DnnValue type, int64_t wanted, int64_t *count,
                        void *values) {
  if (status.ok())
    status = cudnn
                 .check(cudnn.getAttribute(object, attribute, type, wanted, count, values),
                        "reading an attribute")
                 .prefix("attribute " + std::to_string(int(attribute)));
  return status;
}

Status CudnnObject::finalize(const char *what) {
  if (status.ok())
    status = cudnn.check(cudnn.finalize(object), what);
  return status;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

void CudnnGraph::keep(const Status &made) {
  if (status.ok())
    status = made;
}

CudnnGraph::Tensor CudnnGraph::tensor(int64_t number, DnnType type, const Extents &sizes,
                                      const Extents &strides, bool isVirtual, bool isByValue) {
  CudnnObject &made = add(DnnTensor);
  made.set(DnnTensorType, type);
  made.set(DnnTensorSizes, sizes);
  made.set(DnnTensorStrides, strides);
  made.set(DnnTensorNumber, number);
  made.set(DnnTensorAlignment, kAlignment);
  if (isVirtual)
    made.set(DnnTensorIsVirtual, true);
  if (isByValue)
    made.set(DnnTensorIsByValue, true);
  keep(made.finalize("describing a tensor"));
  return &made;
}

CudnnGraph::Tensor CudnnGraph::real(int64_t number, DnnType type, const Extents &sizes,
                                    const Extents &strides) {
  return tensor(number, type, sizes, strides, false, false);
}
CudnnGraph::Tensor CudnnGraph::scalar(int64_t number) {
  return tensor(number, DnnF32, {1, 1, 1, 1}, {1, 1, 1, 1}, false, true);
}
CudnnGraph::Tensor CudnnGraph::temporary(DnnType type, const Extents &sizes,
                                         const Extents &strides) {
  return tensor(nextTemporary++, type, sizes, strides, true, false);
}

void CudnnGraph::product(Tensor a, Tensor b, Tensor c) {
  CudnnObject &detail = add(DnnProduct);
  detail.set(DnnProductCompute, DnnF32);
  keep(detail.finalize("describing a product"));
  CudnnObject &operation = add(DnnDoProduct);
  operation.set(DnnProductA, *a);
  operation.set(DnnProductB, *b);
  operation.set(DnnProductC, *c);
  operation.set(DnnProductDetail, detail);
  keep(operation.finalize("a product"));
  added.push_back(operation.raw());
}

void CudnnGraph::reduce(DnnReduce function, Tensor x, Tensor y) {
  CudnnObject &detail = add(DnnReduction);
  detail.set(DnnReductionFunction, function);
  detail.set(DnnReductionCompute, DnnF32);
  keep(detail.finalize("describing a reduction"));
  CudnnObject &operation = add(DnnDoReduction);
  operation.set(DnnReductionX, *x);
  operation.set(DnnReductionY, *y);
  operation.set(DnnReductionDetail, detail);
  keep(operation.finalize("a reduction"));
  added.push_back(operation.raw());
}

void CudnnGraph::addPointwise(DnnFunction function, DnnType compute, int64_t axis, Tensor x,
                              Tensor b, Tensor y, Tensor select) {
  CudnnObject &detail = add(DnnPointwise);
  detail.set(DnnPointwiseFunction, function);
  detail.set(DnnPointwiseCompute, compute);
  if (function == DnnIndex)
    detail.set(DnnPointwiseAxis, axis);
  keep(detail.finalize("describing a pointwise operation"));
  CudnnObject &operation = add(DnnDoPointwise);
  operation.set(DnnPointwiseDetail, detail);
  operation.set(DnnPointwiseX, *x);
  if (b)
    operation.set(DnnPointwiseB, *b);
  if (select)
    operation.set(DnnPointwiseT, *select);
  operation.set(DnnPointwiseY, *y);
  keep(operation.finalize("a pointwise operation"));
  added.push_back(operation.raw());
}

void CudnnGraph::pointwise(DnnFunction function, Tensor x, Tensor b, Tensor y, Tensor select) {
  addPointwise(function, DnnF32, 0, x, b, y, select);
}
void CudnnGraph::compare(Tensor x, Tensor b, Tensor y) {
  addPointwise(DnnGreaterEqual, DnnBool, 0, x, b, y, nullptr);
}
void CudnnGraph::index(int64_t axis, Tensor x, Tensor y) {
  addPointwise(DnnIndex, DnnF32, axis, x, nullptr, y, nullptr);
}

void CudnnGraph::reshape(Tensor x, Tensor y) {
  CudnnObject &operation = add(DnnDoReshape);
  operation.set(DnnReshapeX, *x);
  operation.set(DnnReshapeY, *y);
  keep(operation.finalize("a reshape"));
  added.push_back(operation.raw());
}

Status CudnnGraph::finish() {
  WEFT_TRY(status);
  whole.set(DnnGraphOperations, DnnOfObject, int64_t(added.size()), added.data());
  // Without a GPU there is none, and graphs are only checked.
  if (cudnn.handle)
    whole.set(DnnGraphHandle, cudnn.handle);
  return whole.finalize("taking a graph of operations");
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

Status CudnnPlan::make(const Cudnn &cudnn, const CudnnGraph &graph,
                       std::unique_ptr<CudnnPlan> &plan) {
  CudnnObject heuristic(cudnn, DnnHeuristic);
  heuristic.set(DnnHeuristicGraph, graph.operations());
  heuristic.set(DnnHeuristicMode, DnnModeA);
  WEFT_TRY(heuristic.finalize("looking for a way to do a graph"));
  int64_t count = 0;
  WEFT_TRY(heuristic.get(DnnHeuristicResults, DnnOfObject, 0, &count, nullptr));
  std::vector<std::unique_ptr<CudnnObject>> advice;
  std::vector<DnnObject> raw;
  for (int64_t i = 0; i < count; ++i) {
    advice.push_back(std::make_unique<CudnnObject>(cudnn, DnnConfiguration));
    raw.push_back(advice.back()->raw());
  }
  if (count > 0)
    WEFT_TRY(heuristic.get(DnnHeuristicResults, DnnOfObject, count, &count, raw.data()));
  Status first = cudnn.check(DnnNotSupported, "looking for a way to do a graph");
  for (int64_t i = 0; i < count; ++i) {
    std::unique_ptr<CudnnPlan> made(new CudnnPlan(cudnn));
    made->configuration = std::move(advice[size_t(i)]);
    made->plan.set(DnnPlanConfiguration, *made->configuration);
    made->plan.set(DnnPlanHandle, cudnn.handle);
    Status status = made->plan.finalize("planning a graph");
    if (status.ok()) {
      int64_t one = 0;
      WEFT_TRY(made->plan.get(DnnPlanWorkspace, DnnOfI64, 1, &one, &made->workspace));
      plan = std::move(made);
      return {};
    }
    if (i == 0)
      first = status;
  }
  return first;
}

Status CudnnCall::bind(const Places &places, void *workspace) {
  Extents numbers;
  std::vector<void *> pointers;
  for (const auto &[number, place] : places) {
    numbers.push_back(number);
    pointers.push_back(place);
  }
  pack.set(DnnPackNumbers, numbers);
  pack.set(DnnPackPointers, DnnOfPointer, int64_t(pointers.size()), pointers.data());
  pack.set(DnnPackWorkspace, workspace);
  return pack.finalize("taking addresses");
}

Status CudnnCall::issue(Stream stream) const {
  const Cudnn &cudnn = pack.library();
  WEFT_DNN_TRY(cudnn, setStream(cudnn.handle, stream), "choosing a stream");
  return cudnn.check(cudnn.execute(cudnn.handle, plan.plan.raw(), pack.raw()), "attention");
}
