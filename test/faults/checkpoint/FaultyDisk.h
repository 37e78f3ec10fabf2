// A hook that stops a job, or fails one operation, at a chosen moment.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_TEST_FAULTS_CHECKPOINT_FAULTYDISK_H
#define WEFT_TEST_FAULTS_CHECKPOINT_FAULTYDISK_H

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace weft::runtime::test {

enum class Fault {
  None,  // count the operations
  Error, // one operation fails, the job goes on
  Kill,  // the job ends here; what it did stays
  Power  // the machine ends here; what was not synced may be lost
};

class FaultyDisk {
public:
  FaultyDisk(Fault fault, int at, int error, uint64_t seed)
      : fault(fault), at(at), error(error), random(seed) {}

  int operations() const { return count; }
  bool hit() const { return count > at && fault != Fault::None; }

  int operator()(const std::string &operation, const std::string &path) {
    std::lock_guard<std::mutex> guard(mutex);
    int number = count++;
    if (fault == Fault::Error && number == at)
      return error;
    // A dead job does nothing any more; errors are the way to stop ours.
    if ((fault == Fault::Kill || fault == Fault::Power) && number >= at)
      return ECANCELED;
    remember(operation, path);
    return 0;
  }

  /// After the job ended: what a power failure takes away.
  void losePower() {
    if (fault != Fault::Power)
      return;
    // The last renames may not have reached the disk, newest first.
    size_t lost = renames.empty() ? 0 : random() % (renames.size() + 1);
    for (; lost > 0 && !renames.empty(); --lost) {
      auto [from, to] = renames.back();
      renames.pop_back();
      if (std::filesystem::exists(to) && !std::filesystem::exists(from))
        std::filesystem::rename(to, from);
    }
    for (const auto &[path, synced] : written)
      if (!synced && std::filesystem::is_regular_file(path))
        damage(path);
    for (const std::string &path : created)
      if (random() % 2 && std::filesystem::is_regular_file(path))
        std::filesystem::remove(path);
  }

private:
  static std::string parent(const std::string &path) {
    return path.substr(0, path.find_last_of('/'));
  }
  void remember(const std::string &operation, const std::string &path) {
    if (operation == "create")
      created.push_back(path);
    if (operation == "create" || operation == "write")
      written[path] = false;
    if (operation == "fsync")
      written[path] = true;
    if (operation == "rename")
      renames.push_back({path, target(path)});
    if (operation != "fsyncdir")
      return;
    for (size_t i = created.size(); i-- > 0;)
      if (parent(created[i]) == path)
        created.erase(created.begin() + long(i));
    for (size_t i = renames.size(); i-- > 0;)
      if (parent(renames[i].first) == path)
        renames.erase(renames.begin() + long(i));
  }
  /// Where the writer's renames lead: the hook is told only what is renamed.
  static std::string target(const std::string &path) {
    auto ends = [&](const char *end) {
      std::string text = end;
      return path.size() > text.size() &&
             path.compare(path.size() - text.size(), text.size(), text) == 0;
    };
    if (ends(".tmp") || ends(".old"))
      return path.substr(0, path.size() - 4);
    // Replaced by a new one of its step, or on its way out.
    return std::filesystem::exists(path + ".tmp") ? path + ".old" : path + ".tmp";
  }
  void damage(const std::string &path) {
    uint64_t size = std::filesystem::file_size(path);
    if (size == 0)
      return;
    uint64_t from = random() % size;
    if (random() % 2) {
      std::filesystem::resize_file(path, from);
      return;
    }
    // Blocks that were allocated but not written read as zeros.
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(std::streamoff(from));
    std::string zeros(size_t(size - from), '\0');
    file.write(zeros.data(), std::streamsize(zeros.size()));
  }

  std::mutex mutex;
  Fault fault;
  int at, error, count = 0;
  std::mt19937_64 random;
  std::vector<std::string> created; // whose folder was not synced since
  std::map<std::string, bool> written;
  std::vector<std::pair<std::string, std::string>> renames;
};

} // namespace weft::runtime::test

#endif // WEFT_TEST_FAULTS_CHECKPOINT_FAULTYDISK_H
