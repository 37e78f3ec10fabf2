// The document as JSON; docs/explain.md describes the fields.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Explain/Classes.h"
#include "weft/Explain/Explain.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/JSON.h"

using namespace weft::explain;

namespace {

/// Of what is alive at the peak so many are listed; the others are summed.
constexpr size_t kListedAtPeak = 64;

class Writer {
public:
  Writer(const Document &document, bool indent, llvm::raw_ostream &out)
      : document(document), json(out, indent ? 1 : 0) {}

  void write() {
    json.object([&] {
      json.attribute("version", Document::kVersion);
      text("model", document.model);
      json.attribute("parameters", document.parameters());
      json.attribute("ranks", document.ranks());
      json.attributeArray("mesh", [&] {
        each(document.mesh, [&](const Axis &axis) {
          text("axis", axis.name);
          json.attribute("size", axis.size);
          json.attribute("temporal", axis.temporal);
        });
      });
      json.attributeArray("programs", [&] {
        each(document.programs, [&](const Program &program) { write(program); });
      });
      if (document.hasMemory)
        json.attributeObject("memory", [&] { write(document.memory); });
      if (!document.schedule.empty())
        text("schedule", document.schedule);
      printChunks(document.chunks, json);
      if (!document.stages.empty())
        json.attributeArray(
            "stages", [&] { each(document.stages, [&](const Stage &stage) { write(stage); }); });
      if (document.forecast)
        json.attributeObject("forecast", [&] { write(*document.forecast); });
      texts("notes", document.notes);
      texts("hints", hintsOf(document));
    });
  }

private:
  /// Names come from model files, which may hold any bytes.
  void text(llvm::StringRef key, llvm::StringRef value) {
    json.attribute(key, llvm::json::fixUTF8(value));
  }
  void texts(llvm::StringRef key, const std::vector<std::string> &values) {
    json.attributeArray(key, [&] {
      for (const std::string &value : values)
        json.value(llvm::json::fixUTF8(value));
    });
  }
  template <typename Range, typename WriteOne> void each(const Range &range, WriteOne writeOne) {
    for (const auto &one : range)
      json.object([&] { writeOne(one); });
  }

  void write(const Forecast &forecast) {
    text("cluster", forecast.cluster);
    json.attribute("seconds", forecast.seconds);
    json.attribute("device_bytes", forecast.deviceBytes);
    json.attributeArray("sent", [&] {
      each(forecast.sent, [&](const Forecast::Sent &sent) {
        text("axis", sent.axis);
        json.attribute("size", sent.size);
        json.attribute("bytes", sent.bytes);
        if (!sent.between.empty())
          json.attributeArray("between", [&] {
            for (const std::vector<int64_t> &from : sent.between)
              json.array([&] {
                for (int64_t bytes : from)
                  json.value(bytes);
              });
          });
      });
    });
    json.attributeArray("actions", [&] {
      each(forecast.actions, [&](const Forecast::Action &action) {
        json.attribute("stage", action.stage);
        json.attribute("start", action.start);
        json.attribute("end", action.end);
        text("name", action.name);
      });
    });
    if (!forecast.undrawn.empty())
      text("undrawn", forecast.undrawn);
    json.attributeArray("candidates", [&] {
      each(forecast.candidates, [&](const Forecast::Candidate &candidate) {
        text("layout", candidate.layout);
        text("kind", candidate.kind);
        json.attribute("seconds", candidate.seconds);
        json.attribute("bytes", candidate.bytes);
      });
    });
  }

  void write(const Program &program) {
    text("name", program.name);
    json.attribute("rank", program.rank);
    json.attribute("bytes_sent", int64_t(program.bytesSent));
    json.attributeArray("sent_over", [&] {
      each(program.sentOver, [&](const auto &entry) {
        texts("axes", entry.first);
        write(entry.second);
      });
    });
    // Most of what a program does overlaps with something.
    json.attribute("seconds", nullptr);
    json.attributeArray("collectives", [&] {
      each(program.collectives, [&](const Collective &one) { write(one); });
    });
    std::vector<int64_t> classOf;
    std::vector<NodeClass> nodes = foldNodes(program.nodes, classOf);
    json.attributeArray("collective_classes", [&] {
      each(foldCollectives(program.collectives), [&](const CollectiveClass &group) {
        write(group);
        json.attribute("after",
                       group.example.position == 0 ? -1 : classOf[group.example.position - 1]);
      });
    });
    json.attributeArray("layer_classes", [&] {
      each(foldLayers(program.collectives), [&](const LayerClass &group) {
        text("name", group.name);
        text("layers", group.members.layersText());
        json.attribute("collectives", group.collectives);
        json.attribute("bytes", int64_t(group.bytes));
        json.attribute("seconds", group.seconds);
      });
    });
    json.attributeArray("node_classes", [&] {
      each(nodes, [&](const NodeClass &group) {
        text("node", group.node.node);
        text("op", group.node.op);
        text("type", group.node.type);
        text("placement", group.node.placement);
        text("role", group.node.role);
        write(group.members);
      });
    });
    json.attributeArray("states",
                        [&] { each(program.states, [&](const State &state) { write(state); }); });
    json.attributeArray("state_classes", [&] {
      each(foldStates(program.states), [&](const StateClass &group) {
        write(group.state);
        write(group.members);
      });
    });
    json.attribute("commands", program.commands);
    json.attribute("arena_bytes", program.arena);
    json.attribute("generated_bytes", program.generatedBytes());
    text("unit", program.unit);
    json.attribute("units", program.units);
    json.attributeArray("moved", [&] {
      each(program.moved, [&](const MovedBytes &bytes) {
        text("command", bytes.kind);
        json.attribute("commands", bytes.commands);
        json.attribute("read", bytes.read);
        json.attribute("written", bytes.written);
      });
    });
    json.attribute("collective_commands", int64_t(program.transfers.size()));
    json.attributeArray("transfers", [&] {
      each(program.transfers, [&](const Transfer &transfer) { write(transfer); });
    });
    json.attributeArray("buckets", [&] {
      each(program.buckets, [&](const Bucket &bucket) {
        text("kind", bucket.kind);
        texts("axes", bucket.axes);
        json.attribute("tensors", bucket.tensors);
        json.attribute("bytes", bucket.bytes);
        text("first_node", bucket.firstNode);
      });
    });
  }

  void write(const Transfer &transfer) {
    json.attribute("command", transfer.command);
    if (transfer.call) {
      json.attribute("call", *transfer.call);
      text("routine", transfer.routine);
      text("label", transfer.label);
    }
    if (transfer.microbatch)
      json.attribute("microbatch", *transfer.microbatch);
    if (transfer.stage)
      json.attribute("stage", *transfer.stage);
    text("node", transfer.node);
    text("kind", transfer.kind);
    texts("axes", transfer.axes);
    json.attribute("tensors", transfer.tensors);
    write(transfer.sent);
  }

  void write(const Sent &sent) {
    json.attributeArray("sent", [&] {
      each(sent.getRuns(), [&](const Sent::Run &run) {
        json.attribute("members", run.members);
        json.attribute("messages", run.each.messages);
        json.attribute("bytes", run.each.bytes);
      });
    });
  }

  void write(const State &state) {
    text("name", state.name);
    text("class", state.kind);
    text("type", state.type);
    text("stored", state.stored);
    text("used", state.used);
    json.attribute("bytes", state.bytes);
  }

  void write(const Members &members) {
    json.attribute("count", members.count);
    text("layers", members.layersText());
  }

  void writeCommon(const Collective &one) {
    text("kind", one.kind);
    texts("axes", one.axes);
    text("role", one.role);
    text("type", one.type);
    text("from", one.from);
    text("to", one.to);
    text("maker", one.maker);
    text("made", one.made);
    text("summed", one.summed);
    text("wanted", one.wanted);
    json.attribute("times", one.times);
    if (!one.hint.empty())
      text("hint", one.hint);
  }

  void write(const Collective &one) {
    text("node", one.node);
    writeCommon(one);
    texts("readers", one.readers);
    json.attribute("reader_count", one.readerCount);
    json.attribute("bytes", int64_t(one.bytes));
    json.attribute("ring_bytes", int64_t(one.ringBytes));
    json.attribute("seconds", one.seconds);
  }

  void write(const CollectiveClass &group) {
    writeCommon(group.example);
    json.attribute("bytes", int64_t(group.bytes));
    json.attribute("seconds", group.seconds);
    write(group.members);
    text("reason",
         reasonText(group.example, group.readers.front().patterns, group.readers.front().count));
    json.attributeArray("readers", [&] {
      each(group.readers, [&](const CollectiveClass::Readers &readers) {
        texts("names", readers.patterns);
        json.attribute("reader_count", readers.count);
        write(readers.members);
      });
    });
  }

  void writePeaks(const Memory &memory) {
    json.attribute("arena_bytes", memory.arena);
    json.attributeObject("peaks", [&] {
      for (auto [name, bytes] : llvm::zip_equal(memory.classes, memory.peaks))
        json.attribute(name, bytes);
    });
  }

  void write(const Stage &stage) {
    json.attribute("states", stage.states);
    json.attribute("state_bytes", stage.stateBytes);
    writePeaks(stage.memory);
    json.attributeArray("transfers", [&] {
      each(stage.flows, [&](const Stage::Flow &flow) {
        text("program", flow.program);
        json.attribute("sends", int64_t(flow.sent.messages));
        json.attribute("sent_bytes", int64_t(flow.sent.bytes));
        json.attribute("receives", int64_t(flow.received.messages));
        json.attribute("received_bytes", int64_t(flow.received.bytes));
      });
    });
  }

  void write(const Memory &memory) {
    if (memory.stage)
      json.attribute("stage", *memory.stage);
    writePeaks(memory);
    text("fullest_program", memory.program);
    json.attribute("fullest_command", memory.command);
    std::vector<MemoryItemClass> classes = foldMemory(memory.atPeak);
    llvm::ArrayRef<MemoryItemClass> listed =
        llvm::ArrayRef<MemoryItemClass>(classes).take_front(kListedAtPeak);
    json.attributeArray("at_peak", [&] {
      each(listed, [&](const MemoryItemClass &group) {
        text("name", group.item.name);
        text("class", group.item.kind);
        json.attribute("bytes", group.item.bytes);
        write(group.members);
      });
    });
    int64_t rest = 0;
    for (const MemoryItemClass &group :
         llvm::ArrayRef<MemoryItemClass>(classes).drop_front(listed.size()))
      rest += group.item.bytes * group.members.count;
    json.attribute("not_listed_bytes", rest);
    texts("classes", memory.classes);
    json.attributeArray("timelines", [&] {
      each(memory.timelines, [&](const MemoryTimeline &line) {
        text("program", line.program);
        json.attribute("commands", line.commands);
        json.attributeArray("moments", [&] {
          for (const MemoryMoment &moment : line.moments)
            json.array([&] {
              json.value(moment.command);
              for (int64_t bytes : moment.bytes)
                json.value(bytes);
            });
        });
      });
    });
  }

  const Document &document;
  llvm::json::OStream json;
};

} // namespace

void weft::explain::printJson(const Document &document, bool indent, llvm::raw_ostream &out) {
  Writer(document, indent, out).write();
  out << '\n';
}
