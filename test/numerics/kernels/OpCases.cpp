// What all generators of kernels share.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "OpCases.h"

namespace weft::test {

const std::vector<std::string> floatTypes = {"f64", "f32", "bf16", "f16"};
const std::vector<std::string> integerTypes = {"i64", "i32", "i8", "ui8"};

Shape CaseBuilder::shape(int64_t leastRank, int64_t greatestRank, int64_t greatest) {
  Shape shape(uniform(leastRank, greatestRank));
  for (int64_t &size : shape)
    size = chance(0.1) ? 1 : uniform(1, greatest);
  // Now and then a size that fills vectors, or is one more.
  if (!shape.empty() && chance(0.3))
    shape[uniform(0, int64_t(shape.size()) - 1)] = pick<int64_t>({16, 17, 64, 65, 100});
  return shape;
}

std::string CaseBuilder::type(const Shape &shape, const std::string &element) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

std::string CaseBuilder::list(const Shape &values) {
  std::string text = "[";
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : "") + std::to_string(values[i]);
  return text + "]";
}

static std::string join(const std::vector<std::string> &parts) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i)
    text += (i ? ", " : "") + parts[i];
  return text;
}

KernelCase CaseBuilder::one(const std::string &what, const std::vector<std::string> &arguments,
                            const std::string &body, const std::vector<std::string> &results,
                            std::vector<Range> ranges) {
  KernelCase result;
  result.name = what + " " + join(arguments);
  std::vector<std::string> parameters, values;
  for (size_t i = 0; i < arguments.size(); ++i)
    parameters.push_back("%" + std::to_string(i) + ": " + arguments[i]);
  std::string outputs = "%r";
  if (results.size() > 1)
    outputs += ":" + std::to_string(results.size());
  for (size_t i = 0; i < results.size(); ++i)
    values.push_back(results.size() > 1 ? "%r#" + std::to_string(i) : "%r");
  static unsigned next = 0; // names differ among all generators
  result.text = "func.func @kernel" + std::to_string(next++) + "(" + join(parameters) + ") -> (" +
                join(results) + ") {\n  " + outputs + " = " + body + "\n  return " + join(values) +
                " : " + join(results) + "\n}";
  result.ranges = std::move(ranges);
  return result;
}

} // namespace weft::test
