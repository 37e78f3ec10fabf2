// The shortest longest chunk, then the least time between stages, by dynamic programming.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/dist/stages/StageCut.h"

#include "passes/dist/OpQueries.h"

#include <limits>

using namespace mlir;

namespace weft::dist {

static constexpr double kNever = std::numeric_limits<double>::infinity();

double globalBytes(Value value) {
  return double(bytesOf(cast<RankedTensorType>(globalType(value.getType()))));
}

bool isWeightGradient(Operation *op) {
  auto role = op->getAttrOfType<StringAttr>(nn::kRoleAttr);
  return role && role.getValue() == nn::kRoleWeightGradient;
}

namespace {

class LineCutter {
public:
  LineCutter(ArrayRef<Operation *> line, const OpCosts &costs, ArrayRef<int32_t> place,
             ArrayRef<int64_t> asked)
      : line(line), place(place), asked(asked), crossing(crossingSeconds(line, costs)) {
    sums.push_back(0);
    for (Operation *op : line)
      sums.push_back(sums.back() + costs.seconds(op));
  }

  std::vector<int64_t> run() {
    auto longer = [](double a, double b) { return std::max(a, b); };
    auto whole = [&](size_t piece, size_t begin, size_t end) { return between(piece, begin, end); };
    double least = best(kNever, longer, whole, [](double computing) { return computing; }).first;
    if (least == kNever)
      return {};
    auto sum = [](double a, double b) { return a + b; };
    auto receiving = [&](size_t piece, size_t begin, size_t) { return received(piece, begin); };
    std::vector<size_t> ends =
        best(kStageSlack * least, sum, receiving, [](double) { return 0.0; }).second;
    std::vector<int64_t> chunkOf;
    for (auto [chunk, end] : llvm::enumerate(ends))
      chunkOf.resize(end, chunk);
    return chunkOf;
  }

private:
  bool isAllowed(size_t piece, size_t op) const {
    return asked.empty() || asked[op] < 0 || asked[op] == place[piece];
  }

  /// Seconds until a piece that begins with op `begin` has what it reads.
  double received(size_t piece, size_t begin) const {
    return piece > 0 && place[piece] == place[piece - 1] ? 0 : crossing[begin];
  }

  /// Of the piece of ops `begin` to `end`: to receive what it reads, and to compute.
  double between(size_t piece, size_t begin, size_t end) const {
    return sums[end] - sums[begin] + received(piece, begin);
  }

  /// The least that the pieces come to, and where they end, if each takes at most `limit` seconds
  /// and counts for what `price` says, joined by `join`; `atLeast` says what a piece that computes
  /// so long counts for at least, so that no earlier begin is tried than may be better.
  template <typename Join, typename Price, typename AtLeast>
  std::pair<double, std::vector<size_t>> best(double limit, Join join, Price price,
                                              AtLeast atLeast) const {
    size_t count = line.size();
    std::vector<double> before(count + 1, kNever), now;
    std::vector<std::vector<size_t>> begins;
    before[0] = 0;
    for (size_t piece = 0; piece < place.size(); ++piece) {
      now.assign(count + 1, kNever);
      std::vector<size_t> &from = begins.emplace_back(count + 1, 0);
      for (size_t end = piece + 1; end <= count; ++end)
        for (size_t begin = end; begin-- > piece;) {
          double computing = sums[end] - sums[begin];
          if (computing > limit || atLeast(computing) >= now[end] || !isAllowed(piece, begin))
            break;
          double total = join(before[begin], price(piece, begin, end));
          if (between(piece, begin, end) <= limit && total < now[end]) {
            now[end] = total;
            from[end] = begin;
          }
        }
      before = now;
    }
    std::vector<size_t> ends;
    size_t end = count;
    for (const std::vector<size_t> &from : llvm::reverse(begins)) {
      ends.push_back(end);
      end = from[end];
    }
    return {before[count], {ends.rbegin(), ends.rend()}};
  }

  ArrayRef<Operation *> line;
  ArrayRef<int32_t> place;
  ArrayRef<int64_t> asked;
  std::vector<double> sums, crossing;
};

} // namespace

std::vector<double> crossingSeconds(ArrayRef<Operation *> line, const OpCosts &costs,
                                    double parts) {
  AxisList axis = {*costs.model().mesh().stageAxis()};
  llvm::DenseMap<Operation *, size_t> number;
  for (auto [i, op] : llvm::enumerate(line))
    number[op] = i;
  std::vector<double> crossing(line.size() + 1, 0);
  for (auto [i, op] : llvm::enumerate(line))
    for (Value result : op->getResults()) {
      size_t last = i;
      for (Operation *reader : result.getUsers())
        if (auto found = number.find(reader); found != number.end())
          last = std::max(last, found->second);
      double seconds =
          costs.model().seconds(TransitionKind::Move, axis, globalBytes(result) / parts, 0);
      crossing[i + 1] += seconds;
      crossing[last + 1] -= seconds;
    }
  for (size_t i = 1; i < crossing.size(); ++i)
    crossing[i] += crossing[i - 1];
  return crossing;
}

std::vector<double> stageSeconds(ArrayRef<Operation *> line, const OpCosts &costs,
                                 ArrayRef<int32_t> place, ArrayRef<int64_t> chunkOf) {
  std::vector<double> seconds(size_t(*llvm::max_element(place)) + 1, 0);
  for (auto [op, chunk] : llvm::zip_equal(line, chunkOf))
    seconds[size_t(place[size_t(chunk)])] += costs.seconds(op);
  return seconds;
}

std::vector<int64_t> cutLine(ArrayRef<Operation *> line, const OpCosts &costs,
                             ArrayRef<int32_t> place, ArrayRef<int64_t> asked) {
  return LineCutter(line, costs, place, asked).run();
}

} // namespace weft::dist
