// libcudnn.so.9 without a GPU: what Weft calls of it, as work of the emulated one.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Graphs are interpreted operation by operation, in f64, on tensors with strides; what an operation
// writes is rounded to its type. It knows nothing of attention, but refuses to plan a graph whose
// products read what NVIDIA's attention does not, and of its advice as much as it is told to
// (WEFT_EMULATED_CUDNN_REFUSES). A plan writes all of its workspace.
#include "Gpu.h"

#include "base/Convert.h"
#include "device/cuda/libraries/CudnnApi.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace weft;
using namespace weft::emulated;
using namespace weft::runtime;
using namespace weft::runtime::cuda;

namespace {

constexpr int64_t kWorkspace = 1024;
/// Ways to do a graph, of which each would do.
constexpr int64_t kAdvice = 2;
/// Of a head: the most of chips from sm_80 on, and what is read at a time, in elements of 16 bits.
constexpr int64_t kMostDepth = 128, kGranule = 8;

struct Object;
using Ref = std::shared_ptr<Object>;

struct Setting {
  std::vector<char> bytes;
  std::vector<Ref> objects;
};

/// Of any kind: what was set of it.
struct Object {
  DnnKind kind;
  std::map<DnnAttribute, Setting> attributes;
  bool isFinal = false;
  int64_t advice = 0; ///< which, of a configuration

  bool has(DnnAttribute name) const { return attributes.count(name) != 0; }
  const Object &object(DnnAttribute name) const { return *attributes.at(name).objects.at(0); }
  template <typename Value> std::vector<Value> values(DnnAttribute name) const {
    auto found = attributes.find(name);
    if (found == attributes.end())
      return {};
    std::vector<Value> result(found->second.bytes.size() / sizeof(Value));
    std::memcpy(result.data(), found->second.bytes.data(), result.size() * sizeof(Value));
    return result;
  }
  template <typename Value> Value value(DnnAttribute name, Value fallback) const {
    std::vector<Value> all = values<Value>(name);
    return all.empty() ? fallback : all[0];
  }
};

Ref &of(DnnObject object) { return *static_cast<Ref *>(object); }

size_t bytesOf(DnnType type) { return type == DnnF32 || type == DnnI32 ? 4 : 2; }

/// A tensor while a graph is executed: memory of the caller, or its own.
struct Tensor {
  std::vector<int64_t> sizes, strides;
  DnnType type = DnnF32;
  char *memory = nullptr;
  std::shared_ptr<std::vector<double>> own;

  bool exists() const { return !sizes.empty(); }
  int64_t place(const int64_t *index) const {
    int64_t sum = 0;
    for (size_t d = 0; d < sizes.size(); ++d)
      sum += (sizes[d] == 1 ? 0 : index[d]) * strides[d];
    return sum;
  }
  double at(int64_t place) const {
    if (own)
      return (*own)[size_t(place)];
    auto as = [&](auto value) {
      std::memcpy(&value, memory + place * int64_t(sizeof value), sizeof value);
      return double(value);
    };
    return type == DnnBF16 ? as(BFloat16()) : type == DnnF16 ? as(Float16()) : as(float());
  }
  double read(const int64_t *index) const { return at(place(index)); }
  /// Batches and heads may be fewer by a divisor: neighbours share one.
  double readShared(const int64_t *index, const std::vector<int64_t> &outer) const {
    int64_t mine[4] = {index[0], index[1], index[2], index[3]};
    for (size_t d = 0; d < 2; ++d)
      mine[d] /= outer[d] / sizes[d];
    return read(mine);
  }
  void write(const int64_t *index, double value) {
    double rounded = type == DnnBF16  ? double(BFloat16(float(value)))
                     : type == DnnF16 ? double(Float16(float(value)))
                                      : double(float(value));
    if (own) {
      (*own)[size_t(place(index))] = rounded;
      return;
    }
    auto as = [&](auto stored) {
      std::memcpy(memory + place(index) * int64_t(sizeof stored), &stored, sizeof stored);
    };
    if (type == DnnBF16)
      as(BFloat16(float(value)));
    else if (type == DnnF16)
      as(Float16(float(value)));
    else
      as(float(value));
  }
};

template <typename Body> void forEach(const std::vector<int64_t> &sizes, const Body &body) {
  int64_t i[4];
  for (i[0] = 0; i[0] < sizes[0]; ++i[0])
    for (i[1] = 0; i[1] < sizes[1]; ++i[1])
      for (i[2] = 0; i[2] < sizes[2]; ++i[2])
        for (i[3] = 0; i[3] < sizes[3]; ++i[3])
          body(i);
}

/// Where tensors are, by number: in truth, not by the device's address.
using Memory = std::map<int64_t, char *>;

class Execution {
public:
  explicit Execution(Memory memory) : memory(std::move(memory)) {}

  void run(const Object &operation) {
    switch (operation.kind) {
    case DnnDoProduct:
      return product(operation);
    case DnnDoPointwise:
      return pointwise(operation);
    case DnnDoReduction:
      return reduction(operation);
    default:
      return reshape(operation);
    }
  }

private:
  Tensor &tensor(const Object &object) {
    auto number = object.value<int64_t>(DnnTensorNumber, 0);
    auto [entry, isNew] = tensors.try_emplace(number);
    Tensor &made = entry->second;
    if (!isNew)
      return made;
    made.sizes = object.values<int64_t>(DnnTensorSizes);
    made.strides = object.values<int64_t>(DnnTensorStrides);
    made.type = object.value(DnnTensorType, DnnF32);
    if (object.value(DnnTensorIsVirtual, char(0))) {
      int64_t last = 0;
      for (size_t d = 0; d < made.sizes.size(); ++d)
        last += (made.sizes[d] - 1) * made.strides[d];
      made.own = std::make_shared<std::vector<double>>(size_t(last + 1), NAN);
    } else {
      made.memory = memory.at(number);
    }
    return made;
  }

  void product(const Object &operation) {
    Tensor &a = tensor(operation.object(DnnProductA)), &b = tensor(operation.object(DnnProductB)),
           &c = tensor(operation.object(DnnProductC));
    forEach(c.sizes, [&](const int64_t *i) {
      double sum = 0;
      for (int64_t k = 0; k < a.sizes[3]; ++k) {
        const int64_t left[] = {i[0], i[1], i[2], k}, right[] = {i[0], i[1], k, i[3]};
        sum += a.readShared(left, c.sizes) * b.readShared(right, c.sizes);
      }
      c.write(i, sum);
    });
  }

  void reduction(const Object &operation) {
    Tensor &x = tensor(operation.object(DnnReductionX)),
           &y = tensor(operation.object(DnnReductionY));
    bool isMax = operation.object(DnnReductionDetail).value(DnnReductionFunction, DnnSum) == DnnMax;
    // Neighbours become one.
    std::vector<int64_t> group;
    for (size_t d = 0; d < 4; ++d)
      group.push_back(x.sizes[d] / y.sizes[d]);
    forEach(y.sizes, [&](const int64_t *i) {
      double result = isMax ? -INFINITY : 0;
      forEach(group, [&](const int64_t *j) {
        const int64_t index[] = {i[0] * group[0] + j[0], i[1] * group[1] + j[1],
                                 i[2] * group[2] + j[2], i[3] * group[3] + j[3]};
        double value = x.read(index);
        result = isMax ? std::max(result, value) : result + value;
      });
      y.write(i, result);
    });
  }

  /// The same memory with other sizes and strides.
  void reshape(const Object &operation) {
    Tensor &x = tensor(operation.object(DnnReshapeX)), &y = tensor(operation.object(DnnReshapeY));
    forEach(y.sizes, [&](const int64_t *i) { y.write(i, x.at(y.place(i))); });
  }

  void pointwise(const Object &operation) {
    const Object &detail = operation.object(DnnPointwiseDetail);
    auto function = detail.value(DnnPointwiseFunction, DnnIdentity);
    auto axis = detail.value<int64_t>(DnnPointwiseAxis, 0);
    auto optional = [&](DnnAttribute name) {
      return operation.has(name) ? tensor(operation.object(name)) : Tensor();
    };
    Tensor x = tensor(operation.object(DnnPointwiseX)), b = optional(DnnPointwiseB),
           select = optional(DnnPointwiseT);
    Tensor &y = tensor(operation.object(DnnPointwiseY));
    auto value = [&](const int64_t *i) -> double {
      double left = x.read(i), right = b.exists() ? b.read(i) : 0;
      switch (function) {
      case DnnAdd:
        return left + right;
      case DnnSub:
        return left - right;
      case DnnMul:
        return left * right;
      case DnnDiv:
        return left / right;
      case DnnExp:
        return std::exp(left);
      case DnnLog:
        return std::log(left);
      case DnnIdentity:
        return left;
      case DnnGreaterEqual:
        return double(left >= right);
      case DnnIndex:
        return double(i[axis]);
      case DnnSelect:
        return select.read(i) != 0 ? left : right;
      }
      return NAN;
    };
    forEach(y.sizes, [&](const int64_t *i) { y.write(i, value(i)); });
  }

  Memory memory;
  std::map<int64_t, Tensor> tensors;
};

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

const Ref &graphOf(const Object &configuration) {
  return configuration.attributes.at(DnnConfigurationEngine).objects.at(0);
}

/// Whether the tensor, if it is in memory, is one that products read there: of 16 bits, the elements
/// of a head side by side and not too many.
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
  if (of(object)->isFinal)
    return DnnBadParam;
  Setting &attribute = of(object)->attributes[name];
  if (type == DnnOfObject) {
    auto *given = static_cast<const DnnObject *>(values);
    for (int64_t i = 0; i < count; ++i) {
      if (!of(given[i])->isFinal)
        return DnnNotFinalized;
      attribute.objects.push_back(of(given[i]));
    }
    return DnnSuccess;
  }
  bool isWord = type == DnnOfI64 || type == DnnOfPointer || type == DnnOfHandle;
  size_t size = isWord ? 8 : type == DnnOfBool ? sizeof(bool) : sizeof(int);
  auto *begin = static_cast<const char *>(values);
  attribute.bytes.assign(begin, begin + size_t(count) * size);
  return DnnSuccess;
}

DnnStatus cudnnBackendGetAttribute(DnnObject object, DnnAttribute name, DnnValue, int64_t wanted,
                                   int64_t *count, void *values) {
  if (!of(object)->isFinal)
    return DnnNotFinalized;
  *count = 1;
  if (name == DnnPlanWorkspace) {
    *static_cast<int64_t *>(values) = kWorkspace;
  } else if (name == DnnHeuristicResults) {
    *count = wanted < 1 ? kAdvice : std::min(wanted, kAdvice);
    for (int64_t i = 0; i < std::min(wanted, kAdvice); ++i) {
      Object &made = *of(static_cast<DnnObject *>(values)[i]);
      made.attributes[DnnConfigurationEngine].objects = {
          of(object)->attributes.at(DnnHeuristicGraph).objects.at(0)};
      made.advice = i;
      made.isFinal = true;
    }
  } else {
    return DnnNotSupported;
  }
  return DnnSuccess;
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
