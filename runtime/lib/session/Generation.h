// Continues a prompt with a trained language model.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_RUNTIME_LIB_SESSION_GENERATION_H
#define WEFT_RUNTIME_LIB_SESSION_GENERATION_H

#include "files/InputFile.h"
#include "job/Processes.h"

#include "weft/runtime/Training.h"

namespace weft::runtime {

/// Runs program "forward", whose token input is [batch, sequence], on a window
/// of the last tokens; sample 0 holds it, the others stay zero. A model that
/// looks ahead would see the zeros behind the window's end: models are causal.
class Generator {
public:
  /// That it runs.
  static constexpr const char *kProgram = "forward";

  explicit Generator(weft_session &session) : session(session) {}

  /// Finds ports and parses the prompt. `bytes`: the vocabulary is known to be
  /// bytes. `constants`: inputs that have their values already.
  Status prepare(const GenerationOptions &options, bool bytes,
                 const TrainingOptions::Files &constants);
  /// What the text has that was not told yet, readable: what a terminal takes for a command is
  /// escaped. A character that is not whole yet comes with its last byte, or when it `isEnd`.
  std::string untold(bool isEnd);

  /// Continues the text by a token, on all processes by the same. Collective. `stop`: the signal
  /// by which this process was asked to; then one by which some process was, 0 = none.
  Status next(int &stop);

private:
  void findByShape(const ProgramView &program, const Program &forward);
  Status parsePrompt(const std::string &prompt);
  /// The logits behind token `last` of the window, and the greatest `stop`, on every process.
  Status readLogits(int64_t last, int &stop);
  int64_t choose(uint64_t position);

  weft_session &session;
  GenerationOptions options;
  double temperature = 0; // 0 = greedy
  bool bytes = false;
  const Port *tokens = nullptr, *logits = nullptr;
  int64_t batch = 0, sequence = 0, vocabulary = 0;
  int64_t rows = 0, numIds = 0; // that tokens are looked up in; below which they are chosen
  std::vector<int64_t> context;
  size_t told = 0;             // tokens of it
  std::vector<int64_t> window; // batch x sequence
  std::vector<char> input;     // the window as the port has it
  Processes processes;
  std::vector<double> row; // of logits, and what stops
  std::vector<std::pair<double, int64_t>> ranked;
};

} // namespace weft::runtime

#endif // WEFT_RUNTIME_LIB_SESSION_GENERATION_H
