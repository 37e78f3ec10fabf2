// Writes checkpoints: snapshot, files of all ranks, manifest, commit.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "checkpoint/CheckpointFiles.h"
#include "checkpoint/CheckpointFolder.h"
#include "files/Safetensors.h"
#include "program/ProgramText.h"
#include "session/AmongProcesses.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace weft::runtime;

namespace {

constexpr unsigned kMostWriters = 8; // threads of a process

/// A local rank's file: its image is made by a snapshot and then written.
struct LocalFile {
  RankContext *rank = nullptr;
  const ProgramView *program = nullptr;
  std::vector<CheckpointPiece> pieces;
  uint64_t dataOffset = 0; // where the header ends
  char *image = nullptr;
  uint64_t bytes = 0;
  std::vector<uint64_t> hashes;
  Status status;

  ~LocalFile() {
    if (image)
      munmap(image, bytes);
  }
  /// Copies the rank's pieces of its states.
  Status take() {
    const ProgramView &p = *program;
    for (const CheckpointPiece &piece : pieces) {
      const State &state = p.States()[piece.state];
      int64_t size = dtypeBytes(state.dtype);
      HostCopy shard = rank->shard(state);
      WEFT_TRY(shard.download());
      const char *from = shard.data();
      char *to = image + dataOffset + piece.offset;
      rank->map(state.placement).forEachRun([&](const ShardMap::Run &run) {
        for (int64_t done = 0; done < run.count;) {
          CheckpointBox::Place place = piece.box.locate(run.global + done);
          int64_t count = std::min(place.count, run.count - done);
          if (place.inside)
            std::memcpy(to + place.local * size, from + (run.local + done) * size,
                        size_t(count * size));
          done += count;
        }
      });
    }
    return {};
  }
};

std::string entryName(const ProgramView &p, const CheckpointPiece &piece) {
  std::string name(p.string(p.States()[piece.state].name));
  if (piece.box.size == piece.box.view)
    return name;
  for (size_t i = 0; i < piece.box.start.size(); ++i)
    name += (i ? "," : "@") + std::to_string(piece.box.start[i]);
  return name;
}

std::string headerOf(const ProgramView &p, const std::vector<CheckpointPiece> &pieces) {
  std::vector<SafetensorsEntry> entries;
  for (const CheckpointPiece &piece : pieces)
    entries.push_back({entryName(p, piece), p.States()[piece.state].dtype, piece.box.size,
                       piece.offset, piece.offset + piece.bytes});
  return safetensorsHeader(entries, {{"format", "weft checkpoint"}});
}

uint64_t dataBytes(const std::vector<CheckpointPiece> &pieces) {
  return pieces.empty() ? 0 : pieces.back().offset + pieces.back().bytes;
}

/// What a process tells the first one about its file, as a file.
std::string partText(const LocalFile &file) {
  std::vector<uint64_t> words{file.bytes, file.hashes.size()};
  words.insert(words.end(), file.hashes.begin(), file.hashes.end());
  words.push_back(hashBytes(words.data(), words.size() * 8));
  return {reinterpret_cast<const char *>(words.data()), words.size() * 8};
}
bool parsePart(const std::string &text, CheckpointManifest::File &file) {
  std::vector<uint64_t> words(text.size() / 8);
  if (words.size() < 3 || words.size() * 8 != text.size())
    return false;
  std::memcpy(words.data(), text.data(), text.size());
  if (words[1] != words.size() - 3 || words.back() != hashBytes(words.data(), text.size() - 8))
    return false;
  file.bytes = words[0];
  file.hashes.assign(words.begin() + 2, words.end() - 1);
  return true;
}
/// The same on all processes. Checksums of terabytes are of larger blocks, so
/// that the manifest stays small.
uint64_t blockBytesFor(const ProgramView &p, uint64_t wanted) {
  uint64_t total = 0;
  for (const State &state : p.States()) {
    uint64_t bytes = dtypeBytes(state.dtype);
    for (int64_t size : p.ints(state.shape))
      bytes *= uint64_t(size);
    total += bytes;
  }
  uint64_t result = wanted ? wanted : 1 << 20;
  while (!wanted && result < kMostBlock && total / result > (1 << 20))
    result *= 2;
  return result;
}

std::string partName(int64_t rank) {
  std::string name = checkpointFileName(uint64_t(rank));
  return name.substr(0, name.find('.')) + ".part";
}

} // namespace

class CheckpointWriter::Implementation {
public:
  Implementation(weft_session &session, std::string directory, const CheckpointOptions &options)
      : session(session), p(session.view()), directory(std::move(directory)), options(options),
        files(options.hook), first(session.firstRank == 0) {}
  ~Implementation() {
    cancelled.store(true);
    background.wait();
    if (lock >= 0)
      ::close(lock);
  }

  Status open() {
    WEFT_TRY(agree(session, first ? prepareDirectory() : Status()));
    WEFT_TRY(broadcast(session, holder));
    WEFT_TRY(broadcast(session, committed));
    WEFT_TRY(agree(session, seeFolder()));
    return agree(session, prepareMemory());
  }
  Status save(const CheckpointInfo &info);
  Status settle();

  uint64_t snapshotBytes = 0;
  std::string committed;

private:
  Status prepareDirectory();
  void signLock();
  Status seeFolder() const;
  Status prepareMemory();
  void prepareManifest(const std::vector<std::vector<CheckpointPiece>> &plan);
  Status beginSave(const CheckpointInfo &info);
  void snapshot();
  void writeAll();
  void writeOwnFiles();
  Status writePart(const LocalFile &file);
  Status collectParts();
  Status commit();
  Status publish(const std::string &name);
  template <typename Which> void forget(Which which);
  Status prune();

  weft_session &session;
  const ProgramView &p;
  std::string directory;
  CheckpointOptions options;
  CheckpointFiles files;
  bool first; // this process commits
  int lock = -1;
  std::string holder; // what the first process has written there; empty if it could not
  uint64_t nextOrdinal = 1;
  /// What is there, by ordinal; what cannot be read is left alone.
  std::map<uint64_t, std::string> present;
  CheckpointManifest manifest; // of the first process
  std::vector<std::unique_ptr<LocalFile>> own;

  // The write in work.
  std::string temporary;
  std::atomic<bool> cancelled{false};
  bool writing = false;
  Status partStatus, commitStatus;
  std::mutex mutex;
  std::condition_variable changed;
  bool partsDone = false;
  std::atomic<size_t> nextFile{0};
  std::vector<std::unique_ptr<Worker>> writers;
  Worker background; // last, so that it ends first
};

Status CheckpointWriter::Implementation::prepareDirectory() {
  if (options.keep < 1)
    return {StatusCode::Usage, "at least one checkpoint must be kept"};
  if (!isDirectory(directory)) {
    WEFT_TRY(files.makeDirectory(directory));
    WEFT_TRY(files.syncDirectory(directory + "/.."));
  }
  std::string path = directory + "/.lock";
  lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (lock < 0)
    return Status::user("checkpoints cannot be saved in '" + directory +
                        "': " + std::strerror(errno) + "; give another folder with --save");
  // Some file systems have no locks; then nothing is promised about two jobs.
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    std::string who;
    (void)readFile(path, 1 << 10, who);
    return Status::user("another job saves its checkpoints in '" + directory + "'" +
                        (who.empty() ? "" : " (" + who + ")") +
                        "; give another folder with --save");
  }
  signLock();
  // What an interrupted job left behind.
  std::vector<std::string> names;
  WEFT_TRY(listDirectory(directory, names));
  for (const std::string &name : names) {
    if (name.compare(0, 5, "step-") != 0 || name.size() < 9)
      continue;
    std::string end = name.substr(name.size() - 4);
    std::string from = directory + "/" + name;
    std::string to = from.substr(0, from.size() - 4);
    if (end == ".tmp" || (end == ".old" && isDirectory(to)))
      WEFT_TRY(files.removeTree(from));
    else if (end == ".old")
      WEFT_TRY(files.rename(from, to));
  }
  std::vector<CheckpointCandidate> candidates;
  WEFT_TRY(findCheckpoints(directory, candidates));
  for (const CheckpointCandidate &candidate : candidates)
    if (candidate.ordinal != 0 && candidate.status.ok()) {
      present[candidate.ordinal] = candidate.path;
      nextOrdinal = std::max(nextOrdinal, candidate.ordinal + 1);
    }
  if (!present.empty())
    committed = present.rbegin()->second;
  return {};
}

/// Says in the lock's file who has it.
void CheckpointWriter::Implementation::signLock() {
  std::string text = "rank 0 is pid " + std::to_string(getpid()) + " on " + hostOfProcess() +
                     ", since " + std::to_string(std::time(nullptr));
  bool written = ::ftruncate(lock, 0) == 0 &&
                 ::pwrite(lock, text.data(), text.size(), 0) == ssize_t(text.size()) &&
                 ::fsync(lock) == 0;
  // Where there is no room for it there may be later.
  holder = written ? text : "";
}

/// Whether this process sees the folder that the first one does.
Status CheckpointWriter::Implementation::seeFolder() const {
  std::string found;
  if (holder.empty() || (readFile(directory + "/.lock", 1 << 10, found).ok() && found == holder))
    return {};
  return Status::user("'" + directory + "' on " + hostOfProcess() +
                      " is not the folder that rank 0 sees (" + holder +
                      "); give one with --save that all hosts share");
}

Status CheckpointWriter::Implementation::prepareMemory() {
  for (const State &state : p.States())
    if (!isUtf8(p.string(state.name)))
      return Status::user("a state's name is not UTF-8, so it cannot be saved");
  int64_t only = first ? -1 : session.firstRank;
  std::vector<std::vector<CheckpointPiece>> plan = planCheckpoint(p, only);
  manifest.blockBytes = blockBytesFor(p, options.blockBytes);
  if (manifest.blockBytes < kLeastBlock || manifest.blockBytes > kMostBlock)
    return {StatusCode::Usage, "checksums are of 4 KiB to 64 MiB each"};
  if (first)
    prepareManifest(plan);
  for (const std::unique_ptr<RankContext> &rank : session.ranks) {
    auto file = std::make_unique<LocalFile>();
    file->rank = rank.get();
    file->program = &p;
    file->pieces = std::move(plan[size_t(rank->rank())]);
    if (!file->pieces.empty()) {
      std::string header = headerOf(p, file->pieces);
      file->dataOffset = header.size();
      file->bytes = header.size() + dataBytes(file->pieces);
      void *memory = mmap(nullptr, file->bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
      if (memory == MAP_FAILED) {
        file->bytes = 0;
        return {StatusCode::DoesNotFit, "there is no memory for a snapshot of the state: " +
                                            std::string(std::strerror(errno)) +
                                            "; use more ranks, or do not save"};
      }
      file->image = static_cast<char *>(memory);
      std::memcpy(file->image, header.data(), header.size());
      snapshotBytes += file->bytes;
    }
    own.push_back(std::move(file));
  }
  for (std::unique_ptr<LocalFile> &file : own)
    file->hashes.resize((file->bytes + manifest.blockBytes - 1) / manifest.blockBytes);
  size_t threads = std::min<size_t>(kMostWriters, own.size());
  for (size_t i = 1; i < threads; ++i)
    writers.push_back(std::make_unique<Worker>());
  return {};
}

void CheckpointWriter::Implementation::prepareManifest(
    const std::vector<std::vector<CheckpointPiece>> &plan) {
  // Tensors without elements are in no file, but they exist.
  std::map<std::string_view, size_t> tensors;
  for (const State &state : p.States()) {
    if (!isSaved(p, state) || !tensors.emplace(p.string(state.name), tensors.size()).second)
      continue;
    manifest.tensors.emplace_back();
    CheckpointManifest::Tensor &tensor = manifest.tensors.back();
    tensor.name = std::string(p.string(state.name));
    tensor.dtype = state.dtype;
    tensor.optimizer = p.classOf(state) == BufferClass::OptimizerState;
    tensor.shape.assign(p.ints(state.shape).begin(), p.ints(state.shape).end());
  }
  manifest.files.resize(plan.size());
  for (uint32_t rank = 0; rank < plan.size(); ++rank) {
    uint64_t header = headerOf(p, plan[rank]).size();
    for (const CheckpointPiece &piece : plan[rank]) {
      CheckpointManifest::Box box;
      static_cast<CheckpointBox &>(box) = piece.box;
      box.file = rank;
      box.offset = header + piece.offset;
      size_t tensor = tensors.at(p.string(p.States()[piece.state].name));
      manifest.tensors[tensor].boxes.push_back(std::move(box));
    }
  }
  for (const MeshAxis &axis : p.MeshAxes())
    manifest.mesh.push_back({std::string(p.string(axis.name)), axis.size});
  manifest.model = std::string(p.string(p.info().modelName));
  // For people alone, but a manifest is UTF-8, and names of files may be anything.
  if (!isUtf8(manifest.model))
    std::replace_if(
        manifest.model.begin(), manifest.model.end(), [](char c) { return c < 0; }, '?');
  manifest.executable = checksumText(p);
}

Status CheckpointWriter::Implementation::save(const CheckpointInfo &info) {
  Status previous = settle();
  if (session.world.aborted())
    return World::stopped();
  WEFT_TRY(agree(session, first ? beginSave(info) : Status())
               .prefix("checkpoint of step " + std::to_string(info.step)));
  temporary = directory + "/" + checkpointName(info.step) + ".tmp";
  manifest.info = info;
  snapshot();
  partsDone = false;
  writing = true;
  background.post([](void *self) { static_cast<Implementation *>(self)->writeAll(); }, this);
  if (options.asynchronous)
    return previous;
  Status own = settle();
  return previous.ok() ? own : previous;
}

Status CheckpointWriter::Implementation::beginSave(const CheckpointInfo &info) {
  bool notesFit = info.notes.size() <= 256;
  for (const auto &[key, value] : info.notes)
    notesFit &= key.size() + value.size() <= (64 << 10) && isUtf8(key) && isUtf8(value);
  if (info.step < 0 || info.samples < 0 || !notesFit)
    return Status::internal("the numbers or notes to save are out of range");
  if (!isDirectory(directory))
    return Status::user("the folder '" + directory +
                        "' has vanished; nothing is saved until it is back");
  std::string path = directory + "/" + checkpointName(info.step) + ".tmp";
  WEFT_TRY(files.removeTree(path));
  return files.makeDirectory(path);
}

void CheckpointWriter::Implementation::snapshot() {
  for (std::unique_ptr<LocalFile> &file : own)
    file->rank->thread().post(
        [](void *argument) {
          auto *local = static_cast<LocalFile *>(argument);
          local->status = local->take();
        },
        file.get());
  for (std::unique_ptr<LocalFile> &file : own)
    file->rank->thread().wait();
}

/// Runs on the background thread: everything between snapshot and commit.
void CheckpointWriter::Implementation::writeAll() {
  nextFile.store(0);
  auto job = [](void *self) { static_cast<Implementation *>(self)->writeOwnFiles(); };
  for (std::unique_ptr<Worker> &writer : writers)
    writer->post(job, this);
  writeOwnFiles();
  for (std::unique_ptr<Worker> &writer : writers)
    writer->wait();
  Status status;
  for (std::unique_ptr<LocalFile> &file : own) {
    if (status.ok())
      status = file->status;
    if (status.ok() && !first)
      status = writePart(*file);
  }
  {
    std::lock_guard<std::mutex> guard(mutex);
    partStatus = status;
    partsDone = true;
  }
  changed.notify_all();
  if (first) {
    commitStatus = status.ok() ? commit() : Status();
    // Leave no half-written files where space may have run out.
    bool failed = !status.ok() || !commitStatus.ok();
    if (failed && session.shared.comm.everyRankIsLocal && !files.removeTree(temporary).ok())
      return; // its status would hide the reason; the next save tries again
  }
}

void CheckpointWriter::Implementation::writeOwnFiles() {
  for (size_t i = nextFile++; i < own.size(); i = nextFile++) {
    LocalFile &file = *own[i];
    if (file.status.ok() && file.bytes != 0)
      file.status =
          files.writeFile(temporary + "/" + checkpointFileName(uint64_t(file.rank->rank())),
                          file.image, file.bytes, manifest.blockBytes, file.hashes.data());
  }
}

Status CheckpointWriter::Implementation::writePart(const LocalFile &file) {
  WEFT_TRY(files.syncDirectory(temporary));
  std::string text = partText(file);
  std::string path = temporary + "/" + partName(file.rank->rank());
  WEFT_TRY(files.writeFile(path + ".tmp", text.data(), text.size(), manifest.blockBytes, nullptr));
  return files.rename(path + ".tmp", path);
}

/// Waits until every other process has written its part.
Status CheckpointWriter::Implementation::collectParts() {
  for (std::unique_ptr<LocalFile> &file : own)
    manifest.files[size_t(file->rank->rank())] = {file->bytes, file->hashes};
  if (session.shared.comm.everyRankIsLocal)
    return {};
  // As long as they take: who is lost ends the job, and who fails says so when all settle.
  for (int64_t rank = 0; rank < p.numRanks(); ++rank) {
    if (rank == session.firstRank)
      continue;
    std::string path = temporary + "/" + partName(rank), text;
    while (!readFile(path, kManifestLimit, text).ok()) {
      if (cancelled.load() || session.world.aborted())
        return World::stopped();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    if (!parsePart(text, manifest.files[size_t(rank)]))
      return Status::user("'" + path + "' is damaged");
    WEFT_TRY(files.unlink(path));
  }
  return {};
}

Status CheckpointWriter::Implementation::commit() {
  WEFT_TRY(collectParts());
  manifest.ordinal = nextOrdinal;
  std::string text = writeManifest(manifest);
  std::string manifestPath = temporary + "/" + kManifestName;
  WEFT_TRY(files.writeFile(manifestPath, text.data(), text.size(), manifest.blockBytes, nullptr));
  // One that nobody could read makes no checkpoint.
  WEFT_TRY(readFile(manifestPath, kManifestLimit, text));
  CheckpointManifest written;
  WEFT_TRY(parseManifest(text, written));
  WEFT_TRY(files.syncDirectory(temporary));
  std::string name = checkpointName(manifest.info.step);
  std::string path = directory + "/" + name, old = path + ".old";
  bool replaces = isDirectory(path) || isLink(path);
  if (replaces) {
    WEFT_TRY(files.removeTree(old));
    WEFT_TRY(files.rename(path, old));
  }
  Status renamed = files.rename(temporary, path);
  if (!renamed.ok() && replaces)
    return files.rename(old, path).ok() ? renamed : renamed.prefix("twice");
  WEFT_TRY(renamed);
  forget([&](const std::string &other) { return other == path; });
  present[nextOrdinal++] = path;
  WEFT_TRY(files.syncDirectory(directory));
  committed = path;
  if (replaces)
    WEFT_TRY(files.removeTree(old));
  WEFT_TRY(publish(name));
  return prune();
}

Status CheckpointWriter::Implementation::publish(const std::string &name) {
  std::string path = directory + "/latest", text = name + "\n";
  WEFT_TRY(files.unlink(path + ".tmp"));
  WEFT_TRY(files.writeFile(path + ".tmp", text.data(), text.size(), manifest.blockBytes, nullptr));
  WEFT_TRY(files.rename(path + ".tmp", path));
  return files.syncDirectory(directory);
}

/// Checkpoints that are no longer among those of which the newest stay.
template <typename Which> void CheckpointWriter::Implementation::forget(Which which) {
  for (auto entry = present.begin(); entry != present.end();)
    entry = which(entry->second) ? present.erase(entry) : std::next(entry);
}

Status CheckpointWriter::Implementation::prune() {
  // One that was moved elsewhere and is linked to from here is kept on purpose.
  forget(isLink);
  while (int64_t(present.size()) > options.keep) {
    std::string path = present.begin()->second;
    // One in which somebody else has put files is left to them.
    if (isDirectory(path) && !holdsOthers(path)) {
      // A rename first: what is half removed must not look like damage.
      WEFT_TRY(files.removeTree(path + ".tmp"));
      WEFT_TRY(files.rename(path, path + ".tmp"));
      WEFT_TRY(files.removeTree(path + ".tmp"));
    }
    present.erase(present.begin());
  }
  return {};
}

/// Waits for the write in work; all processes learn how it ended.
Status CheckpointWriter::Implementation::settle() {
  if (!writing)
    return {};
  Status status = waitForAll(session, [&](double seconds) {
    std::unique_lock<std::mutex> guard(mutex);
    return changed.wait_for(guard, std::chrono::duration<double>(seconds),
                            [&] { return partsDone; });
  });
  if (status.ok())
    status = agree(session, partStatus);
  if (status.ok())
    status = waitForAll(session, [&](double seconds) { return background.waitFor(seconds); });
  cancelled.store(!status.ok());
  background.wait();
  cancelled.store(false);
  if (status.ok())
    status = agree(session, first ? commitStatus : Status());
  writing = false;
  if (!first && status.ok())
    committed = directory + "/" + checkpointName(manifest.info.step);
  if (status.ok())
    return {};
  if (first && !session.shared.comm.everyRankIsLocal && !files.removeTree(temporary).ok())
    status = Status(status.code(), status.text() + "; '" + temporary + "' is left behind");
  status.prefix("checkpoint of step " + std::to_string(manifest.info.step));
  return {status.code(), status.text() + "; " +
                             (committed.empty() ? "there is no complete checkpoint yet"
                                                : "the last complete one is '" + committed + "'")};
}

CheckpointWriter::CheckpointWriter(std::unique_ptr<Implementation> implementation)
    : implementation(std::move(implementation)) {}
CheckpointWriter::~CheckpointWriter() = default;

Status CheckpointWriter::open(weft_session *session, const std::string &directory,
                              const CheckpointOptions &options,
                              std::unique_ptr<CheckpointWriter> &writer) {
  auto made = std::make_unique<Implementation>(*session, directory, options);
  WEFT_TRY(made->open());
  writer.reset(new CheckpointWriter(std::move(made)));
  return {};
}

Status CheckpointWriter::save(const CheckpointInfo &info) { return implementation->save(info); }
Status CheckpointWriter::finish() { return implementation->settle(); }
uint64_t CheckpointWriter::snapshotBytes() const { return implementation->snapshotBytes; }
const std::string &CheckpointWriter::lastCommitted() const { return implementation->committed; }
