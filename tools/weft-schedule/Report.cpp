// The figures of a schedule, for people and as JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Report.h"

#include "weft/Pipeline/Format.h"
#include "weft/Pipeline/Generate.h"
#include "weft/Pipeline/Plot.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

using namespace weft;
using namespace weft::schedule;
using pipeline::format;

namespace {

constexpr size_t kColumns = 100;

std::string plural(size_t count, const char *word) {
  return std::to_string(count) + " " + word + (count == 1 ? "" : "s");
}

std::string sizesOf(const Result &result) {
  return plural(result.schedule.ranks.size(), "rank") + ", " +
         plural(result.schedule.place.size(), "chunk") + ", " +
         std::to_string(result.schedule.microbatches) + " microbatch" +
         (result.schedule.microbatches == 1 ? "" : "es");
}

double bubble(const Result &result, double time) {
  return pipeline::bubbleOf(result.costs, result.schedule, time);
}

/// The bubble of the literature's formula, where the schedule is interleaved and its chunks cost
/// the same; else nothing.
std::optional<double> formulaOf(const Request &request, const Result &result) {
  // With fewer microbatches than ranks no round is full, of which the formula is, and one rank
  // sends nothing.
  if (request.kind != "interleaved" || !request.costsFile.empty() || request.ranks < 2 ||
      request.microbatches < request.ranks)
    return std::nullopt;
  return pipeline::interleavedBubble(double(request.ranks), double(request.chunksPerRank),
                                     double(request.microbatches), request.share.work(),
                                     request.share.transfer);
}

} // namespace

double weft::schedule::gapOf(const Request &request, const Result &result) {
  bool isSpan = request.objective == pipeline::Objective::Span;
  double bound = isSpan ? result.bounds.span : result.bounds.wall;
  double time = isSpan ? result.timing.span : result.timing.wall;
  // Sums of times round.
  return bound > 0 && time > bound * (1 + 1e-12) ? time / bound - 1 : 0;
}

std::string weft::schedule::titleOf(const Result &result) {
  return result.kind + ": " + sizesOf(result) +
         format("; span %.6g, bubble %.2f %%; wall %.6g, bubble %.2f %%", result.timing.span,
                100 * bubble(result, result.timing.span), result.timing.wall,
                100 * bubble(result, result.timing.wall));
}

std::string weft::schedule::summary(const Request &request, const Result &result) {
  std::string text = result.kind + ": " + sizesOf(result) + "\n";
  auto line = [&](const char *name, double time, double bound) {
    text += format("%-5s %-10.6g bubble %6.2f %%   no order is below %.6g\n", name, time,
                   100 * bubble(result, time), bound);
  };
  line("span", result.timing.span, result.bounds.span);
  line("wall", result.timing.wall, result.bounds.wall);
  const std::vector<double> &peak = result.timing.peak;
  text += "held at most by rank:";
  for (size_t rank = 0; rank < std::min<size_t>(peak.size(), 16); ++rank)
    text += format(" %.4g", peak[rank]);
  text += peak.size() > 16
              ? format(" ...; of all %.4g\n", *std::max_element(peak.begin(), peak.end()))
              : "\n";
  std::string drawn = pipeline::drawSchedule(result.schedule, result.timing, kColumns);
  return text + (drawn.empty() ? "" : "\n" + drawn);
}

std::string weft::schedule::json(const Request &request, const Result &result) {
  nlohmann::ordered_json document;
  document["kind"] = result.kind;
  document["ranks"] = result.schedule.ranks.size();
  document["chunks"] = result.schedule.place.size();
  document["microbatches"] = result.schedule.microbatches;
  document["place"] = result.schedule.place;
  document["objective"] = request.objective == pipeline::Objective::Span ? "span" : "wall";
  document["span"] = result.timing.span;
  document["wall"] = result.timing.wall;
  document["bubble_span"] = bubble(result, result.timing.span);
  document["bubble_wall"] = bubble(result, result.timing.wall);
  if (auto formula = formulaOf(request, result))
    document["bubble_formula"] = *formula;
  document["peak_memory"] = result.timing.peak;
  document["lower_bound_span"] = result.bounds.span;
  document["lower_bound_wall"] = result.bounds.wall;
  document["gap"] = gapOf(request, result);
  // A file's name may be any bytes.
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}
