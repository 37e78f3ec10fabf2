// From the device configurations of a model file to placements on mesh axes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/Passes.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/onnx/IR/Onnx.h"

#include "mlir/IR/Remarks.h"

#include <map>

using namespace mlir;

namespace weft::dist {
#define GEN_PASS_DEF_DISTREADDEVICES
#include "passes/dist/Passes.h.inc"

namespace {

/// One split: how many shards, of which factor of which dim.
struct Split {
  int64_t dim, shards;
  AxisList axes; // found
};

class Reader {
public:
  Reader(ModuleOp module, const Mesh &mesh, StringRef configuration)
      : module(module), mesh(mesh), configuration(configuration) {}

  void run() {
    module.walk([&](onnx::GraphOp graph) {
      for (auto node : graph.getBody().front().getOps<onnx::NodeOp>())
        readNode(node);
    });
    SmallVector<NamedAttribute> entries;
    for (auto &[name, placement] : placements)
      entries.push_back({StringAttr::get(module.getContext(), name),
                         StringAttr::get(module.getContext(), placement)});
    if (!entries.empty())
      module->setAttr(kDevicesAttr, DictionaryAttr::get(module.getContext(), entries));
  }

private:
  void drop(Operation *op, const Twine &text) {
    remark::missed(op->getLoc(), remark::RemarkOpts::name("device-hint").category("dist-read-devices"))
        << text.str();
  }

  void readNode(onnx::NodeOp node) {
    ArrayAttr devices = node.getDeviceConfigurationsAttr();
    if (!devices)
      return;
    for (auto entry : devices.getAsRange<onnx::NodeDeviceConfigurationAttr>()) {
      StringRef id = entry.getConfigurationId() ? entry.getConfigurationId().getValue() : "";
      if (configuration.empty())
        configuration = id.str();
      if (id != configuration || !entry.getShardingSpec())
        continue;
      for (auto spec : entry.getShardingSpec().getAsRange<onnx::ShardingSpecAttr>())
        readSpec(node, spec);
    }
  }

  void readSpec(onnx::NodeOp node, onnx::ShardingSpecAttr spec) {
    StringRef tensor = spec.getTensorName() ? spec.getTensorName().getValue() : "";
    std::string target = targetOf(node, tensor);
    if (target.empty())
      return drop(node, "split of '" + tensor + "' where it is read is not kept: its producer decides");
    std::string why;
    std::optional<std::string> placement = placementOf(spec, why);
    if (!placement)
      return drop(node, "split of '" + tensor + "' is not kept: " + why);
    placements[target] = *placement;
  }

  /// The name under which `nn` knows the tensor: a weight or input by its own, an
  /// output by its node.
  static std::string targetOf(onnx::NodeOp node, StringRef tensor) {
    for (unsigned i = 0; i < node->getNumResults(); ++i)
      if (node.getOutputName(i) == tensor && node->getNumResults() == 1)
        if (auto name = node.getLoc()->findInstanceOf<NameLoc>())
          return name.getName().str();
    auto graph = node->getParentOfType<onnx::GraphOp>();
    // Input names are those of the graph's value infos; a weight is an op.
    for (Value input : node.getInputs()) {
      if (auto weight = input.getDefiningOp<onnx::InitializerOp>()) {
        if (nameOf(weight) == tensor)
          return tensor.str();
      } else if (auto argument = dyn_cast<BlockArgument>(input)) {
        if (argumentName(graph, argument.getArgNumber()) == tensor)
          return tensor.str();
      }
    }
    return "";
  }

  static StringRef nameOf(onnx::InitializerOp weight) {
    StringAttr name = weight.getValue().getName();
    return name ? name.getValue() : StringRef();
  }

  static StringRef argumentName(onnx::GraphOp graph, unsigned index) {
    ArrayAttr inputs = graph.getInfo().getInputs();
    if (!inputs || index >= inputs.size())
      return "";
    auto info = dyn_cast<onnx::ValueInfoAttr>(inputs[index]);
    return info && info.getName() ? info.getName().getValue() : StringRef();
  }

  /// `dim0:tp,dim1:3*dp`, or why there is none.
  std::optional<std::string> placementOf(onnx::ShardingSpecAttr spec, std::string &why) {
    SmallVector<Split> splits;
    std::map<int64_t, std::string> texts; // per dim; "?" where the split stands
    ArrayAttr dims = spec.getShardedDim();
    if (!dims)
      dims = ArrayAttr::get(module.getContext(), {});
    for (auto dim : dims.getAsRange<onnx::ShardedDimAttr>())
      if (!readDim(dim, splits, texts[dim.getAxis() ? dim.getAxis().getInt() : 0], why))
        return std::nullopt;
    if (!findAxes(spec, splits, why))
      return std::nullopt;
    std::string result;
    for (auto &[dim, text] : texts) {
      std::string axes;
      for (const Split &split : splits)
        if (split.dim == dim)
          for (AxisId axis : split.axes)
            axes += (axes.empty() ? "" : "+") + mesh.axes[axis].name;
      std::string parts = text;
      size_t place = parts.find('?');
      if (axes.empty())
        parts = "-";
      else
        parts.replace(place, 1, axes);
      result += (result.empty() ? "dim" : ",dim") + std::to_string(dim) + ":" + parts;
    }
    return result;
  }

  static bool readDim(onnx::ShardedDimAttr dim, SmallVectorImpl<Split> &splits, std::string &text,
                      std::string &why) {
    if (dim.getAxis() && dim.getAxis().getInt() < 0) {
      why = "its axis counts from the end";
      return false;
    }
    bool split = false;
    if (!dim.getFactors())
      return true;
    for (auto factor : dim.getFactors().getAsRange<onnx::ShardedFactorAttr>()) {
      int64_t shards = factor.getNumShards() ? factor.getNumShards().getInt() : 1;
      text += text.empty() ? "" : "*";
      if (shards > 1) {
        if (split) {
          why = "two factors of one dim are split";
          return false;
        }
        split = true;
        text += "?";
        splits.push_back({dim.getAxis() ? dim.getAxis().getInt() : 0, shards, {}});
      } else if (auto size = dyn_cast_or_null<IntegerAttr>(factor.getDim())) {
        text += std::to_string(size.getInt());
      } else {
        why = "a factor beside the split one has no extent";
        return false;
      }
    }
    return true;
  }

  /// Finds axes for each split such that every device holds the shard that the
  /// file gives it. Meshes have few axes: all choices are tried.
  bool findAxes(onnx::ShardingSpecAttr spec, SmallVectorImpl<Split> &splits, std::string &why) {
    SmallVector<int64_t> holder(mesh.deviceCount(), -1); // per device its shard
    ArrayRef<int64_t> devices = spec.getDevice() ? spec.getDevice().asArrayRef() : ArrayRef<int64_t>();
    for (auto [shard, device] : llvm::enumerate(devices))
      for (int64_t member : membersOf(spec, device)) {
        if (member < 0 || member >= mesh.deviceCount()) {
          why = "device " + std::to_string(member) + " is not on the mesh";
          return false;
        }
        holder[member] = shard;
      }
    if (llvm::is_contained(holder, -1)) {
      why = "some device of the mesh holds nothing";
      return false;
    }
    AxisList used;
    if (assign(splits, 0, used, holder))
      return true;
    why = "no axes of the mesh put the shards on those devices";
    return false;
  }

  static SmallVector<int64_t> membersOf(onnx::ShardingSpecAttr spec, int64_t device) {
    if (spec.getDeviceGroups())
      for (auto group : spec.getDeviceGroups().getAsRange<onnx::DeviceGroupAttr>())
        if (group.getKey() && group.getKey().getInt() == device && group.getDevices())
          return SmallVector<int64_t>(group.getDevices().asArrayRef());
    return {device};
  }

  bool assign(SmallVectorImpl<Split> &splits, size_t next, AxisList &used,
              ArrayRef<int64_t> holder) {
    if (next == splits.size())
      return fits(splits, holder);
    return extend(splits, next, used, holder, splits[next].shards);
  }

  /// Gives split `next` one more axis, or goes on to the next split.
  bool extend(SmallVectorImpl<Split> &splits, size_t next, AxisList &used,
              ArrayRef<int64_t> holder, int64_t rest) {
    if (rest == 1)
      return assign(splits, next + 1, used, holder);
    for (AxisId axis = 0; axis < static_cast<AxisId>(mesh.axes.size()); ++axis) {
      if (mesh.size(axis) == 1 || rest % mesh.size(axis) != 0 || llvm::is_contained(used, axis))
        continue;
      used.push_back(axis);
      splits[next].axes.push_back(axis);
      if (extend(splits, next, used, holder, rest / mesh.size(axis)))
        return true;
      splits[next].axes.pop_back();
      used.pop_back();
    }
    return false;
  }

  bool fits(ArrayRef<Split> splits, ArrayRef<int64_t> holder) {
    for (auto [device, shard] : llvm::enumerate(holder)) {
      int64_t expected = 0;
      for (const Split &split : splits)
        expected = expected * split.shards + mesh.memberIndex(split.axes, mesh.coordinates(device));
      if (expected != shard)
        return false;
    }
    return true;
  }

  ModuleOp module;
  const Mesh &mesh;
  std::string configuration;
  std::map<std::string, std::string> placements;
};

struct ReadDevices : impl::DistReadDevicesBase<ReadDevices> {
  using DistReadDevicesBase::DistReadDevicesBase;
  void runOnOperation() override {
    MeshAttr mesh = getMesh(getOperation());
    if (!mesh) {
      getOperation().emitError() << "has no mesh: attach one with --dist-attach-mesh";
      return signalPassFailure();
    }
    Reader(getOperation(), mesh.getValue(), configuration).run();
  }
};

} // namespace
} // namespace weft::dist
