// The flags of weft-iopddl.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Request.h"

#include "weft/runtime/Flags.h"

using namespace weft;
using namespace weft::iopddl;
using runtime::FlagTable;
using runtime::Status;
using runtime::StatusCode;

namespace {

constexpr const char *kIntro = R"(usage: weft-iopddl FILE [--seconds S] [-o OUT] [flags]

Solves an instance of the ASPLOS/EuroSys 2025 contest on intra-operator
parallelism (github.com/google/iopddl): choose one strategy of each node so that
the costs of nodes and edges are least and memory is never above the limit. Prints
one line of JSON:

  cost         of the best plan found; null, if none was
  feasible     whether a plan was found
  lower_bound  no plan costs less; null, if there is none at all
  optimal      whether it is proven that no plan costs less, or that there is none
  peak, limit  memory of the plan where it is largest, and what is allowed
  nodes, edges, seconds, work

Try these:
  weft-iopddl asplos-2025-iopddl-G.json --seconds 10
  weft-iopddl asplos-2025-iopddl-S.json --seconds 60 --threads 2 -o S.out
)";

constexpr const char *kEnd =
    R"(It ends early with a proof. docs/solver.md tells how it works.

Exit codes: 0 a plan was found, 1 a wrong file, 2 usage, 5 no plan fits or none
was found in time.
)";

FlagTable tableFor(Request &request) {
  FlagTable flags("weft-iopddl", kIntro);
  flags.topic("search", "The search:");
  flags.number("--seconds", "S", "ends S seconds after the start, reading included (60)",
               request.seconds, 1e7);
  flags.count("--work", "N", "ends after N entries of tables instead: the same plan on any machine",
              request.work, 0);
  flags.count("--threads", "N",
              "default: one a core; with --work the plan is the same for any number",
              request.threads, 1, 1 << 10);
  flags.seed("--seed", "N", "of what is left to chance (1)", request.seed);
  flags.topic("output", "Output:");
  flags.text("-o", "OUT", "the strategy of each node as the contest has it: [0, 3, 1]",
             request.output);
  flags.epilogue(kEnd);
  flags.positional([&request](const std::string &text) -> std::string {
    if (!request.file.empty())
      return "two files given: '" + request.file + "' and '" + text + "'";
    request.file = text;
    return {};
  });
  return flags;
}

} // namespace

Status weft::iopddl::parseRequest(const std::vector<std::string> &arguments, Request &request) {
  FlagTable flags = tableFor(request);
  std::string wrong = flags.parse(arguments);
  if (!wrong.empty())
    return {StatusCode::Usage, wrong};
  if (flags.answers()) {
    request.answer = flags.answer();
    return {};
  }
  if (request.file.empty())
    return {StatusCode::Usage, "a file is missing; as in 'weft-iopddl FILE --seconds 60'"};
  if (request.seconds >= 0 && request.work >= 0)
    return {StatusCode::Usage, "--work and --seconds both say when to end; leave one out"};
  if (request.output == "-")
    return {StatusCode::Usage, "the standard output gets the line of JSON; -o needs a file"};
  return {};
}
