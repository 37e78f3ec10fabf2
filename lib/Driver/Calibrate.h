// Measures the machine that it runs on.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DRIVER_CALIBRATE_H
#define WEFT_LIB_DRIVER_CALIBRATE_H

#include <string>

namespace weft::driver {

struct CalibrateOptions {
  std::string file; // that is written
  std::string comm; // the transport whose collectives are measured
  unsigned threads; // of a rank
};

/// Compiles small programs (Probes.h), runs them as `weft-run` does, as many ranks as have cores of
/// their own, and writes what they took as a cluster's file. `program` is argv[0], beside which
/// weft-run is. Returns the exit code; what went wrong has been told.
int calibrate(const CalibrateOptions &options, const std::string &program);

} // namespace weft::driver

#endif // WEFT_LIB_DRIVER_CALIBRATE_H
