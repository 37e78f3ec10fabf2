// Flags as questions, and errors as lines that name flags.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "AskPlanner.h"

#include "Report.h"
#include "passes/dist/stages/StageSchedule.h"
#include "weft/Choosing/Evaluate.h"
#include "weft/Choosing/Failure.h"
#include "weft/Cost/CostModel.h"
#include "weft/Pipeline/Generate.h"
#include "weft/Support/Nearest.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace weft;
using namespace weft::driver;
using choosing::Failure;
using choosing::NoMesh;
using planner::Role;

namespace {

std::string nameOfModel(const Options &options) {
  return llvm::sys::path::filename(options.model).str();
}

/// What is given and forbidden at once, or "".
std::string contradictionIn(const Options &options, const QuestionFlags &flags) {
  const PhaseOptions &phases = options.compile.phases;
  auto forbids = [&](const std::string &what) { return flags.forbidden.count(what) != 0; };
  auto tellOf = [](const std::string &given, const std::string &what) {
    return given + " asks for what --forbid " + what + " forbids; leave one of them out";
  };
  for (const auto &[axis, size] : flags.fixed)
    if (size > 1 && forbids(axis))
      return tellOf("--fix " + axis + "=" + std::to_string(size), axis);
  for (const GivenFlag &given : options.given) {
    std::string said = given.flag + " " + given.value;
    if (given.flag == "--zero" && phases.zero.stage > 0 && forbids("zero"))
      return tellOf(said, "zero");
    if (given.flag == "--recompute" && phases.recompute != Recompute::None && forbids("recompute"))
      return tellOf(said, "recompute");
    if (given.flag == "--sequence-parallel" && phases.sequenceParallel && forbids("sp"))
      return tellOf(said, "sp");
    if (given.flag == "--microbatches" && phases.microbatches > 1 && forbids("microbatches"))
      return tellOf(said, "microbatches");
    if (needsStages(given.flag) && forbids("pp"))
      return tellOf(given.flag, "pp");
  }
  return "";
}

int checkQuestion(ModuleOp program, const Options &options, const QuestionFlags &flags,
                  const Messages &messages) {
  FailureOr<CostModel> costs = costModelOf(program, Mesh());
  if (failed(costs))
    return messages.failed(/*compilerIsToBlame=*/false);
  if (flags.devices == 0)
    return tell("how many devices of cluster '" + costs->cluster().name + "'? give --devices N",
                Usage);
  int64_t fixed = 1;
  for (const auto &[axis, size] : flags.fixed)
    fixed *= std::min(size, int64_t(1) << 20); // three axes: no overflow
  if (flags.devices % fixed != 0)
    return tell("--fix fixes groups of " + std::to_string(fixed) +
                    " devices, which do not make the " + std::to_string(flags.devices) +
                    " of --devices; change one of them",
                Usage);
  if (options.isGiven("--batch-axes"))
    return tell("--batch-axes names axes of a mesh, which is to be chosen; leave it out, or ask "
                "about a mesh with --evaluate",
                Usage);
  if (std::string wrong = contradictionIn(options, flags); !wrong.empty())
    return tell(wrong, Usage);
  const std::string &schedule = options.compile.phases.schedule;
  std::string why;
  if (!options.isGiven("--schedule"))
    return Ok;
  if (dist::requestOf(schedule) != dist::ScheduleRequest::Named)
    return tell("--schedule: plans are made for schedules that have names, which searched ones and "
                "files have not; name one, such as zb-v, or leave it out",
                Usage);
  return pipeline::findSchedule(schedule, why) ? Ok : tell("--schedule: " + why, Usage);
}

/// What is given is obeyed.
planner::Space limitsOf(const Options &options, const QuestionFlags &flags) {
  const PhaseOptions &phases = options.compile.phases;
  planner::Space limits;
  if (options.isGiven("--microbatches"))
    limits.allowedMicrobatches = {phases.microbatches};
  if (options.isGiven("--zero"))
    limits.allowedZero = {int64_t(phases.zero.stage)};
  if (options.isGiven("--schedule"))
    limits.schedules = {phases.schedule};
  if (options.isGiven("--sequence-parallel"))
    limits.allowedSequenceParallel = {phases.sequenceParallel};
  if (options.isGiven("--recompute") && llvm::is_contained(kUniformRecompute, phases.recompute))
    limits.allowedRecompute = {phases.recompute};
  for (size_t role = 0; role < planner::kRoleCount; ++role) {
    if (auto fixed = flags.fixed.find(planner::nameOf(Role(role))); fixed != flags.fixed.end())
      limits.allowedSizes[role] = {fixed->second};
    if (flags.forbidden.count(planner::nameOf(Role(role))))
      limits.allowedSizes[role] = {1};
  }
  limits.isNeeded[size_t(Role::Stages)] =
      llvm::any_of(options.given, [](const GivenFlag &given) { return needsStages(given.flag); });
  if (flags.forbidden.count("zero"))
    limits.allowedZero = {0};
  if (flags.forbidden.count("recompute"))
    limits.allowedRecompute = {Recompute::None};
  if (flags.forbidden.count("sp"))
    limits.allowedSequenceParallel = {false};
  if (flags.forbidden.count("microbatches"))
    limits.allowedMicrobatches = {1};
  return limits;
}

choosing::Question questionOf(const Options &options, const QuestionFlags &flags) {
  choosing::Question question;
  question.model = nameOfModel(options);
  question.devices = flags.devices;
  question.wantsFewestDevices = flags.wantsFewestDevices;
  question.objective = flags.objective;
  question.limits = limitsOf(options, flags);
  if (flags.budget != 0)
    question.budget = flags.budget;
  question.top = flags.top;
  question.isExhaustive = flags.isExhaustive;
  return question;
}

std::string textOf(const std::optional<NoMesh::Nearest> &nearest) {
  if (!nearest)
    return "; leave it out, or ask about a mesh of yours with --evaluate";
  std::string mesh = "'" + nearest->mesh + "'", number = std::to_string(nearest->number);
  switch (nearest->change) {
  case NoMesh::Nearest::Change::AnySizes:
    return "; without --fix and --forbid there is " + mesh;
  case NoMesh::Nearest::Change::Devices:
    return "; " + number + " devices have " + mesh;
  case NoMesh::Nearest::Change::Batch:
    return "; with a batch of " + number + " there is " + mesh;
  }
  llvm_unreachable("unknown change");
}

std::string textOf(const NoMesh &fault) {
  std::string text = "--place '" + fault.rule + "' splits over axis '" + fault.axis + "', which ";
  if (fault.kind == NoMesh::Axis::Stages)
    return text + "counts stages, and nothing is split over it; give dp or tp";
  text += "none of the meshes of " + std::to_string(fault.devices) +
          (fault.devices == 1 ? " device" : " devices") + (fault.orFewer ? " or fewer" : "");
  for (const std::string &axis : fault.needed)
    text += (&axis == &fault.needed.front() ? " with '" : ", '") + axis + "'";
  text += " has: " + listNames(fault.meshes);
  return text + (fault.kind == NoMesh::Axis::Absent
                     ? textOf(fault.nearest)
                     : "; give dp or tp, or ask about a mesh of yours with --evaluate");
}

int tellOf(const Failure &failure, const Compilation &program, const Messages &messages) {
  switch (failure.cause) {
  case Failure::Cause::Program:
    return messages.failed(program.compilerIsToBlame());
  case Failure::Cause::Schedule:
    return tell("--schedule: " + failure.text, Usage);
  case Failure::Cause::Transformer:
    return tell("--profile is of the training of a transformer: give --train, and a model with "
                "attention whose last product makes the logits",
                UserError);
  case Failure::Cause::Profile:
    return tell("--profile: " + failure.text, UserError);
  case Failure::Cause::Ours:
    return tell(failure.text, OurBug);
  }
  llvm_unreachable("unknown cause");
}

/// The answer, or an exit code, whose reason has been told.
template <typename Answer>
int take(llvm::Expected<Answer> found, Answer &answer, const Compilation &program,
         const Messages &messages) {
  int code = Ok;
  if (found)
    answer = std::move(*found);
  else
    llvm::handleAllErrors(
        found.takeError(),
        [&](const Failure &failure) { code = tellOf(failure, program, messages); },
        [&](const NoMesh &fault) { code = tell(textOf(fault), Usage); });
  return code;
}

} // namespace

int driver::choose(Compilation &program, const Options &options, const QuestionFlags &flags,
                   const Messages &messages, choosing::Choice &choice) {
  if (int code = checkQuestion(program.getModule(), options, flags, messages))
    return code;
  return take(choosing::choose(program, questionOf(options, flags)), choice, program, messages);
}

int driver::evaluate(Compilation &program, const PlanOptions &asked, const Messages &messages,
                     choosing::Evaluation &evaluation) {
  return take(choosing::evaluate(program, nameOfModel(asked.program),
                                 asked.profile ? &*asked.profile : nullptr),
              evaluation, program, messages);
}
