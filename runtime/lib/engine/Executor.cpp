// Prepares a body's commands and runs its streams.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/Executor.h"

#include <algorithm>
#include <cstring>
#include <ctime>

using namespace weft::runtime;

/// Seconds that this thread had a core: on a machine that others use, too,
/// what a command costs.
static double threadSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

ResolvedValue::ResolvedValue(const PrepareContext &context, const ScalarValue &value)
    : addend(value.addend) {
  if (value.base == ValueBase::Scalar) {
    scalar = value.scalar;
    scale = value.scale;
  } else if (value.base == ValueBase::Coordinate) {
    addend += value.scale *
              indexAlong(context.program, context.program.axes(value.axes), context.coordinates);
  }
}

Status ResolvedView::make(const PrepareContext &context, const View &view, ResolvedView &result,
                          int64_t contiguous) {
  const ProgramView &p = context.program;
  const Buffer &buffer = p.Buffers()[view.buffer];
  int64_t bytes = dtypeBytes(view.dtype);
  result = {};
  result.dtype = view.dtype;
  result.bufferBegin = int64_t(buffer.offset);
  result.bufferEnd = int64_t(buffer.offset + buffer.bytes);
  result.offset = result.bufferBegin + view.byteOffset;
  for (const ScalarValue &term : p.ScalarValues().slice(view.terms)) {
    ResolvedValue value(context, term);
    value.scale *= bytes;
    value.addend *= bytes;
    if (value.scalar == kNone)
      result.offset += value.addend;
    else
      result.dynamic.push_back(value);
  }
  result.rank = view.sizes.count;
  bool empty = false;
  result.high = bytes;
  for (unsigned d = 0; d < result.rank; ++d) {
    result.sizes[d] = p.ints(view.sizes)[d];
    result.strides[d] = p.ints(view.strides)[d];
    empty |= result.sizes[d] == 0;
    int64_t reach = (result.sizes[d] - 1) * result.strides[d] * bytes;
    (reach < 0 ? result.low : result.high) += reach;
  }
  if (contiguous >= 0) {
    result.low = 0;
    result.high = contiguous * bytes;
    empty = contiguous == 0;
  }
  if (empty)
    result.low = result.high = 0;
  if (result.dynamic.empty() && !empty &&
      (result.offset + result.low < result.bufferBegin ||
       result.offset + result.high > result.bufferEnd))
    return Status::internal("a view leaves its buffer '" + std::string(p.string(buffer.name)) +
                            "' on this rank");
  return {};
}

bool ResolvedView::isRowMajor() const {
  int64_t expected = 1;
  for (unsigned d = rank; d-- > 0;) {
    if (sizes[d] != 1 && strides[d] != expected)
      return false;
    expected *= sizes[d];
  }
  return true;
}

int64_t ResolvedView::firstByte(const uint64_t *scalars) const {
  int64_t first = offset;
  for (const ResolvedValue &term : dynamic)
    first += term.get(scalars);
  return first;
}

char *ResolvedView::address(const StreamContext &stream) const {
  if (dynamic.empty())
    return stream.arena + offset;
  int64_t first = firstByte(stream.scalars);
  if (high > low && (first + low < bufferBegin || first + high > bufferEnd))
    return nullptr;
  return stream.arena + first;
}

Status ResolvedView::leaves(const StreamContext &stream) const {
  int64_t first = firstByte(stream.scalars) - bufferBegin;
  return Status::user("a runtime scalar moves a view to bytes " + std::to_string(first + low) +
                      " to " + std::to_string(first + high) + " of a buffer of " +
                      std::to_string(bufferEnd - bufferBegin) +
                      " bytes; a position beyond the compiled length?");
}

namespace {

StepPtr makeStep(const PrepareContext &context, const Command &command, Status &status) {
  switch (command.opcode) {
  case Opcode::Launch:
    return makeLaunch(context, command, status);
  case Opcode::Gemm:
    return makeGemm(context, command, status);
  case Opcode::Convolution:
    return makeConvolution(context, command, status);
  case Opcode::Attention:
    return makeAttention(context, command, status);
  case Opcode::AttentionGradient:
    return makeAttentionGradient(context, command, status);
  case Opcode::Copy:
    return makeCopy(context, command, status);
  case Opcode::Fill:
    return makeFill(context, command, status);
  case Opcode::Slice:
    return makeSlice(context, command, status);
  case Opcode::Collective:
    return makeCollective(context, command, status);
  case Opcode::EventRecord:
  case Opcode::EventWait:
  case Opcode::RepeatBegin:
  case Opcode::RepeatEnd:
  case Opcode::ScalarUpdate:
    break;
  }
  return nullptr;
}

constexpr unsigned kMaxRepeatDepth = 8; // as the verifier allows

} // namespace

std::string weft::runtime::describeCommand(const ProgramView &p, const Command &command,
                                           uint64_t index) {
  std::string text = "command " + std::to_string(index) + " (" + opcodeName(command.opcode);
  if (command.opcode == Opcode::Collective)
    text += std::string(" ") + collectiveKindName(p.Collectives()[command.params].kind);
  std::string_view node = p.string(command.node);
  if (!node.empty())
    text += " of node '" + std::string(node) + "'";
  return text + ")";
}

Status PreparedBody::make(const ProgramView &program, uint32_t programIndex, const Body &body,
                          const PrepareContext &base, PreparedBody &result) {
  result = {};
  result.program = &program;
  result.programIndex = programIndex;
  result.streams = body.streams;
  result.events = body.events;
  result.scratch.assign(body.streams, 0);
  std::vector<uint32_t> open;
  std::vector<uint32_t> recorder(body.events, kNone);
  Table<Command> commands = program.Commands().slice(body.commands);
  for (uint32_t i = 0; i < commands.size(); ++i) {
    const Command &command = commands[i];
    Item item{&command, nullptr, {}, 0};
    PrepareContext context = base;
    context.stream = command.stream;
    context.threads = command.stream == 0 ? base.threads : 1;
    Status status;
    item.step = makeStep(context, command, status);
    if (!status.ok())
      return status.prefix(describeCommand(program, command, i));
    if (item.step)
      result.scratch[command.stream] =
          std::max(result.scratch[command.stream], item.step->scratchBytes());
    switch (command.opcode) {
    case Opcode::RepeatBegin:
      item.count =
          ResolvedValue(context, program.ScalarValues()[program.Repeats()[command.params].count]);
      open.push_back(i);
      break;
    case Opcode::RepeatEnd:
      item.match = open.back();
      result.items[open.back()].match = i;
      open.pop_back();
      break;
    case Opcode::EventRecord:
      // A wait counts records; two recorders could overtake each other.
      if (recorder[command.params] != kNone && recorder[command.params] != command.stream)
        return Status::internal("event " + std::to_string(command.params) +
                                " is recorded on two streams");
      recorder[command.params] = command.stream;
      break;
    default:
      break;
    }
    result.items.push_back(std::move(item));
  }
  return {};
}

std::string PreparedBody::describe(uint64_t command) const {
  if (command >= items.size())
    return "the end";
  return describeCommand(*program, *items[command].command, command);
}

bool PreparedBody::holds(const Command &command, const uint64_t *scalars) const {
  return command.predicate == kNone ||
         (scalars[command.predicate] != 0) != (command.predicateInverted != 0);
}

void PreparedBody::update(const ScalarUpdate &update, uint64_t *scalars) const {
  uint64_t operand = update.operand == kNone ? update.immediate : scalars[update.operand];
  if (program->Scalars()[update.target].kind == ScalarKind::F64) {
    double value, by;
    std::memcpy(&value, &scalars[update.target], sizeof value);
    std::memcpy(&by, &operand, sizeof by);
    switch (update.op) {
    case ScalarOp::Set:
    case ScalarOp::Remainder: // integers only
      value = by;
      break;
    case ScalarOp::Add:
      value += by;
      break;
    case ScalarOp::Multiply:
      value *= by;
      break;
    case ScalarOp::Equal:
      value = value == by;
      break;
    case ScalarOp::Less:
      value = value < by;
      break;
    }
    std::memcpy(&scalars[update.target], &value, sizeof value);
    return;
  }
  // Unsigned arithmetic wraps instead of overflowing.
  uint64_t value = scalars[update.target];
  switch (update.op) {
  case ScalarOp::Set:
    value = operand;
    break;
  case ScalarOp::Add:
    value += operand;
    break;
  case ScalarOp::Multiply:
    value *= operand;
    break;
  case ScalarOp::Remainder:
    value =
        operand == 0 || operand == ~uint64_t(0) ? 0 : uint64_t(int64_t(value) % int64_t(operand));
    break;
  case ScalarOp::Equal:
    value = value == operand;
    break;
  case ScalarOp::Less:
    value = int64_t(value) < int64_t(operand);
    break;
  }
  scalars[update.target] = value;
}

Status PreparedBody::run(unsigned stream, StreamContext &context, EventTable &table,
                         Clock::time_point epoch, const Injection &injection) const {
  struct Loop {
    uint32_t begin;
    int64_t index, count;
  } loops[kMaxRepeatDepth];
  unsigned depth = 0;
  uint64_t *scalars = context.scalars;
  std::fill(context.recordsSeen.begin(), context.recordsSeen.end(), 0);
  auto since = [&](Clock::time_point time) {
    return std::chrono::duration<double>(time - epoch).count();
  };
  StreamMark &mark = *context.mark;
  mark.command.store(0, std::memory_order_relaxed);
  mark.doing.store(Doing::Computing, std::memory_order_relaxed);
  context.ran.begin = since(Clock::now());

  // Every stream follows repeats, scalars, predicates and the count of records
  // alike, so that they need not talk about them.
  for (uint32_t i = 0; i < items.size(); ++i) {
    const Item &item = items[i];
    const Command &command = *item.command;
    switch (command.opcode) {
    case Opcode::RepeatBegin: {
      int64_t count = item.count.get(scalars);
      if (count <= 0) {
        i = item.match;
        continue;
      }
      loops[depth++] = {i, 0, count};
      Id counter = program->Repeats()[command.params].counter;
      if (counter != kNone)
        scalars[counter] = 0;
      continue;
    }
    case Opcode::RepeatEnd: {
      Loop &loop = loops[depth - 1];
      if (++loop.index == loop.count) {
        --depth;
        continue;
      }
      i = loop.begin;
      Id counter = program->Repeats()[items[i].command->params].counter;
      if (counter != kNone)
        scalars[counter] = uint64_t(loop.index);
      continue;
    }
    case Opcode::ScalarUpdate:
      if (holds(command, scalars))
        update(program->ScalarUpdates()[command.params], scalars);
      continue;
    default:
      break;
    }
    bool mine = command.stream == stream;
    if (command.opcode != Opcode::EventRecord && !mine)
      continue;
    if (!holds(command, scalars))
      continue;
    if (command.opcode == Opcode::EventRecord) {
      uint64_t count = ++context.recordsSeen[command.params];
      if (mine)
        table.record(command.params, count);
      continue;
    }
    if (context.world->aborted())
      return World::stopped();
    mark.command.store(i, std::memory_order_relaxed);
    if (injection.command == int64_t(i)) {
      if (!injection.stall)
        return Status(StatusCode::RankFailed, describe(i) + ": failure injected by --inject");
      while (!context.world->aborted())
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return World::stopped();
    }
    bool waits = command.opcode == Opcode::EventWait;
    // A failed wait leaves its mark behind.
    bool communicates = !waits && item.step->communicates();
    if (waits || communicates)
      mark.doing.store(Doing::Waiting, std::memory_order_relaxed);
    bool timed = context.traceCapacity != 0 || waits || communicates;
    bool traced = context.trace.size() < context.traceCapacity;
    Clock::time_point begin;
    double cpu = traced ? threadSeconds() : 0;
    if (timed)
      begin = Clock::now();
    if (waits) {
      uint64_t count = context.recordsSeen[command.params];
      Wait wait = table.wait(*context.world, command.params, count);
      if (wait == Wait::Aborted)
        return World::stopped();
      if (wait == Wait::TimedOut)
        return Status(StatusCode::Hang,
                      describe(i) + ": waited " + std::to_string(context.world->timeoutSeconds()) +
                          " s for event " + std::to_string(command.params) + " of another stream");
    } else {
      Status status = item.step->run(context);
      if (!status.ok())
        return status.text() == World::stopped().text() ? status : status.prefix(describe(i));
    }
    if (timed) {
      Span span{since(begin), since(Clock::now())};
      if (waits || communicates) {
        mark.doing.store(Doing::Computing, std::memory_order_relaxed);
        context.communicationSeconds += span.end - span.begin;
        if (stream == 0)
          context.idle.add(span);
      }
      if (communicates)
        context.communication.add(span);
      if (traced)
        context.trace.push_back({programIndex, i, span.begin, span.end, threadSeconds() - cpu});
    }
  }
  context.ran.end = since(Clock::now());
  mark.doing.store(Doing::Nothing, std::memory_order_relaxed);
  return {};
}
