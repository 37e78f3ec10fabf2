// Checks schedules and the transfers that follow from them.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Pipeline/Check.h"

#include "Words.h"
#include "weft/Pipeline/Walk.h"

#include <algorithm>
#include <numeric>
#include <tuple>

using namespace weft::pipeline;

namespace {

/// What of a chunk and a microbatch is done, as bits.
constexpr unsigned kForward = 1, kBackward = 2, kWeight = 4, kAll = 7;

unsigned partsOf(Kind kind) {
  constexpr unsigned parts[] = {kForward, kBackward, kWeight, kBackward | kWeight};
  return parts[unsigned(kind)];
}

/// What must be done on the same rank before.
unsigned partsBefore(Kind kind) {
  return kind == Kind::Forward ? 0 : kind == Kind::Weight ? kForward | kBackward : kForward;
}

std::string at(size_t rank, size_t position, const Action &action) {
  return "rank " + std::to_string(rank) + ", action " + std::to_string(position + 1) + ", " +
         nameOf(action);
}

std::string checkForm(const Schedule &schedule) {
  if (schedule.ranks.empty() || schedule.place.empty() || schedule.microbatches < 1)
    return "a schedule has at least one rank, one chunk and one microbatch";
  for (size_t chunk = 0; chunk < schedule.place.size(); ++chunk)
    if (schedule.place[chunk] < 0 || size_t(schedule.place[chunk]) >= schedule.ranks.size())
      return "chunk " + std::to_string(chunk) + " is on rank " +
             std::to_string(schedule.place[chunk]) + " of " + std::to_string(schedule.ranks.size());
  return {};
}

/// Every action once, on the rank of its chunk, after what that rank must do before.
class ActionsCheck {
public:
  explicit ActionsCheck(const Schedule &schedule)
      : schedule(schedule), done(schedule.place.size() * size_t(schedule.microbatches)) {}

  std::string run() {
    for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
      for (size_t i = 0; i < schedule.ranks[rank].size(); ++i)
        if (std::string wrong = checkAction(rank, i); !wrong.empty())
          return wrong;
    return checkComplete();
  }

private:
  std::string checkAction(size_t rank, size_t position) {
    std::string wrong = wrongOf(rank, schedule.ranks[rank][position]);
    return wrong.empty() ? wrong : at(rank, position, schedule.ranks[rank][position]) + wrong;
  }

  std::string wrongOf(size_t rank, const Action &action) {
    if (action.chunk < 0 || size_t(action.chunk) >= schedule.place.size() ||
        action.microbatch < 0 || action.microbatch >= schedule.microbatches)
      return ": there are " + std::to_string(schedule.place.size()) + " chunks and " +
             std::to_string(schedule.microbatches) + " microbatches, counted from 0";
    if (size_t(schedule.place[size_t(action.chunk)]) != rank)
      return ": chunk " + std::to_string(action.chunk) + " is on rank " +
             std::to_string(schedule.place[size_t(action.chunk)]);
    char &have =
        done[size_t(action.chunk) * size_t(schedule.microbatches) + size_t(action.microbatch)];
    unsigned parts = partsOf(action.kind), before = partsBefore(action.kind) & ~unsigned(have);
    if (unsigned again = parts & unsigned(have))
      return ": does " + nameOfPart(again, action) + " a second time";
    if (before)
      return ": waits for " + nameOfPart(before, action) + ", which this rank has not done before";
    have = char(have | parts);
    return {};
  }

  std::string checkComplete() const {
    for (size_t chunk = 0; chunk < schedule.place.size(); ++chunk)
      for (int32_t m = 0; m < schedule.microbatches; ++m) {
        unsigned missing =
            kAll & ~unsigned(done[chunk * size_t(schedule.microbatches) + size_t(m)]);
        if (missing)
          return "rank " + std::to_string(schedule.place[chunk]) + ": " +
                 nameOfPart(missing, {Kind::Forward, int32_t(chunk), m}) + " is missing";
      }
    return {};
  }

  /// The first of `parts`, of the chunk and microbatch of `action`.
  static std::string nameOfPart(unsigned parts, const Action &action) {
    Kind kind = parts & kForward    ? Kind::Forward
                : parts & kBackward ? Kind::Backward
                                    : Kind::Weight;
    return nameOf({kind, action.chunk, action.microbatch});
  }

  const Schedule &schedule;
  std::vector<char> done;
};

/// What an action reads from another chunk: its kind is F, or B for B or D.
Action readBy(const Action &action) {
  bool isForward = action.kind == Kind::Forward;
  return {isForward ? Kind::Forward : Kind::Backward, action.chunk + (isForward ? -1 : 1),
          action.microbatch};
}

/// The circle of ranks that wait for each other.
std::string describeCircle(const Schedule &schedule, const std::vector<size_t> &stoppedAt) {
  size_t rank = 0;
  while (stoppedAt[rank] == schedule.ranks[rank].size())
    ++rank;
  auto nextOf = [&](size_t from) {
    return size_t(schedule.place[size_t(readBy(schedule.ranks[from][stoppedAt[from]]).chunk)]);
  };
  // After as many steps as there are ranks we are in the circle.
  for (size_t i = 0; i < schedule.ranks.size(); ++i)
    rank = nextOf(rank);
  std::string text;
  size_t begin = rank, steps = 0;
  do {
    const Action &action = schedule.ranks[rank][stoppedAt[rank]];
    if (++steps <= 8)
      text += (text.empty() ? "" : "; ") + at(rank, stoppedAt[rank], action) + ", waits for " +
              nameOf(readBy(action)) + " of rank " + std::to_string(nextOf(rank));
    rank = nextOf(rank);
  } while (rank != begin);
  if (steps > 8)
    text += "; and so on, over " + std::to_string(steps) + " ranks";
  return text + ": a deadlock";
}

/// The transfer after an action, if its value goes to another rank.
std::optional<Transfer> transferAfter(const Schedule &schedule, const Action &action) {
  if (action.kind == Kind::Weight)
    return std::nullopt;
  bool isForward = action.kind == Kind::Forward;
  int32_t chunk = action.chunk + (isForward ? 1 : -1);
  if (chunk < 0 || size_t(chunk) == schedule.place.size())
    return std::nullopt;
  int32_t from = schedule.place[size_t(action.chunk)], to = schedule.place[size_t(chunk)];
  if (from == to)
    return std::nullopt;
  return Transfer{isForward, action.chunk, action.microbatch, from, to};
}

std::string nameOf(const Transfer &transfer) {
  return weft::pipeline::nameOf(Action{transfer.isForward ? Kind::Forward : Kind::Backward,
                                       transfer.chunk, transfer.microbatch}) +
         " from rank " + std::to_string(transfer.from) + " to rank " + std::to_string(transfer.to);
}

/// Where each rank stands in its actions and in its transfers.
class RendezvousCheck {
public:
  RendezvousCheck(const Schedule &schedule, const std::vector<std::vector<Transfer>> &lists)
      : schedule(schedule), lists(lists), action(lists.size()), transfer(lists.size()) {
    size_t slots = schedule.place.size() * size_t(schedule.microbatches);
    for (auto *bits : {&made, &arrived})
      for (std::vector<char> &direction : *bits)
        direction.assign(slots, 0);
  }

  std::string run() {
    std::vector<size_t> work(lists.size());
    std::iota(work.begin(), work.end(), 0);
    while (!work.empty()) {
      size_t rank = work.back();
      work.pop_back();
      act(rank);
      // What two ranks exchange lets both go on.
      while (transfer[rank] < lists[rank].size()) {
        Transfer now = lists[rank][transfer[rank]];
        size_t other = size_t(now.from) == rank ? size_t(now.to) : size_t(now.from);
        if (!isMade(now) || transfer[other] == lists[other].size() ||
            !(lists[other][transfer[other]] == now))
          break;
        ++transfer[rank];
        ++transfer[other];
        arrived[now.isForward ? 0 : 1][slotOf(now.chunk, now.microbatch)] = 1;
        act(rank);
        work.push_back(other);
      }
    }
    for (size_t rank = 0; rank < lists.size(); ++rank)
      if (transfer[rank] < lists[rank].size())
        return "rank " + std::to_string(rank) + ", transfer " + std::to_string(transfer[rank] + 1) +
               ", " + ::nameOf(lists[rank][transfer[rank]]) + ", waits forever";
    for (size_t rank = 0; rank < lists.size(); ++rank)
      if (action[rank] < schedule.ranks[rank].size())
        return at(rank, action[rank], schedule.ranks[rank][action[rank]]) + ", waits forever";
    return {};
  }

private:
  size_t slotOf(int32_t chunk, int32_t microbatch) const {
    return size_t(chunk) * size_t(schedule.microbatches) + size_t(microbatch);
  }
  bool isMade(const Transfer &t) const {
    return made[t.isForward ? 0 : 1][slotOf(t.chunk, t.microbatch)];
  }

  /// Runs the rank's actions as far as they go.
  void act(size_t rank) {
    for (; action[rank] < schedule.ranks[rank].size(); ++action[rank]) {
      const Action &now = schedule.ranks[rank][action[rank]];
      bool isForward = now.kind == Kind::Forward;
      if (now.kind == Kind::Weight)
        continue;
      Action read = readBy(now);
      if (read.chunk >= 0 && size_t(read.chunk) < schedule.place.size()) {
        bool moves = size_t(schedule.place[size_t(read.chunk)]) != rank;
        if (!(moves ? arrived : made)[isForward ? 0 : 1][slotOf(read.chunk, read.microbatch)])
          return;
      }
      made[isForward ? 0 : 1][slotOf(now.chunk, now.microbatch)] = 1;
    }
  }

  const Schedule &schedule;
  const std::vector<std::vector<Transfer>> &lists;
  std::vector<size_t> action, transfer; // by rank: the next one
  std::vector<char> made[2], arrived[2];
};

} // namespace

std::string weft::pipeline::check(const Schedule &schedule) {
  if (std::string wrong = checkForm(schedule); !wrong.empty())
    return wrong;
  if (std::string wrong = ActionsCheck(schedule).run(); !wrong.empty())
    return wrong;
  Walk walk(schedule.place, schedule.microbatches);
  if (walk.run(schedule, [](size_t, size_t, const Action &) {}))
    return {};
  return describeCircle(schedule, walk.stoppedAt());
}

std::optional<Schedule> weft::pipeline::readChecked(const std::string &text, std::string &error) {
  std::optional<Schedule> schedule = readSchedule(text, error);
  if (!schedule)
    return std::nullopt;
  error = check(*schedule);
  return error.empty() ? std::move(schedule) : std::nullopt;
}

std::string weft::pipeline::checkMemory(const Schedule &schedule, const Costs &costs) {
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    double held = 0;
    for (size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
      const Action &action = schedule.ranks[rank][i];
      held += costs.chunks[size_t(action.chunk)].memoryChange(action.kind);
      if (held > costs.roomOf(rank))
        return at(rank, i, action) + ": the rank holds " + numberText(held) + " then, of at most " +
               numberText(costs.limitOf(rank));
    }
  }
  return {};
}

std::vector<std::string> weft::pipeline::remarks(const Schedule &schedule) {
  constexpr size_t kShown = 5;
  std::vector<std::string> result;
  size_t more = 0;
  std::vector<int32_t> last[2]; // of B or D and of W or D, by chunk
  for (std::vector<int32_t> &list : last)
    list.assign(schedule.place.size(), -1);
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (size_t i = 0; i < schedule.ranks[rank].size(); ++i) {
      const Action &action = schedule.ranks[rank][i];
      for (unsigned part : {kBackward, kWeight}) {
        int32_t &before = last[part == kWeight][size_t(action.chunk)];
        if (!(partsOf(action.kind) & part))
          continue;
        if (action.microbatch < before) {
          if (result.size() == kShown)
            ++more;
          else
            result.push_back(at(rank, i, action) + ": comes after microbatch " +
                             std::to_string(before) +
                             "; sums go in order, so gradients of later ones are kept till then");
          break;
        }
        before = action.microbatch;
      }
    }
  if (more)
    result.push_back("and " + std::to_string(more) + " more like these");
  return result;
}

std::vector<std::vector<Transfer>> weft::pipeline::transfersOf(const Schedule &schedule,
                                                               const Costs &costs) {
  struct Timed {
    double end;
    size_t turn; // in an order in which nothing comes before what it depends on
    Transfer transfer;
  };
  std::vector<Timed> all;
  std::optional<Timing> timing = simulate(schedule, costs);
  Walk walk(schedule.place, schedule.microbatches);
  walk.run(schedule, [&](size_t rank, size_t position, const Action &action) {
    std::optional<Transfer> transfer = transferAfter(schedule, action);
    if (!transfer)
      return;
    double latency = costs.chunks[size_t(action.chunk - !transfer->isForward)].transfer;
    all.push_back({timing->end[rank][position] + latency, all.size(), *transfer});
  });
  std::sort(all.begin(), all.end(), [](const Timed &a, const Timed &b) {
    return std::tie(a.end, a.turn) < std::tie(b.end, b.turn);
  });
  std::vector<std::vector<Transfer>> lists(schedule.ranks.size());
  for (const Timed &timed : all) {
    lists[size_t(timed.transfer.from)].push_back(timed.transfer);
    lists[size_t(timed.transfer.to)].push_back(timed.transfer);
  }
  return lists;
}

std::string weft::pipeline::checkTransfers(const Schedule &schedule,
                                           const std::vector<std::vector<Transfer>> &lists) {
  if (lists.size() != schedule.ranks.size())
    return "there are " + std::to_string(lists.size()) + " lists of transfers for " +
           std::to_string(schedule.ranks.size()) + " ranks";
  // Both ends of each transfer once, and no others: compared as sorted lists.
  auto before = [](const Transfer &a, const Transfer &b) {
    return std::tie(a.isForward, a.chunk, a.microbatch, a.from, a.to) <
           std::tie(b.isForward, b.chunk, b.microbatch, b.from, b.to);
  };
  std::vector<std::vector<Transfer>> wanted(lists.size());
  for (const std::vector<Action> &actions : schedule.ranks)
    for (const Action &action : actions)
      if (std::optional<Transfer> transfer = transferAfter(schedule, action)) {
        wanted[size_t(transfer->from)].push_back(*transfer);
        wanted[size_t(transfer->to)].push_back(*transfer);
      }
  for (size_t rank = 0; rank < lists.size(); ++rank) {
    std::vector<Transfer> have = lists[rank], &want = wanted[rank];
    std::sort(have.begin(), have.end(), before);
    std::sort(want.begin(), want.end(), before);
    auto [h, w] = std::mismatch(have.begin(), have.end(), want.begin(), want.end());
    if (h == have.end() && w == want.end())
      continue;
    bool isMissing = h == have.end() || (w != want.end() && before(*w, *h));
    return "rank " + std::to_string(rank) + ": the transfer of " + ::nameOf(isMissing ? *w : *h) +
           (isMissing ? " is missing" : " is one too many");
  }
  return RendezvousCheck(schedule, lists).run();
}
