// Writes beside the name, syncs and renames.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/OutputFile.h"
#include "weft/runtime/FailedWrites.h"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace weft::runtime;

static Status failure(const std::string &path, int error) {
  return path == "-" ? outputFailed(error)
                     : Status::user("'" + path + "' cannot be written: " + std::strerror(error));
}

/// Whether a new file is to be there, not a device or a pipe.
static bool becomesFile(const std::string &path) {
  struct stat info{};
  return stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode);
}

std::string weft::runtime::partialSuffix(const std::string &path) {
  if (!becomesFile(path))
    return "";
  // Hosts that share a folder number their processes alike, as containers do.
  char random[16];
  std::snprintf(random, sizeof random, "%08x", unsigned(std::random_device{}()));
  return "." + std::to_string(getpid()) + "-" + random + ".part";
}

Status weft::runtime::settlePartial(const std::string &path, const std::string &suffix,
                                    Status written) {
  std::string partial = path + suffix;
  if (suffix.empty())
    return written;
  if (written.ok()) {
    int descriptor = ::open(partial.c_str(), O_WRONLY | O_CLOEXEC);
    bool good = descriptor >= 0 && fsync(descriptor) == 0;
    int error = errno;
    if (descriptor >= 0)
      close(descriptor);
    if (good && std::rename(partial.c_str(), path.c_str()) == 0)
      return {};
    written = failure(path, good ? errno : error);
  }
  unlink(partial.c_str());
  return written;
}

bool weft::runtime::isSameFile(const std::string &a, const std::string &b) {
  struct stat one{}, other{};
  return stat(a.c_str(), &one) == 0 && stat(b.c_str(), &other) == 0 && S_ISREG(one.st_mode) &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

bool weft::runtime::isSamePlace(const std::string &a, const std::string &b) {
  std::error_code unknown;
  auto placeOf = [&](std::string path) {
    while (path.size() > 1 && path.back() == '/')
      path.pop_back();
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, unknown), unknown);
  };
  return a == b || (placeOf(a) == placeOf(b) && !unknown);
}

Status weft::runtime::checkNotRead(const std::string &flag, const std::string &path,
                                   const std::vector<std::string> &read) {
  for (const std::string &file : read)
    if (isSameFile(path, file))
      return Status::user(flag + " '" + path + "' is '" + file +
                          "', which is read; name another file");
  return {};
}

/// The standard output stays open for what is printed behind it.
static void close(std::FILE *file) {
  if (file != stdout)
    std::fclose(file);
}

static constexpr int kEnding[] = {SIGINT, SIGTERM, SIGHUP};

// A signal handler can reach nothing but globals.
static char pending[PATH_MAX]; // what is removed; empty = nothing
static bool removesPending = false;

static void removePending(int signal) {
  if (pending[0])
    ::unlink(pending);
  std::signal(signal, SIG_DFL);
  ::raise(signal);
}

void weft::runtime::removePartialsAtSignals() {
  removesPending = true;
  for (int signal : kEnding)
    if (std::signal(signal, removePending) == SIG_IGN)
      std::signal(signal, SIG_IGN); // as nohup asks for
}

namespace {
/// Nothing ends the process between a file's change and the note of it.
class NoSignals {
public:
  NoSignals() {
    if (!removesPending)
      return;
    sigset_t ending;
    sigemptyset(&ending);
    for (int signal : kEnding)
      sigaddset(&ending, signal);
    sigprocmask(SIG_BLOCK, &ending, &before);
  }
  ~NoSignals() {
    if (removesPending)
      sigprocmask(SIG_SETMASK, &before, nullptr);
  }
  void note(const std::string &name) {
    if (removesPending && name.size() < sizeof pending)
      std::memcpy(pending, name.c_str(), name.size() + 1);
  }

private:
  sigset_t before;
};
} // namespace

OutputFile::~OutputFile() {
  if (!file)
    return;
  close(file);
  NoSignals unbroken;
  unbroken.note("");
  if (partial != path)
    unlink(partial.c_str());
}

Status OutputFile::open() {
  partial = path;
  if (path == "-") {
    file = stdout;
    return {};
  }
  // A name of this process alone; a new file follows no link. One of the same name may be left of a
  // process that was killed, as in containers numbers of processes come again.
  const bool isNew = becomesFile(path);
  NoSignals unbroken;
  constexpr int kMostTries = 16;
  int descriptor = -1;
  for (int i = 0; i < kMostTries && descriptor < 0; ++i) {
    if (isNew)
      partial =
          path + "." + std::to_string(getpid()) + (i ? "-" + std::to_string(i) : "") + ".part";
    descriptor =
        ::open(partial.c_str(), O_WRONLY | O_CLOEXEC | (isNew ? O_CREAT | O_EXCL : 0), 0666);
    if (!isNew || errno != EEXIST)
      break;
  }
  file = descriptor < 0 ? nullptr : fdopen(descriptor, "w");
  if (file && isNew)
    unbroken.note(partial);
  return file ? Status() : failure(path, errno);
}

Status OutputFile::write(const void *data, size_t bytes) {
  bool good = std::fwrite(data, 1, bytes, file) == bytes;
  return good ? Status() : failure(path, errno);
}

Status OutputFile::commit() {
  bool isNew = partial != path;
  bool good = std::fflush(file) == 0 && !std::ferror(file) && (!isNew || fsync(fileno(file)) == 0);
  int error = errno;
  close(std::exchange(file, nullptr));
  NoSignals unbroken;
  unbroken.note("");
  if (good && (!isNew || std::rename(partial.c_str(), path.c_str()) == 0))
    return {};
  error = good ? errno : error;
  if (isNew)
    unlink(partial.c_str());
  return failure(path, error);
}
