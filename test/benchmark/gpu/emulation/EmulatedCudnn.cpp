// cuDNN's backend graph on the host: operations interpreted one by one, in
// double precision, on tensors with strides. It knows nothing of attention.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Emulation.h"
#include "common/Random.h"

#include <algorithm>
#include <cmath>
#include <cudnn.h>
#include <map>
#include <memory>
#include <vector>

using namespace weft::gpukit;

namespace {

struct Node;
using Ref = std::shared_ptr<Node>;

struct Attribute {
  std::vector<char> bytes;
  std::vector<Ref> nodes;
};

/// A descriptor of any type: what was set, by attribute.
struct Node {
  cudnnBackendDescriptorType_t type;
  std::map<int, Attribute> attributes;
  bool finalized = false;

  bool has(int name) const { return attributes.count(name) != 0; }
  const Ref &node(int name) const { return attributes.at(name).nodes.at(0); }
  template <typename Value> std::vector<Value> values(int name) const {
    auto found = attributes.find(name);
    if (found == attributes.end())
      return {};
    std::vector<Value> result(found->second.bytes.size() / sizeof(Value));
    std::memcpy(result.data(), found->second.bytes.data(), result.size() * sizeof(Value));
    return result;
  }
  template <typename Value> Value value(int name, Value fallback) const {
    std::vector<Value> all = values<Value>(name);
    return all.empty() ? fallback : all[0];
  }
};

Ref &refOf(cudnnBackendDescriptor_t descriptor) { return *static_cast<Ref *>(descriptor); }

/// A tensor during execution: memory of the caller, or of its own when virtual.
struct Storage {
  std::vector<int64_t> dims, strides;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  void *memory = nullptr;
  std::shared_ptr<std::vector<double>> own;

  int64_t offset(const int64_t *index) const {
    int64_t sum = 0;
    for (size_t i = 0; i < dims.size(); ++i)
      sum += (dims[i] == 1 ? 0 : index[i]) * strides[i];
    return sum;
  }
  /// Dimensions of one repeat; a head dimension that divides is shared by
  /// consecutive indexes, as grouped queries share a key head.
  double read(const int64_t *index, const std::vector<int64_t> &outer) const {
    int64_t mine[4];
    for (size_t i = 0; i < 4; ++i)
      mine[i] =
          i < 2 && dims[i] != outer[i]
              ? (hasFault("cudnn-heads") ? index[i] % dims[i] : index[i] / (outer[i] / dims[i]))
              : index[i];
    return at(offset(mine));
  }
  double at(int64_t place) const {
    if (own)
      return (*own)[size_t(place)];
    if (type == CUDNN_DATA_BFLOAT16)
      return bf16Value(static_cast<const uint16_t *>(memory)[place]);
    return static_cast<const float *>(memory)[place];
  }
  void write(const int64_t *index, double value) {
    int64_t place = offset(index);
    if (own)
      (*own)[size_t(place)] =
          type == CUDNN_DATA_BFLOAT16 ? bf16Value(bf16Bits(float(value))) : value;
    else if (type == CUDNN_DATA_BFLOAT16)
      static_cast<uint16_t *>(memory)[place] = bf16Bits(float(value));
    else
      static_cast<float *>(memory)[place] = float(value);
  }
};

template <typename Body> void forEach(const std::vector<int64_t> &dims, const Body &body) {
  int64_t i[4];
  for (i[0] = 0; i[0] < dims[0]; ++i[0])
    for (i[1] = 0; i[1] < dims[1]; ++i[1])
      for (i[2] = 0; i[2] < dims[2]; ++i[2])
        for (i[3] = 0; i[3] < dims[3]; ++i[3])
          body(i);
}

class Execution {
public:
  explicit Execution(std::map<int64_t, void *> pointers) : pointers(std::move(pointers)) {}

  cudnnStatus_t run(const Node &operation) {
    switch (operation.type) {
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR:
      return matmul(operation);
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR:
      return pointwise(operation);
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR:
      return reduction(operation);
    case CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR: {
      // The same memory seen through other dimensions and strides.
      Storage x = tensor(operation.node(CUDNN_ATTR_OPERATION_RESHAPE_XDESC));
      Storage &y = tensor(operation.node(CUDNN_ATTR_OPERATION_RESHAPE_YDESC));
      forEach(y.dims, [&](const int64_t *i) { y.write(i, x.at(y.offset(i))); });
      return CUDNN_STATUS_SUCCESS;
    }
    default:
      return CUDNN_STATUS_NOT_SUPPORTED;
    }
  }

private:
  Storage &tensor(const Ref &node) {
    int64_t uid = node->value<int64_t>(CUDNN_ATTR_TENSOR_UNIQUE_ID, 0);
    auto found = storages.find(uid);
    if (found != storages.end())
      return found->second;
    Storage storage;
    storage.dims = node->values<int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS);
    storage.strides = node->values<int64_t>(CUDNN_ATTR_TENSOR_STRIDES);
    storage.type = node->value(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
    if (node->value(CUDNN_ATTR_TENSOR_IS_VIRTUAL, char(0))) {
      int64_t last = 0;
      for (size_t i = 0; i < storage.dims.size(); ++i)
        last += (storage.dims[i] - 1) * storage.strides[i];
      storage.own = std::make_shared<std::vector<double>>(size_t(last + 1), NAN);
    } else {
      storage.memory = pointers.at(uid); // Unbound: an exception, so a failure.
    }
    return storages[uid] = std::move(storage);
  }

  cudnnStatus_t matmul(const Node &operation) {
    Storage a = tensor(operation.node(CUDNN_ATTR_OPERATION_MATMUL_ADESC));
    Storage b = tensor(operation.node(CUDNN_ATTR_OPERATION_MATMUL_BDESC));
    Storage &c = tensor(operation.node(CUDNN_ATTR_OPERATION_MATMUL_CDESC));
    int64_t inner = a.dims[3];
    int64_t shortened = hasFault("cudnn-product") ? 1 : 0;
    if (b.dims[2] != inner || a.dims[2] != c.dims[2] || b.dims[3] != c.dims[3])
      return CUDNN_STATUS_BAD_PARAM;
    forEach(c.dims, [&](const int64_t *i) {
      double sum = 0;
      for (int64_t k = shortened; k < inner; ++k) {
        const int64_t left[] = {i[0], i[1], i[2], k};
        const int64_t right[] = {i[0], i[1], k, i[3]};
        sum += a.read(left, c.dims) * b.read(right, c.dims);
      }
      c.write(i, sum);
    });
    return CUDNN_STATUS_SUCCESS;
  }

  cudnnStatus_t reduction(const Node &operation) {
    Storage x = tensor(operation.node(CUDNN_ATTR_OPERATION_REDUCTION_XDESC));
    Storage &y = tensor(operation.node(CUDNN_ATTR_OPERATION_REDUCTION_YDESC));
    auto mode = operation.node(CUDNN_ATTR_OPERATION_REDUCTION_DESC)
                    ->value(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_REDUCE_TENSOR_ADD);
    bool largest = mode == CUDNN_REDUCE_TENSOR_MAX;
    // Each dimension of y is that of x, one, or a divisor over whose groups of
    // consecutive indexes the reduction runs.
    std::vector<int64_t> group;
    for (size_t i = 0; i < 4; ++i)
      group.push_back(x.dims[i] / y.dims[i]);
    forEach(y.dims, [&](const int64_t *i) {
      double result = largest ? -INFINITY : 0;
      forEach(group, [&](const int64_t *j) {
        const int64_t index[] = {i[0] * group[0] + j[0], i[1] * group[1] + j[1],
                                 i[2] * group[2] + j[2], i[3] * group[3] + j[3]};
        double value = x.at(x.offset(index));
        result = largest ? std::max(result, value) : result + value;
      });
      y.write(i, result);
    });
    return CUDNN_STATUS_SUCCESS;
  }

  cudnnStatus_t pointwise(const Node &operation) {
    const Node &detail = *operation.node(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
    auto mode = detail.value(CUDNN_ATTR_POINTWISE_MODE, CUDNN_POINTWISE_ADD);
    int64_t axis = detail.value<int64_t>(CUDNN_ATTR_POINTWISE_AXIS, -1);
    auto optional = [&](int name) {
      return operation.has(name) ? tensor(operation.node(name)) : Storage();
    };
    Storage x = tensor(operation.node(CUDNN_ATTR_OPERATION_POINTWISE_XDESC));
    Storage b = optional(CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
    Storage keep = optional(CUDNN_ATTR_OPERATION_POINTWISE_TDESC);
    Storage &y = tensor(operation.node(CUDNN_ATTR_OPERATION_POINTWISE_YDESC));
    auto value = [&](const int64_t *i) {
      double left = x.at(x.offset(i));
      double right = b.dims.empty() ? 0 : b.at(b.offset(i));
      switch (mode) {
      case CUDNN_POINTWISE_ADD:
        return left + right;
      case CUDNN_POINTWISE_SUB:
        return left - right;
      case CUDNN_POINTWISE_MUL:
        return left * right;
      case CUDNN_POINTWISE_DIV:
        return left / right;
      case CUDNN_POINTWISE_EXP:
        return std::exp(left);
      case CUDNN_POINTWISE_LOG:
        return std::log(left);
      case CUDNN_POINTWISE_IDENTITY:
        return left;
      case CUDNN_POINTWISE_CMP_GE:
        return double(hasFault("cudnn-mask") ? left > right : left >= right);
      case CUDNN_POINTWISE_GEN_INDEX:
        return double(i[axis]);
      case CUDNN_POINTWISE_BINARY_SELECT:
        return keep.at(keep.offset(i)) != 0 ? left : right;
      default:
        return double(NAN);
      }
    };
    forEach(y.dims, [&](const int64_t *i) { y.write(i, value(i)); });
    return CUDNN_STATUS_SUCCESS;
  }

  std::map<int64_t, void *> pointers;
  std::map<int64_t, Storage> storages;
};

} // namespace

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
  Ref *made = new Ref(std::make_shared<Node>());
  (*made)->type = type;
  *descriptor = made;
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d) {
  delete static_cast<Ref *>(d);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  refOf(descriptor)->finalized = true;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void *values) {
  static const std::map<int, size_t> sizes = {{CUDNN_TYPE_BOOLEAN, sizeof(bool)},
                                              {CUDNN_TYPE_CHAR, 1},
                                              {CUDNN_TYPE_INT64, 8},
                                              {CUDNN_TYPE_VOID_PTR, sizeof(void *)},
                                              {CUDNN_TYPE_HANDLE, sizeof(void *)}};
  if (refOf(descriptor)->finalized)
    return CUDNN_STATUS_BAD_PARAM;
  Attribute &attribute = refOf(descriptor)->attributes[name];
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    auto *given = static_cast<const cudnnBackendDescriptor_t *>(values);
    for (int64_t i = 0; i < count; ++i) {
      if (!refOf(given[i])->finalized)
        return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
      attribute.nodes.push_back(refOf(given[i]));
    }
    return CUDNN_STATUS_SUCCESS;
  }
  auto found = sizes.find(type);
  size_t size = found == sizes.end() ? sizeof(int) : found->second; // enums
  const char *begin = static_cast<const char *>(values);
  attribute.bytes.assign(begin, begin + size_t(count) * size);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const d,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t, int64_t wanted, int64_t *count,
                                       void *values) {
  if (!refOf(d)->finalized)
    return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
    *count = 1;
    if (wanted >= 1) {
      Ref &made = refOf(*static_cast<cudnnBackendDescriptor_t *>(values));
      made->attributes[CUDNN_ATTR_ENGINECFG_ENGINE].nodes = {
          refOf(d)->node(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)};
      made->finalized = true;
    }
  } else if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) {
    *count = 1;
    *static_cast<int64_t *>(values) = 64;
  } else if (name == CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION) {
    const char text[] = "{\"deviceName\":\"emulated\"}";
    *count = sizeof(text);
    if (values)
      std::memcpy(values, text, size_t(std::min<int64_t>(wanted, *count)));
  } else {
    return CUDNN_STATUS_NOT_SUPPORTED;
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  auto uids = refOf(pack)->values<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  auto addresses = refOf(pack)->values<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  if (uids.size() != addresses.size())
    return CUDNN_STATUS_BAD_PARAM;
  std::map<int64_t, void *> pointers;
  for (size_t i = 0; i < uids.size(); ++i)
    pointers[uids[i]] = addresses[i];
  const Node &graph = *refOf(plan)
                           ->node(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)
                           ->node(CUDNN_ATTR_ENGINECFG_ENGINE);
  const auto &operations = graph.attributes.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).nodes;
  try {
    Execution execution(pointers);
    for (const Ref &operation : operations) {
      cudnnStatus_t status = execution.run(*operation);
      if (status != CUDNN_STATUS_SUCCESS)
        return status;
    }
  } catch (const std::exception &) {
    return CUDNN_STATUS_EXECUTION_FAILED;
  }
  return CUDNN_STATUS_SUCCESS;
}

} // extern "C"
