// Loads a checkpoint into the states of a session with any layout.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/Convert.h"
#include "checkpoint/CheckpointFiles.h"
#include "checkpoint/CheckpointFolder.h"
#include "checkpoint/CheckpointReader.h"
#include "session/AmongProcesses.h"

#include "weft/runtime/Metadata.h"
#include "weft/runtime/Npy.h"

#include <algorithm>
#include <cstring>

using namespace weft::runtime;

namespace {

using Tensor = CheckpointManifest::Tensor;

/// What scales the loss belongs to the types that a program computes in, not to what it has learnt:
/// where a checkpoint lacks it, it starts anew.
bool isOfScale(std::string_view name) {
  return name == kLossScaleState || name == kLossScaleStepsState;
}

/// Which tensor of the checkpoint fills which state; null = it keeps its value,
/// is a constant, or starts anew.
class Matching {
public:
  Matching(const ProgramView &p, const CheckpointManifest &manifest, bool parametersOnly)
      : p(p), model(manifest.model), parametersOnly(parametersOnly) {
    for (const Tensor &tensor : manifest.tensors)
      if (!byName.emplace(tensor.name, &tensor).second)
        faults.push_back("'" + tensor.name + "' is there twice");
    for (const State &state : p.States())
      hasOptimizer |= isOptimizer(state);
  }

  std::vector<const Tensor *> sources; // by state

  Status run() {
    std::vector<std::string_view> used;
    for (const State &state : p.States()) {
      sources.push_back(match(state));
      if (isSaved(p, state))
        used.push_back(p.string(state.name));
    }
    std::sort(used.begin(), used.end());
    for (const auto &[name, tensor] : byName)
      if (!std::binary_search(used.begin(), used.end(), name) && !mayBeLeft(*tensor))
        faults.push_back("'" + tensor->name + "' (" + textOf(*tensor) +
                         ") is not a state of this executable");
    if (faults.empty())
      return {};
    std::string mine(p.string(p.info().modelName));
    std::string text = model == mine
                           ? "it is of a '" + mine + "' with other tensors than this executable's"
                           : "it is of model '" + model + "', this executable of '" + mine + "'";
    text += hasOptimizer ? "; resume with an executable of the same model and optimizer:"
                         : "; resume with an executable of the same model, made by "
                           "weft-compile --train or --keep-weights:";
    for (size_t i = 0; i < faults.size() && i < kMostFaults; ++i)
      text += "\n  " + faults[i];
    if (faults.size() > kMostFaults)
      text += "\n  and " + std::to_string(faults.size() - kMostFaults) + " more";
    return Status::user(text);
  }

private:
  bool isOptimizer(const State &state) const {
    return p.classOf(state) == BufferClass::OptimizerState || p.string(state.name) == kStepState;
  }
  static std::string textOf(const Tensor &tensor) {
    return shapeText(tensor.shape) + " " + dtypeName(tensor.dtype);
  }
  const Tensor *find(const std::string &name) const {
    auto found = byName.find(name);
    return found == byName.end() ? nullptr : found->second;
  }
  bool mayBeLeft(const Tensor &tensor) const {
    if (isOfScale(tensor.name))
      return true;
    bool optimizer = tensor.optimizer || tensor.name == kStepState;
    if (optimizer && (parametersOnly || !hasOptimizer))
      return true;
    // A master copy is of no use where parameters are kept in full.
    size_t at = tensor.name.rfind(kMasterSuffix);
    return at != std::string::npos && at + std::strlen(kMasterSuffix) == tensor.name.size() &&
           find(tensor.name.substr(0, at));
  }

  const Tensor *match(const State &state) {
    if (!isSaved(p, state))
      return nullptr;
    std::string name(p.string(state.name));
    if (parametersOnly && isOptimizer(state) && !isMaster(name))
      return nullptr;
    const Tensor *tensor = find(name);
    // More exact than the parameter that was rounded from it.
    const Tensor *master = find(name + kMasterSuffix);
    if (master && (!tensor || tensor->dtype != state.dtype))
      tensor = master;
    if (!tensor && isMaster(name))
      tensor = find(name.substr(0, name.size() - std::strlen(kMasterSuffix)));
    std::vector<int64_t> shape(p.ints(state.shape).begin(), p.ints(state.shape).end());
    std::string wanted = shapeText(shape) + " " + dtypeName(state.dtype);
    if (!tensor && isOfScale(name))
      return nullptr;
    if (!tensor)
      faults.push_back("'" + name + "' (" + wanted + ") is missing");
    else if (tensor->shape != shape ||
             (tensor->dtype != state.dtype && !(isFloat(tensor->dtype) && isFloat(state.dtype))))
      faults.push_back("'" + name + "' is " + wanted + " in this executable, " + textOf(*tensor) +
                       " in the checkpoint");
    return tensor;
  }
  static bool isMaster(const std::string &name) {
    size_t length = std::strlen(kMasterSuffix);
    return name.size() > length && name.compare(name.size() - length, length, kMasterSuffix) == 0;
  }

  /// That many lines of a message are read.
  static constexpr size_t kMostFaults = 9;

  const ProgramView &p;
  const std::string &model;
  bool parametersOnly, hasOptimizer = false;
  std::map<std::string_view, const Tensor *> byName;
  std::vector<std::string> faults;
};

/// Fills one rank's states.
struct RankLoad {
  weft_session *session;
  const ProgramView *program;
  RankContext *rank;
  const CheckpointManifest *manifest;
  const std::vector<const Tensor *> *sources;
  std::string path;
  Status status;

  void run() { status = load(); }

private:
  struct Work {
    uint32_t state;
    const CheckpointManifest::Box *box;
  };

  Status load() {
    const ProgramView &p = *program;
    std::map<uint32_t, HostCopy> targets;
    std::map<uint32_t, WantedElements> wanted;
    std::vector<Work> work;
    for (uint32_t s = 0; s < p.States().size(); ++s) {
      const State &state = p.States()[s];
      const Tensor *tensor = (*sources)[s];
      bool isOfProgram = !isSaved(p, state) || (!tensor && isOfScale(p.string(state.name)));
      if (isOfProgram && rank->holds(state))
        WEFT_TRY(loadAsCompiled(state));
      if (!tensor || !rank->holds(state))
        continue;
      const ShardMap &map = rank->map(state.placement);
      char *target = targets.emplace(s, rank->shard(state)).first->second.data();
      if (map.numValid() != map.numLocal())
        std::memset(target, 0, size_t(map.numLocal()) * dtypeBytes(state.dtype));
      wanted.emplace(std::piecewise_construct, std::forward_as_tuple(s),
                     std::forward_as_tuple(*tensor, state.dtype, target, map.numLocal()));
      CheckpointBox mine = boxOf(p, state.placement, rank->coordinates());
      for (const CheckpointManifest::Box &box : tensor->boxes)
        if (mayMeet(mine, box))
          work.push_back({s, &box});
    }
    // In the order of the files, so that each block is read once.
    std::sort(work.begin(), work.end(), [](const Work &a, const Work &b) {
      if (a.box->file != b.box->file)
        return a.box->file < b.box->file;
      return a.box->offset != b.box->offset ? a.box->offset < b.box->offset : a.state < b.state;
    });
    CheckpointReader reader(*manifest, path);
    for (const Work &item : work) {
      WantedElements &elements = wanted.at(item.state);
      int64_t before = elements.taken();
      Status result;
      rank->map(p.States()[item.state].placement).forEachRun([&](const ShardMap::Run &run) {
        if (result.ok())
          result = elements.take(reader, *item.box, run.global, run.local, run.count);
      });
      WEFT_TRY(result);
      session->shared.loadedBytes +=
          uint64_t(elements.taken() - before) * dtypeBytes(p.States()[item.state].dtype);
    }
    for (auto &[s, elements] : wanted)
      if (elements.taken() != rank->map(p.States()[s].placement).numValid())
        return Status::user("boxes of tensor '" + elements.source().name + "' leave a gap");
    for (auto &[s, target] : targets)
      WEFT_TRY(target.upload());
    return {};
  }

  Status loadAsCompiled(const State &state) {
    HostCopy target = rank->shard(state);
    WEFT_TRY(loadState(*program, state, rank->map(state.placement), session->shared.modelDirectory,
                       session->shared.files, target.data()));
    return target.upload();
  }

  /// False if no element is in both.
  static bool mayMeet(const CheckpointBox &a, const CheckpointBox &b) {
    if (a.count() == 0 || b.count() == 0 || a.begin() >= b.end() || b.begin() >= a.end())
      return false;
    if (a.view != b.view)
      return true;
    for (size_t d = 0; d < a.view.size(); ++d)
      if (a.start[d] >= b.start[d] + b.size[d] || b.start[d] >= a.start[d] + a.size[d])
        return false;
    return true;
  }
};

Status loadRanks(weft_session &session, const CheckpointManifest &manifest,
                 const std::vector<const Tensor *> &sources, const std::string &path) {
  std::vector<RankLoad> loads;
  for (std::unique_ptr<RankContext> &rank : session.ranks)
    loads.push_back({&session, &session.view(), rank.get(), &manifest, &sources, path, {}});
  for (RankLoad &load : loads)
    load.rank->thread().post([](void *argument) { static_cast<RankLoad *>(argument)->run(); },
                             &load);
  Status status;
  for (RankLoad &load : loads) {
    load.rank->thread().wait();
    if (status.ok())
      status = load.status;
  }
  return status;
}

/// Whether this process sees what the first one does: another checkpoint would be no better.
Status seeFolder(const std::string &path) {
  if (isDirectory(path))
    return {};
  return Status::user("there is no such folder on " + hostOfProcess() +
                      "; give one with --resume that all hosts share");
}

/// Sets `damaged` when another checkpoint may do instead.
Status loadOne(weft_session &session, const CheckpointCandidate &candidate,
               const LoadOptions &options, CheckpointInfo &info, bool &damaged) {
  damaged = false;
  WEFT_TRY(agree(session, seeFolder(candidate.path)));
  CheckpointManifest manifest;
  WEFT_TRY(parseManifest(candidate.manifest, manifest));
  Matching matching(session.view(), manifest, options.parametersOnly);
  WEFT_TRY(matching.run());
  Status status = agree(session, loadRanks(session, manifest, matching.sources, candidate.path));
  damaged = !status.ok();
  if (status.ok() && !options.parametersOnly)
    info = manifest.info;
  return status;
}

} // namespace

Status weft::runtime::loadCheckpoint(weft_session *session, const std::string &path,
                                     const LoadOptions &options, CheckpointInfo &info,
                                     std::vector<std::string> &warnings) {
  // The first process looks; the others get what it found, so that all try the
  // same checkpoints with the same manifests.
  std::vector<CheckpointCandidate> candidates;
  Status found;
  if (session->firstRank == 0)
    found = chooseCheckpoints(path, options.step, candidates);
  WEFT_TRY(agree(*session, found));
  std::string count = std::to_string(candidates.size());
  WEFT_TRY(broadcast(*session, count));
  candidates.resize(size_t(std::strtoull(count.c_str(), nullptr, 10)));
  std::string reasons;
  for (CheckpointCandidate &candidate : candidates) {
    bool damaged = true;
    if (!candidate.path.empty() && candidate.manifest.empty())
      candidate = inspectCheckpoint(candidate.path);
    Status status = agree(*session, candidate.status);
    if (status.ok()) {
      WEFT_TRY(broadcast(*session, candidate.path));
      WEFT_TRY(broadcast(*session, candidate.manifest));
      status = loadOne(*session, candidate, options, info, damaged);
    }
    if (status.ok())
      return {};
    std::string name = candidate.path.empty() ? path : candidate.path;
    if (status.code() != StatusCode::UserError || (candidate.status.ok() && !damaged))
      return status.prefix("checkpoint '" + name + "'");
    reasons += (reasons.empty() ? "" : "; ") + ("'" + name + "' ") + "is damaged: " + status.text();
    warnings.push_back("checkpoint '" + name + "' is damaged and passed over: " + status.text());
  }
  warnings.clear();
  return Status::user(candidates.size() == 1
                          ? "checkpoint " + reasons + "; resume from another one"
                          : "no checkpoint in '" + path + "' is sound: " + reasons);
}
