// What the search found, judged by the compiler itself.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_CHOOSING_FINALISTS_H
#define WEFT_LIB_CHOOSING_FINALISTS_H

#include "weft/Choosing/Choose.h"

namespace weft::choosing {

/// Compiles layouts as a whole, and keeps what is best.
class Finalists {
public:
  /// Of a program at `graph`. `configured`: the same at `import` if its file says where its parts
  /// are, which is obeyed as far as a mesh has it; else null.
  Finalists(const Compilation &program, const Compilation *configured, const Question &question,
            Choice &choice)
      : program(program), configured(configured), question(question), choice(choice) {}

  /// Of what `choice.search` found, as many as must be: those that fit and those that do not, and
  /// the choice, if there is one. Notes by how much memory exceeded the account's in `scales`, and
  /// returns whether any of that is news. An error is a Failure (weft/Choosing/Failure.h), but for
  /// what the compiler refuses.
  llvm::Expected<bool> judge(planner::MemoryScales &scales);

private:
  std::vector<planner::Candidate> listed() const;
  bool isEnough(size_t judged, const planner::Candidate &next) const;
  bool mayWin(const planner::Candidate &next) const;
  bool isLarge() const;
  bool mayBeChosen(const Evaluation &evaluation) const;
  double measureOf(const Evaluation &of) const;
  /// What the compiler says of a candidate, as it was cut.
  struct Judgement {
    planner::Candidate candidate;
    std::optional<Evaluation> evaluation; ///< nothing if it is refused
    std::string refusal;
  };
  /// Whether seconds may be spent on an evaluation.
  using Deserves = llvm::function_ref<bool(const Evaluation &)>;
  class SecondAhead;
  llvm::Expected<bool> judge(llvm::ArrayRef<planner::Candidate> all, SecondAhead &second,
                             planner::MemoryScales &scales);
  llvm::Expected<Judgement> evaluateQuietly(planner::Candidate candidate, Deserves deserves) const;
  llvm::Expected<Judgement> evaluateAsCut(const planner::Candidate &candidate,
                                          Deserves deserves) const;
  void take(const planner::Candidate &candidate, Evaluation evaluation);
  void countTies();

  const Compilation &program;
  const Compilation *configured;
  const Question &question;
  Choice &choice;
  /// Those that fit and are as fast as the best of them.
  std::vector<std::pair<planner::Candidate, Evaluation>> equals;
};

} // namespace weft::choosing

#endif // WEFT_LIB_CHOOSING_FINALISTS_H
