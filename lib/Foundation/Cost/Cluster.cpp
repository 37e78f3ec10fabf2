// The default cluster, and which numbers a type is.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Cost/Cluster.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace weft {

Arithmetic arithmeticOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (!isa<FloatType>(element))
    return Arithmetic::Integer;
  if (element.isBF16())
    return Arithmetic::BF16;
  switch (element.getIntOrFloatBitWidth()) {
  case 64:
    return Arithmetic::F64;
  case 16:
    return Arithmetic::F16;
  case 32:
    return Arithmetic::F32;
  default:
    return element.getIntOrFloatBitWidth() < 16 ? Arithmetic::F8 : Arithmetic::F64;
  }
}

Cluster Cluster::standard() {
  Cluster cluster;
  cluster.name = "standard";
  cluster.device.memoryBytes = cluster.device.memoryBandwidth = 0x1p36;
  cluster.device.flopsPerSecond.fill(50 * 0x1p33);
  LinkLevel network;
  network.name = "network";
  network.bandwidth = 0x1p33;
  cluster.levels.push_back(network);
  cluster.collectiveOverhead = 0x1p-19;
  return cluster;
}

} // namespace weft
