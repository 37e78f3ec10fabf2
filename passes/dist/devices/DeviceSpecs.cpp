// Shards numbered on devices, and splits over mesh axes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/devices/DeviceSpecs.h"

#include "llvm/ADT/DenseMap.h"
#include <limits>

using namespace mlir;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;

namespace weft::dist {

namespace {

/// One split: how many shards of a factor of dim `dim`, and the axes found for it.
struct Split {
  int64_t dim, shards;
  AxisList axes;
};

/// What a dim is cut into; "?" stands where its split does.
struct Dim {
  int64_t number;
  std::string text;
};

class SpecReader {
public:
  SpecReader(onnx::ShardingSpecAttr spec, const Mesh &mesh, std::optional<int64_t> stage)
      : spec(spec), mesh(mesh), stage(mesh.stageAxis() ? stage : std::nullopt) {}

  Expected<std::string> read() {
    if (Error wrong = readDims())
      return std::move(wrong);
    if (Error wrong = findHolders())
      return std::move(wrong);
    if (Error wrong = findAxes())
      return std::move(wrong);
    return print();
  }

private:
  Error readDims() {
    if (spec.getShardedDim())
      for (auto dim : spec.getShardedDim().getAsRange<onnx::ShardedDimAttr>())
        if (Error wrong = readDim(dim))
          return wrong;
    return Error::success();
  }

  Error readDim(onnx::ShardedDimAttr dim) {
    int64_t number = dim.getAxis() ? dim.getAxis().getInt() : 0;
    if (number < 0)
      return createStringError("its axis counts from the end");
    if (number > std::numeric_limits<int32_t>::max())
      return createStringError("there is no dim " + Twine(number));
    for (const Dim &other : dims)
      if (other.number == number)
        return createStringError("dim " + Twine(number) + " is named twice");
    std::string text;
    if (dim.getFactors())
      for (auto factor : dim.getFactors().getAsRange<onnx::ShardedFactorAttr>()) {
        text += text.empty() ? "" : "*";
        int64_t shards = factor.getNumShards() ? factor.getNumShards().getInt() : 1;
        if (shards > 1) {
          if (StringRef(text).contains('?'))
            return createStringError("two factors of one dim are split");
          text += "?";
          splits.push_back({number, shards, {}});
        } else if (auto size = dyn_cast_or_null<IntegerAttr>(factor.getDim())) {
          if (size.getInt() < 1)
            return createStringError("a factor has " + Twine(size.getInt()) + " elements");
          text += std::to_string(size.getInt());
        } else if (dim.getFactors().size() > 1) {
          return createStringError("a factor beside the split one has no extent");
        }
      }
    dims.push_back({number, text});
    return Error::success();
  }

  /// Which shard each device of the mesh holds.
  Error findHolders() {
    DenseMap<int64_t, ArrayRef<int64_t>> groups;
    if (spec.getDeviceGroups())
      for (auto group : spec.getDeviceGroups().getAsRange<onnx::DeviceGroupAttr>())
        if (group.getKey() && group.getDevices())
          groups.try_emplace(group.getKey().getInt(), group.getDevices().asArrayRef());
    ArrayRef<int64_t> devices =
        spec.getDevice() ? spec.getDevice().asArrayRef() : ArrayRef<int64_t>();
    auto membersOf = [&](const int64_t &device) {
      auto group = groups.find(device);
      return group == groups.end() ? ArrayRef<int64_t>(device) : group->second;
    };
    // Asked first, so that a file of a few bytes cannot make much work.
    int64_t named = 0, all = mesh.deviceCount(), axis = mesh.stageAxis().value_or(0);
    for (const int64_t &device : devices)
      named += membersOf(device).size();
    bool areOfStage = stage && named != all;
    if (named != (areOfStage ? all / mesh.size(axis) : all))
      return createStringError("it names " + Twine(named) + " devices, the mesh has " + Twine(all));
    SmallVector<std::pair<int64_t, int64_t>> held; // device, shard
    for (size_t shard = 0; shard < devices.size(); ++shard)
      for (int64_t member : membersOf(devices[shard]))
        held.push_back({member, static_cast<int64_t>(shard)});
    Mesh whole = mesh;
    if (areOfStage)
      mesh.axes.erase(mesh.axes.begin() + axis);
    holder.assign(named, -1);
    for (auto [device, shard] : held) {
      if (device < 0 || device >= all)
        return createStringError("device " + Twine(device) + " is not on the mesh");
      SmallVector<int64_t, 4> at = whole.coordinates(device);
      if (areOfStage && at[axis] != *stage)
        return createStringError("device " + Twine(device) + " is of stage " + Twine(at[axis]) +
                                 ", its node of stage " + Twine(*stage));
      if (areOfStage)
        at.erase(at.begin() + axis);
      holder[mesh.rank(at)] = shard;
    }
    if (llvm::is_contained(holder, -1))
      return createStringError("some device of the mesh holds nothing");
    return Error::success();
  }

  /// In a split over axes the shard's number is a sum of strides, one an axis, so
  /// the devices one step from the first along each axis tell all of them.
  Error findAxes() {
    SmallVector<std::pair<int64_t, AxisId>> strides;
    int64_t step = 1; // in process ranks, of the axis at hand
    for (size_t i = mesh.axes.size(); i-- > 0;) {
      if (mesh.axes[i].size > 1 && holder[step] != holder[0]) {
        if (mesh.axes[i].kind == AxisKind::Stages)
          return createStringError("it splits over '" + mesh.axes[i].name +
                                   "', whose devices are stages of a pipeline");
        strides.push_back({holder[step] - holder[0], static_cast<AxisId>(i)});
      }
      step *= mesh.axes[i].size;
    }
    llvm::sort(strides, std::greater<>());
    size_t next = 0;
    for (Split &split : splits)
      for (int64_t rest = split.shards; rest > 1;) {
        if (next == strides.size() || rest % mesh.size(strides[next].second) != 0)
          return createStringError("no axes of the mesh put the shards on those devices");
        rest /= mesh.size(strides[next].second);
        split.axes.push_back(strides[next++].second);
      }
    if (next != strides.size() || !fits())
      return createStringError("no axes of the mesh put the shards on those devices");
    return Error::success();
  }

  bool fits() const {
    for (auto [device, shard] : llvm::enumerate(holder)) {
      int64_t expected = 0;
      for (const Split &split : splits)
        expected = expected * split.shards + mesh.memberIndex(split.axes, mesh.coordinates(device));
      if (expected != shard)
        return false;
    }
    return true;
  }

  std::string print() const {
    std::string result;
    for (const Dim &dim : dims) {
      std::string axes;
      for (const Split &split : splits)
        if (split.dim == dim.number)
          for (AxisId axis : split.axes)
            axes += (axes.empty() ? "" : "+") + mesh.axes[axis].name;
      std::string parts = dim.text;
      if (axes.empty())
        parts = "-";
      else
        parts.replace(parts.find('?'), 1, axes);
      result += (result.empty() ? "dim" : ",dim") + std::to_string(dim.number) + ":" + parts;
    }
    return result;
  }

  onnx::ShardingSpecAttr spec;
  Mesh mesh; // of the devices that are named
  std::optional<int64_t> stage;
  SmallVector<Split> splits;
  SmallVector<Dim> dims;
  SmallVector<int64_t> holder;
};

} // namespace

Expected<std::string> placementText(onnx::ShardingSpecAttr spec, const Mesh &mesh,
                                    std::optional<int64_t> stage) {
  return SpecReader(spec, mesh, stage).read();
}

Expected<onnx::ShardingSpecAttr> shardingSpec(MLIRContext *context, StringRef tensor,
                                              const Placement &placement, const Mesh &mesh,
                                              std::optional<int64_t> stage) {
  if (!placement.partial.empty())
    return createStringError("a sum is still due over some axis, which the format cannot say");
  Builder builder(context);
  auto number = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  SmallVector<Attribute> dims;
  AxisList all; // of all splits, major first
  int64_t shards = 1;
  for (auto [d, dim] : llvm::enumerate(placement.dims)) {
    unsigned split =
        llvm::count_if(dim, [](const PlacedFactor &part) { return !part.axes.empty(); });
    if (split == 0)
      continue;
    if (split > 1)
      return createStringError("two factors of one dim are split");
    SmallVector<Attribute> factors;
    for (const PlacedFactor &part : dim) {
      int64_t count = mesh.groupSize(part.axes);
      shards *= count;
      llvm::append_range(all, part.axes);
      // The extent of a whole dim is the model's to say: it may be symbolic.
      factors.push_back(onnx::ShardedFactorAttr::get(
          context, dim.size() > 1 ? number(part.size) : Attribute(), number(count)));
    }
    dims.push_back(onnx::ShardedDimAttr::get(context, number(d), builder.getArrayAttr(factors)));
  }
  std::vector<SmallVector<int64_t>> holders(shards);
  for (int64_t device = 0; device < mesh.deviceCount(); ++device) {
    SmallVector<int64_t, 4> at = mesh.coordinates(device);
    if (!stage || at[*mesh.stageAxis()] == *stage)
      holders[mesh.memberIndex(all, at)].push_back(device);
  }
  SmallVector<int64_t> devices;
  SmallVector<Attribute> groups;
  for (auto [shard, members] : llvm::enumerate(holders)) {
    if (members.size() == 1) {
      devices.push_back(members.front());
      continue;
    }
    // Keys of groups are negative, so that none is a device.
    devices.push_back(-1 - static_cast<int64_t>(shard));
    groups.push_back(onnx::DeviceGroupAttr::get(context, number(devices.back()),
                                                builder.getDenseI64ArrayAttr(members)));
  }
  return onnx::ShardingSpecAttr::get(context, builder.getStringAttr(tensor),
                                     builder.getDenseI64ArrayAttr(devices),
                                     groups.empty() ? ArrayAttr() : builder.getArrayAttr(groups),
                                     dims.empty() ? ArrayAttr() : builder.getArrayAttr(dims));
}

StringRef stateOrInputName(Value value) {
  StringAttr name;
  if (auto weight = value.getDefiningOp<onnx::InitializerOp>()) {
    name = weight.getValue().getName();
  } else if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto graph = dyn_cast<onnx::GraphOp>(argument.getOwner()->getParentOp());
    ArrayAttr inputs = graph ? graph.getInfo().getInputs() : ArrayAttr();
    if (inputs && argument.getArgNumber() < inputs.size())
      if (auto info = dyn_cast<onnx::ValueInfoAttr>(inputs[argument.getArgNumber()]))
        name = info.getName();
  }
  return name ? name.getValue() : StringRef();
}

StringRef labelOf(onnx::NodeOp node) {
  auto name = node.getLoc()->findInstanceOf<NameLoc>();
  return name ? name.getName().getValue() : StringRef();
}

StringRef placeableName(onnx::NodeOp node) {
  return node->getNumResults() == 1 ? labelOf(node) : StringRef();
}

} // namespace weft::dist
