// From placements on mesh axes to the device configurations of a model file.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/Passes.h"

#include "dialects/dist/IR/Dist.h"
#include "dialects/dist/IR/NodeStages.h"
#include "passes/dist/devices/DeviceSpecs.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace weft::dist {
#define GEN_PASS_DEF_DISTWRITEDEVICES
#include "passes/dist/Passes.h.inc"

namespace {

class Writer {
public:
  Writer(ModuleOp module, const Mesh &mesh, DictionaryAttr recorded, DictionaryAttr stages)
      : module(module), mesh(mesh), space(mesh), recorded(recorded), stages(stages) {
    // The format tells which device holds what, and microbatches are no devices.
    llvm::erase_if(space.axes,
                   [](const Mesh::Axis &axis) { return axis.kind == AxisKind::Temporal; });
    configuration = toString(space);
  }

  void run() {
    onnx::GraphOp graph = onnx::getMainGraph(module);
    countNames(graph);
    for (auto node : graph.getBody().front().getOps<onnx::NodeOp>())
      writeNode(node);
    writeModel();
    for (NamedAttribute entry : recorded)
      if (!written.contains(entry.getName()) &&
          !cast<PlacementAttr>(entry.getValue()).getValue().isReplicated())
        drop(entry.getName(), "no node of the file reads or makes a value of this name");
  }

private:
  void drop(StringRef name, const Twine &why) {
    remark::missed(module.getLoc(),
                   remark::RemarkOpts::name("device-hint").category("dist-write-devices"))
        << ("placement of '" + name + "' is not written: " + why).str();
  }

  /// Names of nodes need not be unique; one placement cannot be that of two.
  void countNames(onnx::GraphOp graph) {
    for (auto node : graph.getBody().front().getOps<onnx::NodeOp>())
      if (!names.insert(labelOf(node)).second)
        doubled.insert(labelOf(node));
  }

  IntegerAttr stageOf(onnx::NodeOp node) const {
    StringRef name = labelOf(node);
    return stages && !doubled.contains(name) ? stages.getAs<IntegerAttr>(name) : IntegerAttr();
  }

  void writeNode(onnx::NodeOp node) {
    SmallVector<Attribute> specs;
    llvm::StringSet<> read;
    IntegerAttr stage = stageOf(node);
    for (Value input : node.getInputs())
      if (StringRef name = stateOrInputName(input); !name.empty() && read.insert(name).second)
        addSpec(specs, name, name, stage);
    if (StringRef name = placeableName(node); !name.empty() && !doubled.contains(name))
      addSpec(specs, name, node.getOutputName(0), stage);
    SmallVector<Attribute> entries;
    Builder builder(module.getContext());
    if (!specs.empty() || stage)
      entries.push_back(onnx::NodeDeviceConfigurationAttr::get(
          module.getContext(), string(configuration),
          specs.empty() ? ArrayAttr() : builder.getArrayAttr(specs),
          stage ? builder.getI32IntegerAttr(int32_t(stage.getInt())) : IntegerAttr()));
    if (ArrayAttr others = node.getDeviceConfigurationsAttr())
      for (auto entry : others.getAsRange<onnx::NodeDeviceConfigurationAttr>())
        if (entry.getConfigurationId() != string(configuration))
          entries.push_back(entry);
    if (entries.empty())
      node.removeDeviceConfigurationsAttr();
    else
      node.setDeviceConfigurationsAttr(ArrayAttr::get(module.getContext(), entries));
  }

  /// A node's own stage has what the node reads, so the spec names the devices there.
  void addSpec(SmallVectorImpl<Attribute> &specs, StringRef name, StringRef tensor,
               IntegerAttr stage) {
    auto placement = recorded.getAs<PlacementAttr>(name);
    if (!placement || tensor.empty())
      return;
    written.insert(name);
    llvm::Expected<onnx::ShardingSpecAttr> spec =
        shardingSpec(module.getContext(), tensor, gatheredOverTime(mesh, placement.getValue()),
                     space, stage ? std::optional<int64_t>(stage.getInt()) : std::nullopt);
    if (spec)
      specs.push_back(*spec);
    else
      drop(name, llvm::toString(spec.takeError()));
  }

  /// Ours comes first: it is the one that is read if nobody chooses.
  void writeModel() {
    MLIRContext *context = module.getContext();
    onnx::ModelAttr model = onnx::getModel(module);
    Builder builder(context);
    SmallVector<Attribute> all = {onnx::DeviceConfigurationAttr::get(
        context, string(configuration), builder.getI32IntegerAttr(space.deviceCount()),
        ArrayAttr())};
    if (ArrayAttr others = model.getConfiguration())
      for (auto entry : others.getAsRange<onnx::DeviceConfigurationAttr>())
        if (entry.getName() != string(configuration))
          all.push_back(entry);
    // Older versions of the format have no such messages.
    constexpr int64_t kFirstVersion = 11;
    IntegerAttr version = model.getIrVersion();
    if (!version || version.getInt() < kFirstVersion)
      version = builder.getI64IntegerAttr(kFirstVersion);
    module->setAttr(kModelAttr, onnx::ModelAttr::get(context, version, model.getProducerName(),
                                                     model.getProducerVersion(), model.getDomain(),
                                                     model.getModelVersion(), model.getDocString(),
                                                     model.getOpsetImport(), model.getMetadata(),
                                                     builder.getArrayAttr(all)));
  }

  StringAttr string(StringRef text) { return StringAttr::get(module.getContext(), text); }

  static constexpr llvm::StringLiteral kModelAttr = "onnx.model";
  ModuleOp module;
  const Mesh &mesh;
  Mesh space; // without microbatches
  DictionaryAttr recorded, stages;
  std::string configuration;
  llvm::StringSet<> names, doubled, written;
};

struct WriteDevices : impl::DistWriteDevicesBase<WriteDevices> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    MeshAttr mesh = getMesh(module);
    auto recorded = module->getAttrOfType<DictionaryAttr>(kRecordedAttr);
    if (!mesh || !recorded || !onnx::getModel(module) || !onnx::getMainGraph(module)) {
      module.emitError() << "needs a model at the phase 'import' with the attributes '" << kMeshAttr
                         << "' and '" << kRecordedAttr << "'";
      return signalPassFailure();
    }
    Writer(module, mesh.getValue(), recorded,
           module->getAttrOfType<DictionaryAttr>(kRecordedStagesAttr))
        .run();
    module->removeAttr(kRecordedAttr);
    module->removeAttr(kRecordedStagesAttr);
    module->removeAttr(kMeshAttr);
  }
};

} // namespace
} // namespace weft::dist
