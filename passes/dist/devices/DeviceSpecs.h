// How a model file says splits, and how placements on mesh axes do: one as the other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PASSES_DIST_DEVICES_DEVICESPECS_H
#define WEFT_PASSES_DIST_DEVICES_DEVICESPECS_H

#include "dialects/onnx/IR/Onnx.h"
#include "weft/Sharding/Placement.h"

#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace weft::dist {

/// ONNX (IR 11) numbers the shards of a tensor in row-major order over its split
/// factors and says which device holds which; a placement names mesh axes. The
/// spec as `dist-place` writes placements, `dim0:dp,dim1:3*tp`: the axes under
/// which every device holds the shard that the file gives it. An error if there
/// are none: the file may ask for what we cannot do. At a node of stage `stage` of
/// a pipeline a spec may name the devices of that stage only.
llvm::Expected<std::string> placementText(onnx::ShardingSpecAttr spec, const Mesh &mesh,
                                          std::optional<int64_t> stage = std::nullopt);

/// The other way, with the devices of `stage`, or of all. An error for what the
/// format or `placementText` cannot say.
llvm::Expected<onnx::ShardingSpecAttr> shardingSpec(mlir::MLIRContext *context,
                                                    llvm::StringRef tensor,
                                                    const Placement &placement, const Mesh &mesh,
                                                    std::optional<int64_t> stage = std::nullopt);

/// The name in the file of a value that nodes read: of an input or a weight. Empty
/// for outputs of nodes.
llvm::StringRef stateOrInputName(mlir::Value value);

/// The name under which later phases know what `node` computes.
llvm::StringRef labelOf(onnx::NodeOp node);

/// The same, if its one output is a tensor, which can be placed; else empty.
llvm::StringRef placeableName(onnx::NodeOp node);

/// The mesh that the model asks for with its first device configuration: its name
/// if that reads as a mesh of so many devices, as in files that
/// `dist-write-devices` makes; else prime factors of the number of devices, as
/// sub-axes of `devices` in the order that keeps most of what is asked, behind an
/// axis `stages` of as many stages as its nodes are said to be of, if these divide
/// the devices. Nothing if there is no configuration of more than one device.
struct ConfiguredMesh {
  Mesh mesh;
  std::string configuration;
};
std::optional<ConfiguredMesh> configuredMesh(mlir::ModuleOp module, llvm::StringRef stages);

/// Whether the model has device configurations, of whatever number of devices.
bool hasDeviceConfigurations(mlir::ModuleOp module);

/// Whether one of them that is for so many devices says that nodes are on several stages.
bool asksForStages(mlir::ModuleOp module, int64_t devices);

} // namespace weft::dist

#endif // WEFT_PASSES_DIST_DEVICES_DEVICESPECS_H
