// What the loss curves' script cannot do itself: moves weights by an ulp, compares losses and
// states.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   weft-curves perturb FILE SEED               each f32 of FILE but zeros, up or down by one ulp
//   weft-curves spread STEPS LOG...             how far the losses of some runs lie apart
//   weft-curves losses STEPS LIMIT ONE LOG EARLY-LIMIT
//                                               |difference| <= LIMIT (absolute) at every step, and
//                                               relatively <= EARLY-LIMIT in the first ten
//   weft-curves exact ONE CHECKPOINT            states to 1e-9 of max(1, largest element)
//   weft-curves updates START EXACT ONE CHECKPOINT
//                                               updates in l2 norm per tensor, see judgeUpdates
#include "checkpoint/CheckpointFiles.h"
#include "checkpoint/CheckpointFolder.h"
#include "checkpoint/CheckpointManifest.h"
#include "checkpoint/CheckpointReader.h"

#include "../../support/Distance.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

using namespace weft::runtime;

namespace {

using Tensors = std::map<std::string, std::vector<double>>;

int fail(const std::string &text) {
  std::fprintf(stderr, "weft-curves: %s\n", text.c_str());
  return 1;
}

int perturb(const char *path, unsigned long seed) {
  std::FILE *file = std::fopen(path, "r+b");
  if (!file)
    return fail(std::string("cannot open ") + path);
  std::vector<float> numbers(1 << 16);
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 1, moved = 0;
  for (size_t count; (count = std::fread(numbers.data(), 4, numbers.size(), file)) > 0;) {
    for (size_t i = 0; i < count; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      if (numbers[i] == 0)
        continue;
      numbers[i] = std::nextafterf(numbers[i], (state >> 63) != 0 ? INFINITY : -INFINITY);
      ++moved;
    }
    std::fseek(file, -long(count) * 4, SEEK_CUR);
    std::fwrite(numbers.data(), 4, count, file);
    std::fseek(file, 0, SEEK_CUR);
  }
  std::fclose(file);
  return moved > 1000 ? 0 : fail("hardly any weights were moved");
}

/// The losses of a log of so many steps; empty if it is not one.
std::vector<double> lossesOf(const char *path, size_t steps) {
  std::string text;
  std::vector<double> losses;
  if (!readFile(path, 1 << 26, text).ok())
    return losses;
  for (size_t at = 0; (at = text.find("\"loss\":", at)) != std::string::npos;)
    losses.push_back(std::strtod(text.c_str() + (at += 7), nullptr));
  bool good = losses.size() == steps;
  for (double loss : losses)
    good &= std::isfinite(loss) && loss > 0;
  return good ? losses : std::vector<double>();
}

int spread(size_t steps, char **paths, int count) {
  std::vector<double> low(steps, INFINITY), high(steps, -INFINITY);
  for (int i = 0; i < count; ++i) {
    std::vector<double> losses = lossesOf(paths[i], steps);
    if (losses.empty())
      return fail(std::string(paths[i]) + " is no log of these steps");
    for (size_t k = 0; k < steps; ++k) {
      low[k] = std::min(low[k], losses[k]);
      high[k] = std::max(high[k], losses[k]);
    }
  }
  double widest = 0;
  for (size_t k = 0; k < steps; ++k)
    widest = std::max(widest, high[k] - low[k]);
  std::printf("%.6e\n", widest);
  return widest > 0 ? 0 : fail("these runs do not differ");
}

int compareLosses(size_t steps, double limit, const char *one, const char *layout,
                  double earlyLimit) {
  std::vector<double> a = lossesOf(one, steps), b = lossesOf(layout, steps);
  if (a.empty() || b.empty())
    return fail(std::string(a.empty() ? one : layout) + " is no log of these steps");
  double early = 0, all = 0, relative = 0;
  for (size_t k = 0; k < steps; ++k) {
    double difference = std::abs(a[k] - b[k]);
    all = std::max(all, difference);
    relative = std::max(relative, difference / a[k]);
    if (k < 10)
      early = relative;
  }
  bool good = all <= limit && early <= earlyLimit;
  std::printf("loss %.4f -> %.4f, off by %.2e (relatively %.2e; %.2e in 10 "
              "steps)%s",
              b.front(), b.back(), all, relative, early, good ? "" : " FAILED");
  return good && b.back() < b.front() ? 0 : 1;
}

/// All tensors of the newest checkpoint in a folder, whole, in fp64.
bool readStates(const char *folder, Tensors &tensors) {
  std::vector<CheckpointCandidate> candidates;
  CheckpointManifest manifest;
  if (!chooseCheckpoints(folder, -1, candidates).ok() || candidates.empty())
    return false;
  CheckpointCandidate sound = inspectCheckpoint(candidates.front().path);
  if (!sound.status.ok() || !parseManifest(sound.manifest, manifest).ok())
    return false;
  CheckpointReader reader(manifest, sound.path);
  for (const CheckpointManifest::Tensor &tensor : manifest.tensors) {
    if (tensor.dtype == DType::I64) // weft.step
      continue;
    std::vector<double> &values = tensors[tensor.name];
    values.resize(size_t(tensor.numElements()));
    WantedElements wanted(tensor, DType::F64, reinterpret_cast<char *>(values.data()),
                          tensor.numElements());
    for (const CheckpointManifest::Box &box : tensor.boxes)
      if (!wanted.take(reader, box, 0, 0, tensor.numElements()).ok())
        return false;
    if (wanted.taken() != tensor.numElements())
      return false;
  }
  return !tensors.empty();
}

int compareStates(const Tensors &one, const Tensors &layout) {
  double worst = 0;
  for (const auto &[name, values] : one) {
    auto found = layout.find(name);
    if (found == layout.end() || found->second.size() != values.size())
      return fail("'" + name + "' is missing");
    weft::test::Distance distance(weft::test::Specials::AreWrong, 1);
    for (size_t i = 0; i < values.size(); ++i)
      distance.add(found->second[i], values[i]);
    worst = std::max(worst, distance.relative());
  }
  bool good = worst <= 1e-9;
  std::printf("; %zu states off by %.2e%s", one.size(), worst, good ? "" : " FAILED");
  return good ? 0 : 1;
}

/// A part of a tensor: query, key and value of a fused projection's bias are
/// three, because the key's gradient is zero and the others' are not.
struct Part {
  std::string name;
  size_t begin, end;
};

std::vector<Part> partsOf(const std::string &name, size_t size) {
  if (name.find("c_attn.bias") == std::string::npos)
    return {{name, 0, size}};
  size_t third = size / 3;
  return {{name + "/query", 0, third},
          {name + "/key", third, 2 * third},
          {name + "/value", 2 * third, size}};
}

double norm(const std::vector<double> &a, const std::vector<double> &b, const Part &part) {
  double squares = 0;
  for (size_t i = part.begin; i < part.end; ++i)
    squares += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(squares);
}

/// The error of an update against that of fp64 is at most four times that of one
/// rank in the same precision, or 1e-5, and never above 1e-3. Tensors whose
/// gradients are below 1e-6 of all are listed; the loss judges them.
int judgeUpdates(const Tensors &start, const Tensors &exact, const Tensors &one,
                 const Tensors &layout) {
  double gradients = 0, worst = 0, worstOne = 0;
  auto gradientOf = [&](const std::string &name) {
    auto found = exact.find(name + "#exp_avg");
    return found == exact.end() ? nullptr : &found->second;
  };
  auto zeros = [](const std::vector<double> &like) {
    return std::vector<double>(like.size(), 0.0);
  };
  for (const auto &[name, values] : start)
    if (const std::vector<double> *gradient = gradientOf(name)) {
      double size = norm(*gradient, zeros(values), {name, 0, values.size()});
      gradients = std::hypot(gradients, size);
    }
  std::string listed, bad;
  int judged = 0;
  for (const auto &[name, values] : start) {
    const std::vector<double> *gradient = gradientOf(name);
    if (!gradient)
      continue;
    const std::vector<double> &truth = exact.at(name);
    for (const Part &part : partsOf(name, values.size())) {
      if (norm(*gradient, zeros(values), part) < 1e-6 * gradients) {
        listed += (listed.empty() ? "" : ", ") + part.name;
        continue;
      }
      ++judged;
      double update = norm(truth, values, part);
      double mine = norm(layout.at(name), truth, part) / update;
      double alone = norm(one.at(name), truth, part) / update;
      worst = std::max(worst, mine);
      worstOne = std::max(worstOne, alone);
      if (!(mine <= std::min(1e-3, std::max(1e-5, 4 * alone))))
        bad += (bad.empty() ? " FAILED in " : ", ") + part.name;
    }
  }
  std::printf("; %d updates off by %.2e (one rank %.2e)%s", judged, worst, worstOne, bad.c_str());
  if (!listed.empty() && &one == &layout)
    std::printf("; without gradient: %s", listed.c_str());
  return bad.empty() && judged > 10 ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  auto is = [&](const char *command, int arguments) {
    return argc >= 2 && std::strcmp(argv[1], command) == 0 && argc >= arguments + 2;
  };
  if (is("perturb", 2))
    return perturb(argv[2], std::strtoul(argv[3], nullptr, 10));
  if (is("spread", 3))
    return spread(std::strtoul(argv[2], nullptr, 10), argv + 3, argc - 3);
  if (is("losses", 5))
    return compareLosses(std::strtoul(argv[2], nullptr, 10), std::strtod(argv[3], nullptr), argv[4],
                         argv[5], std::strtod(argv[6], nullptr));
  bool exact = is("exact", 2);
  if (!exact && !is("updates", 4))
    return 2;
  Tensors tensors[4];
  for (int i = 2; i < argc; ++i)
    if (i >= 6 || !readStates(argv[i], tensors[i - 2]))
      return fail(std::string("no checkpoint in ") + argv[i]);
  if (exact)
    return compareStates(tensors[0], tensors[1]);
  bool same = std::strcmp(argv[4], argv[5]) == 0;
  return judgeUpdates(tensors[0], tensors[1], tensors[2], same ? tensors[2] : tensors[3]);
}
