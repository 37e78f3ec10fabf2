// The sampling loop of --generate.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "session/Generation.h"

#include "base/Convert.h"
#include "base/Philox.h"

#include "weft/runtime/Metadata.h"
#include "weft/runtime/Terminal.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

using namespace weft::runtime;

namespace {

/// "input x: 4x8 i64, output y: 4x8 f32"
std::string portsOf(const ProgramView &p, const Program &program) {
  std::string text;
  for (bool isInput : {true, false})
    for (const Port &port : p.Ports().slice(isInput ? program.inputs : program.outputs))
      text += (text.empty() ? "" : ", ") + std::string(isInput ? "input " : "output ") +
              std::string(p.string(port.name)) + ": " + shapeText(shapeOf(p, port.shape)) + " " +
              dtypeName(port.dtype);
  return text;
}

const Port *findPort(const ProgramView &p, Range ports, const std::string &name) {
  for (const Port &port : p.Ports().slice(ports))
    if (p.string(port.name) == name)
      return &port;
  return nullptr;
}

} // namespace

Status Generator::prepare(const GenerationOptions &wanted, bool byteTokens,
                          const TrainingOptions::Files &constants) {
  options = wanted;
  const ProgramView &p = session.view();
  const Program *program = nullptr;
  for (const Program &entry : p.Programs())
    if (p.string(entry.name) == kProgram)
      program = &entry;
  if (program) {
    tokens = findPort(p, program->inputs, metadataOf(p, metadata::kGenerateTokens));
    logits = findPort(p, program->outputs, metadataOf(p, metadata::kGenerateLogits));
    if (!tokens || !logits)
      findByShape(p, *program);
  }
  if (!tokens || !logits)
    return {StatusCode::Usage, "--generate: the model is not known to continue texts: it needs an "
                               "input of token ids, batch x sequence, and an output of logits, "
                               "batch x sequence x vocabulary" +
                                   (program ? "; it has " + portsOf(p, *program) : std::string())};
  Table<int64_t> in = p.ints(tokens->shape), out = p.ints(logits->shape);
  if (in.size() != 2 || out.size() != 3 || out[0] != in[0] || out[1] != in[1] || in[0] < 1 ||
      in[1] < 1 || out[2] < 1)
    return Status::user("--generate: input '" + std::string(p.string(tokens->name)) +
                        "' must be batch x sequence and output '" +
                        std::string(p.string(logits->name)) +
                        "' batch x sequence x vocabulary, but they have other shapes");
  batch = in[0], sequence = in[1], vocabulary = out[2];
  std::string missing;
  for (const Port &port : p.Ports().slice(program->inputs)) {
    std::string name(p.string(port.name));
    bool given = &port == tokens;
    for (const auto &entry : constants)
      given |= entry.first == name;
    if (!given)
      missing += " --input " + name + "=FILE.npy";
  }
  if (!missing.empty())
    return {StatusCode::Usage, "--generate: program 'forward' has other inputs; add" + missing};
  bytes = byteTokens || vocabulary == 256;
  // What is chosen is looked up next, and told as a byte where tokens are bytes.
  rows = rowsOf(p, p.string(tokens->name)).value_or(vocabulary);
  numIds = std::min({vocabulary, rows, bytes ? int64_t(256) : vocabulary});
  temperature = options.temperature.value_or(options.topK > 0 ? 1 : 0);
  WEFT_TRY(parsePrompt(options.prompt));
  window.resize(size_t(batch * sequence));
  input.resize(window.size() * dtypeBytes(tokens->dtype));
  row.resize(size_t(vocabulary) + 1);
  processes.open(session, row.size());
  return {};
}

/// Of an executable that was not made to be trained: ids are looked up in as
/// many rows as there are logits for the next one.
void Generator::findByShape(const ProgramView &p, const Program &program) {
  for (const Port &in : p.Ports().slice(program.inputs))
    for (const Port &out : p.Ports().slice(program.outputs)) {
      std::vector<int64_t> ids = shapeOf(p, in.shape), wanted = ids;
      std::optional<int64_t> rows = rowsOf(p, p.string(in.name));
      if (ids.size() != 2 || !rows)
        continue;
      wanted.push_back(*rows);
      if (shapeOf(p, out.shape) != wanted || !isFloat(out.dtype))
        continue;
      tokens = &in, logits = &out;
      return;
    }
}

Status Generator::parsePrompt(const std::string &prompt) {
  auto bad = [&](const std::string &what) {
    return Status(StatusCode::Usage, "--generate: " + what);
  };
  if (prompt.empty())
    return bad("the prompt is empty; at least one token is needed");
  if (bytes) {
    for (char c : prompt)
      context.push_back(uint8_t(c));
  } else {
    const char *at = prompt.c_str();
    while (true) {
      char *end = nullptr;
      context.push_back(std::strtoll(at, &end, 10));
      if (end == at || (*end != 0 && *end != ','))
        return bad("'" + prompt +
                   "' is no list of token ids like 12,345,6; only models of "
                   "bytes take text");
      if (*end == 0)
        break;
      at = end + 1;
    }
  }
  for (int64_t id : context) {
    if (id >= rows && id < vocabulary)
      return bad("the model looks token id " + std::to_string(id) + " up in " +
                 std::to_string(rows) + " rows; these are 0 to " + std::to_string(rows - 1));
    if (id < 0 || id >= vocabulary)
      return bad("token id " + std::to_string(id) + " is not in the vocabulary of " +
                 std::to_string(vocabulary) + " tokens");
  }
  return {};
}

Status Generator::readLogits(int64_t last, int &stop) {
  // Every element has one writer in the job, so parts add up to the row.
  std::fill(row.begin(), row.end(), 0.0);
  row.back() = stop;
  int64_t first = last * vocabulary, end = first + vocabulary;
  for (std::unique_ptr<RankContext> &rank : session.ranks) {
    if (!rank->writes(*logits))
      continue;
    const ShardMap &map = rank->map(logits->placement);
    int64_t width = dtypeBytes(logits->dtype);
    Status status;
    map.forEachRun([&](const ShardMap::Run &run) {
      int64_t begin = std::max(run.global, first);
      int64_t stop = std::min(run.global + run.count, end);
      if (begin >= stop || !status.ok())
        return;
      // Of all logits only these few are brought.
      int64_t local = run.local + begin - run.global;
      HostCopy part(rank->device(), rank->buffer(*logits).offset + uint64_t(local * width),
                    uint64_t((stop - begin) * width));
      status = part.download();
      if (status.ok())
        convertElements(logits->dtype, part.data(), DType::F64, row.data() + (begin - first),
                        stop - begin);
    });
    WEFT_TRY(status);
  }
  WEFT_TRY(processes.exchange(row.data(), row.size()));
  for (int64_t process = 0; process < processes.count(); ++process)
    stop = std::max(stop, int(processes.of(process)[vocabulary]));
  for (int64_t i = 0; i < vocabulary; ++i) {
    double sum = 0;
    for (int64_t process = 0; process < processes.count(); ++process)
      sum += processes.of(process)[i];
    row[size_t(i)] = sum;
  }
  return {};
}

int64_t Generator::choose(uint64_t position) {
  ranked.clear();
  for (int64_t i = 0; i < numIds; ++i)
    ranked.emplace_back(-row[size_t(i)], i);
  int64_t kept = options.topK > 0 ? std::min(options.topK, numIds) : numIds;
  if (temperature == 0)
    kept = 1;
  // Equal logits: the smaller id first.
  std::partial_sort(ranked.begin(), ranked.begin() + kept, ranked.end());
  double total = 0, best = -ranked[0].first;
  for (int64_t i = 0; i < kept && temperature > 0; ++i) {
    double &weight = ranked[size_t(i)].first;
    // An infinity less itself is no number.
    weight = -weight == best ? 1 : std::exp((-weight - best) / temperature);
    total += weight;
  }
  std::array<uint32_t, 4> random = philox({uint32_t(position), uint32_t(position >> 32), 0, 0},
                                          {uint32_t(options.seed), uint32_t(options.seed >> 32)});
  double point = (double(random[0]) + 0.5) * 0x1p-32 * total;
  for (int64_t i = 0; i + 1 < kept; ++i) {
    point -= ranked[size_t(i)].first;
    if (point < 0)
      return ranked[size_t(i)].second;
  }
  return ranked[size_t(kept - 1)].second;
}

Status Generator::next(int &stop) {
  std::string name(session.view().string(tokens->name));
  int64_t length = std::min<int64_t>(sequence, int64_t(context.size()));
  std::fill(window.begin(), window.end(), 0);
  std::copy(context.end() - length, context.end(), window.begin());
  convertElements(DType::I64, window.data(), tokens->dtype, input.data(), int64_t(window.size()));
  WEFT_TRY(commCall([&](weft_status *status) {
    int32_t code =
        weft_set_input(&session, kProgram, name.c_str(), input.data(), input.size(), status);
    return code ? code : weft_run(&session, kProgram, status);
  }));
  WEFT_TRY(readLogits(length - 1, stop));
  if (std::any_of(row.begin(), row.end(), [](double value) { return std::isnan(value); }))
    return Status::user("--generate: the logits are not numbers; the "
                        "parameters are spoiled");
  context.push_back(choose(context.size()));
  return {};
}

std::string Generator::untold(bool isEnd) {
  std::string text;
  if (!bytes) {
    for (; told < context.size(); ++told)
      text += (told == 0 ? "" : ",") + std::to_string(context[told]);
    return text;
  }
  text.assign(context.begin() + std::ptrdiff_t(told), context.end());
  if (!isEnd)
    text.resize(wholeCharacters(text));
  told += text.size();
  return shownSafely(text);
}
