// What was split where, what it costs, and why.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/dist/IR/Dist.h"
#include "dialects/nn/IR/Nn.h"
#include "dialects/rt/IR/Rt.h"
#include "weft/Driver/Driver.h"
#include "weft/Emit/Memory.h"
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

/// How often an op runs: once, or in each microbatch.
int64_t timesRun(Operation *op) {
  auto loop = op->getParentOfType<dist::RepeatOp>();
  if (!loop)
    return 1;
  const Mesh &mesh = dist::getMesh(op).getValue();
  return mesh.groupSize(mesh.resolve(loop.getAxis()));
}

std::vector<Line> collect(func::FuncOp function) {
  std::vector<Line> lines;
  function.getBody().walk<WalkOrder::PreOrder>([&](Operation *visited) {
    Operation &op = *visited;
    if (op.getNumResults() == 0 || op.hasTrait<OpTrait::ConstantLike>() || isa<dist::RepeatOp>(op))
      return;
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
        line.bytes = timesRun(visited) * bytesMoved(step.getStepMesh(), step.getStepKind(), step.getStepAxes(),
                                dist::getLocal(from).getValue(), dist::getLocal(to).getValue(), elementBytes(from));
      if (line.why.empty())
        line.why = "from " + placementText(from);
    }
    lines.push_back(std::move(line));
  });
  return lines;
}

/// Where a state is kept between programs, and where its readers want it.
struct State {
  std::string name, stored, used;
  double bytes = 0; // of one device
  bool isOptimizer = false;
};

std::vector<State> statesOf(func::FuncOp function) {
  std::vector<State> states;
  for (BlockArgument argument : function.getArguments()) {
    unsigned number = argument.getArgNumber();
    auto name = function.getArgAttrOfType<StringAttr>(number, nn::kNameAttr);
    if (!name || !(function.getArgAttr(number, nn::kSourceAttr) || function.getArgAttr(number, nn::kInitialAttr)))
      continue;
    auto type = cast<RankedTensorType>(argument.getType());
    State state{name.str(), placementText(type), placementText(type), type.getNumElements() * elementBytes(type),
                bool(function.getArgAttr(number, nn::kClassAttr))};
    // What is gathered step by step is used where the last step leaves it.
    Value use = argument;
    for (bool moved = true; moved;) {
      moved = false;
      for (Operation *user : use.getUsers())
        if (user->hasAttr(dist::kPhaseAttr)) {
          use = user->getResult(0);
          moved = true;
          break;
        }
    }
    state.used = placementText(use.getType());
    states.push_back(std::move(state));
  }
  return states;
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
        stream.attributeArray("states", [&] {
          for (const State &state : statesOf(function))
            stream.object([&] {
              stream.attribute("name", state.name);
              stream.attribute("class", state.isOptimizer ? "optimizer" : "parameter");
              stream.attribute("stored", state.stored);
              stream.attribute("used", state.used);
              stream.attribute("bytes", state.bytes);
            });
        });
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
    for (const State &state : statesOf(function)) {
      out << "state " << state.name << ": stored " << state.stored;
      if (state.used != state.stored)
        out << ", used " << state.used;
      out << llvm::format(", %.0f bytes a device\n", state.bytes);
    }
    out << "program " << function.getSymName() << ": " << steps << " collectives, "
        << llvm::format("%.0f bytes sent a device\n", total);
  }
}

void weft::driver::explainCommunication(ModuleOp module, bool json, llvm::raw_ostream &out) {
  for (auto program : module.getOps<rt::ProgramOp>()) {
    int64_t tensors = 0;
    std::vector<rt::CollectiveOp> commands(program.getOps<rt::CollectiveOp>().begin(),
                                           program.getOps<rt::CollectiveOp>().end());
    if (commands.empty())
      continue;
    for (rt::CollectiveOp command : commands)
      tensors += command.getSources().size();
    // Of the whole tensors, which are the sources or the targets.
    auto bytesOf = [](rt::CollectiveOp command) {
      int64_t sum = 0;
      for (auto [source, target] : llvm::zip(command.getSources(), command.getTargets())) {
        auto from = cast<MemRefType>(source.getType()), to = cast<MemRefType>(target.getType());
        sum += std::max(from.getNumElements(), to.getNumElements()) * std::max(1u, from.getElementTypeBitWidth() / 8);
      }
      return sum;
    };
    auto nodeOf = [](rt::CollectiveOp command) {
      StringRef node = rt::nodeName(command.getLoc());
      return node.empty() ? StringRef("(unnamed)") : node;
    };
    if (json) {
      llvm::json::OStream stream(out, 1);
      stream.object([&] {
        stream.attribute("scheduled_program", program.getSymName());
        stream.attribute("tensors_moved", tensors);
        stream.attributeArray("collective_commands", [&] {
          for (rt::CollectiveOp command : commands)
            stream.object([&] {
              stream.attribute("kind", rt::stringifyCollectiveKind(command.getKind()));
              stream.attributeArray("axes", [&] {
                for (StringRef axis : command.getAxes().getAsValueRange<StringAttr>())
                  stream.value(axis);
              });
              stream.attribute("tensors", int64_t(command.getSources().size()));
              stream.attribute("bytes", bytesOf(command));
              stream.attribute("first_node", nodeOf(command));
            });
        });
      });
      out << '\n';
      continue;
    }
    for (rt::CollectiveOp command : commands)
      if (size_t count = command.getSources().size(); count > 1) {
        out << "bucket of " << program.getSymName() << ": " << rt::stringifyCollectiveKind(command.getKind()) << " over ";
        llvm::interleaveComma(command.getAxes().getAsValueRange<StringAttr>(), out);
        out << " of " << count << " tensors, " << bytesOf(command) << " bytes, from " << nodeOf(command) << " on\n";
      }
    out << "communication of " << program.getSymName() << ": " << commands.size() << " commands for " << tensors
        << " tensors\n";
  }
}

int64_t weft::driver::arenaBytes(ModuleOp module) { return emit::memoryUse(module).arenaBytes; }

void weft::driver::explainMemory(ModuleOp module, bool json, llvm::raw_ostream &out) {
  emit::MemoryUse use = emit::memoryUse(module);
  constexpr size_t kShown = 10;
  llvm::ArrayRef<emit::MemoryItem> largest = llvm::ArrayRef<emit::MemoryItem>(use.atPeak).take_front(kShown);
  if (json) {
    llvm::json::OStream stream(out, 1);
    stream.object([&] {
      stream.attribute("arena_bytes", use.arenaBytes);
      for (unsigned c = 0; c < emit::kNumClasses; ++c)
        stream.attribute((stringifyBufferClass(rt::BufferClass(c)) + "_bytes").str(), use.peaks[c]);
      stream.attribute("fullest_program", use.program);
      stream.attributeArray("largest", [&] {
        for (const emit::MemoryItem &item : largest)
          stream.object([&] {
            stream.attribute("name", item.name);
            stream.attribute("class", stringifyBufferClass(item.kind));
            stream.attribute("bytes", item.bytes);
          });
      });
    });
    out << '\n';
    return;
  }
  out << "memory of one process: arena " << use.arenaBytes << " bytes; at most alive together";
  for (unsigned c = 0; c < emit::kNumClasses; ++c)
    if (use.peaks[c] != 0)
      out << ' ' << stringifyBufferClass(rt::BufferClass(c)) << ' ' << use.peaks[c];
  out << "\nlargest buffers when " << use.program << " needs the most:\n";
  for (const emit::MemoryItem &item : largest)
    out << "  " << llvm::format("%14lld", (long long)item.bytes) << ' ' << stringifyBufferClass(item.kind) << ' '
        << item.name << '\n';
}
