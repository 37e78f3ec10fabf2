// Reads a stream's events when a run is over.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/streams/StreamClock.h"

using namespace weft::runtime;
using namespace weft::runtime::cuda;

StreamClock::StreamClock(const Driver &driver, bool isFirst, size_t waits, size_t traceCapacity)
    : driver(driver), isFirst(isFirst) {
  times.communication.reserve(waits);
  times.idle.reserve(isFirst ? waits : 0);
  times.trace.reserve(traceCapacity);
  notes.spans.reserve(waits + traceCapacity);
  events.resize(2 + 2 * (waits + traceCapacity));
}

StreamClock::~StreamClock() {
  for (Event event : events)
    if (event)
      (void)driver.destroyEvent(event);
}

Status StreamClock::open() {
  for (Event &event : events)
    WEFT_CUDA_TRY(driver, createEvent(&event, 0), "making an event");
  return {};
}

Status StreamClock::mark(Stream stream, size_t &event) {
  event = used++;
  // A graph's events tell the host something if they are external to it.
  Result recorded = captured
                        ? driver.recordEventWithFlags(events[event], stream, EventRecordExternal)
                        : driver.recordEvent(events[event], stream);
  return driver.check(recorded, "recording an event");
}

void StreamClock::restart(double seconds) {
  times.communicationSeconds = 0;
  times.communication.clear();
  times.idle.clear();
  times.ran.begin = origin = seconds;
}

Status StreamClock::begin(Stream stream, double seconds, bool isCaptured) {
  restart(seconds);
  notes.spans.clear();
  captured = isCaptured;
  used = 0;
  size_t event = 0;
  return mark(stream, event);
}

void StreamClock::repeat(const Notes &noted, double seconds) {
  restart(seconds);
  notes = noted;
}

Status StreamClock::start(Stream stream, Kind kind) {
  if (!isNoted(kind) || notes.spans.size() == notes.spans.capacity())
    return {};
  notes.spans.push_back({0, 0, {}, kind, nullptr});
  return mark(stream, notes.spans.back().begin);
}

Status StreamClock::stop(Stream stream, CommandPlace place, Kind kind,
                         const PreparedCommand *command) {
  if (notes.spans.empty() || notes.spans.back().end != 0 || notes.spans.back().kind != kind)
    return {};
  notes.spans.back().place = place;
  notes.spans.back().command = command;
  return mark(stream, notes.spans.back().end);
}

Status StreamClock::secondsOf(size_t event, double &seconds) const {
  float milliseconds = 0;
  WEFT_CUDA_TRY(driver, elapsed(&milliseconds, events[0], events[event]), "reading an event");
  seconds = origin + double(milliseconds) / 1e3;
  return {};
}

Status StreamClock::end(Stream stream) { return mark(stream, notes.end); }

Status StreamClock::read() {
  WEFT_TRY(secondsOf(notes.end, times.ran.end));
  for (const Span &span : notes.spans) {
    Interval interval{0, 0};
    WEFT_TRY(secondsOf(span.begin, interval.begin));
    WEFT_TRY(secondsOf(span.end, interval.end));
    if (span.kind != Kind::Computes) {
      times.communicationSeconds += interval.end - interval.begin;
      if (isFirst)
        times.idle.add(interval);
    }
    if (span.kind == Kind::Communicates)
      times.communication.add(interval);
    if (times.trace.size() < times.trace.capacity())
      times.trace.push_back({span.place.program, span.place.command, interval.begin, interval.end,
                             0, span.command ? span.command->sent() : Volume()});
  }
  return {};
}
