// Reads a stream's events when a run is over.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/StreamClock.h"

using namespace weft::runtime;
using namespace weft::runtime::cuda;

StreamClock::StreamClock(const Driver &driver, bool isFirst, size_t waits, size_t traceCapacity)
    : driver(driver), isFirst(isFirst) {
  times.communication.reserve(waits);
  times.idle.reserve(isFirst ? waits : 0);
  times.trace.reserve(traceCapacity);
  spans.reserve(waits + traceCapacity);
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
  return driver.check(driver.recordEvent(events[event], stream), "recording an event");
}

Status StreamClock::begin(Stream stream, double seconds) {
  times.communicationSeconds = 0;
  times.communication.clear();
  times.idle.clear();
  times.ran.begin = origin = seconds;
  spans.clear();
  used = 0;
  size_t event = 0;
  return mark(stream, event);
}

Status StreamClock::start(Stream stream, Kind kind) {
  if (!isNoted(kind) || spans.size() == spans.capacity())
    return {};
  spans.push_back({0, 0, {}, kind, nullptr});
  return mark(stream, spans.back().begin);
}

Status StreamClock::stop(Stream stream, CommandPlace place, Kind kind,
                         const PreparedCommand *command) {
  if (spans.empty() || spans.back().end != 0 || spans.back().kind != kind)
    return {};
  spans.back().place = place;
  spans.back().command = command;
  return mark(stream, spans.back().end);
}

Status StreamClock::secondsOf(size_t event, double &seconds) const {
  float milliseconds = 0;
  WEFT_CUDA_TRY(driver, elapsed(&milliseconds, events[0], events[event]), "reading an event");
  seconds = origin + double(milliseconds) / 1e3;
  return {};
}

Status StreamClock::end(Stream stream) { return mark(stream, last); }

Status StreamClock::read() {
  WEFT_TRY(secondsOf(last, times.ran.end));
  for (const Span &span : spans) {
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
