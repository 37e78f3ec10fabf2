// What of cuDNN's backend interface the device uses, so that it builds without cuDNN.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names and numbers are those of cudnn.h (9), which a test holds them to where it is installed.
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_CUDNNAPI_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_CUDNNAPI_H

#include "device/cuda/DriverApi.h"

namespace weft::runtime::cuda {

using DnnHandle = struct DnnHandleTag *;
using DnnObject = void *; // cudnnBackendDescriptor_t

/// X(name, theirs, number).
#define WEFT_CUDNN_STATUSES(X)                                                                     \
  X(DnnSuccess, CUDNN_STATUS_SUCCESS, 0)                                                           \
  X(DnnBadParam, CUDNN_STATUS_BAD_PARAM, 2000)                                                     \
  X(DnnNotFinalized, CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, 2004)                                   \
  X(DnnNotSupported, CUDNN_STATUS_NOT_SUPPORTED, 3000)                                             \
  X(DnnExecutionFailed, CUDNN_STATUS_EXECUTION_FAILED, 5000)
#define WEFT_CUDNN_TYPES(X)                                                                        \
  X(DnnF32, CUDNN_DATA_FLOAT, 0)                                                                   \
  X(DnnF16, CUDNN_DATA_HALF, 2)                                                                    \
  X(DnnI32, CUDNN_DATA_INT32, 4)                                                                   \
  X(DnnBF16, CUDNN_DATA_BFLOAT16, 9)                                                               \
  X(DnnBool, CUDNN_DATA_BOOLEAN, 11)
#define WEFT_CUDNN_FUNCTIONS(X)                                                                    \
  X(DnnAdd, CUDNN_POINTWISE_ADD, 0)                                                                \
  X(DnnMul, CUDNN_POINTWISE_MUL, 1)                                                                \
  X(DnnDiv, CUDNN_POINTWISE_DIV, 6)                                                                \
  X(DnnSub, CUDNN_POINTWISE_SUB, 9)                                                                \
  X(DnnExp, CUDNN_POINTWISE_EXP, 13)                                                               \
  X(DnnLog, CUDNN_POINTWISE_LOG, 15)                                                               \
  X(DnnIdentity, CUDNN_POINTWISE_IDENTITY, 21)                                                     \
  X(DnnGreaterEqual, CUDNN_POINTWISE_CMP_GE, 303)                                                  \
  X(DnnIndex, CUDNN_POINTWISE_GEN_INDEX, 501)                                                      \
  X(DnnSelect, CUDNN_POINTWISE_BINARY_SELECT, 601)
#define WEFT_CUDNN_REDUCTIONS(X)                                                                   \
  X(DnnSum, CUDNN_REDUCE_TENSOR_ADD, 0)                                                            \
  X(DnnMax, CUDNN_REDUCE_TENSOR_MAX, 3)
#define WEFT_CUDNN_HEURISTICS(X) X(DnnModeA, CUDNN_HEUR_MODE_A, 3)
/// Of an attribute's values.
#define WEFT_CUDNN_VALUES(X)                                                                       \
  X(DnnOfHandle, CUDNN_TYPE_HANDLE, 0)                                                             \
  X(DnnOfType, CUDNN_TYPE_DATA_TYPE, 1)                                                            \
  X(DnnOfBool, CUDNN_TYPE_BOOLEAN, 2)                                                              \
  X(DnnOfI64, CUDNN_TYPE_INT64, 3)                                                                 \
  X(DnnOfPointer, CUDNN_TYPE_VOID_PTR, 6)                                                          \
  X(DnnOfHeuristic, CUDNN_TYPE_HEUR_MODE, 8)                                                       \
  X(DnnOfFunction, CUDNN_TYPE_POINTWISE_MODE, 14)                                                  \
  X(DnnOfObject, CUDNN_TYPE_BACKEND_DESCRIPTOR, 15)                                                \
  X(DnnOfReduction, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, 18)
/// Of an object.
#define WEFT_CUDNN_KINDS(X)                                                                        \
  X(DnnPointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR, 0)                                           \
  X(DnnConfiguration, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, 3)                                       \
  X(DnnHeuristic, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, 4)                                          \
  X(DnnPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, 5)                                           \
  X(DnnDoPointwise, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, 13)                              \
  X(DnnGraph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, 15)                                         \
  X(DnnPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR, 16)                                            \
  X(DnnTensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR, 17)                                                \
  X(DnnProduct, CUDNN_BACKEND_MATMUL_DESCRIPTOR, 18)                                               \
  X(DnnDoProduct, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, 19)                                   \
  X(DnnReduction, CUDNN_BACKEND_REDUCTION_DESCRIPTOR, 21)                                          \
  X(DnnDoReduction, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, 22)                              \
  X(DnnDoReshape, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, 31)
#define WEFT_CUDNN_ATTRIBUTES(X)                                                                   \
  X(DnnPointwiseFunction, CUDNN_ATTR_POINTWISE_MODE, 0)                                            \
  X(DnnPointwiseCompute, CUDNN_ATTR_POINTWISE_MATH_PREC, 1)                                        \
  X(DnnPointwiseAxis, CUDNN_ATTR_POINTWISE_AXIS, 9)                                                \
  X(DnnHeuristicMode, CUDNN_ATTR_ENGINEHEUR_MODE, 200)                                             \
  X(DnnHeuristicGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, 201)                                 \
  X(DnnHeuristicResults, CUDNN_ATTR_ENGINEHEUR_RESULTS, 202)                                       \
  X(DnnConfigurationEngine, CUDNN_ATTR_ENGINECFG_ENGINE, 300)                                      \
  X(DnnPlanHandle, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, 400)                                          \
  X(DnnPlanConfiguration, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, 401)                            \
  X(DnnPlanWorkspace, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, 402)                               \
  X(DnnPointwiseDetail, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, 750)                         \
  X(DnnPointwiseX, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, 751)                                      \
  X(DnnPointwiseB, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, 752)                                      \
  X(DnnPointwiseY, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, 753)                                      \
  X(DnnPointwiseT, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, 758)                                      \
  X(DnnGraphHandle, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, 800)                                         \
  X(DnnGraphOperations, CUDNN_ATTR_OPERATIONGRAPH_OPS, 801)                                        \
  X(DnnTensorAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 900)                                     \
  X(DnnTensorType, CUDNN_ATTR_TENSOR_DATA_TYPE, 901)                                               \
  X(DnnTensorSizes, CUDNN_ATTR_TENSOR_DIMENSIONS, 902)                                             \
  X(DnnTensorStrides, CUDNN_ATTR_TENSOR_STRIDES, 903)                                              \
  X(DnnTensorNumber, CUDNN_ATTR_TENSOR_UNIQUE_ID, 906)                                             \
  X(DnnTensorIsVirtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL, 907)                                         \
  X(DnnTensorIsByValue, CUDNN_ATTR_TENSOR_IS_BY_VALUE, 908)                                        \
  X(DnnPackNumbers, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, 1000)                                      \
  X(DnnPackPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, 1001)                                  \
  X(DnnPackWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, 1003)                                     \
  X(DnnProductCompute, CUDNN_ATTR_MATMUL_COMP_TYPE, 1500)                                          \
  X(DnnProductA, CUDNN_ATTR_OPERATION_MATMUL_ADESC, 1520)                                          \
  X(DnnProductB, CUDNN_ATTR_OPERATION_MATMUL_BDESC, 1521)                                          \
  X(DnnProductC, CUDNN_ATTR_OPERATION_MATMUL_CDESC, 1522)                                          \
  X(DnnProductDetail, CUDNN_ATTR_OPERATION_MATMUL_DESC, 1523)                                      \
  X(DnnReductionFunction, CUDNN_ATTR_REDUCTION_OPERATOR, 1600)                                     \
  X(DnnReductionCompute, CUDNN_ATTR_REDUCTION_COMP_TYPE, 1601)                                     \
  X(DnnReductionX, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, 1610)                                     \
  X(DnnReductionY, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, 1611)                                     \
  X(DnnReductionDetail, CUDNN_ATTR_OPERATION_REDUCTION_DESC, 1612)                                 \
  X(DnnReshapeX, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, 2200)                                         \
  X(DnnReshapeY, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, 2201)

#define WEFT_NUMBER(NAME, THEIRS, NUMBER) NAME = NUMBER,
enum DnnStatus : int { WEFT_CUDNN_STATUSES(WEFT_NUMBER) };
enum DnnType : int { WEFT_CUDNN_TYPES(WEFT_NUMBER) };
enum DnnFunction : int { WEFT_CUDNN_FUNCTIONS(WEFT_NUMBER) };
enum DnnReduce : int { WEFT_CUDNN_REDUCTIONS(WEFT_NUMBER) };
enum DnnHeuristicKind : int { WEFT_CUDNN_HEURISTICS(WEFT_NUMBER) };
enum DnnValue : int { WEFT_CUDNN_VALUES(WEFT_NUMBER) };
enum DnnKind : int { WEFT_CUDNN_KINDS(WEFT_NUMBER) };
enum DnnAttribute : int { WEFT_CUDNN_ATTRIBUTES(WEFT_NUMBER) };
#undef WEFT_NUMBER

/// X(name in the table, symbol, parameters). All return DnnStatus.
#define WEFT_CUDNN(X)                                                                              \
  X(create, "cudnnCreate", (DnnHandle * handle))                                                   \
  X(destroy, "cudnnDestroy", (DnnHandle handle))                                                   \
  X(setStream, "cudnnSetStream", (DnnHandle handle, Stream stream))                                \
  X(createObject, "cudnnBackendCreateDescriptor", (DnnKind kind, DnnObject * object))              \
  X(destroyObject, "cudnnBackendDestroyDescriptor", (DnnObject object))                            \
  X(finalize, "cudnnBackendFinalize", (DnnObject object))                                          \
  X(setAttribute, "cudnnBackendSetAttribute",                                                      \
    (DnnObject object, DnnAttribute attribute, DnnValue type, int64_t count, const void *values))  \
  X(getAttribute, "cudnnBackendGetAttribute",                                                      \
    (DnnObject object, DnnAttribute attribute, DnnValue type, int64_t wanted, int64_t *count,      \
     void *values))                                                                                \
  X(execute, "cudnnBackendExecute", (DnnHandle handle, DnnObject plan, DnnObject pack))

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_CUDNNAPI_H
