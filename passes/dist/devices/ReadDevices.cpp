// From the device configurations of a model file to placements on mesh axes.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/Passes.h"
#include "passes/dist/RequireMesh.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/NodeStages.h"
#include "passes/dist/devices/DeviceSpecs.h"

#include "mlir/IR/Remarks.h"

#include <map>

using namespace mlir;

namespace weft::dist {
#define GEN_PASS_DEF_DISTREADDEVICES
#include "passes/dist/Passes.h.inc"

namespace {

StringRef textOf(StringAttr attribute) { return attribute ? attribute.getValue() : StringRef(); }

template <typename Visit> void forEachNode(ModuleOp module, Visit visit) {
  module.walk([&](onnx::GraphOp graph) {
    for (auto node : graph.getBody().front().getOps<onnx::NodeOp>())
      visit(node);
  });
}

/// Configurations by name with their numbers of devices, in the order of the file.
SmallVector<std::pair<std::string, int64_t>> configurationsOf(ModuleOp module) {
  SmallVector<std::pair<std::string, int64_t>> result;
  onnx::ModelAttr model = onnx::getModel(module);
  if (model && model.getConfiguration())
    for (auto entry : model.getConfiguration().getAsRange<onnx::DeviceConfigurationAttr>())
      result.push_back({textOf(entry.getName()).str(),
                        entry.getNumDevices() ? entry.getNumDevices().getInt() : 0});
  return result;
}

class Reader {
public:
  Reader(ModuleOp module, Mesh mesh, StringRef configuration, bool tells)
      : module(module), mesh(std::move(mesh)), configuration(configuration), tells(tells) {}

  void run() {
    forEachNode(module, [&](onnx::NodeOp node) {
      readNode(node);
      readStage(node);
    });
  }

  void write() {
    if (!wrongStage)
      writeStages();
    SmallVector<NamedAttribute> entries;
    for (auto &[name, placement] : placements)
      entries.push_back({StringAttr::get(module.getContext(), name),
                         StringAttr::get(module.getContext(), placement)});
    if (!entries.empty())
      module->setAttr(kDevicesAttr, DictionaryAttr::get(module.getContext(), entries));
    if (dropped > 0)
      module.emitWarning() << dropped << " of " << asked << " splits that device configuration '"
                           << configuration << "' asks for are not kept; remarks say which and why";
  }

  unsigned asked = 0, dropped = 0;
  int64_t stages = 1; ///< that nodes are said to be of

private:
  void drop(onnx::NodeOp node, const Twine &text) {
    ++dropped;
    if (tells)
      remark::missed(node->getLoc(),
                     remark::RemarkOpts::name("device-hint").category("dist-read-devices"))
          << text.str();
  }

  template <typename Visit> void forEachEntry(onnx::NodeOp node, Visit visit) {
    ArrayAttr devices = node.getDeviceConfigurationsAttr();
    for (Attribute attribute : devices ? devices.getValue() : ArrayRef<Attribute>())
      if (auto entry = dyn_cast<onnx::NodeDeviceConfigurationAttr>(attribute))
        if (textOf(entry.getConfigurationId()) == configuration)
          visit(entry);
  }

  template <typename Visit> void forEachSpec(onnx::NodeOp node, Visit visit) {
    forEachEntry(node, [&](onnx::NodeDeviceConfigurationAttr entry) {
      if (entry.getShardingSpec())
        for (auto spec : entry.getShardingSpec().getAsRange<onnx::ShardingSpecAttr>())
          visit(spec);
    });
  }

  std::optional<int64_t> stageOf(onnx::NodeOp node) {
    std::optional<int64_t> stage;
    forEachEntry(node, [&](onnx::NodeDeviceConfigurationAttr entry) {
      if (entry.getPipelineStage())
        stage = entry.getPipelineStage().getInt();
    });
    return stage;
  }

  /// A stage that there is not makes no sense of the others.
  void readStage(onnx::NodeOp node) {
    std::optional<int64_t> stage = stageOf(node);
    if (!stage)
      return;
    stages = std::max(stages, *stage + 1);
    std::optional<AxisId> axis = mesh.stageAxis();
    int64_t count = axis ? mesh.size(*axis) : 1;
    if (tells && !wrongStage && (*stage < 0 || *stage >= count)) {
      wrongStage = true;
      InFlightDiagnostic warning = node.emitWarning()
                                   << "device configuration '" << configuration
                                   << "' asks for stage " << *stage << " here, but the mesh has ";
      if (axis)
        warning << count << " stages, from 0 to " << count - 1;
      else
        warning << "no axis of stages";
      warning << ": its stages are not used";
    }
    StringRef name = labelOf(node);
    if (auto [known, isNew] = nodeStages.try_emplace(name.str(), *stage);
        !isNew && known->second != *stage) {
      if (tells)
        remark::missed(node->getLoc(),
                       remark::RemarkOpts::name("device-hint").category("dist-read-devices"))
            << ("stages of the nodes named '" + name + "' are not kept: they differ").str();
      known->second = kDiffer;
    }
  }

  void writeStages() {
    Builder builder(module.getContext());
    SmallVector<NamedAttribute> entries;
    for (auto &[name, stage] : nodeStages)
      if (mesh.stageAxis() && stage != kDiffer)
        entries.push_back(builder.getNamedAttr(name, builder.getI64IntegerAttr(stage)));
    if (!entries.empty())
      module->setAttr(kNodeStagesAttr, builder.getDictionaryAttr(entries));
  }

  void readNode(onnx::NodeOp node) {
    forEachSpec(node, [&](onnx::ShardingSpecAttr spec) {
      ++asked;
      StringRef tensor = textOf(spec.getTensorName());
      std::string target = targetOf(node, tensor);
      if (target.empty()) {
        if (!isAsProduced(node, spec))
          drop(node,
               "split of '" + tensor + "' where it is read is not kept: its producer decides");
        return;
      }
      llvm::Expected<std::string> placement = placementText(spec, mesh, stageOf(node));
      if (!placement)
        return drop(node, "split of '" + tensor +
                              "' is not kept: " + llvm::toString(placement.takeError()));
      auto [known, isNew] = placements.try_emplace(target, *placement);
      if (!isNew && known->second != *placement)
        drop(node, "split of '" + tensor + "' is not kept: another node asks for '" +
                       known->second + "'");
    });
  }

  /// The name under which `nn` knows the tensor: a weight or input by its own, an
  /// output by its node.
  static std::string targetOf(onnx::NodeOp node, StringRef tensor) {
    if (node->getNumResults() == 1 && node.getOutputName(0) == tensor)
      return placeableName(node).str();
    for (Value input : node.getInputs())
      if (StringRef name = stateOrInputName(input); !name.empty() && name == tensor)
        return tensor.str();
    return "";
  }

  /// True if the node that makes the tensor is asked for the same split of it.
  bool isAsProduced(onnx::NodeOp reader, onnx::ShardingSpecAttr wanted) {
    bool found = false;
    for (Value input : reader.getInputs())
      if (auto producer = input.getDefiningOp<onnx::NodeOp>())
        forEachSpec(producer, [&](onnx::ShardingSpecAttr spec) { found |= spec == wanted; });
    return found;
  }

  ModuleOp module;
  Mesh mesh;
  std::string configuration;
  bool tells;
  std::map<std::string, std::string> placements;
  static constexpr int64_t kDiffer = -1;
  std::map<std::string, int64_t> nodeStages;
  bool wrongStage = false;
};

/// Prime factors, ascending.
SmallVector<int64_t> primeFactors(int64_t number) {
  SmallVector<int64_t> factors;
  for (int64_t prime = 2; number > 1; ++prime)
    for (; number % prime == 0; number /= prime)
      factors.push_back(prime);
  return factors;
}

Mesh withStages(Mesh mesh, StringRef axis) {
  for (AxisId id : mesh.resolve(axis))
    mesh.axes[id].kind = AxisKind::Stages;
  return mesh;
}

struct ReadDevices : impl::DistReadDevicesBase<ReadDevices> {
  using DistReadDevicesBase::DistReadDevicesBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::optional<Mesh> given = meshOf(module);
    if (!given)
      return signalPassFailure();
    std::string chosen = configuration;
    if (chosen.empty() && !choose(module, *given, chosen))
      return;
    Reader reader(module, *given, chosen, /*tells=*/true);
    reader.run();
    reader.write();
  }

  std::optional<Mesh> meshOf(ModuleOp module) {
    if (!mesh.empty()) {
      std::optional<Mesh> given = parseMesh(module, mesh);
      return given ? withStages(*given, stages) : given;
    }
    if (MeshAttr attribute = requireMesh(module))
      return attribute.getValue();
    return std::nullopt;
  }

  /// The configuration named as the mesh, else the first for as many devices.
  bool choose(ModuleOp module, const Mesh &given, std::string &chosen) {
    int64_t devices = given.deviceCount();
    SmallVector<std::pair<std::string, int64_t>> all = configurationsOf(module);
    if (all.empty())
      return false;
    auto found = llvm::find(all, std::pair(toString(given), devices));
    if (found == all.end())
      found = llvm::find_if(all, [&](auto &entry) { return entry.second == devices; });
    if (found == all.end()) {
      module.emitWarning() << "the mesh has " << devices
                           << " devices, but the model's device configuration '"
                           << all.front().first << "' is for " << all.front().second
                           << ": its splits are not used";
      return false;
    }
    chosen = found->first;
    return true;
  }
};

} // namespace

bool hasDeviceConfigurations(ModuleOp module) { return !configurationsOf(module).empty(); }

bool asksForStages(ModuleOp module, int64_t devices) {
  return llvm::any_of(configurationsOf(module), [&](const auto &entry) {
    Reader reader(module, Mesh(), entry.first, /*tells=*/false);
    reader.run();
    return entry.second == devices && reader.stages > 1;
  });
}

std::optional<ConfiguredMesh> configuredMesh(ModuleOp module, StringRef stages) {
  SmallVector<std::pair<std::string, int64_t>> all = configurationsOf(module);
  // Mesh::parse has the same bound.
  if (all.empty() || all.front().second < 2 || all.front().second > (1 << 20))
    return std::nullopt;
  const auto &[name, devices] = all.front();
  if (std::optional<Mesh> named = Mesh::parse(name); named && named->deviceCount() == devices)
    return ConfiguredMesh{*named, name};
  Reader whole(module, Mesh(), name, /*tells=*/false);
  whole.run();
  std::string before;
  int64_t rest = devices;
  if (whole.stages > 1 && devices % whole.stages == 0) {
    rest /= whole.stages;
    before = (stages + "=" + Twine(whole.stages) + (rest > 1 ? "," : "")).str();
  }
  SmallVector<int64_t> factors = primeFactors(rest);
  // Few numbers of devices have many orders, and those are no grids of people.
  unsigned orders = 24, best = ~0u;
  std::string text;
  do {
    std::string candidate = before;
    for (auto [i, factor] : llvm::enumerate(factors))
      candidate += (i ? "x" : "devices=") + std::to_string(factor);
    Reader reader(module, withStages(*Mesh::parse(candidate), stages), name, /*tells=*/false);
    reader.run();
    if (reader.dropped < best) {
      best = reader.dropped;
      text = candidate;
    }
  } while (best > 0 && --orders > 0 && std::next_permutation(factors.begin(), factors.end()));
  return ConfiguredMesh{*Mesh::parse(text), name};
}

} // namespace weft::dist
