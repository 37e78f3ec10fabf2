// Matches transfers and collectives of all stages and sorts their lists together.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program/StageVerifier.h"

#include "program/ProgramVerifier.h"
#include "program/commands/Issued.h"
#include "weft/runtime/Placement.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>

using namespace weft::runtime;

namespace {

/// Commands that wait, in all lists that are followed; and where one rank a stage does not stand
/// for all, ranks times such commands.
constexpr uint64_t kMostPoints = 1u << 24, kMostOfRanks = 1u << 18;

/// A rank that stands for itself, or for all of its stage.
struct Actor {
  int64_t rank;
  uint32_t stage;
  std::vector<int64_t> coordinates;
};

/// A command of an actor that waits, or that others wait for.
struct Point {
  uint32_t actor;
  uint32_t step; // which of its stage's
  uint32_t meeting;
};

/// The same on all ranks of a stage: what it issues, of which only such commands count.
struct Step {
  Issued issued;
  uint32_t routine; // whose events it means, kNone = the body's
};

bool isTransfer(const Collective &c) {
  return c.kind == CollectiveKind::Send || c.kind == CollectiveKind::Recv;
}

class StagesVerifier {
public:
  StagesVerifier(const ProgramView &p, const Program &entry) : p(p), entry(entry) {}

  Status run() {
    uint64_t count = 0;
    for (const Body &body : p.Bodies().slice(entry.bodies)) {
      steps.push_back(stepsOf(body, kMostPoints - count));
      count += steps.back().size();
      if (count >= kMostPoints)
        return Status::user("has more than " + std::to_string(kMostPoints) +
                            " commands that wait, too many to be followed");
    }
    if (steps.size() == 1 && !anyTransfer)
      return {};
    WEFT_TRY(chooseActors());
    for (uint32_t a = 0; a < actors.size(); ++a)
      for (uint32_t s = 0; s < stepsOf(actors[a]).size(); ++s)
        points.push_back({a, s, uint32_t(points.size())});
    WEFT_TRY(pairTransfers());
    WEFT_TRY(meetCollectives());
    return sort();
  }

private:
  /// At most so many.
  std::vector<Step> stepsOf(const Body &body, uint64_t most) {
    std::vector<Step> found;
    auto add = [&](const Issued &issued, uint32_t routine) {
      if (found.size() >= most)
        return;
      Opcode opcode = issued.command->opcode;
      if (opcode == Opcode::Collective)
        note(p.record<Collective>(*issued.command));
      if (opcode == Opcode::Collective || opcode == Opcode::EventRecord ||
          opcode == Opcode::EventWait)
        found.push_back({issued, routine});
    };
    for (uint32_t i = 0; i < body.commands.count; ++i) {
      const Command &command = p.Commands()[body.commands.begin + i];
      if (command.opcode != Opcode::Invoke) {
        add({&command, i, nullptr, 0}, kNone);
        continue;
      }
      Id id = p.record<Invoke>(command).routine;
      const Routine &routine = p.Routines()[id];
      for (uint32_t k = 0; k < routine.commands.count; ++k)
        add({&p.Commands()[routine.commands.begin + k], k, &command, i}, id);
    }
    return found;
  }

  void note(const Collective &c) {
    if (!isTransfer(c))
      return;
    anyTransfer = true;
    Table<uint32_t> stageAxes = p.axes(p.info().stageAxes);
    for (uint32_t axis : p.axes(p.Communicators()[c.communicator].axes))
      alongStages &= std::count(stageAxes.begin(), stageAxes.end(), axis) != 0;
  }

  /// Its place along axes of stages, and 0 along the others.
  Actor firstOf(uint32_t stage) const {
    Actor actor{0, stage, std::vector<int64_t>(p.MeshAxes().size())};
    Table<uint32_t> axes = p.axes(p.info().stageAxes);
    int64_t rest = stage;
    for (size_t i = axes.size(); i-- > 0; rest /= p.MeshAxes()[axes[i]].size)
      actor.coordinates[axes[i]] = rest % p.MeshAxes()[axes[i]].size;
    actor.rank = rankAt(actor.coordinates);
    return actor;
  }

  int64_t rankAt(const std::vector<int64_t> &coordinates) const {
    int64_t rank = 0;
    for (size_t axis = 0; axis < coordinates.size(); ++axis)
      rank = rank * p.MeshAxes()[axis].size + coordinates[axis];
    return rank;
  }

  Status chooseActors() {
    uint64_t most = 1;
    for (const std::vector<Step> &list : steps)
      most = std::max<uint64_t>(most, list.size());
    if (!alongStages && uint64_t(p.numRanks()) * most > kMostOfRanks)
      return Status::user("sends along axes that are no stages' on " +
                          std::to_string(p.numRanks()) + " ranks, too many to be followed");
    if (alongStages)
      for (uint32_t stage = 0; stage < steps.size(); ++stage)
        actors.push_back(firstOf(stage));
    Table<uint32_t> stageAxes = p.axes(p.info().stageAxes);
    for (int64_t rank = 0; !alongStages && rank < p.numRanks(); ++rank) {
      std::vector<int64_t> at = coordinatesOf(p, rank);
      actors.push_back({rank, uint32_t(indexAlong(p, stageAxes, at)), at});
    }
    for (uint32_t a = 0; a < actors.size(); ++a)
      actorOf[actors[a].rank] = a;
    return {};
  }

  const std::vector<Step> &stepsOf(const Actor &actor) const { return steps[actor.stage]; }
  const Step &stepOf(const Point &point) const { return stepsOf(actors[point.actor])[point.step]; }
  const Command &commandOf(const Point &point) const { return *stepOf(point).issued.command; }
  const Collective &collectiveOf(const Point &point) const {
    return p.record<Collective>(commandOf(point));
  }

  /// "command 3 (collective send of node 'x') of stage 0".
  std::string describe(const Point &point) const {
    std::string who = alongStages ? "stage " + std::to_string(actors[point.actor].stage)
                                  : "rank " + std::to_string(actors[point.actor].rank);
    return stepOf(point).issued.describe(p) + " of " + who;
  }

  //===--------------------------------------------------------------------===//
  // Transfers
  //===--------------------------------------------------------------------===//

  /// The actor that has a member's number in the group of another one.
  uint32_t memberOf(const Actor &actor, const Collective &c) const {
    Table<uint32_t> axes = p.axes(p.Communicators()[c.communicator].axes);
    int64_t members = 1;
    for (uint32_t axis : axes)
      members *= p.MeshAxes()[axis].size;
    int64_t member = c.peer;
    if (c.peerRelative)
      member = ((indexAlong(p, axes, actor.coordinates) + c.peer % members) % members + members) %
               members;
    std::vector<int64_t> at = actor.coordinates;
    for (size_t i = axes.size(); i-- > 0;) {
      int64_t size = p.MeshAxes()[axes[i]].size;
      at[axes[i]] = member % size;
      member /= size;
    }
    return actorOf.at(rankAt(at));
  }

  static uint64_t bytesOf(const Collective &c) {
    return uint64_t(c.outer * c.extent * c.inner) * dtypeBytes(c.dtype);
  }

  std::string content(const Collective &c) const {
    std::string channel(p.string(c.channel));
    return std::to_string(bytesOf(c)) + " bytes of " + dtypeName(c.dtype) +
           (channel.empty() ? "" : " on channel '" + channel + "'");
  }

  Status pairTransfers() {
    // What goes from one actor to another over a group: the numbers of sends, and of receives.
    using Key = std::tuple<Id, unsigned, uint32_t, uint32_t>;
    std::map<Key, std::array<std::vector<uint32_t>, 2>> flows;
    for (uint32_t i = 0; i < points.size(); ++i) {
      if (commandOf(points[i]).opcode != Opcode::Collective || !isTransfer(collectiveOf(points[i])))
        continue;
      const Collective &c = collectiveOf(points[i]);
      uint32_t own = points[i].actor, peer = memberOf(actors[own], c);
      if (own == peer)
        return Status::user(describe(points[i]) + " is with itself");
      bool sends = c.kind == CollectiveKind::Send;
      flows[{c.communicator, commandOf(points[i]).stream, sends ? own : peer, sends ? peer : own}]
           [sends ? 0 : 1]
               .push_back(i);
    }
    for (auto &[key, flow] : flows)
      WEFT_TRY(pair(flow[0], flow[1]));
    return {};
  }

  Status pair(const std::vector<uint32_t> &sends, const std::vector<uint32_t> &receives) {
    size_t both = std::min(sends.size(), receives.size());
    for (size_t i = 0; i < both; ++i) {
      const Collective &sent = collectiveOf(points[sends[i]]),
                       &wanted = collectiveOf(points[receives[i]]);
      if (bytesOf(sent) != bytesOf(wanted) || sent.dtype != wanted.dtype ||
          p.string(sent.channel) != p.string(wanted.channel))
        return Status::user(describe(points[sends[i]]) + " sends " + content(sent) + ", where " +
                            describe(points[receives[i]]) + " receives " + content(wanted));
      points[receives[i]].meeting = points[sends[i]].meeting;
    }
    if (sends.size() == receives.size())
      return {};
    const Point &lonely = points[sends.size() > both ? sends[both] : receives[both]];
    return Status::user(describe(lonely) + " has no other end: " + std::to_string(sends.size()) +
                        " sends meet " + std::to_string(receives.size()) +
                        " receives on its stream, the same at both ends");
  }

  //===--------------------------------------------------------------------===//
  // Collectives
  //===--------------------------------------------------------------------===//

  /// The first rank of the actor's group.
  int64_t groupOf(const Actor &actor, Id communicator) const {
    std::vector<int64_t> at = actor.coordinates;
    for (uint32_t axis : p.axes(p.Communicators()[communicator].axes))
      at[axis] = 0;
    return rankAt(at);
  }

  bool areAlike(const Command &a, const Command &b) const {
    if (a.views.count != b.views.count)
      return false;
    auto key = [](const Collective &c) {
      return std::make_tuple(c.kind, c.reduction, c.dtype, c.accumulator, c.gatherFirst, c.inOrder,
                             c.outer, c.extent, c.inner, c.middle, c.otherExtent, c.padBits);
    };
    for (uint32_t i = 0; i < std::max(1u, a.views.count / 2); ++i)
      if (key(p.records<Collective>()[a.params + i]) != key(p.records<Collective>()[b.params + i]))
        return false;
    return true;
  }

  Status meetCollectives() {
    using Key = std::tuple<Id, unsigned, int64_t>;
    std::map<Key, std::map<uint32_t, std::vector<uint32_t>>> groups;
    for (uint32_t i = 0; i < points.size(); ++i) {
      const Point &point = points[i];
      if (commandOf(point).opcode != Opcode::Collective || isTransfer(collectiveOf(point)))
        continue;
      const Collective &c = collectiveOf(point);
      groups[{c.communicator, commandOf(point).stream,
              groupOf(actors[point.actor], c.communicator)}][point.actor]
          .push_back(i);
    }
    for (auto &[key, members] : groups) {
      size_t expected = 0;
      for (const Actor &actor : actors)
        expected += groupOf(actor, std::get<0>(key)) == std::get<2>(key);
      WEFT_TRY(meet(members, expected));
    }
    return {};
  }

  Status meet(const std::map<uint32_t, std::vector<uint32_t>> &members, size_t expected) {
    const std::vector<uint32_t> &first = members.begin()->second;
    if (members.size() < expected)
      return Status::user(describe(points[first[0]]) +
                          " is of a group of which another member does nothing like it");
    for (const auto &[actor, own] : members) {
      for (size_t i = 0; i < std::min(first.size(), own.size()); ++i) {
        if (!areAlike(commandOf(points[first[i]]), commandOf(points[own[i]])))
          return Status::user(describe(points[first[i]]) + " would meet " +
                              describe(points[own[i]]) + ", which is another collective");
        points[own[i]].meeting = points[first[i]].meeting;
      }
      if (first.size() != own.size())
        return Status::user(
            describe(points[first.size() > own.size() ? first[own.size()] : own[first.size()]]) +
            " is of a group of which another member does fewer collectives");
    }
    return {};
  }

  //===--------------------------------------------------------------------===//
  // Order
  //===--------------------------------------------------------------------===//

  /// For each point those that it comes after, on its own actor: what its stream did before, and
  /// the record that it waits for.
  void findBefore() {
    before.resize(points.size());
    using Event = std::tuple<uint32_t, uint32_t>; // routine, number
    std::map<Event, uint32_t> records;
    std::array<uint32_t, kMaxStreams> last{};
    uint32_t actor = kNone;
    for (uint32_t i = 0; i < points.size(); ++i) {
      if (points[i].actor != actor) {
        actor = points[i].actor;
        records.clear();
        last.fill(kNone);
      }
      const Command &command = commandOf(points[i]);
      before[i] = {last[command.stream], kNone};
      last[command.stream] = i;
      if (command.opcode == Opcode::EventRecord)
        records[{stepOf(points[i]).routine, p.record<EventRecord>(command).event}] = i;
      if (command.opcode != Opcode::EventWait)
        continue;
      auto found = records.find({stepOf(points[i]).routine, p.record<EventWait>(command).event});
      if (found != records.end())
        before[i][1] = found->second;
    }
  }

  /// Kahn's: what all before has been done can be done.
  Status sort() {
    findBefore();
    std::vector<uint32_t> missing(points.size());
    std::vector<std::vector<uint32_t>> after(points.size());
    for (uint32_t i = 0; i < points.size(); ++i)
      for (uint32_t earlier : before[i])
        if (earlier != kNone) {
          ++missing[points[i].meeting];
          after[points[earlier].meeting].push_back(points[i].meeting);
        }
    std::vector<uint32_t> ready;
    std::vector<bool> done(points.size());
    for (uint32_t i = 0; i < points.size(); ++i)
      if (points[i].meeting == i && missing[i] == 0)
        ready.push_back(i);
    while (!ready.empty()) {
      uint32_t next = ready.back();
      ready.pop_back();
      done[next] = true;
      for (uint32_t later : after[next])
        if (--missing[later] == 0)
          ready.push_back(later);
    }
    for (uint32_t i = 0; i < points.size(); ++i)
      if (!done[points[i].meeting])
        return Status::user("its stages wait for each other for ever: " + circle(i, done));
    return {};
  }

  /// From one that is never done back to one that comes twice: each waits for the next.
  std::string circle(uint32_t start, const std::vector<bool> &done) const {
    std::vector<uint32_t> way; // points that hold up the one before
    std::map<uint32_t, size_t> seen;
    uint32_t at = points[start].meeting;
    while (seen.try_emplace(at, way.size()).second) {
      uint32_t held = kNone;
      for (uint32_t i = 0; i < points.size() && held == kNone; ++i)
        for (uint32_t earlier : before[i])
          if (points[i].meeting == at && earlier != kNone && !done[points[earlier].meeting])
            held = earlier;
      way.push_back(held);
      at = points[held].meeting;
    }
    std::string text;
    constexpr size_t kMost = 4;
    size_t begin = seen[at], count = 0;
    for (size_t i = begin; i < way.size() && count < kMost; ++i, ++count)
      text += (text.empty() ? "" : ", which waits for ") + describe(points[way[i]]);
    return text + (way.size() - begin > kMost ? ", and so on" : "");
  }

  const ProgramView &p;
  const Program &entry;
  bool anyTransfer = false, alongStages = true;
  std::vector<std::vector<Step>> steps; // by stage
  std::vector<Actor> actors;
  std::map<int64_t, uint32_t> actorOf; // by rank
  std::vector<Point> points;
  std::vector<std::array<uint32_t, 2>> before; // by point
};

} // namespace

Status weft::runtime::verifyStages(const ProgramView &program, const Program &entry) {
  return StagesVerifier(program, entry).run();
}
