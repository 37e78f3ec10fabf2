// The flags of weft-schedule, and what they make.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Request.h"

#include "weft/Pipeline/Check.h"
#include "weft/Pipeline/Generate.h"
#include "weft/runtime/Flags.h"
#include "weft/runtime/Nearest.h"
#include "weft/runtime/OutputFile.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>
#include <thread>

using namespace weft;
using namespace weft::schedule;
using runtime::FlagTable;
using runtime::Status;
using runtime::StatusCode;

namespace {

std::string intro() {
  std::string kinds;
  for (const pipeline::Generator &generator : pipeline::generators()) {
    std::string name = generator.name;
    if (generator.mostChunksPerRank > generator.leastChunksPerRank)
      name += ":V";
    name.resize(15, ' ');
    kinds += "  " + name + generator.summary + "\n";
  }
  return R"(usage: weft-schedule KIND --ranks P --microbatches M [flags]

Orders the forward (F), backward (B) and weight-gradient (W) parts of M
microbatches on the P ranks of a pipeline, and tells how long that takes and what
each rank holds. D is B and W in one. KIND:
)" + kinds +
         R"(  search         the best order found for the costs, never worse than those above with
                 as many chunks a rank: one, or --chunks 2
  file:FILE      a schedule as -o writes it: checked, and measured

Try these:
  weft-schedule 1f1b --ranks 4 --microbatches 8
  weft-schedule zb-h1 --ranks 4 --microbatches 8 --plot zb-h1.svg
  weft-schedule search --ranks 8 --microbatches 24 --memory-limit 16 --objective span
  weft-schedule search --ranks 4 --microbatches 16 --costs costs.txt -o best.txt
)";
}

constexpr const char *kEnd =
    R"(Two times: "span" is the longest that a rank is busy from its first action to its
last, "wall" the time from the first start to the last end. Steps whose ranks meet
at the end, for a norm of gradients or a report of the loss, take wall each; only
steps that do not meet take span. A bubble is the share of that time in which
ranks idle.

Exit codes: 0 ok, 1 a wrong schedule or file, 2 usage, 5 does not fit in memory.
)";

using Fields = std::vector<std::pair<std::string, double *>>;

/// "F=1,B=2": numbers by name.
FlagTable::Take takeFields(Fields fields, bool *given = nullptr) {
  return [fields, given](const std::string &text) -> std::string {
    std::vector<std::string> names;
    for (const auto &[name, target] : fields)
      names.push_back(name);
    std::set<std::string> seen;
    std::istringstream parts(text + ",");
    for (std::string part; std::getline(parts, part, ',');) {
      size_t equals = part.find('=');
      auto field = std::find_if(fields.begin(), fields.end(), [&](const auto &one) {
        return equals != std::string::npos && one.first == part.substr(0, equals);
      });
      if (field == fields.end())
        return "wants NAME=NUMBER, NUMBER for " + FlagTable::notAmong(part, names).substr(3);
      if (!seen.insert(field->first).second)
        return "gives " + field->first + " twice";
      std::string wrong = FlagTable::parseNumber(part.substr(equals + 1), 1e15, *field->second);
      if (!wrong.empty())
        return "'" + part + "' " + wrong;
    }
    if (given)
      *given = true;
    return {};
  };
}

FlagTable tableFor(Request &request) {
  FlagTable flags("weft-schedule", intro());
  flags.topic("what", "The pipeline:");
  flags.count("--ranks", "P", "how many ranks share the model", request.ranks, 1,
              pipeline::kMostRanks);
  flags.count("--chunks", "V", "chunks of the model on each rank (1; 2 for zb-v and dualpipev)",
              request.chunksPerRank, 1, 1 << 10);
  flags.count("--microbatches", "M", "parts of the batch that go through one after the other",
              request.microbatches, 1, pipeline::kMostPairs);
  flags.topic("costs", "What it costs, in any units; of one rank's share of the model:");
  flags.value("--times", "F=,B=,W=,comm=",
              "times for one microbatch, and of a transfer to the next rank (1, 1, 1, 0)",
              takeFields({{"F", &request.share.forward},
                          {"B", &request.share.backward},
                          {"W", &request.share.weight},
                          {"comm", &request.share.transfer}},
                         &request.hasShare));
  flags.value("--memory", "FB=,FW=,BW=",
              "what one microbatch keeps: from F to B, from F to W, from B to W (1, 0, 0)",
              takeFields({{"FB", &request.share.keptForBackward},
                          {"FW", &request.share.keptForWeight},
                          {"BW", &request.share.madeForWeight}},
                         &request.hasShare));
  flags.text("--costs", "FILE", "times and memory of each chunk instead, see docs/schedules.md",
             request.costsFile);
  flags.number("--memory-limit", "X", "the most that a rank may hold", request.memoryLimit, 1e15);
  flags.topic("search", "The search:");
  flags.value("--objective", "span|wall", "what is made short (wall)",
              [&request](const std::string &text) -> std::string {
                if (text != "span" && text != "wall")
                  return FlagTable::notAmong(text, {"span", "wall"});
                request.objective =
                    text == "span" ? pipeline::Objective::Span : pipeline::Objective::Wall;
                return {};
              },
              {"span", "wall"});
  flags.count("--evaluations", "N",
              "how many orders are tried at most beside those of the kinds above; default: 16 to "
              "30000, fewer where they are long",
              request.evaluations, 0, 1 << 30);
  flags.count("--threads", "N", "default: one a core; the result is the same for any",
              request.threads, 1, 1024);
  flags.topic("output", "What is written:");
  flags.text("-o", "FILE", "the schedule as text; '-' is the standard output", request.output);
  flags.text("--plot", "FILE.svg", "a Gantt chart with the memory of each rank", request.plot);
  flags.toggle("--json", "the figures as one JSON document", request.json);
  flags.epilogue(kEnd);
  flags.positional([&request](const std::string &word) -> std::string {
    if (!request.kind.empty())
      return "two kinds of schedule given: '" + request.kind + "' and '" + word + "'";
    request.kind = word;
    return {};
  });
  return flags;
}

Status usage(const std::string &text) { return {StatusCode::Usage, text}; }

/// As the command line says it.
std::string textOf(const pipeline::Generator &generator, int64_t chunksPerRank) {
  bool isFixed = generator.leastChunksPerRank == generator.mostChunksPerRank;
  return std::string(generator.name) + (isFixed ? "" : ":" + std::to_string(chunksPerRank));
}

/// "interleaved:3" and "file:F" say more than a kind.
Status splitKind(Request &request) {
  size_t colon = request.kind.find(':');
  std::string rest = colon == std::string::npos ? "" : request.kind.substr(colon + 1);
  std::string name = request.kind.substr(0, colon);
  if (name == "file") {
    if (rest.empty())
      return usage("file wants a path: file:schedule.txt");
    request.kind = name;
    request.file = rest;
    return {};
  }
  const pipeline::Generator *generator = pipeline::findGenerator(name);
  if (!generator && name != "search") {
    std::vector<std::string> names = {"search", "file:FILE"};
    for (const pipeline::Generator &one : pipeline::generators())
      names.push_back(one.name);
    std::string near = runtime::didYouMean(name, names), all;
    for (const std::string &known : names)
      all += (all.empty() ? "; there is " : ", ") + known;
    return usage("there is no kind of schedule '" + request.kind + "'" +
                 (near.empty() ? all : near));
  }
  if (colon != std::string::npos) {
    int64_t chunks = 0;
    if (!generator || generator->leastChunksPerRank == generator->mostChunksPerRank)
      return usage(name + " takes nothing behind its name, not ':" + rest + "'");
    std::string wrong = FlagTable::parseCount(rest, 1, generator->mostChunksPerRank, chunks);
    if (!wrong.empty())
      return usage(name + ": " + wrong + ", as chunks of a rank");
    if (request.chunksPerRank && request.chunksPerRank != chunks)
      return usage("--chunks " + std::to_string(request.chunksPerRank) + " contradicts '" +
                   request.kind + "'");
    request.chunksPerRank = chunks;
    request.kind = name;
  }
  return {};
}

Status checkSizes(Request &request) {
  if (request.kind == "file")
    return {};
  if (!request.ranks || !request.microbatches)
    return usage(std::string(request.ranks ? "--microbatches M" : "--ranks P") +
                 " is missing; as in 'weft-schedule " + request.kind +
                 " --ranks 4 --microbatches 8'");
  const pipeline::Generator *generator = pipeline::findGenerator(request.kind);
  bool isFixed = !generator || generator->leastChunksPerRank == generator->mostChunksPerRank;
  if (!request.chunksPerRank && !isFixed)
    return usage(request.kind + " wants a number of chunks a rank: " + request.kind + ":2");
  if (!request.chunksPerRank)
    request.chunksPerRank = generator ? generator->leastChunksPerRank : 1;
  std::string error;
  if (generator && !pipeline::fits(*generator, request.ranks, request.chunksPerRank,
                                   request.microbatches, error)) {
    std::string others;
    for (const pipeline::Generator &other : pipeline::generators()) {
      std::string ignored;
      if (pipeline::fits(other, request.ranks, request.chunksPerRank, request.microbatches,
                         ignored))
        others += (others.empty() ? "" : ", ") + textOf(other, request.chunksPerRank);
    }
    return usage(error + (others.empty() ? "" : "; these sizes suit " + others));
  }
  if (request.microbatches > pipeline::kMostPairs / (request.ranks * request.chunksPerRank))
    return usage(pipeline::mostPairs(request.ranks, request.chunksPerRank));
  return {};
}

Status readText(const std::string &path, std::string &text) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  text.clear();
  for (char part[1 << 14]; text.size() <= pipeline::kMostText;
       text.append(part, size_t(file.gcount())))
    if (file.read(part, sizeof part); file.gcount() == 0)
      break;
  if (text.empty())
    return Status::user("'" + path +
                        "' cannot be read: " + (errno ? std::strerror(errno) : "it is empty"));
  if (text.size() > pipeline::kMostText)
    return Status::user("'" + path + "' has more than " + std::to_string(pipeline::kMostText) +
                        " bytes");
  return {};
}

Status readFile(const Request &request, pipeline::Schedule &schedule) {
  std::string text, error;
  WEFT_TRY(readText(request.file, text));
  auto read = pipeline::readSchedule(text, error);
  if (!read)
    return Status::user("'" + request.file + "', " + error);
  schedule = std::move(*read);
  const std::pair<const char *, std::pair<int64_t, int64_t>> sizes[] = {
      {"--ranks", {request.ranks, schedule.ranks.size()}},
      {"--chunks", {request.chunksPerRank * int64_t(schedule.ranks.size()), schedule.place.size()}},
      {"--microbatches", {request.microbatches, schedule.microbatches}}};
  for (const auto &[flag, values] : sizes)
    if (values.first && values.first != values.second)
      return usage(std::string(flag) + " contradicts '" + request.file + "', which has " +
                   std::to_string(schedule.ranks.size()) + " ranks, " +
                   std::to_string(schedule.place.size()) + " chunks and " +
                   std::to_string(schedule.microbatches) + " microbatches; leave it out");
  if (std::string wrong = pipeline::check(schedule); !wrong.empty())
    return Status::user("'" + request.file + "' is no schedule: " + wrong);
  return {};
}

Status costsFor(const Request &request, size_t ranks, size_t chunks, pipeline::Costs &costs) {
  if (!request.costsFile.empty()) {
    std::string text, error;
    WEFT_TRY(readText(request.costsFile, text));
    auto read = pipeline::readCosts(text, chunks, ranks, error);
    if (!read)
      return Status::user("'" + request.costsFile + "', " + error);
    costs = std::move(*read);
  } else {
    costs.chunks.assign(chunks, pipeline::evenChunk(request.share, double(chunks) / double(ranks)));
  }
  if (request.memoryLimit >= 0) {
    costs.limit.resize(ranks, std::numeric_limits<double>::infinity());
    for (double &limit : costs.limit)
      limit = std::min(limit, request.memoryLimit);
  }
  return {};
}

pipeline::SearchRequest searchRequest(const Request &request) {
  pipeline::SearchRequest wanted;
  wanted.ranks = int32_t(request.ranks);
  wanted.chunksPerRank = int32_t(request.chunksPerRank);
  wanted.microbatches = int32_t(request.microbatches);
  wanted.objective = request.objective;
  wanted.evaluations = request.evaluations;
  wanted.threads = request.threads ? unsigned(request.threads)
                                   : std::max(1u, std::thread::hardware_concurrency());
  return wanted;
}

Status searchFor(const Request &request, Result &result) {
  std::string error;
  auto found = pipeline::search(searchRequest(request), result.costs, error);
  if (!found)
    return {StatusCode::DoesNotFit, error};
  result.schedule = std::move(found->schedule);
  return {};
}

/// What else there is where a kind needs more memory than there is.
std::string otherKinds(const Request &request, const Result &result) {
  std::string none = pipeline::checkLimits(searchRequest(request), result.costs);
  if (!none.empty())
    return none;
  std::string names;
  for (const pipeline::Generator &generator : pipeline::generators()) {
    std::string ignored;
    if (!pipeline::fits(generator, request.ranks, request.chunksPerRank, request.microbatches,
                        ignored))
      continue;
    pipeline::Schedule other = generator.make(
        int32_t(request.ranks), int32_t(request.chunksPerRank), int32_t(request.microbatches));
    if (pipeline::checkMemory(other, result.costs).empty())
      names += textOf(generator, request.chunksPerRank) + ", ";
  }
  return "within the limit are " + names + "search";
}

} // namespace

Status weft::schedule::parseRequest(const std::vector<std::string> &arguments, Request &request) {
  FlagTable flags = tableFor(request);
  std::string wrong = flags.parse(arguments);
  if (!wrong.empty())
    return usage(wrong);
  if (flags.answers()) {
    request.answer = flags.answer();
    return {};
  }
  if (request.kind.empty())
    return usage("a kind of schedule is missing; as in 'weft-schedule 1f1b --ranks 4 "
                 "--microbatches 8'; --help shows what there is");
  if (request.hasShare && !request.costsFile.empty())
    return usage("--costs says all; leave out --times and --memory");
  if ((request.output == "-") + (request.plot == "-") + request.json > 1)
    return usage("only one of -o, --plot and --json can go to the standard output");
  if (!request.output.empty() && !request.plot.empty() &&
      runtime::isSamePlace(request.output, request.plot))
    return usage("-o and --plot name the same file");
  for (const FlagTable::Given &flag : flags.given())
    if (request.kind != "search" && (flag.name == "--evaluations" || flag.name == "--threads"))
      return usage(flag.name + " is for 'search', and this is " + request.kind);
  WEFT_TRY(splitKind(request));
  return checkSizes(request);
}

Status weft::schedule::makeResult(const Request &request, Result &result) {
  result.kind = request.kind;
  const pipeline::Generator *generator = pipeline::findGenerator(request.kind);
  if (generator && generator->mostChunksPerRank > generator->leastChunksPerRank)
    result.kind += ":" + std::to_string(request.chunksPerRank);
  if (request.kind == "file") {
    result.kind = request.file;
    WEFT_TRY(readFile(request, result.schedule));
    WEFT_TRY(costsFor(request, result.schedule.ranks.size(), result.schedule.place.size(),
                      result.costs));
  } else {
    WEFT_TRY(costsFor(request, size_t(request.ranks), size_t(request.ranks * request.chunksPerRank),
                      result.costs));
    if (!generator)
      WEFT_TRY(searchFor(request, result));
    else
      result.schedule = generator->make(int32_t(request.ranks), int32_t(request.chunksPerRank),
                                        int32_t(request.microbatches));
  }
  if (std::string wrong = pipeline::checkMemory(result.schedule, result.costs); !wrong.empty())
    return {StatusCode::DoesNotFit, wrong + (generator ? "; " + otherKinds(request, result) : "")};
  auto timing = pipeline::simulate(result.schedule, result.costs);
  if (!timing)
    return Status::internal("the schedule stops: " + pipeline::check(result.schedule));
  result.timing = std::move(*timing);
  result.bounds =
      pipeline::lowerBounds(result.costs, result.schedule.place, result.schedule.microbatches);
  return {};
}
