// cuDNN's backend on a processor: what is set of its objects, and operations of its graphs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The emulated libraries of the runtime's tests and of the GPU kit stand on it. Graphs are
// interpreted operation by operation, in f64, on tensors with strides; what an operation writes is
// rounded to its type. Nothing here knows of attention.
#ifndef WEFT_TEST_EMULATION_CUDA_CUDNNBACKEND_H
#define WEFT_TEST_EMULATION_CUDA_CUDNNBACKEND_H

#include "base/Convert.h"
#include "device/cuda/libraries/CudnnApi.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

namespace weft::emulated::dnn {

using namespace runtime;
using namespace runtime::cuda;

/// Ways to do a graph that are advised, of which each would do.
constexpr int64_t kAdvice = 2;

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

inline Ref &of(DnnObject object) { return *static_cast<Ref *>(object); }

/// What tests of a reader of results have it do wrong.
struct Mistakes {
  bool takesTurns = false;  ///< heads share keys by turns, not with their neighbours
  bool dropsFirst = false;  ///< products leave out the first addend
  bool seesOneLess = false; ///< of what is greater or equal, the equal
};

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
  double readShared(const int64_t *index, const std::vector<int64_t> &outer,
                    const Mistakes &mistakes) const {
    int64_t mine[4] = {index[0], index[1], index[2], index[3]};
    for (size_t d = 0; d < 2; ++d)
      mine[d] = mistakes.takesTurns ? mine[d] % sizes[d] : mine[d] / (outer[d] / sizes[d]);
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

/// Where tensors are, by number.
using Memory = std::map<int64_t, char *>;

class Execution {
public:
  explicit Execution(Memory memory, Mistakes mistakes = {})
      : memory(std::move(memory)), mistakes(mistakes) {}

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
      for (int64_t k = mistakes.dropsFirst; k < a.sizes[3]; ++k) {
        const int64_t left[] = {i[0], i[1], i[2], k}, right[] = {i[0], i[1], k, i[3]};
        sum += a.readShared(left, c.sizes, mistakes) * b.readShared(right, c.sizes, mistakes);
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
        return double(mistakes.seesOneLess ? left > right : left >= right);
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
  Mistakes mistakes;
  std::map<int64_t, Tensor> tensors;
};

inline const Ref &graphOf(const Object &configuration) {
  return configuration.attributes.at(DnnConfigurationEngine).objects.at(0);
}

inline DnnStatus setAttribute(DnnObject object, DnnAttribute name, DnnValue type, int64_t count,
                              const void *values) {
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

/// `workspace`: the bytes that a plan asks for.
inline DnnStatus getAttribute(DnnObject object, DnnAttribute name, int64_t wanted, int64_t *count,
                              void *values, int64_t workspace) {
  if (!of(object)->isFinal)
    return DnnNotFinalized;
  *count = 1;
  if (name == DnnPlanWorkspace) {
    *static_cast<int64_t *>(values) = workspace;
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

} // namespace weft::emulated::dnn

#endif // WEFT_TEST_EMULATION_CUDA_CUDNNBACKEND_H
