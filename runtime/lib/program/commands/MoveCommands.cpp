// Rules and text of launches, of what moves data, and of events.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "program/commands/CommandRules.h"

#include <algorithm>

namespace weft::runtime {

std::string check(const CommandContext &c, const Launch &l) {
  if (l.kernel >= c.program.Kernels().size() ||
      !inRange(l.scalars, c.program.ScalarValues().size()) || l.extent < 0 || l.grain < 1 ||
      l.reads > c.numViews())
    return "has an impossible kernel, extent, grain, scalar or number of operands";
  return "";
}

std::string describe(const CommandContext &c, const Launch &l) {
  std::string result = " " + c.str(c.program.Kernels()[l.kernel].symbol) + " over " +
                       c.num(l.extent) + " grain " + c.num(l.grain);
  for (const ScalarValue &v : c.program.ScalarValues().slice(l.scalars))
    result += " " + c.value(v);
  return result;
}

std::string check(const CommandContext &c, const Copy &) {
  return c.sameSizes(0, 1) && c.view(0).dtype == c.view(1).dtype
             ? ""
             : "does not have two views of the same sizes and dtype";
}

std::string describe(const CommandContext &, const Copy &) { return ""; }

std::string check(const CommandContext &c, const Slice &s) {
  if (!inRange(s.axes, c.program.AxisIds().size()) || c.view(0).dtype != c.view(1).dtype)
    return "has axes or views that do not exist";
  int64_t shard = c.shard(c.program.axes(s.axes), s.extent);
  if (!c.holds(0, c.product({s.outer, s.extent, s.inner})) ||
      !c.holds(1, c.product({s.outer, shard, s.inner})))
    return "moves elements outside of its views";
  return "";
}

std::string describe(const CommandContext &c, const Slice &s) {
  return " " + c.axes(s.axes) + " of [" + c.num(s.outer) + "," + c.num(s.extent) + "," +
         c.num(s.inner) + "]";
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

static bool hasPeer(const Collective &c) {
  return c.kind == CollectiveKind::Send || c.kind == CollectiveKind::Recv;
}

/// What it reads and what it writes, or the one that it sends or receives.
static uint32_t viewsOf(const Collective &c) { return hasPeer(c) ? 1 : 2; }

static bool reduces(const Collective &c) {
  return c.kind == CollectiveKind::AllReduce || c.kind == CollectiveKind::ReduceScatter;
}

static bool mayTravelTogether(const Collective &c) {
  return c.kind == CollectiveKind::AllGather || reduces(c);
}

static std::string checkReduction(const Collective &c) {
  bool logical = c.reduction == Reduction::And || c.reduction == Reduction::Or;
  if (logical ? isFloat(c.dtype) || c.accumulator != c.dtype
              : c.dtype == DType::Bool || (isFloat(c.dtype) != isFloat(c.accumulator)))
    return "has a reduction that its dtype does not have";
  bool half = c.dtype == DType::BF16 || c.dtype == DType::F16;
  if (c.accumulator != c.dtype && !(half && c.accumulator == DType::F32) &&
      !(isFloat(c.dtype) && c.accumulator == DType::F64))
    return "has an accumulation dtype that is not its own, f32 or f64";
  return "";
}

/// Whether the views from `at` on hold what the collective moves, and its peer exists.
static bool fits(const CommandContext &context, const Collective &c, uint32_t at) {
  const ProgramView &p = context.program;
  Table<uint32_t> axes = p.axes(p.Communicators()[c.communicator].axes);
  auto whole = context.product({c.outer, c.extent, c.inner});
  int64_t local = context.shard(axes, c.extent);
  auto part = context.product({c.outer, local, c.inner});
  switch (c.kind) {
  case CollectiveKind::AllGather:
    return context.holds(at, part) && context.holds(at + 1, whole);
  case CollectiveKind::ReduceScatter:
    return context.holds(at, whole) && context.holds(at + 1, part);
  case CollectiveKind::AllReduce:
    return context.holds(at, whole) && context.holds(at + 1, whole);
  case CollectiveKind::Send:
  case CollectiveKind::Recv: {
    int64_t members = 1;
    for (uint32_t axis : axes)
      members *= p.MeshAxes()[axis].size;
    return context.holds(at, whole) && (c.peerRelative || (c.peer >= 0 && c.peer < members));
  }
  case CollectiveKind::AllToAll: {
    int64_t other = context.shard(axes, c.otherExtent);
    return context.holds(at, context.product({c.outer, c.extent, c.middle, other, c.inner})) &&
           context.holds(at + 1,
                         context.product({c.outer, local, c.middle, c.otherExtent, c.inner}));
  }
  }
  return false;
}

/// The views from `at` on are one collective's.
static std::string checkOne(const CommandContext &context, const Collective &c, uint32_t at) {
  for (uint32_t i = at; i < at + viewsOf(c); ++i)
    if (context.view(i).dtype != c.dtype)
      return "has views of another dtype than it moves";
  if (c.outer < 0 || c.extent < 0 || c.inner < 0 || c.middle < 0 || c.otherExtent < 0)
    return "has negative extents";
  bool mayAddInOrder =
      c.kind == CollectiveKind::AllReduce || c.kind == CollectiveKind::ReduceScatter;
  if (c.inOrder > uint8_t(mayAddInOrder))
    return "adds in the order of members " + context.num(c.inOrder) + ", which its kind does not";
  if (!fits(context, c, at))
    return "moves elements outside of its views or to a member that does not exist";
  return reduces(c) ? checkReduction(c) : "";
}

std::string check(const CommandContext &context, const Collective &first) {
  const ProgramView &p = context.program;
  uint32_t count = std::max(1u, context.numViews() / 2);
  if (first.communicator >= p.Communicators().size() ||
      unsigned(first.kind) >= kNumCollectiveKinds || unsigned(first.reduction) >= kNumReductions ||
      unsigned(first.dtype) >= kNumDTypes || unsigned(first.accumulator) >= kNumDTypes ||
      first.channel >= p.Strings().size())
    return "has an unknown kind, reduction, dtype, communicator or channel";
  if (count > p.records<Collective>().size() - context.command.params)
    return "has parameters that do not exist";
  if (count > 1 && !mayTravelTogether(first))
    return "moves several tensors, which its kind does not";
  if (context.numViews() != viewsOf(first) * count)
    return "has the wrong number of views";
  for (uint32_t i = 0; i < count; ++i) {
    const Collective &c = p.records<Collective>()[context.command.params + i];
    if (c.kind != first.kind || c.communicator != first.communicator || c.dtype != first.dtype ||
        c.reduction != first.reduction || c.accumulator != first.accumulator ||
        c.inOrder != first.inOrder)
      return "moves tensors that have not all one kind, group, dtype, reduction and order";
    std::string fault = checkOne(context, c, 2 * i);
    if (!fault.empty())
      return fault;
  }
  return "";
}

/// What is moved.
static std::string box(const CommandContext &context, const Collective &c) {
  std::string result = "[" + context.num(c.outer) + "," + context.num(c.extent) + ",";
  if (c.kind == CollectiveKind::AllToAll)
    result += context.num(c.middle) + "," + context.num(c.otherExtent) + ",";
  return result + context.num(c.inner) + "]";
}

std::string describe(const CommandContext &context, const Collective &c) {
  static constexpr const char *reductions[kNumReductions] = {"sum", "product", "max",
                                                             "min", "and",     "or"};
  const ProgramView &p = context.program;
  std::string result = std::string(" ") + collectiveKindName(c.kind);
  if (reduces(c))
    result += std::string(" ") + reductions[unsigned(c.reduction)] + " in " +
              dtypeName(c.accumulator) + (c.inOrder ? " in the order of members" : "");
  result += " over " + context.axes(p.Communicators()[c.communicator].axes) + " of " +
            box(context, c) + " " + dtypeName(c.dtype);
  if (c.kind == CollectiveKind::AllToAll && c.gatherFirst)
    result += " gather first";
  if (hasPeer(c))
    result += std::string(c.peerRelative ? " peer me+" : " peer ") + context.num(c.peer);
  if (!p.string(c.channel).empty())
    result += " on '" + context.str(c.channel) + "'";
  for (uint32_t i = 1; i < context.numViews() / 2; ++i)
    result += " and " + box(context, p.records<Collective>()[context.command.params + i]);
  return result;
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

static std::string checkEvent(const CommandContext &c, uint32_t event) {
  return event < c.scope.events ? "" : "names an event that does not exist";
}

std::string check(const CommandContext &c, const EventRecord &e) { return checkEvent(c, e.event); }
std::string check(const CommandContext &c, const EventWait &e) { return checkEvent(c, e.event); }
std::string describe(const CommandContext &c, const EventRecord &e) { return " " + c.num(e.event); }
std::string describe(const CommandContext &c, const EventWait &e) { return " " + c.num(e.event); }

} // namespace weft::runtime
