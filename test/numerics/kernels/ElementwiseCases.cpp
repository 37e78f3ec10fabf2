// Kernels of elementwise ops and casts.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "OpCases.h"

namespace weft::test {

namespace {
struct OpKind {
  const char *name;
  Range range;
};
} // namespace

/// Where 1 + erf does not cancel; behind it digits are those of the operand (modelFusions).
static const Range kGeluRange = {-2, 4};
static const std::vector<OpKind> floatUnary = {{"negate", {}},
                                               {"abs", {}},
                                               {"sign", {}},
                                               {"exp", {-20, 5}},
                                               {"log", {0.01, 50}},
                                               {"log", {1e-42, 1e-37}}, // subnormal, too
                                               {"sqrt", {0, 9}},
                                               {"rsqrt", {0.1, 9}},
                                               {"reciprocal", {0.1, 9}},
                                               {"sin", {-30, 30}},
                                               {"cos", {-30, 30}},
                                               {"tan", {-1.3, 1.3}},
                                               {"asin", {-0.99, 0.99}},
                                               {"acos", {-0.99, 0.99}},
                                               {"atan", {}},
                                               {"sinh", {}},
                                               {"cosh", {}},
                                               {"tanh", {-12, 12}},
                                               {"asinh", {}},
                                               {"acosh", {1.01, 9}},
                                               {"atanh", {-0.95, 0.95}},
                                               {"erf", {}},
                                               {"sigmoid", {-30, 30}},
                                               {"silu", {-30, 30}},
                                               {"log1p", {-0.9, 9}},
                                               {"expm1", {-3, 3}},
                                               {"ceil", {}},
                                               {"floor", {}},
                                               {"round", {}},
                                               {"gelu", kGeluRange}};
static const std::vector<OpKind> floatBinary = {
    {"add", {}}, {"sub", {}}, {"mul", {}}, {"div", {0.2, 4}}, {"pow", {0.1, 3}},
    {"rem", {}}, {"max", {}}, {"min", {}}, {"atan2", {}}};
static const std::vector<OpKind> integerUnary = {
    {"negate", {-100, 100}}, {"abs", {-100, 100}}, {"sign", {-2, 2}}, {"not", {-100, 100}}};
static const std::vector<OpKind> integerBinary = {
    {"add", {-128, 127}},    {"sub", {-128, 127}}, {"mul", {-128, 127}}, {"div", {-6, 6}},
    {"rem", {-6, 6}},        {"pow", {-3, 5}},     {"max", {-9, 9}},     {"min", {-9, 9}},
    {"and", {-99, 99}},      {"or", {-99, 99}},    {"xor", {-99, 99}},   {"shift_left", {0, 70}},
    {"shift_right", {0, 70}}};

std::vector<KernelCase> elementwiseCases(unsigned count, uint64_t seed) {
  CaseBuilder b(seed);
  std::vector<KernelCase> cases;
  auto typed = [&](const Shape &shape, const std::string &element) {
    return CaseBuilder::type(shape, element);
  };
  auto unary = [&](const OpKind &op, const std::string &element, const std::string &result,
                   const std::string &attrs = "") {
    Shape shape = b.shape(0, 4);
    std::string from = typed(shape, element), to = typed(shape, result);
    cases.push_back(
        b.one(op.name, {from},
              std::string("nn.") + op.name + " %0" + attrs + " : (" + from + ") -> " + to, {to},
              {op.range}));
  };
  auto binary = [&](const OpKind &op, const std::string &element, const std::string &result,
                    const std::string &kind = "") {
    Shape shape = b.shape(0, 4);
    std::string from = typed(shape, element), to = typed(shape, result);
    cases.push_back(b.one(op.name, {from, from},
                          std::string("nn.") + op.name + kind + " %0, %1 : (" + from + ", " + from +
                              ") -> " + to,
                          {to}, {op.range}));
  };
  for (unsigned i = 0; i < count; ++i) {
    for (const std::string &element : floatTypes) {
      for (const OpKind &op : floatUnary)
        unary(op, element, element);
      unary({"gelu", kGeluRange}, element, element, " {tanh}");
      unary({"is_nan", {}}, element, "i1");
      for (const OpKind &op : floatBinary)
        binary(op, element, element);
    }
    for (const std::string &element : integerTypes) {
      for (const OpKind &op : integerUnary)
        unary(op, element, element);
      for (const OpKind &op : integerBinary)
        binary(op, element, element);
    }
    for (const char *op : {"and", "or", "xor"})
      binary({op, {}}, "i1", "i1");
    unary({"not", {}}, "i1", "i1");
    std::vector<std::string> all = floatTypes;
    all.insert(all.end(), integerTypes.begin(), integerTypes.end());
    all.push_back("i1");
    for (const std::string &element : all) {
      for (const char *kind : {" eq", " ne", " lt", " le", " gt", " ge"})
        binary({"compare", {-3, 3}}, element, "i1", kind);
      for (const std::string &result : all) {
        // Small enough for every type, both signs where both have them.
        bool isSigned = element[0] != 'u' && result[0] != 'u';
        unary({"cast", {isSigned ? -100.0 : 0.0, 100}}, element, result);
      }
      Shape shape = b.shape(0, 4);
      std::string type = typed(shape, element), bools = typed(shape, "i1");
      cases.push_back(
          b.one("select", {bools, type, type},
                "nn.select %0, %1, %2 : (" + bools + ", " + type + ", " + type + ") -> " + type,
                {type}, {}));
    }
  }
  return cases;
}

} // namespace weft::test
