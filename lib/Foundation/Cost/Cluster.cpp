// The cluster that is planned for by default.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Cost/Cluster.h"

using namespace weft;

Cluster Cluster::standard() {
  Cluster cluster;
  cluster.name = "standard";
  cluster.device.memoryBytes = cluster.device.memoryBandwidth = 0x1p36;
  constexpr double kRate = 50 * 0x1p33;
  cluster.device.rates.fill({kRate, 1, 1, kRate});
  LinkLevel network;
  network.name = "network";
  network.bandwidth = 0x1p33;
  cluster.levels.push_back(network);
  cluster.collectiveOverhead = 0x1p-19;
  return cluster;
}
