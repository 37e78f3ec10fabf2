// Pictures of schedules: SVG and characters.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Pipeline/Plot.h"

#include "weft/Pipeline/Format.h"

#include <algorithm>
#include <cmath>

using namespace weft::pipeline;

namespace {

constexpr double kLeft = 64, kRight = 24, kTop = 58, kBottom = 40, kWidth = 1120;
constexpr double kRow = 22, kMemory = 20, kGap = 8;

/// Different in grey, too: F light, B dark, W between them with its own edge.
constexpr const char *kFill[] = {"#a9c9ee", "#2f6db5", "#f0b25a", "#4a4f8c"};
constexpr const char *kInk[] = {"#10263d", "#ffffff", "#3a2500", "#ffffff"};
constexpr const char *kWords[] = {"F forward", "B backward", "W weight gradients",
                                  "D backward and weight gradients"};

/// How many bytes of `text` from `at` on are a character in UTF-8; 0: none is.
size_t lengthOfCharacter(const std::string &text, size_t at) {
  auto byte = [&](size_t i) { return at + i < text.size() ? unsigned(uint8_t(text[at + i])) : 0u; };
  unsigned first = byte(0);
  size_t length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  // Not longer than needed, no surrogate, none that XML leaves out or above the last one.
  unsigned two = first << 8 | byte(1);
  bool isOut = length == 3 ? two < 0xe0a0 || (two >= 0xeda0 && two < 0xee00) ||
                                 (two == 0xefbf && byte(2) >= 0xbe)
                           : length == 4 && (two < 0xf090 || two >= 0xf490);
  return isOut ? 0 : length;
}

/// As text of XML: what cannot stand in it is '?'.
std::string escaped(const std::string &text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    size_t length = lengthOfCharacter(text, at);
    char c = text[at];
    bool isControl = uint8_t(c) < ' ' || c == 127;
    result += length == 0 || isControl ? "?"
              : c == '<'               ? "&lt;"
              : c == '>'               ? "&gt;"
              : c == '&'               ? "&amp;"
                                       : text.substr(at, length);
    at += std::max<size_t>(length, 1);
  }
  return result;
}

/// A round step for about `count` ticks up to `most`.
double tickStep(double most, double count) {
  double raw = most / count, power = std::pow(10, std::floor(std::log10(raw)));
  for (double factor : {1.0, 2.0, 5.0})
    if (raw <= factor * power)
      return factor * power;
  return 10 * power;
}

/// The turn of each chunk on its rank.
std::vector<size_t> turnsOf(const Schedule &schedule) {
  std::vector<size_t> count(schedule.ranks.size()), turns;
  for (int32_t rank : schedule.place)
    turns.push_back(count[size_t(rank)]++);
  return turns;
}

class Picture {
public:
  Picture(const Schedule &schedule, const Timing &timing, const Costs &costs)
      : schedule(schedule), timing(timing), costs(costs), turns(turnsOf(schedule)) {
    for (const std::vector<double> &ends : timing.end)
      for (double end : ends)
        most = std::max(most, end);
    for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
      mostHeld = std::max(mostHeld, timing.peak[rank]);
      if (std::isfinite(costs.limitOf(rank)))
        mostHeld = std::max(mostHeld, costs.limitOf(rank));
    }
    most = most > 0 ? most : 1;
    mostHeld = mostHeld > 0 ? mostHeld : 1;
  }

  std::string svg(const std::string &title) {
    double height = kTop + kBottom + double(schedule.ranks.size()) * (kRow + kMemory + kGap);
    out = format("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
                 "viewBox=\"0 0 %g %g\" font-family=\"sans-serif\" font-size=\"11\">\n"
                 "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
                 kWidth, height, kWidth, height);
    out += "<text x=\"64\" y=\"20\" font-size=\"14\">" + escaped(title) + "</text>\n";
    legend();
    axis(height - kBottom);
    for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
      double top = kTop + double(rank) * (kRow + kMemory + kGap);
      actions(rank, top);
      memory(rank, top + kRow);
    }
    return out + "</svg>\n";
  }

private:
  double x(double time) const { return kLeft + time / most * (kWidth - kLeft - kRight); }

  void legend() {
    bool used[kNumKinds] = {};
    for (const std::vector<Action> &list : schedule.ranks)
      for (const Action &action : list)
        used[unsigned(action.kind)] = true;
    double at = kLeft;
    for (unsigned kind = 0; kind < kNumKinds; ++kind)
      if (used[kind]) {
        out += format("<rect x=\"%g\" y=\"32\" width=\"14\" height=\"12\" fill=\"%s\"/>"
                      "<text x=\"%g\" y=\"42\">%s</text>\n",
                      at, kFill[kind], at + 19, kWords[kind]);
        at += 40 + 6.2 * double(std::string(kWords[kind]).size());
      }
    out += format("<rect x=\"%g\" y=\"32\" width=\"14\" height=\"12\" fill=\"#d5d8dc\"/>"
                  "<text x=\"%g\" y=\"42\">memory held, at most %.4g%s</text>\n",
                  at, at + 19, *std::max_element(timing.peak.begin(), timing.peak.end()),
                  costs.limit.empty() ? "" : "; dashed: the limit");
  }

  void axis(double bottom) {
    constexpr int kTicks = 10;
    double step = tickStep(most, kTicks);
    // Counted, since the least of numbers have no tenth.
    for (int tick = 0; tick <= kTicks && step * tick <= most * (1 + 1e-9); ++tick) {
      double time = step * tick;
      out += format("<line x1=\"%.2f\" y1=\"%g\" x2=\"%.2f\" y2=\"%g\" stroke=\"#e3e3e3\"/>"
                    "<text x=\"%.2f\" y=\"%g\" text-anchor=\"middle\">%.6g</text>\n",
                    x(time), kTop - 4, x(time), bottom, x(time), bottom + 14, time);
    }
    out += format("<text x=\"%g\" y=\"%g\" text-anchor=\"end\">time</text>\n", kWidth - kRight,
                  bottom + 30);
  }

  void actions(size_t rank, double top) {
    out += format("<text x=\"%g\" y=\"%g\" text-anchor=\"end\">rank %zu</text>\n", kLeft - 8,
                  top + 15, rank);
    for (size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
      const Action &action = schedule.ranks[rank][i];
      unsigned kind = unsigned(action.kind);
      double left = x(timing.start[rank][i]), width = x(timing.end[rank][i]) - left;
      if (width <= 0)
        continue;
      // Later chunks of a rank have a bar at their top.
      out +=
          format("<rect x=\"%.2f\" y=\"%g\" width=\"%.2f\" height=\"%g\" fill=\"%s\" "
                 "stroke=\"#fff\" stroke-width=\"%.2g\"><title>%s: %.6g to %.6g</title></rect>\n",
                 left, top, width, kRow, kFill[kind], width > 4 ? 0.8 : 0.15,
                 nameOf(action).c_str(), timing.start[rank][i], timing.end[rank][i]);
      if (size_t turn = turns[size_t(action.chunk)])
        out += format("<rect x=\"%.2f\" y=\"%g\" width=\"%.2f\" height=\"%g\" fill=\"#111\"/>\n",
                      left, top, width, std::min(2.0 * double(turn), kRow / 3));
      std::string label = std::to_string(action.microbatch);
      if (width >= 4 + 6.2 * double(label.size()))
        out += format("<text x=\"%.2f\" y=\"%g\" fill=\"%s\" text-anchor=\"middle\">%s</text>\n",
                      left + width / 2, top + 16, kInk[kind], label.c_str());
    }
  }

  void memory(size_t rank, double top) {
    double floor = top + kMemory, held = 0;
    auto y = [&](double value) { return floor - value / mostHeld * (kMemory - 3); };
    std::string path = format("M%.2f %.2f", kLeft, floor);
    for (size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
      const Action &action = schedule.ranks[rank][i];
      // F keeps from its start on, the others free at their end.
      double time = action.kind == Kind::Forward ? timing.start[rank][i] : timing.end[rank][i];
      held += costs.chunks[size_t(action.chunk)].memoryChange(action.kind);
      path += format("H%.2fV%.2f", x(time), y(std::max(held, 0.0)));
    }
    out += "<path class=\"memory\" d=\"" + path +
           format("H%.2fV%.2fZ\" fill=\"#d5d8dc\" stroke=\"#555\" stroke-width=\"0.6\"/>\n",
                  x(most), floor);
    if (std::isfinite(costs.limitOf(rank)))
      out += format("<line x1=\"%g\" y1=\"%.2f\" x2=\"%g\" y2=\"%.2f\" stroke=\"#a00\" "
                    "stroke-dasharray=\"4 3\" stroke-width=\"0.8\"/>\n",
                    kLeft, y(costs.limitOf(rank)), kWidth - kRight, y(costs.limitOf(rank)));
    out += format("<text x=\"%g\" y=\"%g\" text-anchor=\"end\" font-size=\"9\">%.4g</text>\n",
                  kLeft - 8, top + 14, timing.peak[rank]);
  }

  const Schedule &schedule;
  const Timing &timing;
  const Costs &costs;
  std::vector<size_t> turns;
  double most = 0, mostHeld = 0;
  std::string out;
};

} // namespace

std::string weft::pipeline::checkPicture(const Schedule &schedule) {
  size_t actions = 0;
  for (const std::vector<Action> &list : schedule.ranks)
    actions += list.size();
  return checkPicture(actions, schedule.microbatches);
}

std::string weft::pipeline::checkPicture(size_t actions, int64_t microbatches) {
  constexpr size_t kMost = 100000;
  if (actions <= kMost)
    return "";
  size_t fit = kMost * size_t(microbatches) / actions;
  return "draws at most " + std::to_string(kMost) + " actions, and these are " +
         std::to_string(actions) +
         (fit ? "; up to " + std::to_string(fit) + " microbatches fit"
              : "; even one microbatch has too many, on fewer ranks they fit");
}

std::string weft::pipeline::plotSchedule(const Schedule &schedule, const Timing &timing,
                                         const Costs &costs, const std::string &title) {
  return Picture(schedule, timing, costs).svg(title);
}

std::string weft::pipeline::drawSchedule(const Schedule &schedule, const Timing &timing,
                                         size_t width) {
  double most = 0, shortest = INFINITY;
  size_t label = 1 + std::to_string(schedule.microbatches - 1).size();
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
      double time = timing.end[rank][i] - timing.start[rank][i];
      most = std::max(most, timing.end[rank][i]);
      shortest = time > 0 ? std::min(shortest, time) : shortest;
    }
  size_t margin = 7 + std::to_string(schedule.ranks.size() - 1).size();
  // Columns a unit of time: the least that holds each label, and no more than there are.
  double scale = double(label) / shortest;
  if (!(most > 0) || most * scale + double(margin) > double(width))
    return {};
  std::vector<size_t> turns = turnsOf(schedule);
  std::string text;
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    std::string row(size_t(std::lround(most * scale)), '.');
    for (size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
      const Action &action = schedule.ranks[rank][i];
      auto begin = size_t(std::lround(timing.start[rank][i] * scale));
      auto end = size_t(std::lround(timing.end[rank][i] * scale));
      char letter = letterOf(action.kind);
      // Every second chunk of a rank in small letters.
      if (turns[size_t(action.chunk)] % 2)
        letter = char(letter - 'A' + 'a');
      std::string name = letter + std::to_string(action.microbatch);
      name.resize(std::max(name.size(), label), '-');
      for (size_t at = begin; at < end && at < row.size(); ++at)
        row[at] = at - begin < name.size() ? name[at - begin] : '-';
    }
    std::string title = "rank " + std::to_string(rank);
    title.resize(margin, ' ');
    text += title + row + "\n";
  }
  return text;
}
