// Files that give the values of inputs, checked before they are used.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_FILES_INPUTFILE_H
#define WEFT_RUNTIME_LIB_FILES_INPUTFILE_H

#include "weft/runtime/Npy.h"

#include <optional>

namespace weft::runtime {

/// Opens what an input is to be: dtype and shape must be the input's, and what
/// the model looks up rows by must be indices of rows that there are; labels that are classes must
/// be among them, or not count.
Status openInputFile(const ProgramView &program, const Port &port, const std::string &path,
                     NpyFile &file);

/// Of how many rows the elements of this input are indices, if the compiler
/// says so; -rows to rows - 1 are right, as in ONNX.
std::optional<int64_t> rowsOf(const ProgramView &program, std::string_view input);

/// "'x.npy' is 3x4 f32": what a file that does not fit is.
std::string textOf(const NpyFile &file, const std::string &path);

/// The value of `key` in the executable's metadata, or empty.
std::string metadataOf(const ProgramView &program, const std::string &key);

std::vector<int64_t> shapeOf(const ProgramView &program, Range shape);
inline std::vector<int64_t> shapeOf(const ProgramView &program, const Port &port) {
  return shapeOf(program, port.shape);
}

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_FILES_INPUTFILE_H
