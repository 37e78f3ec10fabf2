// Interrupted, truncated, flipped and forged checkpoints never load wrongly.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CheckpointModel.h"
#include "FaultyDisk.h"
#include "ManifestEdits.h"
#include "checkpoint/CheckpointManifest.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sys/resource.h>
#include <unistd.h>

using namespace weft::runtime;
using namespace weft::runtime::test;
namespace fs = std::filesystem;

namespace {

int failures = 0, interrupted = 0, damaged = 0, forged = 0;
int acceptedEdits = 0;

void fail(const std::string &what) {
  if (++failures <= 20)
    std::printf("FAILED: %s\n", what.c_str());
}

std::vector<Tensor> smallModel() {
  return {{"w", DType::F32, {{3, 8}, {41}}},
          {"w#exp_avg", DType::F32, {{3, 8}, {41}}},
          {"b", DType::BF16, {{17}}},
          {"weft.step", DType::I64, {}}};
}

CheckpointInfo infoOf(int64_t step, uint64_t version) {
  CheckpointInfo info;
  info.step = step;
  info.seed = version;
  return info;
}

/// The version that loads, 0 if none does; anything wrong is a failure.
uint64_t loadedVersion(ModelSession &model, const std::string &directory, const std::string &what,
                       int64_t step = -1, bool forgery = false) {
  model.poison();
  LoadOptions options;
  options.step = step;
  CheckpointInfo info;
  std::vector<std::string> warnings;
  Status status = loadCheckpoint(model.session, directory, options, info, warnings);
  if (!status.ok()) {
    if (status.code() != StatusCode::UserError || status.text().empty())
      fail(what + ": not the user's error: " + status.text());
    return 0;
  }
  std::string fault = model.compare(info.seed);
  if (!fault.empty() && !forgery)
    fail(what + ": loads version " + std::to_string(info.seed) + ", but wrong: " + fault);
  return info.seed;
}

struct Scenario {
  const char *name;
  std::vector<int64_t> before; // steps saved without a fault, version 1, 2, ...
  std::vector<int64_t> steps;  // saved under faults
  int64_t keep;
};

const Scenario kScenarios[] = {
    {"first save", {}, {1}, 3},           {"next step", {1}, {2}, 3},
    {"the same step again", {1}, {1}, 3}, {"the oldest goes", {1, 2}, {3}, 2},
    {"only one stays", {1}, {2, 3}, 1},   {"back in time", {5, 9}, {6, 7}, 2}};

/// Saves and reports which version is certainly on disk afterwards.
uint64_t saveAll(ModelSession &model, const std::string &directory, const Scenario &scenario,
                 bool faulty, FaultyDisk *disk) {
  std::unique_ptr<CheckpointWriter> writer;
  CheckpointOptions options;
  options.keep = scenario.keep;
  options.blockBytes = 4096;
  if (disk)
    options.hook = [disk](const char *operation, const std::string &path) {
      return (*disk)(operation, path);
    };
  if (!CheckpointWriter::open(model.session, directory, options, writer).ok())
    return 0;
  uint64_t sure = 0, version = faulty ? scenario.before.size() + 1 : 1;
  for (int64_t step : faulty ? scenario.steps : scenario.before) {
    model.fill(version);
    Status status = writer->save(infoOf(step, version));
    model.poison();
    if (status.ok() && writer->finish().ok())
      sure = version;
    ++version;
  }
  return sure;
}

void copyTree(const std::string &from, const std::string &to) {
  fs::remove_all(to);
  fs::copy(from, to, fs::copy_options::recursive);
}

std::string describe(const Scenario &scenario, Fault fault, int at) {
  static const char *names[] = {"none", "error", "kill", "power failure"};
  return std::string(scenario.name) + ", " + names[int(fault)] + " at operation " +
         std::to_string(at);
}

/// One interrupted save: false once `at` is behind the last operation.
bool interrupt(const Scenario &scenario, ModelSession &writer, ModelSession &reader,
               const std::string &work, Fault fault, int at, int error, uint64_t seed) {
  std::string directory = work + "/run";
  copyTree(work + "/before", directory);
  FaultyDisk disk(fault, at, error, seed);
  uint64_t sure = saveAll(writer, directory, scenario, true, &disk);
  if (!disk.hit())
    return false;
  disk.losePower();
  ++interrupted;
  std::string what = describe(scenario, fault, at);
  uint64_t before = scenario.before.size();
  uint64_t found = loadedVersion(reader, directory, what);
  if (found < std::max(sure, before))
    fail(what + ": version " + std::to_string(found) + " loads, not " +
         std::to_string(std::max(sure, before)));
  // The next job cleans up and goes on.
  Scenario next{"", {}, {20}, scenario.keep};
  next.before.resize(before + scenario.steps.size());
  if (saveAll(writer, directory, next, true, nullptr) == 0)
    fail(what + ": the next save fails");
  if (loadedVersion(reader, directory, what) != next.before.size() + 1)
    fail(what + ": the next save does not load");
  int64_t kept = 0;
  for (const fs::directory_entry &entry : fs::directory_iterator(directory)) {
    std::string name = entry.path().filename().string();
    if (name.find(".tmp") != std::string::npos || name.find(".old") != std::string::npos)
      if (entry.is_directory())
        fail(what + ": '" + name + "' is left behind");
    kept += name.compare(0, 5, "step-") == 0;
  }
  // What a power failure damaged is left for the user to see.
  if (kept > scenario.keep + (fault == Fault::Power ? 1 : 0))
    fail(what + ": " + std::to_string(kept) + " checkpoints are kept");
  return true;
}

void interruptions(const std::string &work, bool full) {
  std::vector<Layout> writers{{"tp=3, factors", {3}, Style::Factors, 0}};
  if (full) {
    writers.push_back({"one rank", {1}, Style::Replicated, 0});
    writers.push_back({"dp=2,tp=2", {2, 2}, Style::Factors, 0});
  }
  Layout other{"dp=2, sharded", {2}, Style::Sharded, 0};
  ModelSession reader(other, smallModel());
  for (const Layout &layout : writers) {
    ModelSession writer(layout, smallModel());
    for (const Scenario &scenario : kScenarios) {
      fs::remove_all(work + "/before");
      saveAll(writer, work + "/before", scenario, false, nullptr);
      struct Kind {
        Fault fault;
        int error;
        bool always;
      };
      for (const Kind &kind :
           {Kind{Fault::Kill, 0, false}, Kind{Fault::Power, 0, true}, Kind{Fault::Power, 0, false},
            Kind{Fault::Error, ENOSPC, true}, Kind{Fault::Error, EIO, false}})
        for (int at = 0; full || kind.always; ++at)
          if (!interrupt(scenario, writer, reader, work, kind.fault, at, kind.error,
                         uint64_t(interrupted) + 1))
            break;
    }
  }
}

std::string read(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(const std::string &path, const std::string &text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

/// Truncates, extends, flips or removes a file of the newer of two.
void damages(const std::string &work, bool full) {
  std::mt19937_64 random(7);
  ModelSession writer({"tp=3, factors", {3}, Style::Factors, 0}, smallModel());
  ModelSession reader({"dp=2,tp=2", {2, 2}, Style::Random, 3}, smallModel());
  Scenario two{"", {1, 2}, {}, 3};
  fs::remove_all(work + "/before");
  saveAll(writer, work + "/before", two, false, nullptr);
  std::string directory = work + "/run", newer = "/step-00000002/";
  std::vector<std::string> names;
  for (const fs::directory_entry &entry : fs::directory_iterator(work + "/before" + newer))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  for (int i = 0; i < (full ? 1000 : 100); ++i) {
    copyTree(work + "/before", directory);
    std::string name = names[random() % names.size()];
    std::string path = directory + newer + name, text = read(path);
    std::string original = text;
    static const char *kinds[] = {"flipped", "cut off", "extended", "removed", "overwritten"};
    size_t kind = random() % 10;
    kind = kind < 5 ? 0 : kind - 5; // mostly flips
    size_t at = random() % text.size();
    if (kind == 0)
      text[at] = char(text[at] ^ (1 << random() % 8));
    if (kind == 1)
      text.resize(at);
    if (kind == 2)
      text.append(random() % 5000 + 1, char(random()));
    if (kind == 4)
      for (size_t k = at; k < std::min(text.size(), at + 64); ++k)
        text[k] = char(random());
    fs::remove(path);
    if (kind != 3)
      write(path, text);
    if (kind != 3 && text == original)
      continue;
    ++damaged;
    std::string what = name + " " + kinds[kind] + " at " + std::to_string(at);
    if (loadedVersion(reader, directory, what) != 1)
      fail(what + ": the sound one does not load");
    if (loadedVersion(reader, directory, what, 2) != 0)
      fail(what + ": loads when asked for");
    if (loadedVersion(reader, directory, what, 1) != 1)
      fail(what + ": step 1 does not load when asked for");
  }
}

/// Manifests with any content and a checksum that fits: no file may make the
/// loader crash, hang or eat memory.
void forgeries(const std::string &work, bool full) {
  ModelSession writer({"tp=3, factors", {3}, Style::Factors, 0}, smallModel());
  ModelSession reader({"dp=2,tp=2", {2, 2}, Style::Random, 3}, smallModel());
  Scenario one{"", {1}, {}, 3};
  fs::remove_all(work + "/run");
  saveAll(writer, work + "/run", one, false, nullptr);
  std::string path = work + "/run/step-00000001/manifest.json";
  std::string original = read(path);
  original.erase(0, original.find('\n') + 1);
  for (int i = 0; i < (full ? 1500 : 150); ++i) {
    std::string edit, text = editManifest(original, uint64_t(i), edit);
    char hash[17];
    std::snprintf(hash, sizeof hash, "%016llx",
                  static_cast<unsigned long long>(hashBytes(text.data(), text.size())));
    write(path, std::string("{\"weft_checkpoint\":1,\"hash\":\"") + hash + "\",\n" + text);
    ++forged;
    auto start = std::chrono::steady_clock::now();
    acceptedEdits += loadedVersion(reader, work + "/run", edit, -1, true) != 0;
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (seconds > 10)
      fail(edit + ": took " + std::to_string(seconds) + " s");
  }
}

/// Peak resident memory in MiB.
long peakMemory() {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

} // namespace

int main() {
  bool full = std::getenv("WEFT_TEST_FULL") != nullptr;
  // In memory where possible: waiting for a disk is not what is tested.
  std::string work = fs::is_directory("/dev/shm") ? "/dev/shm" : "/tmp";
  work += "/weft-checkpoint-faults-XXXXXX";
  if (!mkdtemp(work.data()))
    return 1;
  fs::create_directory(work + "/before");
  interruptions(work, full);
  damages(work, full);
  long before = peakMemory();
  forgeries(work, full);
  long grown = peakMemory() - before;
  fs::remove_all(work);
  int cases = interrupted + damaged + forged;
  std::printf("%d cases: %d interrupted, %d damaged, %d forged (%d of these "
              "load); %ld MiB more memory; %d failures\n",
              cases, interrupted, damaged, forged, acceptedEdits, grown, failures);
  if (cases < (full ? 4000 : 400))
    fail("too few cases");
  if (grown > 256)
    fail("hostile manifests take too much memory");
  return failures != 0;
}
