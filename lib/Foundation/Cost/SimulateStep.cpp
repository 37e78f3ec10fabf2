// Ranks play their parts; those that must meet wait for each other.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Cost/SimulateStep.h"

#include "StepProgram.h"
#include "weft/Pipeline/Check.h"

#include <algorithm>
#include <map>
#include <utility>

using namespace weft;
using namespace weft::cost;
using pipeline::Action;
using pipeline::Kind;

namespace {

/// Where a rank is, in its parts and in time.
struct Player {
  size_t part = 0, entry = 0;
  bool hasBegun = false, isWaiting = false, isOver = false;
  int64_t start = 0; // of the part
  int64_t host = 0, compute = 0, network = 0;
  /// When the next gather may start: what follows the one before has begun.
  int64_t gate = 0;
  /// The action before it, for sums beside it.
  int64_t actionStart = 0, actionEnd = 0;
  uint16_t lastAxis = 0;
  Causes causes;
};

/// One part of a step: a list of entries, and what it is.
struct Part {
  enum class What : uint8_t { Act, Sum, Update };
  What what;
  Action action; // of Sum and Update only the chunk
  const Entries *entries;
  /// How it ends where nobody is met and time begins with it; null otherwise.
  const Player *alone = nullptr;
};

/// Members that have come to a collective.
struct Meeting {
  struct Member {
    size_t player;
    int64_t ready; // when it could have started
  };
  int64_t latest = 0;
  std::vector<Member> waiting;
};

class Engine {
public:
  Engine(const StepAccount &account, const Cluster &cluster, const StepProgram &program,
         const Simulation &options)
      : account(account), program(program), options(options),
        hostTime(picosecondsOf(cluster.device.hostSeconds)) {
    for (size_t i = account.axes.size(); i-- > 0;) {
      strides.insert(strides.begin(), ranks);
      ranks *= account.axes[i].size;
    }
    makeParts();
    size_t stages = account.schedule.ranks.size();
    players.resize(options.everyRank ? size_t(ranks) : stages);
    size_t slots = account.chunks.size() * size_t(account.schedule.microbatches);
    // By replica of the pipeline, chunk and microbatch.
    for (auto &ends : ended)
      ends.assign(players.size() / stages * slots, -1);
    meetings.resize(program.axesOf.size());
    for (const std::vector<int32_t> &over : program.axesOf)
      crossesStages.push_back(std::find(over.begin(), over.end(), account.stages) != over.end());
    for (Player &player : players)
      player.causes.exposed.assign(account.axes.size(), 0);
    playAlone();
  }

  /// False if ranks wait forever.
  bool run() {
    for (size_t player = players.size(); player-- > 0;)
      runnable.push_back(player);
    while (!runnable.empty()) {
      size_t player = runnable.back();
      runnable.pop_back();
      advance(player);
    }
    return std::all_of(players.begin(), players.end(),
                       [](const Player &player) { return player.isOver; });
  }

  const std::vector<Player> &result() const { return players; }

  size_t stageOf(size_t player) const {
    if (!options.everyRank)
      return player;
    if (account.stages < 0)
      return 0;
    size_t axis = size_t(account.stages);
    return player / size_t(strides[axis]) % size_t(account.axes[axis].size);
  }

private:
  /// Which of equal pipelines it is in.
  size_t replicaOf(size_t player) const {
    if (!options.everyRank)
      return 0;
    if (account.stages < 0)
      return player;
    size_t stride = size_t(strides[size_t(account.stages)]);
    size_t size = size_t(account.axes[size_t(account.stages)].size);
    return player / (stride * size) * stride + player % stride;
  }

  size_t playerOf(size_t replica, size_t stage) const {
    if (!options.everyRank)
      return stage;
    if (account.stages < 0)
      return replica;
    size_t stride = size_t(strides[size_t(account.stages)]);
    size_t size = size_t(account.axes[size_t(account.stages)].size);
    return replica / stride * (stride * size) + stage * stride + replica % stride;
  }

  /// The number of its group over axes, and how many players are in it.
  std::pair<size_t, size_t> groupOf(size_t player, uint32_t axes) const {
    if (!options.everyRank)
      return {crossesStages[axes] ? 0 : player, crossesStages[axes] ? players.size() : 1};
    const std::vector<int32_t> &over = program.axesOf[axes];
    size_t group = 0, members = 1;
    for (size_t i = 0; i < account.axes.size(); ++i) {
      size_t size = size_t(account.axes[i].size);
      if (std::find(over.begin(), over.end(), int32_t(i)) != over.end())
        members *= size;
      else
        group = group * size + player / size_t(strides[i]) % size;
    }
    return {group, members};
  }

  void makeParts() {
    const pipeline::Schedule &schedule = account.schedule;
    parts.resize(schedule.ranks.size());
    for (size_t stage = 0; stage < parts.size(); ++stage) {
      const std::vector<Action> &actions = schedule.ranks[stage];
      std::map<int32_t, size_t> last;
      for (size_t i = 0; i < actions.size(); ++i)
        last[actions[i].chunk] = i;
      for (size_t i = 0; i < actions.size(); ++i) {
        const ChunkProgram &chunk = program.chunks[size_t(actions[i].chunk)];
        parts[stage].push_back({Part::What::Act, actions[i], &chunk.of(actions[i].kind)});
        if (last[actions[i].chunk] == i && !chunk.sums.empty())
          parts[stage].push_back({Part::What::Sum, actions[i], &chunk.sums});
      }
      for (size_t c = 0; c < program.chunks.size(); ++c)
        if (size_t(schedule.place[c]) == stage)
          parts[stage].push_back(
              {Part::What::Update, {Kind::Forward, int32_t(c), 0}, &program.chunks[c].update});
    }
  }

  /// Lists in which nobody is met take the same time whenever they start: played once.
  void playAlone() {
    if (options.everyRank)
      return;
    for (size_t stage = 0; stage < parts.size(); ++stage)
      for (Part &part : parts[stage]) {
        if (part.what != Part::What::Act)
          continue;
        if (auto known = alone.find(part.entries); known != alone.end()) {
          part.alone = &known->second;
          continue;
        }
        bool meets =
            std::any_of(part.entries->begin(), part.entries->end(), [&](const Entry &entry) {
              return !entry.isWork && groupOf(stage, entry.axes).second > 1;
            });
        if (meets)
          continue;
        Player player;
        player.causes.exposed.assign(account.axes.size(), 0);
        for (const Entry &entry : *part.entries) {
          int64_t at = ready(player, part, entry);
          play(player, part, entry, at, at);
        }
        player.entry = part.entries->size();
        part.alone = &alone.emplace(part.entries, player).first->second;
      }
  }

  int64_t &endedOf(unsigned direction, size_t replica, int32_t chunk, int32_t microbatch) {
    size_t chunks = account.chunks.size(), count = size_t(account.schedule.microbatches);
    return ended[direction][(replica * chunks + size_t(chunk)) * count + size_t(microbatch)];
  }

  /// When what the action reads is there; -1 if that is not known yet. Then the player is woken by
  /// the action that it waits for.
  int64_t arrival(size_t player, const Action &action) {
    size_t replica = replicaOf(player);
    auto from = [&](unsigned direction, int32_t chunk, int64_t transfer) -> int64_t {
      int64_t end = endedOf(direction, replica, chunk, action.microbatch);
      return end < 0 ? -1 : end + (account.transfersBlock ? 0 : transfer);
    };
    if (action.kind == Kind::Weight)
      return 0;
    if (action.kind == Kind::Forward)
      return action.chunk == 0 ? 0
                               : from(0, action.chunk - 1,
                                      program.chunks[size_t(action.chunk) - 1].forwardTransfer);
    if (size_t(action.chunk) + 1 == account.chunks.size())
      return 0;
    return from(1, action.chunk + 1, program.chunks[size_t(action.chunk)].backwardTransfer);
  }

  bool begin(size_t number, Player &player, const Part &part) {
    player.hasBegun = true;
    player.entry = 0;
    // Sums begin beside what computes, when those before them are over.
    player.start = part.what == Part::What::Sum ? std::max(player.network, player.actionStart)
                                                : player.compute;
    if (part.what == Part::What::Act) {
      int64_t there = arrival(number, part.action);
      if (there < 0) {
        player.hasBegun = false;
        return false;
      }
      player.start = player.compute = player.host = player.gate = std::max(player.compute, there);
    } else if (part.what == Part::What::Update) {
      int64_t over = std::max(player.compute, player.network);
      if (over > player.compute) // nobody else is there without axes
        player.causes.exposed[player.lastAxis] += over - player.compute;
      player.start = player.compute = player.host = player.gate = over;
    }
    return true;
  }

  /// When the entry could start if it waited for nobody else.
  int64_t ready(Player &player, const Part &part, const Entry &entry) const {
    if (part.what == Part::What::Sum) {
      int64_t count = int64_t(part.entries->size()), piece = int64_t(player.entry) + 1;
      int64_t length = player.actionEnd - player.actionStart;
      return std::max(player.network,
                      player.actionStart + length / count * piece + length % count * piece / count);
    }
    if (entry.hostWaits)
      player.host = std::max(player.host, player.compute);
    player.host += entry.launches * hostTime;
    if (entry.isWork)
      return std::max(player.compute, player.host);
    int64_t issued = std::max(player.network, player.host);
    if (entry.role == Role::ParameterGather)
      return std::max(issued, player.gate);
    return std::max(issued, player.compute);
  }

  /// `ready`: when the player could have started; `start`: when all have come.
  void play(Player &player, const Part &part, const Entry &entry, int64_t ready,
            int64_t start) const {
    int64_t end = start + entry.picoseconds;
    if (entry.isWork) {
      int64_t took = end - player.compute;
      if (part.what == Part::What::Update)
        player.causes.optimizer += took;
      else
        player.causes.compute[entry.kind] += took;
      player.compute = end;
      return;
    }
    bool isWaitedFor = part.what != Part::What::Sum && entry.role != Role::GradientSum;
    if (isWaitedFor && end > player.compute) {
      // Waiting for others to come is none of the links' time; for what was sent before it is.
      int64_t forOthers = std::max<int64_t>(0, start - std::max(player.compute, ready));
      int64_t behind = std::max<int64_t>(0, player.network - player.compute);
      if (behind > 0)
        player.causes.exposed[player.lastAxis] += behind;
      player.causes.exposed[entry.axis] += end - player.compute - forOthers - behind;
      player.compute = end;
    }
    player.network = end;
    player.lastAxis = entry.axis;
    if (isWaitedFor)
      player.gate = player.compute;
  }

  /// Whether the player goes on; if not, the last one to come wakes it.
  bool meet(size_t number, Player &player, const Part &part, const Entry &entry, int64_t ready) {
    auto [group, members] = groupOf(number, entry.axes);
    if (members == 1) {
      play(player, part, entry, ready, ready);
      ++player.entry;
      return true;
    }
    Meeting &meeting = meetings[entry.axes][group];
    meeting.latest = std::max(meeting.latest, ready);
    meeting.waiting.push_back({number, ready});
    if (meeting.waiting.size() < members)
      return false;
    Meeting over = std::exchange(meeting, {});
    for (auto [other, couldStart] : over.waiting) {
      Player &member = players[other];
      const Part &its = parts[stageOf(other)][member.part];
      play(member, its, (*its.entries)[member.entry], couldStart, over.latest);
      ++member.entry;
      member.isWaiting = false;
      if (other != number)
        runnable.push_back(other);
    }
    return true;
  }

  void finish(size_t number, Player &player, const Part &part) {
    if (part.what == Part::What::Act) {
      player.actionStart = player.start;
      player.actionEnd = player.compute;
      const Action &action = part.action;
      unsigned direction = action.kind == Kind::Forward ? 0 : 1;
      if (action.kind != Kind::Weight) {
        int32_t peer = action.chunk + (direction == 0 ? 1 : -1);
        if (account.transfersBlock && peer >= 0)
          player.compute += direction == 0 ? program.chunks[size_t(action.chunk)].forwardTransfer
                                           : program.chunks[size_t(peer)].backwardTransfer;
        size_t replica = replicaOf(number);
        endedOf(direction, replica, action.chunk, action.microbatch) = player.compute;
        if (peer >= 0 && size_t(peer) < account.chunks.size()) {
          size_t other = playerOf(replica, size_t(account.schedule.place[size_t(peer)]));
          if (other != number)
            runnable.push_back(other);
        }
      }
    }
    int64_t end = part.what == Part::What::Sum ? player.network : player.compute;
    if (options.events && end > player.start)
      note(number, player, part, end);
    ++player.part;
    player.hasBegun = false;
  }

  void note(size_t number, const Player &player, const Part &part, int64_t end) {
    std::string name = part.what == Part::What::Act   ? pipeline::nameOf(part.action)
                       : part.what == Part::What::Sum ? "sums of chunk "
                                                      : "update of chunk ";
    if (part.what != Part::What::Act)
      name += std::to_string(part.action.chunk);
    options.events->push_back({int64_t(number), player.start, end, name});
  }

  /// Plays a whole list as it was played alone, from time 0.
  void jump(Player &player, const Player &played) const {
    player.entry = played.entry;
    player.compute = player.start + played.compute;
    if (played.network > 0) {
      player.network = player.start + played.network;
      player.lastAxis = played.lastAxis;
    }
    for (size_t kind = 0; kind < player.causes.compute.size(); ++kind)
      player.causes.compute[kind] += played.causes.compute[kind];
    for (size_t axis = 0; axis < player.causes.exposed.size(); ++axis)
      player.causes.exposed[axis] += played.causes.exposed[axis];
  }

  void advance(size_t number) {
    Player &player = players[number];
    const std::vector<Part> &mine = parts[stageOf(number)];
    while (player.part < mine.size()) {
      const Part &part = mine[player.part];
      if (!player.hasBegun && !begin(number, player, part))
        return;
      // Woken for something else.
      if (player.isWaiting)
        return;
      if (part.alone && player.entry == 0 && player.network <= player.start)
        jump(player, *part.alone);
      while (player.entry < part.entries->size()) {
        const Entry &entry = (*part.entries)[player.entry];
        int64_t at = ready(player, part, entry);
        if (entry.isWork) {
          play(player, part, entry, at, at);
          ++player.entry;
        } else if (!meet(number, player, part, entry, at)) {
          player.isWaiting = true;
          return;
        }
      }
      finish(number, player, part);
    }
    player.isOver = true;
  }

  const StepAccount &account;
  const StepProgram &program;
  const Simulation &options;
  int64_t hostTime, ranks = 1;
  std::vector<int64_t> strides;
  std::vector<std::vector<Part>> parts; // by stage
  std::vector<Player> players;
  std::vector<int64_t> ended[2]; // of F, of B or D
  std::vector<std::map<size_t, Meeting>> meetings;
  std::vector<bool> crossesStages; // by the axes of a collective
  std::map<const Entries *, Player> alone;
  std::vector<size_t> runnable;
};

/// The most that one stage holds at once, and of what.
Memory memoryOf(const StepAccount &account, size_t stage) {
  Memory most;
  most.fixed = account.fixedBytes;
  int64_t updating = 0, held = 0, peak = -1;
  for (size_t c = 0; c < account.chunks.size(); ++c)
    if (size_t(account.schedule.place[c]) == stage) {
      const Chunk &chunk = account.chunks[c];
      for (size_t i = 0; i < kStateClassCount; ++i)
        most.state[i] += chunk.stateBytes[i];
      updating = std::max(updating, chunk.updateTransientBytes);
    }
  auto meanwhile = [&](int64_t activations, int64_t transient) {
    if (activations + transient <= peak)
      return;
    peak = activations + transient;
    most.activations = activations;
    most.transient = transient;
  };
  for (const Action &action : account.schedule.ranks[stage]) {
    const Chunk &chunk = account.chunks[size_t(action.chunk)];
    int64_t before = held;
    switch (action.kind) {
    case Kind::Forward:
      held += chunk.keptForBackward + chunk.keptForWeight;
      break;
    case Kind::Backward:
      before += chunk.madeForWeight;
      held += chunk.madeForWeight - chunk.keptForBackward;
      break;
    case Kind::Weight:
      held -= chunk.madeForWeight + chunk.keptForWeight;
      break;
    case Kind::Both:
      held -= chunk.keptForBackward + chunk.keptForWeight;
      break;
    }
    meanwhile(std::max(before, held), chunk.transientBytes);
  }
  meanwhile(0, updating);
  return most;
}

/// What contradicts itself in the account, or nothing.
std::string faultOf(const StepAccount &account) {
  const pipeline::Schedule &schedule = account.schedule;
  int64_t ranks = 1, stages = 1;
  constexpr int64_t kMostRanks = int64_t(1) << 24;
  for (const Axis &axis : account.axes) {
    if (axis.size < 1 || axis.size > kMostRanks || (ranks *= axis.size) > kMostRanks)
      return "axis '" + axis.name + "' of size " + std::to_string(axis.size) +
             " makes no mesh of 1 to " + std::to_string(kMostRanks) + " devices";
    if (&axis - account.axes.data() == account.stages)
      stages = axis.size;
  }
  if (account.stages >= int64_t(account.axes.size()) || schedule.ranks.size() != size_t(stages) ||
      schedule.place.size() != account.chunks.size())
    return "a schedule of " + std::to_string(schedule.place.size()) + " chunks on " +
           std::to_string(schedule.ranks.size()) + " ranks does not fit " +
           std::to_string(account.chunks.size()) + " chunks on " + std::to_string(stages) +
           " stages";
  return pipeline::check(schedule);
}

} // namespace

std::optional<Prediction> cost::simulateStep(const StepAccount &account, const Cluster &cluster,
                                             const Simulation &options, std::string &error) {
  error = faultOf(account);
  if (!error.empty())
    return std::nullopt;
  StepProgram program = priceStep(account, cluster);
  Engine engine(account, cluster, program, options);
  if (!engine.run()) {
    error = "ranks wait for each other forever: not all members come to a collective";
    return std::nullopt;
  }
  Prediction prediction;
  const std::vector<Player> &players = engine.result();
  auto last =
      std::max_element(players.begin(), players.end(),
                       [](const Player &a, const Player &b) { return a.compute < b.compute; });
  prediction.picoseconds = last->compute;
  prediction.causes = last->causes;
  prediction.causes.bubble = 0;
  prediction.causes.bubble = last->compute - prediction.causes.total();
  for (size_t player = 0; player < players.size(); ++player) {
    prediction.memory.push_back(memoryOf(account, engine.stageOf(player)));
    if (prediction.memory.back().total() > prediction.memory[prediction.fullest].total())
      prediction.fullest = player;
  }
  prediction.bytesByAxis.assign(account.axes.size(), 0);
  for (const std::vector<double> &stage : program.bytes)
    for (size_t axis = 0; axis < stage.size(); ++axis)
      prediction.bytesByAxis[axis] = std::max(prediction.bytesByAxis[axis], int64_t(stage[axis]));
  for (const std::vector<double> &stage : program.bytesBetweenStages)
    prediction.bytesBetweenStages.emplace_back(stage.begin(), stage.end());
  prediction.remarks = std::move(program.remarks);
  return prediction;
}

std::string cost::writeTrace(const std::vector<Event> &events) {
  auto microseconds = [](int64_t picoseconds) {
    std::string text = std::to_string(picoseconds % 1000000);
    return std::to_string(picoseconds / 1000000) + "." + std::string(6 - text.size(), '0') + text;
  };
  std::string text = "{\"traceEvents\": [";
  for (const Event &event : events)
    text += std::string(&event == events.data() ? "\n" : ",\n") + "{\"name\": \"" + event.name +
            "\", \"ph\": \"X\", \"pid\": 0, \"tid\": " + std::to_string(event.rank) +
            ", \"ts\": " + microseconds(event.start) +
            ", \"dur\": " + microseconds(event.end - event.start) + "}";
  return text + "\n]}\n";
}
