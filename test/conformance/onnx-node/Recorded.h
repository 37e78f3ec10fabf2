// A compiled case as bytes, for a machine that has the device and no compiler.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_CONFORMANCE_ONNX_NODE_RECORDED_H
#define WEFT_TEST_CONFORMANCE_ONNX_NODE_RECORDED_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::conformance {

/// A kernel's code for a device's driver: `weft_device_image` of weft/runtime/Program.h. A kernel
/// without any is one of the case's library.
struct RecordedKernel {
  std::string name, binary, text, chip;
  uint32_t threads = 1, alignment = 1, table = 0;
};

struct RecordedCase {
  std::string name;
  /// Why it did not compile; empty: it did.
  std::string why;
  /// Its ops and their element types: "nn.add f32".
  std::vector<std::string> ops;
  std::string blob;
  std::vector<RecordedKernel> kernels;
  /// A shared library with the kernels that are for this processor; empty: there are none.
  std::string library;
  /// Row-major elements in the order of the program's ports; of the outputs as many as the suite
  /// has. Their types and sizes are those of the ports.
  std::vector<std::string> inputs, outputs;
  /// Of the suite's tolerance (isClose).
  uint32_t units = 0;
  /// Of each output its largest distance (Distance.h), instead of that tolerance; 0: none.
  /// Empty: the tolerance.
  std::vector<double> bounds;
};

/// Appends the case to the bytes of a file.
void append(std::string &file, const RecordedCase &recorded);

/// Takes the first case off `file`; false if there is none, or only a part of it.
bool take(std::string_view &file, RecordedCase &recorded);

} // namespace weft::conformance

#endif // WEFT_TEST_CONFORMANCE_ONNX_NODE_RECORDED_H
