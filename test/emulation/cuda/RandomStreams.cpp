// Draws lists of launches, and says what they need and compute.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RandomStreams.h"

using namespace weft;
using namespace weft::emulated;
using namespace weft::runtime;

static void mix(int64_t begin, int64_t end, void *const *pointers, const int64_t *scalars) {
  auto *from = static_cast<const float *>(pointers[0]);
  auto *with = static_cast<const float *>(pointers[1]);
  auto *to = static_cast<float *>(pointers[2]);
  for (int64_t i = begin; i < end; ++i)
    to[i] = from[i] * float(scalars[0]) / 4 + with[i];
}

bool RandomStreams::meet(int64_t a, int64_t b) { return std::abs(a - b) < kElements; }
bool RandomStreams::conflict(const Launch &a, const Launch &b) {
  return meet(a.to, b.to) || meet(a.to, b.from) || meet(a.to, b.with) || meet(b.to, a.from) ||
         meet(b.to, a.with);
}

RandomStreams::RandomStreams(uint64_t seed, unsigned count) {
  std::mt19937_64 random(seed);
  for (unsigned i = 0; i < count; ++i) {
    int64_t known = std::min(kStretches, kInputs + i);
    Launch launch{unsigned(random() % kStreams), 0, 0, 0, int64_t(random() % 4), {}};
    launch.to = i + kInputs < kStretches ? i + kInputs
                                         : kInputs + int64_t(random() % (kStretches - kInputs));
    auto other = [&] {
      int64_t drawn = int64_t(random() % uint64_t(known));
      return drawn == launch.to ? 0 : drawn;
    };
    launch.from = other() * kElements;
    launch.with = other() * kElements;
    launch.to *= kElements;
    launches.push_back(launch);
    // From the latest on: what an earlier one needs it may have with it.
    for (uint32_t j = i; j-- > 0;) {
      if (!conflict(launches[j], launches[i]))
        continue;
      launches[i].waits.push_back(j);
      std::vector<uint32_t> with = launches[i].waits;
      launches[i].waits.pop_back();
      if (!isOrdered())
        launches[i].waits = with;
    }
  }
}

bool RandomStreams::isOrdered() const {
  size_t count = launches.size();
  std::vector<std::vector<bool>> before(count, std::vector<bool>(count));
  for (size_t i = 0; i < count; ++i) {
    auto follow = [&](size_t j) {
      before[i][j] = true;
      for (size_t k = 0; k < j; ++k)
        before[i][k] = before[i][k] || before[j][k];
    };
    for (size_t j = i; j-- > 0;)
      if (launches[j].stream == launches[i].stream) {
        follow(j);
        break;
      }
    for (uint32_t j : launches[i].waits)
      follow(j);
    for (size_t j = 0; j < i; ++j)
      if (!before[i][j] && conflict(launches[i], launches[j]))
        return false;
  }
  return true;
}

std::vector<float> RandomStreams::expected(int runs) const {
  std::vector<float> memory = inputs();
  memory.resize(memory.size() + size_t(kResults));
  for (size_t i = 0; i < size_t(runs) * launches.size(); ++i) {
    const Launch &launch = launches[i % launches.size()];
    void *pointers[] = {&memory[size_t(launch.from)], &memory[size_t(launch.with)],
                        &memory[size_t(launch.to)]};
    mix(0, kElements, pointers, &launch.scale);
  }
  return {memory.end() - kResults, memory.end()};
}

void RandomStreams::build(Harness &harness) const {
  Id x = harness.input("x", DType::F32, {kInputs * kElements});
  Id y = harness.output("y", DType::F32, {kResults});
  harness.kernels = {{"mix", mix, nullptr}};
  Id kernel = harness.builder.addKernel("mix");
  harness.begin(kStreams, uint32_t(launches.size()));
  auto view = [&](int64_t first) {
    int64_t inY = first - kInputs * kElements;
    return harness.builder.view(inY < 0 ? x : y, DType::F32, 4 * (inY < 0 ? first : inY),
                                {kElements}, {1});
  };
  for (uint32_t i = 0; i < launches.size(); ++i) {
    const Launch &launch = launches[i];
    for (uint32_t event : launch.waits)
      harness.builder.add({launch.stream}, EventWait{event}, {});
    harness.builder.launch({launch.stream}, kernel, kElements, 16,
                           {view(launch.from), view(launch.with), view(launch.to)},
                           {harness.builder.constant(launch.scale)}, 2);
    harness.builder.add({launch.stream}, EventRecord{i}, {});
  }
}

std::vector<float> RandomStreams::inputs() {
  return randomValues<float>(size_t(kInputs * kElements), 1);
}
