// Reads, cuts and sets affinity masks.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/Cores.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <sched.h>
#include <string_view>
#include <thread>
#include <unistd.h>

using namespace weft::runtime;

namespace {

std::vector<int> coresOf(const CoreReport &report) {
  std::vector<int> cores;
  for (unsigned word = 0; word < CoreReport::kWords; ++word)
    for (int bit = 0; bit < 64; ++bit)
      if (report.mask[word] >> bit & 1)
        cores.push_back(int(word) * 64 + bit);
  return cores;
}

bool overlap(const CoreReport &a, const CoreReport &b) {
  for (unsigned word = 0; word < CoreReport::kWords; ++word)
    if (a.mask[word] & b.mask[word])
      return true;
  return false;
}

bool equal(const CoreReport &a, const CoreReport &b) {
  return std::memcmp(a.mask, b.mask, sizeof a.mask) == 0;
}

cpu_set_t *asSet(uint64_t *mask) { return reinterpret_cast<cpu_set_t *>(mask); }

} // namespace

CoreReport weft::runtime::reportCores() {
  CoreReport report{};
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  report.host = std::hash<std::string_view>()(name);
  if (sched_getaffinity(0, sizeof report.mask, asSet(report.mask)) == 0)
    return report;
  unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  for (unsigned i = 0; i < std::min(cores, CoreReport::kWords * 64); ++i)
    report.mask[i / 64] |= uint64_t(1) << (i % 64);
  return report;
}

CoreShare weft::runtime::shareCores(const std::vector<CoreReport> &reports, int64_t rank) {
  const CoreReport &mine = reports[size_t(rank)];
  CoreShare share;
  share.localRanks = share.sharers = 0;
  size_t position = 0; // among the sharers
  bool clean = true;   // who shares any core shares all
  for (size_t i = 0; i < reports.size(); ++i) {
    if (reports[i].host != mine.host)
      continue;
    ++share.localRanks;
    if (!overlap(reports[i], mine))
      continue;
    ++share.sharers;
    position += int64_t(i) < rank;
    clean &= equal(reports[i], mine);
  }
  share.sharers = std::max<int64_t>(1, share.sharers);
  std::vector<int> cores = coresOf(mine);
  size_t each = cores.size() / size_t(share.sharers);
  share.cores = unsigned(std::max<size_t>(1, cores.size()));
  // Cores that do not go up go to nobody, so that all ranks are equally fast.
  if (clean && share.sharers > 1 && each > 0)
    share.own.assign(cores.begin() + long(position * each),
                     cores.begin() + long((position + 1) * each));
  return share;
}

void weft::runtime::keepOn(const std::vector<int> &cores) {
  if (cores.empty())
    return;
  uint64_t mask[CoreReport::kWords] = {};
  for (int core : cores)
    mask[core / 64] |= uint64_t(1) << (core % 64);
  (void)sched_setaffinity(0, sizeof mask, asSet(mask));
}
