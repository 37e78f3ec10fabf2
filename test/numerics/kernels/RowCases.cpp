// Kernels of reductions, windows, products and composite ops.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "OpCases.h"

#include <algorithm>
#include <numeric>

namespace weft::test {

static std::string array(const Shape &values) {
  if (values.empty())
    return "array<i64>";
  std::string text = CaseBuilder::list(values);
  return "array<i64: " + text.substr(1, text.size() - 2) + ">";
}

/// Geometry of windows or filters over trailing dims.
namespace {
struct Windows {
  Shape size, strides, low, high, dilations, out;

  std::string attrs() const {
    return " {window = " + array(size) + ", strides = " + array(strides) +
           ", pad_low = " + array(low) + ", pad_high = " + array(high) +
           ", dilations = " + array(dilations);
  }
};
} // namespace

static Windows randomWindows(CaseBuilder &b, const Shape &in) {
  Windows w;
  for (int64_t size : in) {
    for (;;) {
      int64_t window = b.uniform(1, 4), stride = b.uniform(1, 3);
      int64_t dilation = b.uniform(1, 2);
      int64_t reach = (window - 1) * dilation + 1;
      int64_t low = b.uniform(0, window - 1), high = b.uniform(0, window - 1);
      int64_t room = size + low + high - reach;
      if (room < 0)
        continue;
      w.size.push_back(window);
      w.strides.push_back(stride);
      w.low.push_back(low);
      w.high.push_back(high);
      w.dilations.push_back(dilation);
      w.out.push_back(room / stride + 1);
      break;
    }
  }
  return w;
}

std::vector<KernelCase> reductionCases(unsigned count, uint64_t seed) {
  CaseBuilder b(seed);
  std::vector<KernelCase> cases;
  auto type = CaseBuilder::type;
  for (unsigned i = 0; i < count; ++i) {
    for (const std::string &e :
         {std::string("f64"), std::string("f32"), b.pick<std::string>({"bf16", "f16"}),
          b.pick(integerTypes), std::string("i1")}) {
      bool isFloat = e[0] == 'f' || e[0] == 'b', isBool = e == "i1";
      std::vector<std::string> kinds =
          isBool    ? std::vector<std::string>{"and", "or"}
          : isFloat ? std::vector<std::string>{"sum", "prod", "max", "min"}
                    : std::vector<std::string>{"sum", "prod", "max", "min", "and", "or"};
      std::string kind = b.pick(kinds);
      // Positive, so that sums do not cancel; products stay near one.
      Range range = kind == "prod" ? Range{0.9, 1.1} : isFloat ? Range{0.1, 4} : Range{-9, 9};
      Shape shape = b.shape(1, 4), dims, to;
      for (size_t d = 0; d < shape.size(); ++d)
        if (b.chance(0.5))
          dims.push_back(d);
        else
          to.push_back(shape[d]);
      std::string from = type(shape, e), result = type(to, e);
      cases.push_back(b.one("reduce " + kind, {from},
                            "nn.reduce " + kind + " %0 dims = " + CaseBuilder::list(dims) + " : " +
                                from + " -> " + result,
                            {result}, {range}));
      if (isBool)
        continue;
      { // arg_reduce, with ties
        int64_t dim = b.uniform(0, int64_t(shape.size()) - 1);
        Shape left = shape;
        left.erase(left.begin() + dim);
        std::string result = type(left, "i64");
        cases.push_back(b.one("arg_reduce", {from},
                              "nn.arg_reduce " + b.pick<std::string>({"max", "min"}) +
                                  " %0 dim = " + std::to_string(dim) +
                                  (b.chance(0.5) ? " {select_last}" : "") + " : " + from + " -> " +
                                  result,
                              {result}, {{-4, 4}}));
      }
      { // windows
        Shape outer = b.shape(0, 2, 4), inner = b.shape(1, 3, 8);
        Windows w = randomWindows(b, inner);
        Shape in = outer, out = outer;
        in.insert(in.end(), inner.begin(), inner.end());
        out.insert(out.end(), w.out.begin(), w.out.end());
        kind = b.pick<std::string>({"sum", "prod", "max", "min"});
        range = kind == "prod" ? Range{0.9, 1.1} : isFloat ? Range{0.1, 4} : Range{-9, 9};
        std::string from = type(in, e), result = type(out, e);
        cases.push_back(
            b.one("reduce_window " + kind, {from},
                  "nn.reduce_window " + kind + " %0" + w.attrs() + "} : " + from + " -> " + result,
                  {result}, {range}));
        result = type(out, "i64");
        cases.push_back(b.one("arg_window", {from},
                              "nn.arg_window %0" + w.attrs() +
                                  (b.chance(0.5) ? ", column_major" : "") + "} : " + from + " -> " +
                                  result,
                              {result}, {{-4, 4}}));
      }
    }
  }
  return cases;
}

std::vector<KernelCase> contractCases(unsigned count, uint64_t seed) {
  CaseBuilder b(seed);
  std::vector<KernelCase> cases;
  auto type = CaseBuilder::type;
  auto list = CaseBuilder::list;
  auto elements = [&] {
    return std::vector<std::string>{"f64", "f32", b.pick<std::string>({"bf16", "f16"}),
                                    b.pick<std::string>({"i32", "i64"})};
  };
  for (unsigned i = 0; i < count; ++i) {
    for (const std::string &e : elements()) { // contract
      Shape lhs, rhs, result, sizes;
      auto add = [&](bool inLhs, bool inRhs, bool inResult, int64_t many) {
        for (int64_t n = b.uniform(0, many); n > 0; --n) {
          int64_t label = sizes.size();
          sizes.push_back(b.chance(0.2) ? 33 : b.uniform(1, 7));
          if (inLhs)
            lhs.push_back(label);
          if (inRhs)
            rhs.push_back(label);
          if (inResult)
            result.push_back(label);
        }
      };
      add(true, true, true, 1);  // batch
      add(true, false, true, 2); // m
      add(false, true, true, 2); // n
      add(true, true, false, 2); // k
      for (Shape *labels : {&lhs, &rhs, &result})
        if (b.chance(0.5))
          std::shuffle(labels->begin(), labels->end(), b.random);
      auto shapeOf = [&](const Shape &labels) {
        Shape shape;
        for (int64_t label : labels)
          shape.push_back(sizes[label]);
        return shape;
      };
      std::string accumulate = e == "bf16" || e == "f16" ? "f32" : e;
      std::string lt = type(shapeOf(lhs), e), rt = type(shapeOf(rhs), e),
                  ot = type(shapeOf(result), e);
      cases.push_back(b.one("contract", {lt, rt},
                            "nn.contract %0, %1 lhs = " + list(lhs) + " rhs = " + list(rhs) +
                                " result = " + list(result) + " accumulate = " + accumulate +
                                " : (" + lt + ", " + rt + ") -> " + ot,
                            {ot}, {{0.1, 2}}));
    }
    for (const std::string &e : elements()) { // conv
      Shape in = b.shape(1, 3, 7);
      int64_t groups = b.uniform(1, 3), channels = b.uniform(1, 3), outputs = b.uniform(1, 3);
      Windows w;
      Shape inputDilation;
      for (int64_t size : in)
        for (;;) {
          int64_t filter = b.uniform(1, 3), stride = b.uniform(1, 2);
          int64_t dilation = b.uniform(1, 2), spread = b.uniform(1, 2);
          int64_t low = b.uniform(-1, 2), high = b.uniform(-1, 2);
          int64_t room = (size - 1) * spread + 1 + low + high - ((filter - 1) * dilation + 1);
          if (room < 0)
            continue;
          w.size.push_back(filter);
          w.strides.push_back(stride);
          w.low.push_back(low);
          w.high.push_back(high);
          w.dilations.push_back(dilation);
          inputDilation.push_back(spread);
          w.out.push_back(room / stride + 1);
          break;
        }
      int64_t batch = b.uniform(1, 3);
      Shape input = {batch, groups * channels};
      input.insert(input.end(), in.begin(), in.end());
      Shape filter = {groups * outputs, channels};
      filter.insert(filter.end(), w.size.begin(), w.size.end());
      Shape out = {batch, groups * outputs};
      out.insert(out.end(), w.out.begin(), w.out.end());
      std::string it = type(input, e), ft = type(filter, e), ot = type(out, e);
      cases.push_back(b.one(
          "conv", {it, ft},
          "nn.conv %0, %1 {strides = " + array(w.strides) + ", pad_low = " + array(w.low) +
              ", pad_high = " + array(w.high) + ", input_dilation = " + array(inputDilation) +
              ", filter_dilation = " + array(w.dilations) + ", groups = " + std::to_string(groups) +
              " : i64} : (" + it + ", " + ft + ") -> " + ot,
          {ot}, {{0.1, 2}}));
    }
  }
  return cases;
}

std::vector<KernelCase> compositeCases(unsigned count, uint64_t seed) {
  CaseBuilder b(seed);
  std::vector<KernelCase> cases;
  auto type = CaseBuilder::type;
  for (unsigned i = 0; i < count; ++i) {
    for (const std::string &e : floatTypes) {
      Shape shape = b.shape(1, 4);
      std::string t = type(shape, e);
      int64_t rank = shape.size();
      cases.push_back(b.one("softmax", {t},
                            "nn.softmax %0 dim = " + std::to_string(b.uniform(0, rank - 1)) +
                                (b.chance(0.3) ? " {log}" : "") + " : (" + t + ") -> " + t,
                            {t}, {{-9, 9}}));
      { // norms
        int64_t dim = b.uniform(0, rank - 1);
        std::string scale = type(Shape(shape.begin() + dim, shape.end()), e);
        bool bias = b.chance(0.7);
        std::vector<std::string> arguments = {t, scale};
        std::string operands = "%0, %1", types = t + ", " + scale;
        if (bias) {
          arguments.push_back(scale);
          operands += ", %2";
          types += ", " + scale;
        }
        std::string attrs = " dim = " + std::to_string(dim) + " epsilon = 1.0e-3";
        cases.push_back(b.one("layer_norm", arguments,
                              "nn.layer_norm " + operands + attrs + " : (" + types + ") -> " + t,
                              {t}, {}));
        cases.push_back(
            b.one("rms_norm", {t, scale},
                  "nn.rms_norm %0, %1" + attrs + " : (" + t + ", " + scale + ") -> " + t, {t}, {}));
      }
      { // rope
        Shape full = shape, half = shape;
        half.back() = b.uniform(1, 33);
        full.back() = 2 * half.back();
        std::string ft = type(full, e), ht = type(half, e);
        cases.push_back(b.one("rope", {ft, ht, ht},
                              std::string("nn.rope %0, %1, %2") +
                                  (b.chance(0.5) ? " {interleaved}" : "") + " : (" + ft + ", " +
                                  ht + ", " + ht + ") -> " + ft,
                              {ft}, {{-3, 3}, {-1, 1}}));
      }
      { // attention
        int64_t batch = b.uniform(1, 2), groups = b.uniform(1, 2), each = b.uniform(1, 3),
                rows = b.uniform(1, 9), columns = b.uniform(1, 20), depth = b.uniform(1, 20),
                width = b.uniform(1, 20);
        bool mask = b.chance(0.5);
        std::string q = type({batch, groups * each, rows, depth}, e),
                    k = type({batch, groups, columns, depth}, e),
                    v = type({batch, groups, columns, width}, e),
                    m = type({batch, groups * each, rows, columns}, e),
                    o = type({batch, groups * each, rows, width}, e),
                    sums = type({batch, groups * each, rows}, e == "f64" ? "f64" : "f32");
        std::vector<std::string> arguments = {q, k, v};
        std::string operands = "%0, %1, %2", types = q + ", " + k + ", " + v;
        if (mask) {
          arguments.push_back(m);
          operands += " mask %3";
          types += ", " + m;
        }
        std::string attrs = b.pick<std::string>(
            {"", " {causal}", " {softcap = 2.0 : f64}", " {causal, softcap = 5.0 : f64}"});
        cases.push_back(b.one("attention", arguments,
                              "nn.attention " + operands + " scale = 0.3" + attrs + " : (" + types +
                                  ") -> " + o,
                              {o}, {{-2, 2}}));
        if (rows <= columns || attrs.find("causal") == std::string::npos) // rows see something
          cases.push_back(b.one("attention with sums", arguments,
                                "nn.attention " + operands + " scale = 0.3" + attrs + " : (" +
                                    types + ") -> (" + o + ", " + sums + ")",
                                {o, sums}, {{-2, 2}}));
        // Its gradient reads the output and its gradient behind the value.
        arguments.insert(arguments.begin() + 3, {o, o});
        operands = "%0, %1, %2, %3, %4";
        types = q + ", " + k + ", " + v + ", " + o + ", " + o;
        if (mask) {
          operands += " mask %5";
          types += ", " + m;
        }
        cases.push_back(b.one("attention_grad", arguments,
                              "nn.attention_grad " + operands + " scale = 0.3" + attrs + " : (" +
                                  types + ") -> (" + q + ", " + k + ", " + v + ")",
                              {q, k, v}, {{-2, 2}}));
      }
    }
  }
  return cases;
}

} // namespace weft::test
