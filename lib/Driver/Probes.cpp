// Programs that are measured, as text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Probes.h"

#include "weft/Cost/CostModel.h"
#include "weft/Interfaces/OpInterfaces.h"
#include "weft/Interfaces/OpWork.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace mlir;
using namespace weft;
using namespace weft::driver;

namespace {

using Sizes = std::vector<int64_t>;

std::string typeText(const Sizes &sizes, const std::string &element) {
  std::string text = "tensor<";
  for (int64_t size : sizes)
    text += std::to_string(size) + "x";
  return text + element + ">";
}

std::string listText(const Sizes &values) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "[" + text + "]";
}

/// A function in which every op reads inputs, and its result goes out.
class Writer {
public:
  /// A new input; its name in the text.
  std::string input(const std::string &type) {
    std::string name = "%x" + std::to_string(inputs++);
    arguments +=
        (arguments.empty() ? "" : ",\n  ") + name + ": " + type + " {nn.name = \"" + name + "\"}";
    return name;
  }
  /// An op, from its name to its types, with one result or several of `types`.
  void op(const std::string &text, const std::vector<std::string> &types) {
    std::string name = "%r" + std::to_string(ops++);
    body += "  " + name + (types.size() > 1 ? ":" + std::to_string(types.size()) : "") + " = " +
            text + " loc(\"" + name.substr(1) + "\")\n";
    for (size_t i = 0; i < types.size(); ++i) {
      std::string value = types.size() > 1 ? name + "#" + std::to_string(i) : name;
      results +=
          (results.empty() ? "" : ", ") + types[i] + " {nn.name = \"" + value.substr(1) + "\"}";
      returned += (returned.empty() ? "" : ", ") + value;
      returnedTypes += (returnedTypes.empty() ? "" : ", ") + types[i];
    }
  }
  std::string lastName() const { return "r" + std::to_string(ops - 1); }

  Probe finish(std::string name, int64_t ranks, const std::string &aliases,
               const std::string &attributes) const {
    return {name,
            aliases + "module attributes {" + attributes + "} {\nfunc.func @" + name + "(\n  " +
                arguments + ")\n    -> (" + results + ") {\n" + body + "  return " + returned +
                " : " + returnedTypes + "\n}\n}\n",
            ranks,
            {}};
  }
  Probe finish(std::string name) const {
    return finish(std::move(name), 1, "", "weft.phase = \"graph\"");
  }

private:
  int inputs = 0, ops = 0;
  std::string arguments, body, results, returned, returnedTypes;
};

void addProduct(Writer &program, const std::string &type, const Sizes &sizes, const Sizes &lhs,
                const Sizes &rhs, const Sizes &result) {
  auto shape = [&](const Sizes &labels) {
    Sizes extents;
    for (int64_t label : labels)
      extents.push_back(sizes[size_t(label)]);
    return typeText(extents, type);
  };
  std::string a = shape(lhs), b = shape(rhs), c = shape(result);
  std::string sum = type == "f64" ? "f64" : "f32";
  std::string x = program.input(a), y = program.input(b);
  program.op("nn.contract " + x + ", " + y + " lhs = " + listText(lhs) + " rhs = " + listText(rhs) +
                 " result = " + listText(result) + " accumulate = " + sum + " : (" + a + ", " + b +
                 ") -> " + c,
             {c});
}

} // namespace

Probe driver::productsProbe(const std::string &type) {
  Writer program;
  // Narrow types fill in between: their rate is another one, what sizes do to it is alike.
  Sizes rows = {16, 128, 1024}, columns = {32, 128, 512, 2048};
  if (type != "f32")
    rows = {128, 1024}, columns = {128, 1024};
  for (int64_t m : rows)
    for (int64_t n : columns)
      for (int64_t k : columns)
        for (const auto &[lhs, rhs] :
             {std::pair<Sizes, Sizes>{{0, 2}, {2, 1}}, std::pair<Sizes, Sizes>{{0, 2}, {1, 2}},
              std::pair<Sizes, Sizes>{{2, 0}, {2, 1}}})
          addProduct(program, type, {m, n, k}, lhs, rhs, {0, 1});
  for (int64_t m : {int64_t(32), int64_t(128)})
    for (int64_t k : {int64_t(32), int64_t(128)})
      addProduct(program, type, {m, m, k, 8}, {3, 0, 2}, {3, 2, 1}, {3, 0, 1});
  return program.finish("products_" + type);
}

Probe driver::attentionProbe(const std::string &type) {
  Writer program;
  for (const char *mask : {" {causal}", ""})
    for (int64_t length : {32, 128, 512})
      for (int64_t depth : {16, 32, 64, 128}) {
        std::string of = typeText({2, 2, length, depth}, type);
        std::string q = program.input(of), k = program.input(of), v = program.input(of),
                    out = program.input(of), upper = program.input(of);
        std::string three = of + ", " + of + ", " + of;
        program.op("nn.attention " + q + ", " + k + ", " + v + " scale = 0.125" + mask + " : (" +
                       three + ") -> " + of,
                   {of});
        program.op("nn.attention_grad " + q + ", " + k + ", " + v + ", " + out + ", " + upper +
                       " scale = 0.125" + mask + " : (" + three + ", " + of + ", " + of + ") -> (" +
                       three + ")",
                   {of, of, of});
      }
  return program.finish("attention_" + type);
}

Probe driver::convolutionsProbe() {
  Writer program;
  for (int64_t channels : {16, 64, 128})
    for (int64_t taps : {1, 3})
      for (int64_t extent : {8, 32}) {
        std::string x = typeText({4, channels, extent, extent}, "f32"),
                    w = typeText({channels, channels, taps, taps}, "f32");
        std::string pad = std::to_string(taps / 2);
        std::string a = program.input(x), b = program.input(w);
        program.op("nn.conv " + a + ", " + b +
                       " {strides = array<i64: 1, 1>, pad_low = array<i64: " + pad + ", " + pad +
                       ">, pad_high = array<i64: " + pad + ", " + pad +
                       ">, input_dilation = array<i64: 1, 1>, filter_dilation = array<i64: 1, 1>, "
                       "groups = 1 : i64} : (" +
                       x + ", " + w + ") -> " + x,
                   {x});
      }
  return program.finish("convolutions");
}

Probe driver::streamsProbe() {
  Writer program;
  for (int64_t size = 1 << 8; size <= 1 << 22; size *= 4) {
    std::string of = typeText({size}, "f32");
    std::string x = program.input(of), y = program.input(of);
    program.op("nn.add " + x + ", " + y + " : (" + of + ", " + of + ") -> " + of, {of});
  }
  std::string rows = typeText({512, 512}, "f32"), row = typeText({512}, "f32");
  for (const char *name : {"exp", "tanh", "gelu", "silu", "sigmoid"})
    program.op(std::string("nn.") + name + " " + program.input(rows) + " : (" + rows + ") -> " +
                   rows,
               {rows});
  program.op("nn.softmax " + program.input(rows) + " dim = 1 : (" + rows + ") -> " + rows, {rows});
  std::string x = program.input(rows), scale = program.input(row), bias = program.input(row);
  program.op("nn.layer_norm " + x + ", " + scale + ", " + bias + " dim = 1 epsilon = 1.0e-5 : (" +
                 rows + ", " + row + ", " + row + ") -> " + rows,
             {rows});
  std::string y = program.input(rows), other = program.input(row);
  program.op("nn.rms_norm " + y + ", " + other + " dim = 1 epsilon = 1.0e-5 : (" + rows + ", " +
                 row + ") -> " + rows,
             {rows});
  return program.finish("streams");
}

Probe driver::collectivesProbe(int64_t ranks) {
  Writer program;
  std::map<std::string, CollectivePoint> collectives;
  std::string members = "[\"ranks\"]";
  // Bytes of the larger one of operand and result: 64 to 32 Mi, but for what ranks leave over.
  for (int64_t bytes = 1 << 6; bytes <= 1 << 25; bytes *= 8) {
    int64_t count = std::max<int64_t>(ranks, bytes / 4 / ranks * ranks);
    auto placed = [&](const Sizes &sizes, const std::string &placement) {
      return typeText(sizes, "f32, #dist.local<#mesh, " + placement + ">");
    };
    auto note = [&](runtime::CollectiveKind kind) {
      collectives[program.lastName()] = {kind, "", ranks, double(count * 4), 0};
    };
    std::string n = std::to_string(count), sum = ", partial = sum[\"ranks\"]";
    std::string whole = placed({count}, "[" + n + "]"),
                partial = placed({count}, "[" + n + "]" + sum),
                shard = placed({count / ranks}, "[" + n + "{\"ranks\"}]");
    program.op("dist.all_reduce " + program.input(partial) + " " + members +
                   " accumulate f32 : " + partial + " -> " + whole,
               {whole});
    note(runtime::CollectiveKind::AllReduce);
    program.op("dist.all_gather " + program.input(shard) + " " + members + " dim 0 : " + shard +
                   " -> " + whole,
               {whole});
    note(runtime::CollectiveKind::AllGather);
    program.op("dist.reduce_scatter " + program.input(partial) + " " + members +
                   " dim 0 accumulate f32 : " + partial + " -> " + shard,
               {shard});
    note(runtime::CollectiveKind::ReduceScatter);
    int64_t columns = count / ranks;
    std::string r = std::to_string(ranks);
    // A row or a column of equal blocks: [ranks, count] whole.
    std::string byRow = placed({1, count}, "[" + r + "{\"ranks\"}, " + n + "]"),
                byColumn = placed({ranks, columns}, "[" + r + ", " + n + "{\"ranks\"}]");
    program.op("dist.all_to_all " + program.input(byRow) + " " + members +
                   " gather 0 split 1 : " + byRow + " -> " + byColumn,
               {byColumn});
    note(runtime::CollectiveKind::AllToAll);
  }
  Probe probe = program.finish("collectives", ranks,
                               "#mesh = #dist.mesh<[\"ranks\"=" + std::to_string(ranks) + "]>\n",
                               "weft.phase = \"local\", dist.mesh = #mesh");
  probe.collectives = std::move(collectives);
  return probe;
}

std::map<std::string, cost::Work> driver::workByName(ModuleOp module) {
  std::map<std::string, cost::Work> result;
  module.walk([&](Operation *op) {
    auto name = dyn_cast<NameLoc>(op->getLoc());
    if (!name || !isa<ShardableOpInterface>(op))
      return;
    OpWork work = workOf(op);
    cost::Work &found = result[name.getName().str()];
    found.shape.kind = cost::Shape::Kind(work.shape.kind);
    found.shape.batch = work.shape.batch;
    found.shape.m = work.shape.m;
    found.shape.n = work.shape.n;
    found.shape.k = work.shape.k;
    found.shape.isCausal = work.shape.isCausal;
    found.arithmetic = arithmeticOf(work.element);
    found.flops = std::llround(work.flops);
    found.bytesRead = work.bytesRead();
    found.bytesWritten = work.bytesWritten();
  });
  return result;
}

llvm::Expected<Timings> driver::readTimings(StringRef text, bool ofProcessor) {
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(text);
  if (!json)
    return json.takeError();
  const llvm::json::Object *root = json->getAsObject();
  const llvm::json::Array *events = root ? root->getArray("traceEvents") : nullptr;
  Timings timings;
  if (!events)
    return timings;
  // How often each rank has come to a command, and when it ended the last one.
  std::map<std::pair<std::string, int64_t>, size_t> runs;
  std::map<int64_t, double> ends;
  for (const llvm::json::Value &event : *events) {
    const llvm::json::Object *it = event.getAsObject();
    const llvm::json::Object *told = it ? it->getObject("args") : nullptr;
    std::optional<StringRef> node = told ? told->getString("node") : std::nullopt;
    std::optional<double> start = it ? it->getNumber("ts") : std::nullopt,
                          passed = it ? it->getNumber("dur") : std::nullopt;
    if (!node || !start || !passed)
      continue;
    int64_t rank = it->getInteger("pid").value_or(0);
    if (auto end = ends.find(rank); end != ends.end() && told->getInteger("command") != 0)
      timings.gaps.push_back((*start - end->second) * 1e-6);
    ends[rank] = *start + *passed;
    double seconds = (ofProcessor ? it->getNumber("tdur").value_or(*passed) : *passed) * 1e-6;
    size_t run = runs[{node->str(), rank}]++;
    std::vector<double> &all = timings.byName[node->str()];
    if (run < all.size())
      all[run] = std::min(all[run], seconds);
    else
      all.push_back(seconds);
  }
  return timings;
}
