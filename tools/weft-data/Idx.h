// Reads IDX files, the format of MNIST and its relatives.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TOOLS_WEFT_DATA_IDX_H
#define WEFT_TOOLS_WEFT_DATA_IDX_H

#include "weft/runtime/Npy.h"

namespace weft::data {

struct IdxOptions {
  std::string input, output;        // input "-" is stdin
  std::vector<int64_t> sampleShape; // empty = the file's
  double scale = 0;                 // 0 = keep integers, as i64
};

/// Writes a .npy of the IDX file: values times `scale` as f32, or i64. The
/// first dimension counts samples; `sampleShape` replaces the others.
runtime::Status idxToNpy(const IdxOptions &options);

} // namespace weft::data

#endif // WEFT_TOOLS_WEFT_DATA_IDX_H
