// The flags of training, evaluation, checkpoints and generation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CommandLine.h"

using namespace weft::runtime;

namespace {

Status usage(const std::string &what) {
  return {StatusCode::Usage, what + "; --help=training shows what there is"};
}

/// Adds flags any of which says that this is not a single run.
class TrainingTable {
public:
  TrainingTable(FlagTable &flags, TrainingOptions &options) : flags(flags), options(options) {}

  void value(const char *name, const char *placeholder, const char *help, FlagTable::Take take) {
    flags.value(name, placeholder, help, [take, &options = options](const std::string &text) {
      options.wanted = true;
      return take(text);
    });
  }
  void count(const char *name, const char *placeholder, const char *help, int64_t &target,
             int64_t least) {
    value(name, placeholder, help, [&target, least](const std::string &text) {
      return FlagTable::parseCount(text, least, int64_t(1) << 48, target);
    });
  }
  void file(const char *name, const char *placeholder, const char *help, std::string &target) {
    value(name, placeholder, help, [&target](const std::string &text) -> std::string {
      target = text;
      return text.empty() ? "wants a file or directory" : "";
    });
  }
  /// Tokens of one file; that the last of several counts would leave out what the others hold.
  void tokens(const char *name, const char *help, std::string &target) {
    value(name, "FILE[:u16|u32|byte]", help, [&target](const std::string &text) -> std::string {
      if (!target.empty() && target != text)
        return "names '" + target + "' and '" + text +
               "', but takes one file only; join them with cat";
      target = text;
      return text.empty() ? "wants a file or directory" : "";
    });
  }

private:
  FlagTable &flags;
  TrainingOptions &options;
};

std::string takeShuffle(const std::string &text, TrainingOptions &options) {
  options.shuffleGiven = true;
  options.shuffle = text != "none";
  return options.shuffle ? FlagTable::parseSeed(text, options.shuffleSeed) : std::string();
}

} // namespace

void weft::runtime::addTrainingFlags(FlagTable &flags, TrainingOptions &options) {
  GenerationOptions &generation = options.generation;
  TrainingTable table(flags, options);
  flags.topic("training", "Training (executables of weft-compile --train):",
              R"(SIGINT, SIGTERM and SIGHUP end training after the running step; it is saved if
--save says so. A loss or gradient that is not finite ends training with exit code 1.
)");
  table.count("--steps", "N", "train until step N, counted from the first one ever", options.steps,
              0);
  table.value("--data", "NAME=FILE.npy", "an input's samples, one per row; repeat for each input",
              takeFile(options.data));
  table.tokens("--data-tokens",
               "tokens for inputs and labels; sample i begins at token i * "
               "sequence; default u16",
               options.dataTokens);
  table.value("--shuffle", "none|SEED", "the order of samples, new in every epoch; default none",
              [&options](const std::string &text) { return takeShuffle(text, options); });
  table.file("--log", "FILE.jsonl",
             "a JSON line a step: step loss grad_norm lr step_ms tokens_per_s "
             "mem_bytes ...; --resume appends to it",
             options.log);
  table.count("--log-every", "K",
              "print every K-th step only, the first and the last; --log has all "
              "(1; on a terminal as many as can be read)",
              options.logEvery, 1);
  table.value("--eval-data", "NAME=FILE.npy", "evaluate on these, at the end or every K steps",
              takeFile(options.evalData));
  table.tokens("--eval-data-tokens", "the same, of tokens", options.evalDataTokens);
  table.count("--eval-every", "K", "evaluate every K steps", options.evalEvery, 1);
  table.count("--eval-batches", "N", "on the first N batches of them (all)", options.evalBatches,
              1);
  table.file("--save", "DIR", "save a checkpoint at the end", options.save);
  table.count("--every", "K", "... and every K steps", options.saveEvery, 1);
  table.count("--keep", "N", "... of which the newest N stay, the others are deleted (3)",
              options.keep, 1);
  flags.optional("--check-replicas", "N",
                 "every N steps (100), at the end and before each save compare the states that "
                 "several ranks hold alike; where they differ, end with exit code 3",
                 [&options](const std::string &text) -> std::string {
                   options.replicasEvery = 100;
                   return text.empty() ? ""
                                       : FlagTable::parseCount(text, 1, int64_t(1) << 48,
                                                               options.replicasEvery);
                 });
  table.value("--run-ahead", "on|off",
              "whether a rank of a pipeline that is done with a step begins the next one while "
              "others end it; each loss is told one step later then. Not where a norm of all "
              "gradients clips them (on)",
              [&options](const std::string &text) -> std::string {
                options.runAhead = text == "on";
                return text == "on" || text == "off" ? "" : "is on or off, not '" + text + "'";
              });
  // Alone it says which weights a single run takes.
  flags.value("--resume", "DIR",
              "go on from a checkpoint, of whatever layout; a DIR that --save "
              "names too may still be empty; without any other "
              "flag of training, run once with its weights",
              [&options](const std::string &text) -> std::string {
                options.resume = text;
                return text.empty() ? "wants a directory" : "";
              });
  flags.topic("generate", "Continuing texts (any executable of a language model):");
  table.value("--generate", "PROMPT", "continue a text; ids like 12,34 if tokens are not bytes",
              [&generation](const std::string &text) {
                generation.wanted = true;
                generation.prompt = text;
                return std::string();
              });
  auto tuned = [&generation](FlagTable::Take take) -> FlagTable::Take {
    return [take, &generation](const std::string &text) {
      generation.tuned = true;
      return take(text);
    };
  };
  table.value("--tokens", "N", "... by N tokens (100)",
              tuned([&generation](const std::string &text) {
                return FlagTable::parseCount(text, 1, int64_t(1) << 48, generation.tokens);
              }));
  table.value("--top-k", "K",
              "... choosing among the K likeliest by chance; without it and "
              "--temperature always the likeliest",
              tuned([&generation](const std::string &text) {
                return FlagTable::parseCount(text, 1, int64_t(1) << 48, generation.topK);
              }));
  table.value("--temperature", "T", "... by chance, evened out by T",
              tuned([&generation](const std::string &text) {
                return FlagTable::parseNumber(text, 1e6, generation.temperature.emplace());
              }));
  table.value("--seed", "S", "... of that chance", tuned([&generation](const std::string &text) {
                return FlagTable::parseSeed(text, generation.seed);
              }));
}

Status weft::runtime::checkTrainingFlags(const CommandLine &options) {
  const TrainingOptions &training = options.training;
  if (options.maxRestarts > 0 && training.save.empty())
    return usage("--max-restarts wants --save DIR, from where it goes on");
  if (training.replicasEvery > 0 && training.steps == 0)
    return usage("--check-replicas wants --steps N");
  if (options.checksNumbers && (options.bench || !options.pretend.empty()))
    return usage("--check-numbers takes time, and numbers to look at: leave out --bench and "
                 "--pretend");
  if (options.expected.empty())
    for (const FlagTable::Given &given : options.given)
      if (given.name == "--rtol" || given.name == "--atol")
        return usage(given.name + " says how near an output must be; add --expect NAME=FILE.npy");
  if (!training.wanted)
    return {};
  if (training.generation.tuned && !training.generation.wanted)
    return usage("--tokens, --top-k, --temperature and --seed say how "
                 "--generate PROMPT goes on; add it");
  bool data = !training.data.empty() || !training.dataTokens.empty();
  for (const auto *files : {&training.data, &training.evalData})
    for (const auto &[name, path] : *files)
      for (const auto &[fixed, other] : options.inputs)
        if (fixed == name)
          return usage("'" + name +
                       "' is given by --input, one value for all steps, and by batches "
                       "from '" +
                       path + "'; give it once");
  bool evaluation = !training.evalData.empty() || !training.evalDataTokens.empty();
  if (data && training.steps == 0)
    return usage("--data wants --steps N, at least 1");
  if (training.steps == 0 && !evaluation && !training.generation.wanted)
    return usage("there is nothing to do; add --steps N, --eval-data "
                 "NAME=FILE.npy or --generate PROMPT");
  if ((training.evalEvery > 0 || training.evalBatches > 0) && !evaluation)
    return usage(std::string(training.evalEvery > 0 ? "--eval-every" : "--eval-batches") +
                 " wants --eval-data NAME=FILE.npy or "
                 "--eval-data-tokens FILE");
  for (auto [flag, number] : {std::pair("--every", training.saveEvery), {"--keep", training.keep}})
    if (number > 0 && training.save.empty())
      return usage(std::string(flag) + " wants --save DIR");
  if (training.steps == 0)
    for (const FlagTable::Given &given : options.given)
      for (const char *flag :
           {"--save", "--log", "--shuffle", "--log-every", "--run-ahead", "--eval-every"})
        if (given.name == flag)
          return usage(given.name + " wants --steps N");
  if (options.bench || !options.expected.empty() || !options.outputDirectory.empty() ||
      !options.program.empty())
    return usage("--bench, --expect, --output-dir and --program are for single "
                 "runs, not for training");
  return {};
}
