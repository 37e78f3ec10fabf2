// What was split where, what it costs, and why.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/dist/IR/Dist.h"
#include "dialects/rt/IR/Rt.h"
#include "weft/Driver/Driver.h"
#include "weft/Support/Diagnostics.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace weft;

namespace {

double elementBytes(Type type) {
  return std::max(1u, cast<RankedTensorType>(type).getElementTypeBitWidth() / 8);
}

std::string placementText(Type type) {
  auto local = dist::getLocal(type);
  if (!local || local.getValue().isReplicated())
    return "whole";
  return toString(local.getMesh().getValue(), local.getValue());
}

std::string shapeText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << dist::globalType(type);
  return text;
}

struct Line {
  std::string node, op, placement, type, why;
  double bytes = 0; // sent by one device; 0 for what does not communicate
  bool isStep = false;
};

std::vector<Line> collect(func::FuncOp function) {
  std::vector<Line> lines;
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (op.getNumResults() == 0 || op.hasTrait<OpTrait::ConstantLike>())
      continue;
    Line line;
    line.node = describeLocation(op.getLoc()).node.str();
    line.op = op.getName().getStringRef().str();
    line.placement = placementText(op.getResult(0).getType());
    line.type = shapeText(op.getResult(0).getType());
    if (auto reason = op.getAttrOfType<StringAttr>(dist::kReasonAttr))
      line.why = reason.getValue().str();
    if (auto step = dyn_cast<StepOpInterface>(op)) {
      line.isStep = true;
      Type from = op.getOperand(0).getType(), to = op.getResult(0).getType();
      if (step.isCommunication())
        line.bytes = bytesMoved(step.getStepMesh(), step.getStepKind(), step.getStepAxes(),
                                dist::getLocal(from).getValue(), dist::getLocal(to).getValue(), elementBytes(from));
      if (line.why.empty())
        line.why = "from " + placementText(from);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

struct Memory {
  llvm::StringRef name;
  rt::BufferClass kind;
  int64_t bytes;
};

std::vector<Memory> buffersOf(ModuleOp module) {
  std::vector<Memory> result;
  auto bytes = [](MemRefType type) {
    return type.getNumElements() * int64_t(std::max(1u, type.getElementTypeBitWidth() / 8));
  };
  for (auto state : module.getOps<rt::StateOp>())
    result.push_back({state.getSymName(), state.getKind(), bytes(cast<MemRefType>(state.getLocal()))});
  for (auto program : module.getOps<rt::ProgramOp>())
    for (auto buffer : program.getOps<rt::BufferOp>())
      result.push_back({buffer.getName(), buffer.getKind(), bytes(cast<MemRefType>(buffer.getType()))});
  llvm::sort(result, [](const Memory &a, const Memory &b) {
    return std::make_tuple(-a.bytes, a.kind, a.name) < std::make_tuple(-b.bytes, b.kind, b.name);
  });
  return result;
}

} // namespace

void weft::driver::explainPlacement(ModuleOp module, bool json, llvm::raw_ostream &out) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function.isPublic() || function.isExternal())
      continue;
    std::vector<Line> lines = collect(function);
    double total = 0;
    unsigned steps = 0;
    for (const Line &line : lines) {
      total += line.bytes;
      steps += line.bytes > 0;
    }
    if (json) {
      llvm::json::OStream stream(out, 1);
      stream.object([&] {
        stream.attribute("program", function.getSymName());
        stream.attribute("collectives", int64_t(steps));
        stream.attribute("bytes_sent_per_device", total);
        stream.attributeArray("nodes", [&] {
          for (const Line &line : lines)
            stream.object([&] {
              stream.attribute("node", line.node);
              stream.attribute("op", line.op);
              stream.attribute("type", line.type);
              stream.attribute("placement", line.placement);
              if (line.isStep)
                stream.attribute("bytes", line.bytes);
              if (!line.why.empty())
                stream.attribute("why", line.why);
            });
        });
      });
      out << '\n';
      continue;
    }
    for (const Line &line : lines) {
      out << (line.isStep ? "    -> " : "") << (line.node.empty() ? "(unnamed)" : line.node) << ": " << line.op << ' '
          << line.type << ", " << line.placement;
      if (line.bytes > 0)
        out << llvm::format(", %.0f bytes sent a device", line.bytes);
      if (!line.why.empty())
        out << "; " << line.why;
      out << '\n';
    }
    out << "program " << function.getSymName() << ": " << steps << " collectives, "
        << llvm::format("%.0f bytes sent a device\n", total);
  }
}

int64_t weft::driver::arenaBytes(ModuleOp module) {
  int64_t bytes = 0;
  for (auto program : module.getOps<rt::ProgramOp>())
    bytes = std::max<int64_t>(bytes, program.getArena().value_or(0));
  return bytes;
}

void weft::driver::explainMemory(ModuleOp module, bool json, llvm::raw_ostream &out) {
  std::vector<Memory> buffers = buffersOf(module);
  std::map<rt::BufferClass, int64_t> sums;
  for (const Memory &memory : buffers)
    sums[memory.kind] += memory.bytes;
  constexpr size_t kShown = 10;
  if (json) {
    llvm::json::OStream stream(out, 1);
    stream.object([&] {
      stream.attribute("arena_bytes", arenaBytes(module));
      for (auto [kind, bytes] : sums)
        stream.attribute((stringifyBufferClass(kind) + "_bytes").str(), bytes);
      stream.attributeArray("largest", [&] {
        for (const Memory &memory : llvm::ArrayRef<Memory>(buffers).take_front(kShown))
          stream.object([&] {
            stream.attribute("name", memory.name);
            stream.attribute("class", stringifyBufferClass(memory.kind));
            stream.attribute("bytes", memory.bytes);
          });
      });
    });
    out << '\n';
    return;
  }
  out << "memory of one process: arena " << arenaBytes(module) << " bytes; before reuse";
  for (auto [kind, bytes] : sums)
    out << ' ' << stringifyBufferClass(kind) << ' ' << bytes;
  out << "\nlargest buffers:\n";
  for (const Memory &memory : llvm::ArrayRef<Memory>(buffers).take_front(kShown))
    out << "  " << llvm::format("%14lld", (long long)memory.bytes) << ' ' << stringifyBufferClass(memory.kind) << ' '
        << memory.name << '\n';
}
