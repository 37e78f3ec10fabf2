// Rules and text of library calls.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program/commands/CommandRules.h"

#include <algorithm>

namespace weft::runtime {

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static std::string checkProductTypes(const Gemm &g, DType operand, DType result) {
  if (!isFloat(operand))
    return operand != DType::Bool && result == g.accumulator &&
                   (g.accumulator == DType::I32 || g.accumulator == DType::I64)
               ? ""
               : "has dtypes that products of integers do not have";
  bool half = operand == DType::BF16 || operand == DType::F16;
  DType wanted = operand == DType::F64 ? DType::F64 : DType::F32;
  return g.accumulator == wanted && (result == operand || (half && result == DType::F32))
             ? ""
             : "has dtypes that no library takes";
}

std::string check(const CommandContext &c, const Gemm &g) {
  Table<int64_t> lhs = c.sizes(0), rhs = c.sizes(1), result = c.sizes(2);
  size_t rank = result.size();
  if (rank < 2 || rank > 6 || lhs.size() != rank || rhs.size() != rank)
    return "has operands of different tensor ranks";
  for (size_t d = 0; d + 2 < rank; ++d)
    if (lhs[d] != result[d] || rhs[d] != result[d])
      return "has different batch sizes";
  if (lhs[rank - 2] != result[rank - 2] || rhs[rank - 1] != result[rank - 1] ||
      lhs[rank - 1] != rhs[rank - 2])
    return "has sizes that do not contract";
  DType operand = c.view(0).dtype;
  if (c.view(1).dtype != operand || operand == DType::Bool)
    return "has operands of different dtypes";
  for (uint32_t i = kGemmAddend; i < c.numViews(); ++i)
    if (!c.sameSizes(i, 2) || c.view(i).dtype != c.view(2).dtype || !isFloat(g.accumulator))
      return "has an addend of other sizes or of another dtype than the result, or of integers";
  return checkProductTypes(g, operand, c.view(2).dtype);
}

std::string describe(const CommandContext &, const Gemm &g) {
  return std::string(" in ") + dtypeName(g.accumulator);
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// One number for each of `count` spatial dims, all of them at least `least`.
static bool isSpatialList(const ProgramView &p, Range range, size_t count, int64_t least) {
  if (range.count != count || !inRange(range, p.Ints().size()))
    return false;
  Table<int64_t> list = p.ints(range);
  return std::all_of(list.begin(), list.end(),
                     [&](int64_t value) { return value >= least && value <= INT32_MAX; });
}

std::string check(const CommandContext &c, const Convolution &v) {
  const ProgramView &p = c.program;
  Table<int64_t> input = c.sizes(0), weight = c.sizes(1), output = c.sizes(2);
  size_t rank = input.size();
  if (rank < 3 || rank > 5 || weight.size() != rank || output.size() != rank)
    return "has operands of different tensor ranks";
  size_t spatial = rank - 2;
  if (!isSpatialList(p, v.strides, spatial, 1) || !isSpatialList(p, v.dilations, spatial, 1) ||
      !isSpatialList(p, v.inputDilations, spatial, 1) ||
      !isSpatialList(p, v.padsBegin, spatial, INT32_MIN))
    return "has impossible strides, dilations or pads";
  for (size_t d = 0; d < spatial; ++d)
    if (p.ints(v.strides)[d] != 1 && p.ints(v.inputDilations)[d] != 1)
      return "has a stride along a dimension in which its input is dilated";
  int64_t in = input[1], out = output[1], groups = v.groups;
  if (groups < 1 || in % groups != 0 || out % groups != 0 || weight[0] != out ||
      weight[1] != in / groups || input[0] != output[0])
    return "has channels that do not fit its weight and groups";
  if (std::any_of(output.begin() + 1, output.end(), [](int64_t size) { return size < 1; }))
    return "has an output without elements";
  for (uint32_t i = 0; i < c.numViews(); ++i)
    if (c.view(i).dtype != c.view(0).dtype || !isFloat(c.view(i).dtype))
      return "has operands of different or non-floating dtypes";
  return "";
}

std::string describe(const CommandContext &c, const Convolution &v) {
  return " groups " + c.num(v.groups) + " strides " + c.list(v.strides) + " dilations " +
         c.list(v.dilations) + " input dilations " + c.list(v.inputDilations) + " pads " +
         c.list(v.padsBegin);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

static std::string checkMask(const CommandContext &c, uint32_t at) {
  if (at >= c.numViews())
    return "";
  Table<int64_t> q = c.sizes(0), k = c.sizes(1), mask = c.sizes(at);
  if (mask.size() != 4 || mask[0] != q[0] || mask[1] != q[1] || mask[2] != q[2] || mask[3] != k[2])
    return "has a mask of another shape";
  DType type = c.view(at).dtype;
  if (type != c.view(0).dtype && type != DType::F32 && type != DType::Bool)
    return "has a mask of a dtype that no library takes";
  return "";
}

/// The first `operands` views, of which the first four are query, key, value and output and one
/// may be the logarithms of sums; a mask may follow.
static std::string checkAttention(const CommandContext &c, uint32_t operands,
                                  uint32_t sums = kNone) {
  for (uint32_t i = 0; i < operands; ++i)
    if (i != sums &&
        (c.sizes(i).size() != 4 || c.view(i).dtype != c.view(0).dtype || !isFloat(c.view(i).dtype)))
      return "has operands that are not of tensor rank 4 and one floating dtype";
  Table<int64_t> q = c.sizes(0), k = c.sizes(1), v = c.sizes(2), out = c.sizes(3);
  if (k[0] != q[0] || v[0] != q[0] || out[0] != q[0] || v[1] != k[1] || out[1] != q[1] ||
      (k[1] == 0 ? q[1] != 0 : q[1] % k[1] != 0) || out[2] != q[2] || v[2] != k[2] ||
      k[3] != q[3] || out[3] != v[3])
    return "has operands whose sizes do not fit";
  return checkMask(c, operands);
}

/// View `at` has a number without gaps for each row of queries.
static std::string checkLogSums(const CommandContext &c, uint32_t at) {
  Table<int64_t> q = c.sizes(0), sums = c.sizes(at), strides = c.program.ints(c.view(at).strides);
  DType type = c.view(0).dtype == DType::F64 ? DType::F64 : DType::F32;
  bool fits = sums.size() == 3 && std::equal(sums.begin(), sums.end(), q.begin()) &&
              strides[2] == 1 && strides[1] == sums[2] && strides[0] == sums[1] * sums[2];
  return fits && c.view(at).dtype == type ? ""
                                          : "has logarithms of sums that are not one for each row";
}

/// From view `first` on the gradients of query, key and value.
static std::string checkGradients(const CommandContext &c, uint32_t first) {
  return c.sameSizes(4, 3) && c.sameSizes(first, 0) && c.sameSizes(first + 1, 1) &&
                 c.sameSizes(first + 2, 2)
             ? ""
             : "has a gradient of other sizes than what it belongs to";
}

std::string check(const CommandContext &c, const Attention &) { return checkAttention(c, 4); }

std::string check(const CommandContext &c, const AttentionGradient &) {
  std::string fault = checkAttention(c, 8);
  return fault.empty() ? checkGradients(c, 5) : fault;
}

std::string check(const CommandContext &c, const AttentionWithSums &) {
  std::string fault = checkAttention(c, 5, 4);
  return fault.empty() ? checkLogSums(c, 4) : fault;
}

std::string check(const CommandContext &c, const AttentionWithSumsGradient &) {
  std::string fault = checkAttention(c, 9, 5);
  if (fault.empty())
    fault = checkLogSums(c, 5);
  return fault.empty() ? checkGradients(c, 6) : fault;
}

std::string describe(const CommandContext &c, const Attention &a) {
  return " scale " + c.real(a.scale) + (a.causal ? " causal" : "") +
         (a.softcap != 0 ? " softcap " + c.real(a.softcap) : "");
}

std::string describe(const CommandContext &c, const AttentionGradient &a) {
  return describe(c, static_cast<const Attention &>(a));
}
std::string describe(const CommandContext &c, const AttentionWithSums &a) {
  return describe(c, static_cast<const Attention &>(a));
}
std::string describe(const CommandContext &c, const AttentionWithSumsGradient &a) {
  return describe(c, static_cast<const Attention &>(a));
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

/// Whether view `at` has the dims of a row of view 2 last, in one piece.
static bool endsInRow(const CommandContext &c, uint32_t at) {
  Table<int64_t> sizes = c.sizes(at), result = c.sizes(2),
                 strides = c.program.ints(c.view(at).strides);
  int64_t next = 1;
  for (size_t i = 1; i < result.size(); ++i) {
    size_t d = sizes.size() - i;
    int64_t size = sizes[d];
    if (size != result[result.size() - i] || (size != 1 && strides[d] != next))
      return false;
    next *= size;
  }
  return true;
}

std::string check(const CommandContext &c, const ScatterAdd &) {
  Table<int64_t> indices = c.sizes(0), updates = c.sizes(1), result = c.sizes(2);
  size_t positions = indices.size() - 1;
  if (indices.empty() || result.empty() || indices[positions] != 1 ||
      updates.size() != positions + result.size() - 1 ||
      !std::equal(indices.begin(), indices.end() - 1, updates.begin()))
    return "has updates that are not one for each index";
  bool hasOperand = c.numViews() > 3;
  if (!endsInRow(c, 1) || !endsInRow(c, 2) ||
      (hasOperand && (!c.sameSizes(3, 2) || !endsInRow(c, 3))))
    return "has rows of different sizes, or not in one piece";
  DType index = c.view(0).dtype, element = c.view(2).dtype;
  if (isFloat(index) || index == DType::Bool || element == DType::Bool ||
      c.view(1).dtype != element || (hasOperand && c.view(3).dtype != element))
    return "has operands of dtypes that no library adds";
  return "";
}

std::string describe(const CommandContext &, const ScatterAdd &) { return ""; }

} // namespace weft::runtime
