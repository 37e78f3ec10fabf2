// The flags of training, evaluation, checkpoints and generation.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CommandLine.h"

#include <cstdlib>

using namespace weft::runtime;

namespace {

Status usage(const std::string &what) {
  return {StatusCode::Usage, what + "; --help shows what there is"};
}

Status parseCount(const std::string &flag, const std::string &text,
                  int64_t least, int64_t &value) {
  char *end = nullptr;
  value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end != 0 || value < least || value > int64_t(1) << 48)
    return usage(flag + " wants a whole number of at least " +
                 std::to_string(least) + ", not '" + text + "'");
  return {};
}

Status parseSeed(const std::string &flag, const std::string &text,
                 uint64_t &value) {
  char *end = nullptr;
  value = std::strtoull(text.c_str(), &end, 10);
  if (text.empty() || text[0] == '-' || *end != 0)
    return usage(flag + " wants a seed, a whole number, not '" + text + "'");
  return {};
}

} // namespace

bool weft::runtime::isTrainingFlag(const std::string &flag) {
  for (const char *known :
       {"--data", "--data-tokens", "--shuffle", "--steps", "--log",
        "--eval-every", "--eval-batches", "--eval-data", "--eval-data-tokens", "--save",
        "--every", "--resume", "--generate", "--tokens", "--top-k",
        "--temperature", "--seed"})
    if (flag == known)
      return true;
  return false;
}

Status weft::runtime::parseTrainingFlag(const std::string &flag,
                                        const std::string &value,
                                        TrainingOptions &options) {
  GenerationOptions &generation = options.generation;
  options.wanted = true;
  if (flag == "--data" || flag == "--eval-data")
    return addFile(flag, value,
                   flag == "--data" ? options.data : options.evalData);
  std::string *text = flag == "--data-tokens"        ? &options.dataTokens
                      : flag == "--eval-data-tokens" ? &options.evalDataTokens
                      : flag == "--log"              ? &options.log
                      : flag == "--save"             ? &options.save
                      : flag == "--resume"           ? &options.resume
                      : flag == "--generate"         ? &generation.prompt
                                                     : nullptr;
  if (text) {
    generation.wanted |= text == &generation.prompt;
    if (value.empty() && text != &generation.prompt)
      return usage(flag + " wants a file or directory");
    *text = value;
    return {};
  }
  if (flag == "--shuffle") {
    options.shuffleGiven = true;
    options.shuffle = value != "none";
    return options.shuffle ? parseSeed(flag, value, options.shuffleSeed)
                           : Status();
  }
  if (flag == "--seed")
    return parseSeed(flag, value, generation.seed);
  if (flag == "--temperature") {
    char *end = nullptr;
    generation.temperature = std::strtod(value.c_str(), &end);
    if (value.empty() || *end != 0 || !(generation.temperature >= 0) ||
        generation.temperature > 1e6)
      return usage("--temperature wants a number that is not negative, not '" +
                   value + "'");
    return {};
  }
  int64_t *count = flag == "--steps"          ? &options.steps
                   : flag == "--eval-every"   ? &options.evalEvery
                   : flag == "--eval-batches" ? &options.evalBatches
                   : flag == "--every"        ? &options.saveEvery
                   : flag == "--tokens"       ? &generation.tokens
                                              : &generation.topK;
  return parseCount(flag, value, flag == "--steps" ? 0 : 1, *count);
}

Status weft::runtime::checkTrainingFlags(const CommandLine &options) {
  const TrainingOptions &training = options.training;
  if (!training.wanted)
    return {};
  bool data = !training.data.empty() || !training.dataTokens.empty();
  bool evaluation =
      !training.evalData.empty() || !training.evalDataTokens.empty();
  if (data && training.steps == 0)
    return usage("--data wants --steps N");
  if (training.steps > 0 && !data)
    return usage("--steps wants data: --data NAME=FILE.npy or --data-tokens "
                 "FILE");
  if (training.steps == 0 && !evaluation && !training.generation.wanted)
    return usage("there is nothing to do; add --steps N, --eval-data "
                 "NAME=FILE.npy or --generate PROMPT");
  if ((training.evalEvery > 0 || training.evalBatches > 0) && !evaluation)
    return usage(std::string(training.evalEvery > 0 ? "--eval-every"
                                                    : "--eval-batches") +
                 " wants --eval-data NAME=FILE.npy or "
                 "--eval-data-tokens FILE");
  if (training.saveEvery > 0 && training.save.empty())
    return usage("--every wants --save DIR");
  if (!training.save.empty() && training.steps == 0)
    return usage("--save wants --steps N");
  if (options.bench || !options.expected.empty() ||
      !options.outputDirectory.empty() || !options.program.empty())
    return usage("--bench, --expect, --output-dir and --program are for single "
                 "runs, not for training");
  return {};
}

const char *weft::runtime::trainingHelp() {
  return R"(
Training (executables of weft-compile --train):
  --steps N             train until step N, counted from the first one ever
  --data NAME=FILE.npy  an input's samples, one per row; repeat for each input
  --data-tokens FILE[:u16|u32|byte]
                        tokens for inputs and labels; sample i begins at token
                        i * sequence; default u16
  --shuffle none|SEED   the order of samples, new in every epoch; default none
  --log FILE.jsonl      a JSON line a step: step loss grad_norm lr step_ms
                        tokens_per_s mem_bytes ...; --resume appends to it
  --eval-data NAME=FILE.npy, --eval-data-tokens FILE[:u16|u32|byte]
                        evaluate on these, at the end or every K steps:
  --eval-every K
  --eval-batches N      on the first N batches of them (all)
  --save DIR            save a checkpoint at the end, and every K steps with
  --every K
  --resume DIR          go on from a checkpoint, of whatever layout
  --generate PROMPT     then continue a text; ids like 12,34 if tokens are not
                        bytes
  --tokens N            ... by N tokens (100)
  --top-k K, --temperature T, --seed S
                        ... choosing among the K likeliest by chance; without
                        them always the likeliest
SIGINT and SIGTERM end training after the running step; it is saved if --save
says so. A loss that is not finite ends training with exit code 1.
)";
}
