// cuDNN's operation graphs and the plans made of them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_CUDNNGRAPH_H
#define WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_CUDNNGRAPH_H

#include "device/cuda/libraries/Cudnn.h"

#include <deque>
#include <memory>
#include <utility>
#include <vector>

namespace weft::runtime::cuda {

using Extents = std::vector<int64_t>;

/// Strides of a tensor without gaps, its last dim innermost.
Extents contiguous(const Extents &sizes);

/// One of the library's objects. The first failure is remembered, and nothing is asked of the
/// object from there on.
class CudnnObject {
public:
  CudnnObject(const Cudnn &cudnn, DnnKind kind);
  ~CudnnObject();
  CudnnObject(const CudnnObject &) = delete;

  void set(DnnAttribute attribute, DnnValue type, int64_t count, const void *values);
  void set(DnnAttribute attribute, int64_t value) { set(attribute, DnnOfI64, 1, &value); }
  void set(DnnAttribute attribute, bool value) { set(attribute, DnnOfBool, 1, &value); }
  void set(DnnAttribute attribute, void *value) { set(attribute, DnnOfPointer, 1, &value); }
  void set(DnnAttribute attribute, DnnHandle value) { set(attribute, DnnOfHandle, 1, &value); }
  void set(DnnAttribute attribute, DnnType value) { set(attribute, DnnOfType, 1, &value); }
  void set(DnnAttribute attribute, DnnFunction value) { set(attribute, DnnOfFunction, 1, &value); }
  void set(DnnAttribute attribute, DnnReduce value) { set(attribute, DnnOfReduction, 1, &value); }
  void set(DnnAttribute attribute, DnnHeuristicKind value) {
    set(attribute, DnnOfHeuristic, 1, &value);
  }
  void set(DnnAttribute attribute, const CudnnObject &value) {
    set(attribute, DnnOfObject, 1, &value.object);
  }
  void set(DnnAttribute attribute, const Extents &values) {
    set(attribute, DnnOfI64, int64_t(values.size()), values.data());
  }
  /// Asks it for something.
  Status get(DnnAttribute attribute, DnnValue type, int64_t wanted, int64_t *count, void *values);
  /// Nothing of it changes any more; what it is, for the message of a failure.
  Status finalize(const char *what);

  const Cudnn &library() const { return cudnn; }
  DnnObject raw() const { return object; }

private:
  const Cudnn &cudnn;
  DnnObject object = nullptr;
  Status status;
};

/// Operations in the order in which they are added. Owns all that they are made of. The first
/// failure is remembered, and `finish` tells it.
class CudnnGraph {
public:
  using Tensor = const CudnnObject *;

  explicit CudnnGraph(const Cudnn &cudnn) : cudnn(cudnn), whole(cudnn, DnnGraph) {}

  /// A tensor in memory, which is named by its number when the graph is executed: below
  /// kFirstTemporary.
  Tensor real(int64_t number, DnnType type, const Extents &sizes, const Extents &strides);
  /// An f32 that is handed in by value.
  Tensor scalar(int64_t number);
  /// What only the operations see.
  Tensor temporary(DnnType type, const Extents &sizes, const Extents &strides);

  /// All compute in f32.
  void product(Tensor a, Tensor b, Tensor c);
  void reduce(DnnReduce function, Tensor x, Tensor y);
  /// y = f(x), f(x, b) or, of the type that f gives, x where `select` holds and else b.
  void pointwise(DnnFunction function, Tensor x, Tensor b, Tensor y, Tensor select = nullptr);
  /// y = x >= b.
  void compare(Tensor x, Tensor b, Tensor y);
  /// y = the position along `axis`, of the sizes of x.
  void index(int64_t axis, Tensor x, Tensor y);
  /// y: the memory of x, read with the sizes and strides of y.
  void reshape(Tensor x, Tensor y);

  Status finish();
  const CudnnObject &operations() const { return whole; }

  static constexpr int64_t kFirstTemporary = 100;

private:
  Tensor tensor(int64_t number, DnnType type, const Extents &sizes, const Extents &strides,
                bool isVirtual, bool isByValue);
  void keep(const Status &made);
  CudnnObject &add(DnnKind kind) { return objects.emplace_back(cudnn, kind); }
  void addPointwise(DnnFunction function, DnnType compute, int64_t axis, Tensor x, Tensor b,
                    Tensor y, Tensor select);

  const Cudnn &cudnn;
  std::deque<CudnnObject> objects; // whose places stay
  std::vector<DnnObject> added;    // the operations among them
  CudnnObject whole;
  int64_t nextTemporary = kFirstTemporary;
  Status status;
};

/// How the library does a graph on this GPU.
class CudnnPlan {
public:
  /// Takes the library's first advice that it can follow, without measuring: runs take the same.
  /// The graph may go.
  static Status make(const Cudnn &cudnn, const CudnnGraph &graph, std::unique_ptr<CudnnPlan> &plan);

  uint64_t workspaceBytes() const { return uint64_t(workspace); }

private:
  friend class CudnnCall;
  explicit CudnnPlan(const Cudnn &cudnn) : plan(cudnn, DnnPlan) {}
  std::unique_ptr<CudnnObject> configuration;
  CudnnObject plan;
  int64_t workspace = 0;
};

/// A plan with the addresses of its tensors.
class CudnnCall {
public:
  /// Numbers of tensors and where they are: on the device, but of scalars on the host, which stay
  /// there.
  using Places = std::vector<std::pair<int64_t, void *>>;
  CudnnCall(const Cudnn &cudnn, const CudnnPlan &plan) : plan(plan), pack(cudnn, DnnPack) {}

  Status bind(const Places &places, void *workspace);
  Status issue(Stream stream) const;

private:
  const CudnnPlan &plan;
  CudnnObject pack;
};

} // namespace weft::runtime::cuda

#endif // WEFT_RUNTIME_LIB_DEVICE_CUDA_LIBRARIES_CUDNNGRAPH_H
