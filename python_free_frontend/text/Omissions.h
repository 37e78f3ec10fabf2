// What the text syntax cannot say of a model.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_PYTHON_FREE_FRONTEND_TEXT_OMISSIONS_H
#define WEFT_PYTHON_FREE_FRONTEND_TEXT_OMISSIONS_H

#include "onnx.pb.h"
#include <string>
#include <vector>

namespace weft::text {

/// One sentence per kind of information in `model` that its text leaves out.
std::vector<std::string> findOmissions(const onnx::Model &model);

} // namespace weft::text

#endif // WEFT_PYTHON_FREE_FRONTEND_TEXT_OMISSIONS_H
