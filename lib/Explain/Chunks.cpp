// The chunks of a pipeline: read off the module, as lines of text and as JSON.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
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

void weft::explain::printChunks(llvm::ArrayRef<Chunk> chunks, llvm::raw_ostream &out) {
  for (auto [number, chunk] : llvm::enumerate(chunks)) {
    out << "chunk " << number << " on stage " << chunk.stage << ": '" << chunk.first << "' to '"
        << chunk.last << "', " << chunk.parameters << " parameters; F " << timeText(chunk.forward);
    if (chunk.backward + chunk.weight > 0)
      out << ", B " << timeText(chunk.backward) << ", W " << timeText(chunk.weight);
    out << "; " << sizeText(double(chunk.bytesIn)) << " in, " << chunk.inFlight << " in flight; ";
    llvm::interleaveComma(chunk.memory, out, [&](const auto &entry) {
      out << entry.first << ' ' << sizeText(double(entry.second));
    });
    out << (chunk.memory.empty() ? "no state\n" : "\n");
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
