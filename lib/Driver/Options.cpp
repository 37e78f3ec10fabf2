// Parses the command line of weft-compile and explains it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Driver/Options.h"
#include "weft/Sharding/Mesh.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Regex.h"

using namespace weft;
using namespace weft::driver;

namespace {

/// A flag of the contract that this version refuses, and what to do.
struct Refused {
  llvm::StringLiteral flag, reason;
};
constexpr Refused kRefused[] = {
    {"--schedule", "pipelines are not supported yet"},
    {"--plan", "plan files are not supported yet; give --mesh and --place"},
    {"--auto", "the planner is not supported yet; give --mesh"},
    {"--cluster", "the planner is not supported yet; give --mesh"},
};

std::optional<int64_t> parseBytes(llvm::StringRef text) {
  int64_t factor = 1;
  for (auto [suffix, value] : {std::pair<llvm::StringRef, int64_t>{"KiB", 1ll << 10}, {"MiB", 1ll << 20},
                               {"GiB", 1ll << 30}, {"TiB", 1ll << 40}, {"kB", 1000}, {"MB", 1000000},
                               {"GB", 1000000000}, {"B", 1}})
    if (text.ends_with(suffix)) {
      text = text.drop_back(suffix.size());
      factor = value;
      break;
    }
  double number;
  if (text.getAsDouble(number) || number <= 0 || number * double(factor) > 9e18)
    return std::nullopt;
  return int64_t(number * double(factor));
}

class Parser {
public:
  Parser(const std::vector<std::string> &arguments, Options &options) : arguments(arguments), options(options) {}

  bool parse(std::string &error, bool resumes) {
    while (at < arguments.size() && message.empty())
      parseOne(arguments[at++]);
    if (message.empty() && !options.help)
      check(resumes);
    error = message;
    return message.empty();
  }

private:
  void fail(const llvm::Twine &text) { message = text.str(); }

  /// The value of `--flag=value` or `--flag value`.
  std::string value(llvm::StringRef flag) {
    if (!given && at == arguments.size()) {
      fail(flag + " needs a value; see --help");
      return "";
    }
    std::string text = given ? *given : arguments[at++];
    options.given.push_back({flag.str(), text});
    return text;
  }

  void parseOne(llvm::StringRef argument) {
    given.reset();
    if (!argument.starts_with("-") || argument == "-") {
      if (!options.model.empty())
        return fail("two models given: '" + options.model + "' and '" + argument + "'");
      options.model = argument.str();
      return;
    }
    llvm::StringRef flag = argument;
    if (size_t equals = argument.find('='); argument.starts_with("--") && equals != llvm::StringRef::npos) {
      flag = argument.take_front(equals);
      given = argument.drop_front(equals + 1).str();
    }
    for (const Refused &refused : kRefused)
      if (flag == refused.flag)
        return fail(flag + ": " + refused.reason);
    if (isTrainingFlag(flag)) {
      std::string text = value(flag);
      if (message.empty())
        parseTrainingFlag(flag, text, options.training, message);
      return;
    }
    if (flag == "-o" || flag == "--output")
      options.output = value(flag);
    else if (flag == "--bind")
      append(options.bind, value(flag), ",");
    else if (flag == "--mesh")
      options.mesh = value(flag);
    else if (flag == "--place")
      append(options.place, value(flag), ";");
    else if (flag == "--batch-axes")
      options.batchAxes = value(flag);
    else if (flag == "--precision")
      parsePrecision(value(flag));
    else if (flag == "--sequence-parallel")
      parseSequenceParallel(value(flag));
    else if (flag == "--threads-per-rank")
      parseNumber(flag, options.threadsPerRank);
    else if (flag == "--memory-limit")
      parseLimit(value(flag));
    else if (flag == "--bucket-size")
      parseBucket(value(flag));
    else if (flag == "--compile-to")
      parseUntil(value(flag));
    else if (flag == "--dump-phases")
      options.dumpDirectory = value(flag);
    else if (flag == "--write-devices")
      options.writeDevices = value(flag);
    else if (flag == "--explain")
      parseExplain();
    else if (flag == "--report")
      options.report = value(flag);
    else if (flag == "--target")
      parseTarget(value(flag));
    else if (flag == "--processor")
      options.processor = value(flag);
    else if (flag == "--linker")
      options.linker = value(flag);
    else if (flag == "--runtime-dir")
      options.runtimeDirectory = value(flag);
    else if (flag == "-O" || flag == "--opt-level")
      parseNumber(flag, options.optLevel);
    else
      parseSwitch(flag);
  }

  void parseSwitch(llvm::StringRef flag) {
    bool *target = llvm::StringSwitch<bool *>(flag)
                       .Case("--allow-idle-axes", &options.allowIdleAxes)
                       .Case("--dry-run", &options.dryRun)
                       .Case("--timing", &options.timing)
                       .Case("--train", &options.training.train)
                       .Case("--copy-weights", &options.copyWeights)
                       .Cases({"-q", "--quiet"}, &options.quiet)
                       .Cases({"-v", "--verbose"}, &options.verbose)
                       .Cases({"-h", "--help"}, &options.help)
                       .Case("--deterministic", &deterministic) // always so on CPU
                       .Default(nullptr);
    if (!target)
      return fail("unknown flag '" + flag + "'; see --help");
    if (given)
      return fail(flag + " takes no value");
    options.given.push_back({flag.str(), "", /*isSwitch=*/true});
    *target = true;
  }

  static void append(std::string &list, const std::string &item, const char *separator) {
    list += (list.empty() ? "" : separator) + item;
  }

  void parsePrecision(llvm::StringRef text) {
    options.precision = llvm::StringSwitch<std::string>(text)
                            .Case("fp32", "f32")
                            .Case("bf16", "bf16")
                            .Case("fp16", "f16")
                            .Case("fp64", "f64")
                            .Default("");
    if (text == "tf32")
      return fail("--precision tf32 needs a CUDA target; choose fp32, bf16, fp16 or fp64");
    if (options.precision.empty())
      fail("--precision '" + text + "' is unknown; choose fp32, bf16, fp16 or fp64");
  }

  void parseSequenceParallel(llvm::StringRef text) {
    if (!message.empty())
      return;
    if (text != "on" && text != "off" && text != "auto")
      return fail("--sequence-parallel is on, off or auto, not '" + text + "'");
    options.sequenceParallel = text.str();
  }

  void parseNumber(llvm::StringRef flag, unsigned &target) {
    std::string text = value(flag);
    if (message.empty() && llvm::StringRef(text).getAsInteger(10, target))
      fail(flag + " needs a number, not '" + text + "'");
  }

  void parseLimit(llvm::StringRef text) {
    if (auto bytes = parseBytes(text))
      options.memoryLimit = *bytes;
    else if (message.empty())
      fail("--memory-limit '" + text + "' is no size; write 80GiB or 512MiB");
  }

  void parseBucket(llvm::StringRef text) {
    if (text == "0")
      options.bucketBytes = 0;
    else if (auto bytes = parseBytes(text))
      options.bucketBytes = *bytes;
    else if (message.empty())
      fail("--bucket-size '" + text + "' is no size; write 25MiB, or 0 for no buckets");
  }

  void parseUntil(llvm::StringRef text) {
    if (auto phase = parsePhase(text))
      options.until = *phase;
    else if (message.empty())
      fail("--compile-to '" + text +
           "' is no phase; they are import, graph, step, sharded, staged, local, scheduled and executable");
  }

  void parseExplain() {
    options.given.push_back({"--explain", given.value_or(""), !given});
    std::string text = given.value_or("");
    options.explain = text == "json" ? Explain::Json : text == "full" ? Explain::Full : Explain::Text;
    if (text.empty() || options.explain != Explain::Text)
      return;
    std::string why;
    if (!llvm::Regex(text).isValid(why))
      return fail("--explain takes json, full or a regular expression for names of nodes; '" + text + "' is none: " + why);
    options.explainNodes = text;
  }

  void parseTarget(llvm::StringRef text) {
    if (text != "cpu" && message.empty())
      fail("--target '" + text + "' is not supported yet; the target is cpu");
  }

  void check(bool resumes) {
    if (options.model.empty())
      return fail("no model given; write weft-compile MODEL.onnx -o OUT, or --help");
    if (!resumes && !isModelFile(options.model))
      return;
    std::string why;
    std::optional<Mesh> mesh = options.mesh.empty() ? Mesh() : Mesh::parse(options.mesh, &why);
    if (!mesh)
      return fail("--mesh '" + options.mesh + "': " + why);
    for (const Mesh::Axis &axis : mesh->axes)
      if (llvm::StringRef(axis.name).split('.').first == "pp" && axis.size > 1)
        return fail("--mesh: pipeline stages (pp) are not supported yet; use dp and tp");
    checkBatchAxes(*mesh);
    if (!message.empty())
      return;
    checkExplain();
    if (!message.empty())
      return;
    if (!options.writeDevices.empty() && options.until < Phase::Sharded)
      return fail("--write-devices needs the placements of phase sharded; give --compile-to sharded or a later one");
    message = checkTraining(options);
  }

  void checkExplain() {
    bool explains = options.explain != Explain::No;
    if ((explains || !options.report.empty()) && options.until < Phase::Sharded)
      return fail((explains ? "--explain" : "--report") +
                  llvm::Twine(" needs what phase sharded decides; give --compile-to sharded or a later one"));
    bool prints = options.until < Phase::Executable && !options.dryRun &&
                  (options.output == Options().output || options.output == "-");
    if (explains && prints)
      return fail("--explain and --compile-to would both write to the screen; write the program to a file with -o FILE, "
                  "or nowhere with --dry-run");
  }

  void checkBatchAxes(const Mesh &mesh) {
    if (options.batchAxes.empty())
      return;
    if (options.mesh.empty())
      return fail("--batch-axes needs --mesh: it names axes of it");
    std::string axes = batchAxesOf(mesh, options.batchAxes);
    for (llvm::StringRef name : llvm::split(axes, '+'))
      if (!axes.empty() && mesh.resolve(name).empty())
        return fail("--batch-axes: --mesh '" + options.mesh + "' has no axis '" + name + "'");
  }

  const std::vector<std::string> &arguments;
  Options &options;
  size_t at = 0;
  std::optional<std::string> given;
  std::string message;
  bool deterministic = false;
};

} // namespace

bool weft::driver::parseOptions(const std::vector<std::string> &arguments, Options &options, std::string &error,
                                bool resumes) {
  return Parser(arguments, options).parse(error, resumes);
}

bool weft::driver::isModelFile(llvm::StringRef path) { return path.ends_with(".onnx"); }

std::string weft::driver::helpText() {
  return std::string(R"(weft-compile MODEL.onnx -o OUT [options]

Compiles a model into one executable that runs it on one or many processes.

  weft-compile model.onnx -o model --bind batch=8,seq=128
  weft-run model --input input_ids=ids.npy --output-dir out

Split over four processes: the batch over dp, weights over tp by least
communication. Look first, with --explain and --dry-run:

  weft-compile model.onnx -o model --bind batch=8 --mesh dp=2,tp=2 --explain --dry-run
  weft-run -n 4 model --input x=x.npy

What the model leaves open
  --bind NAME=N,...         extents of symbolic dims; INPUT=@FILE.npy makes an
                            input a constant; INPUT[0]=N binds a nameless dim
How to split
  --mesh AXIS=N,...         the processes as a grid: dp=2,tp=2; dp=4x2 has two
                            sub-axes, dp.0 and dp.1; rank = row-major index
                            over dp the batch is split, over any other axis
                            weights, by least communication
  --batch-axes AXIS+...     the batch over these axes instead of dp; none: over
                            no axis. An axis over which --place splits the
                            batch of an input is one, too
  --allow-idle-axes         let processes repeat the work of others where an
                            axis splits nothing, which else is an error
  --place REGEX=dimN:AXIS,.. how to split values whose name matches; - is whole
                            Device configurations in the model (ONNX IR 11)
                            count where no rule does, and their mesh where
                            there is no --mesh; --mesh dp=1 ignores them
  --sequence-parallel on|off|auto
                            also split norms and residuals over weight axes
                            (auto: off); less memory, the same bytes moved
How to compute
  --precision fp32|bf16|fp16|fp64
  --threads-per-rank N      default: cores / local ranks
  --bucket-size SIZE        collectives that can wait for each other share
                            messages up to this size: 25MiB; 0: none do
  --target cpu, --processor NAME (as LLVM names it; default native), -O N
)") + trainingHelpText().str() + R"(What to see
  --explain[=full|json|REGEX]
                            what moves over which axes, how much and why, and
                            what memory holds; repeated layers are one line.
                            full: every node; REGEX: nodes of such names; json:
                            one document (docs/explain.md)
  --report FILE.html        the same as a page with pictures, for any browser
  --dry-run                 do everything but write OUT
  --compile-to PHASE        print the program at a phase instead: import, graph,
                            step, sharded, staged, local, scheduled, executable;
                            weft-compile FILE.mlir -o OUT goes on from there, with
                            the flags that the text lists
  --dump-phases DIR         write every phase into numbered files
  --write-devices FILE.onnx write the model with the placements found as its
                            device configuration: edit it, or compile it
                            elsewhere without --mesh and --place
  --timing, -v, -q
Limits and files
  --memory-limit SIZE       fail (exit code 5) if a process needs more: 80GiB
  --copy-weights            put the weights beside OUT instead of referring to
                            them where they are
  --linker PROGRAM, --runtime-dir DIR

Exit codes: 0 ok, 1 wrong input, 2 wrong command line, 5 does not fit, 70 our bug.
)";
}
