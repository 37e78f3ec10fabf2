// cuDNN's backend graph interface, opened at run time: descriptors, tensors,
// operations, plans.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "Library.h"
#include "Report.h"

#include <cudnn.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft::gpukit {

struct Cudnn {
  Cudnn();
  void check(cudnnStatus_t status, const std::string &call) const;
  /// Needs a device; everything but plans works without.
  void createHandle(cudaStream_t stream);
  ~Cudnn();
  Cudnn(const Cudnn &) = delete;

  Library library;
  cudnnHandle_t handle = nullptr;

  decltype(&cudnnGetVersion) getVersion;
  decltype(&cudnnGetErrorString) errorString;
  decltype(&cudnnGetLastErrorString) lastErrorString;
  decltype(&cudnnCreate) create;
  decltype(&cudnnDestroy) destroy;
  decltype(&cudnnSetStream) setStream;
  decltype(&cudnnBackendCreateDescriptor) createDescriptor;
  decltype(&cudnnBackendDestroyDescriptor) destroyDescriptor;
  decltype(&cudnnBackendFinalize) finalize;
  decltype(&cudnnBackendSetAttribute) setAttribute;
  decltype(&cudnnBackendGetAttribute) getAttribute;
  decltype(&cudnnBackendExecute) execute;
};

/// One backend descriptor, destroyed at the end of its scope.
class Descriptor {
public:
  Descriptor(const Cudnn &cudnn, cudnnBackendDescriptorType_t type);
  ~Descriptor();
  Descriptor(Descriptor &&other) noexcept
      : cudnn(other.cudnn), descriptor(std::exchange(other.descriptor, nullptr)) {}

  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
           const void *values);
  template <typename Value>
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const Value &value) {
    set(name, type, 1, &value);
  }
  void set(cudnnBackendAttributeName_t name, const Descriptor &value) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value.descriptor);
  }
  void finalize(const char *what);
  cudnnBackendDescriptor_t raw() const { return descriptor; }
  cudnnBackendDescriptor_t *address() { return &descriptor; }

private:
  const Cudnn &cudnn;
  cudnnBackendDescriptor_t descriptor = nullptr;
};

using Extents = std::vector<int64_t>;

/// Strides of a contiguous tensor in the order of its dimensions.
Extents contiguous(const Extents &dims);

/// A tensor of a graph: `uid` names it in the variant pack unless it is
/// virtual.
struct Tensor {
  int64_t uid;
  Extents dims, strides;
  std::shared_ptr<Descriptor> descriptor;
};

/// Operations in the order they are added, then one operation graph. It owns
/// every descriptor of the graph, which must not outlive it.
class GraphBuilder {
public:
  explicit GraphBuilder(const Cudnn &cudnn) : cudnn(cudnn) {}

  Tensor real(Extents dims, Extents strides, cudnnDataType_t type);
  Tensor temporary(Extents dims, Extents strides, cudnnDataType_t type);
  /// A float passed by value; the caller keeps it alive until execution.
  Tensor scalar();

  void matmul(const Tensor &a, const Tensor &b, const Tensor &c);
  void pointwise(cudnnPointwiseMode_t mode, const Tensor &x, const Tensor *b, const Tensor *select,
                 const Tensor &y, cudnnDataType_t compute = CUDNN_DATA_FLOAT, int64_t axis = -1);
  void reduce(cudnnReduceTensorOp_t mode, const Tensor &x, const Tensor &y);
  void reshape(const Tensor &x, const Tensor &y);

  size_t operationCount() const { return operations.size(); }
  /// The finalized operation graph.
  std::unique_ptr<Descriptor> finish();

private:
  Tensor tensor(Extents dims, Extents strides, cudnnDataType_t type, bool isVirtual, bool byValue);

  const Cudnn &cudnn;
  int64_t nextUid = 1;
  std::vector<Descriptor> operations, details;
  std::vector<std::shared_ptr<Descriptor>> tensors;
};

/// A device property descriptor: of device 0, or read from JSON taken on
/// another machine.
std::unique_ptr<Descriptor> deviceProperties(const Cudnn &cudnn);
std::unique_ptr<Descriptor> deviceProperties(const Cudnn &cudnn, const std::string &json);
std::string toJsonText(const Cudnn &cudnn, const Descriptor &properties);

struct Plan {
  std::unique_ptr<Descriptor> descriptor;
  std::vector<Descriptor> configurations; ///< kept alive with the plan
  int64_t workspaceBytes = 0;
  size_t configuration = 0; ///< which of the heuristic's answers became the plan
  double heuristicMs = 0, buildMs = 0;
};

/// The first configuration of heuristic mode A that builds. `properties` stands
/// in for a device where given.
Plan buildPlan(const Cudnn &cudnn, const Descriptor &graph, const Descriptor *properties = nullptr);

/// Runs a plan with these tensors at these addresses (host addresses for
/// scalars).
void execute(const Cudnn &cudnn, const Plan &plan,
             const std::vector<std::pair<int64_t, void *>> &pointers, void *workspace);

} // namespace weft::gpukit
