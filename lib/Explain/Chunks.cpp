// The chunks of a pipeline: read off the module, as lines of text and as JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Explain/Classes.h"
#include "weft/Explain/Explain.h"

#include "dialects/dist/IR/ChunkRows.h"
#include "dialects/rt/IR/Rt.h"

using namespace mlir;
using namespace weft;
using namespace weft::explain;

static Chunk chunkOf(const dist::ChunkRow &row) {
  Chunk chunk{row.stage,    row.first,  row.last,    row.parameters, row.forward,
              row.backward, row.weight, row.bytesIn, row.inFlight,   {}};
  auto add = [&](rt::BufferClass kind, int64_t bytes) {
    if (bytes != 0)
      chunk.memory.push_back({rt::stringifyBufferClass(kind).str(), bytes});
  };
  add(rt::BufferClass::Parameter, row.parameterBytes);
  add(rt::BufferClass::OptimizerState, row.optimizerBytes);
  add(rt::BufferClass::Gradient, row.gradientBytes);
  add(rt::BufferClass::Activation, row.activationBytes);
  if (row.otherBytes != 0)
    chunk.memory.push_back({"other", row.otherBytes});
  return chunk;
}

void weft::explain::collectChunks(ModuleOp module, Document &document) {
  document.chunks.clear();
  if (auto rows = dist::readChunkRows(module->getAttr(dist::kChunkRowsAttr)))
    for (const dist::ChunkRow &row : *rows)
      document.chunks.push_back(chunkOf(row));
}

static std::string rangeText(const std::string &least, const std::string &most) {
  return least == most ? least : least + " to " + most;
}

static void printClass(const ChunkClass &group, llvm::raw_ostream &out) {
  const Chunk &least = group.least, &most = group.most;
  out << numbersText("chunk", group.chunks) << " on " << numbersText("stage", group.stages) << ": '"
      << least.first << "' to '" << least.last << "', " << least.parameters << " parameters"
      << (group.chunks.count == 1 ? "" : " each") << "; F " << timeText(least.forward);
  if (least.backward + least.weight > 0)
    out << ", B " << timeText(least.backward) << ", W " << timeText(least.weight);
  out << "; " << sizeText(double(least.bytesIn)) << " in, "
      << rangeText(std::to_string(least.inFlight), std::to_string(most.inFlight)) << " in flight; ";
  llvm::interleaveComma(llvm::zip_equal(least.memory, most.memory), out, [&](const auto &entry) {
    const auto &[own, others] = entry;
    out << own.first << ' '
        << rangeText(sizeText(double(own.second)), sizeText(double(others.second)));
  });
  out << (least.memory.empty() ? "no state\n" : "\n");
}

void weft::explain::printChunks(llvm::ArrayRef<Chunk> chunks, Detail detail,
                                llvm::raw_ostream &out) {
  if (detail == Detail::Classes) {
    for (const ChunkClass &group : foldChunks(chunks))
      printClass(group, out);
    return;
  }
  for (auto [number, chunk] : llvm::enumerate(chunks)) {
    ChunkClass alone{chunk, chunk, {}, {}};
    alone.chunks.add(number);
    alone.stages.add(chunk.stage);
    printClass(alone, out);
  }
}

void weft::explain::printChunks(llvm::ArrayRef<Chunk> chunks, llvm::json::OStream &json) {
  if (chunks.empty())
    return;
  json.attributeArray("chunks", [&] {
    for (const Chunk &chunk : chunks)
      json.object([&] {
        json.attribute("stage", chunk.stage);
        json.attribute("first_node", llvm::json::fixUTF8(chunk.first));
        json.attribute("last_node", llvm::json::fixUTF8(chunk.last));
        json.attribute("parameters", chunk.parameters);
        json.attributeObject("seconds", [&] {
          json.attribute("F", chunk.forward);
          json.attribute("B", chunk.backward);
          json.attribute("W", chunk.weight);
        });
        json.attribute("bytes_in", chunk.bytesIn);
        json.attribute("in_flight", chunk.inFlight);
        json.attributeObject("memory", [&] {
          for (const auto &[name, bytes] : chunk.memory)
            json.attribute(name, bytes);
        });
      });
  });
}
