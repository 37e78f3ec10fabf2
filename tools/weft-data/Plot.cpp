// Reads logs and draws their curves.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Plot.h"

#include "weft/runtime/OutputFile.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>

using namespace weft;
using runtime::Status;

namespace {

constexpr double kWidth = 960, kHeight = 480;
constexpr double kLeft = 72, kRight = 16, kTop = 16, kBottom = 48;
constexpr const char *kColours[] = {"#2f6fd0", "#d9822b", "#2e9c6a",
                                    "#b3408f", "#7a5cc9", "#9c8a1d"};

struct Point {
  double x, y; // y is NaN where the log has none
};

struct Curve {
  std::string name;
  std::vector<Point> raw, smooth, evaluated;
};

/// Beyond, steps are no longer told from each other.
constexpr double kMostSteps = double(int64_t(1) << 53);

Status readLog(const std::string &path, const std::string &key, Curve &curve) {
  std::ifstream file(path);
  if (!file)
    return Status::user("'" + path + "' cannot be read: " + std::strerror(errno));
  size_t slash = path.find_last_of('/');
  curve.name = slash == std::string::npos ? path : path.substr(slash + 1);
  std::string text;
  for (size_t line = 1; std::getline(file, text); ++line) {
    if (text.empty())
      continue;
    auto entry = nlohmann::json::parse(text, nullptr, /*exceptions=*/false);
    if (!entry.is_object() || !entry.contains("step") || !entry["step"].is_number())
      return Status::user("'" + path + "', line " + std::to_string(line) +
                          ": is no line of weft-run --log: an object with a "
                          "number \"step\"");
    double step = entry["step"].get<double>();
    if (!(std::abs(step) < kMostSteps))
      return Status::user("'" + path + "', line " + std::to_string(line) +
                          ": a step is a number below 2^53");
    auto number = [&](const std::string &name) {
      return entry.contains(name) && entry[name].is_number() ? entry[name].get<double>() : NAN;
    };
    if (entry.contains(key))
      curve.raw.push_back({step, number(key)});
    if (double value = number("eval_" + key); std::isfinite(value))
      curve.evaluated.push_back({step, value});
  }
  bool any =
      std::any_of(curve.raw.begin(), curve.raw.end(), [](Point p) { return std::isfinite(p.y); });
  return any ? Status() : Status::user("'" + path + "' has no number '" + key + "'");
}

/// An exponential mean that counts from the first value on (without the pull
/// towards 0 of its start).
void smooth(Curve &curve, long steps) {
  if (steps == 0)
    steps = long(curve.raw.size() / 50);
  double keep = steps > 1 ? 1 - 2.0 / double(steps + 1) : 0;
  double sum = 0, weight = 0;
  for (Point point : curve.raw) {
    if (std::isfinite(point.y)) {
      sum = keep * sum + (1 - keep) * point.y;
      weight = keep * weight + (1 - keep);
    }
    curve.smooth.push_back({point.x, std::isfinite(point.y) ? sum / weight : NAN});
  }
}

/// A step of 1, 2 or 5 times a power of ten that cuts `range` in about five.
double tickStep(double range) {
  double power = std::pow(10, std::floor(std::log10(range / 5)));
  for (double factor : {1.0, 2.0, 5.0})
    if (range / (factor * power) <= 6)
      return factor * power;
  return 10 * power;
}

std::string number(const char *format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string escaped(const std::string &text) {
  std::string result;
  for (unsigned char c : text)
    result += c == '<'   ? "&lt;"
              : c == '>' ? "&gt;"
              : c == '&' ? "&amp;"
              : c == '"' ? "&quot;"
              : c < 0x20 ? "?"
                         : std::string(1, char(c));
  return result;
}

class Picture {
public:
  Picture(const std::vector<Curve> &curves, const std::string &key) : curves(curves), key(key) {
    for (const Curve &curve : curves)
      for (const auto *points : {&curve.raw, &curve.evaluated})
        for (Point point : *points)
          if (std::isfinite(point.y)) {
            x0 = std::min(x0, point.x), x1 = std::max(x1, point.x);
            y0 = std::min(y0, point.y), y1 = std::max(y1, point.y);
          }
    // A curve of one point or one value has a range, too.
    x1 = x1 > x0 ? x1 : x0 + 1;
    double margin = y1 > y0 ? (y1 - y0) / 20 : std::max(std::abs(y0), 1.0) / 20;
    y0 -= margin, y1 += margin;
  }

  std::string text() {
    out = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 960 480\" "
          "font-family=\"sans-serif\" font-size=\"12\">\n"
          "<style>.ground{fill:#fff}.line{stroke:#d5dae0}text{fill:#444c56}"
          "@media(prefers-color-scheme:dark){.ground{fill:#15191f}"
          ".line{stroke:#38414c}text{fill:#9aa5b1}}</style>\n"
          "<rect class=\"ground\" width=\"960\" height=\"480\"/>\n";
    drawAxes();
    for (size_t i = 0; i < curves.size(); ++i)
      drawCurve(curves[i], kColours[i % std::size(kColours)]);
    for (size_t i = 0; i < curves.size(); ++i)
      drawLegend(curves[i], i);
    return out + "</svg>\n";
  }

private:
  double x(double value) const {
    return kLeft + (value - x0) / (x1 - x0) * (kWidth - kLeft - kRight);
  }
  double y(double value) const {
    return kTop + (y1 - value) / (y1 - y0) * (kHeight - kTop - kBottom);
  }
  std::string place(Point point) const {
    return number("%.1f", x(point.x)) + "," + number("%.1f", y(point.y));
  }

  void label(double atX, double atY, const char *anchor, const std::string &text) {
    out += "<text x=\"" + number("%.1f", atX) + "\" y=\"" + number("%.1f", atY) +
           "\" text-anchor=\"" + anchor + "\">" + escaped(text) + "</text>\n";
  }
  void line(double fromX, double fromY, double toX, double toY) {
    out += "<line class=\"line\" x1=\"" + number("%.1f", fromX) + "\" y1=\"" +
           number("%.1f", fromY) + "\" x2=\"" + number("%.1f", toX) + "\" y2=\"" +
           number("%.1f", toY) + "\"/>\n";
  }

  void drawAxes() {
    double step = tickStep(y1 - y0), base = std::ceil(y0 / step);
    for (long i = 0; (base + double(i)) * step <= y1; ++i) {
      double value = (base + double(i)) * step;
      line(kLeft, y(value), kWidth - kRight, y(value));
      label(kLeft - 6, y(value) + 4, "end", number("%.4g", std::abs(value) < step / 2 ? 0 : value));
    }
    step = std::max(tickStep(x1 - x0), 1.0);
    base = std::ceil(x0 / step);
    for (long i = 0; (base + double(i)) * step <= x1; ++i) {
      double value = (base + double(i)) * step;
      line(x(value), kTop, x(value), kHeight - kBottom);
      label(x(value), kHeight - kBottom + 18, "middle", number("%.10g", value));
    }
    label((kLeft + kWidth - kRight) / 2, kHeight - 10, "middle", "step");
    out += "<text transform=\"rotate(-90)\" x=\"" +
           number("%.1f", -(kTop + kHeight - kBottom) / 2) + "\" y=\"16\" text-anchor=\"middle\">" +
           escaped(key) + "</text>\n";
  }

  /// A curve breaks where a value is missing.
  void path(const std::vector<Point> &points, const char *colour, const char *style) {
    std::string way;
    bool pen = false;
    for (Point point : points) {
      if (std::isfinite(point.y))
        way += (pen ? "L" : "M") + place(point);
      pen = std::isfinite(point.y);
    }
    out += "<path d=\"" + way + "\" fill=\"none\" stroke=\"" + colour + "\" " + style + "/>\n";
  }

  void drawCurve(const Curve &curve, const char *colour) {
    path(curve.raw, colour, "stroke-width=\"1\" stroke-opacity=\"0.35\"");
    path(curve.smooth, colour, "stroke-width=\"2\"");
    for (Point point : curve.evaluated)
      out += "<circle cx=\"" + number("%.1f", x(point.x)) + "\" cy=\"" +
             number("%.1f", y(point.y)) + "\" r=\"3.5\" fill=\"" + colour + "\"/>\n";
  }

  void drawLegend(const Curve &curve, size_t number) {
    double at = kTop + 16 + 18 * double(number);
    double last = NAN;
    for (Point point : curve.smooth)
      last = std::isfinite(point.y) ? point.y : last;
    out += "<rect x=\"" + ::number("%.1f", kWidth - kRight - 14) + "\" y=\"" +
           ::number("%.1f", at - 10) + "\" width=\"12\" height=\"12\" fill=\"" +
           kColours[number % std::size(kColours)] + "\"/>\n";
    label(kWidth - kRight - 20, at, "end",
          curve.name + ", last " + ::number("%.4g", last) +
              (curve.evaluated.empty() ? "" : " (points: eval_" + key + ")"));
  }

  const std::vector<Curve> &curves;
  const std::string &key;
  double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY;
  std::string out;
};

} // namespace

Status data::plot(const PlotOptions &options) {
  std::vector<Curve> curves(options.logs.size());
  for (size_t i = 0; i < curves.size(); ++i) {
    WEFT_TRY(readLog(options.logs[i], options.key, curves[i]));
    smooth(curves[i], options.smooth);
  }
  std::string text = Picture(curves, options.key).text();
  runtime::OutputFile output(options.output);
  WEFT_TRY(output.open());
  WEFT_TRY(output.write(text.data(), text.size()));
  return output.commit();
}
