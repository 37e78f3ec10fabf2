// Whether the flags that were given fit together.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Driver/Driver.h"
#include "weft/Sharding/Mesh.h"

using namespace weft;
using namespace weft::driver;

namespace {

std::string checkBatchAxes(const PhaseOptions &phases) {
  if (!phases.batchAxes)
    return "";
  if (phases.mesh.axes.empty())
    return "--batch-axes needs --mesh: it names axes of it";
  AxisList taken;
  for (const std::string &name : *phases.batchAxes) {
    AxisList axes = phases.mesh.resolve(name);
    if (axes.empty())
      return "--batch-axes: --mesh '" + toString(phases.mesh) + "' has no axis '" + name + "'";
    for (AxisId axis : axes)
      if (llvm::is_contained(taken, axis))
        return "--batch-axes names axis '" + phases.mesh.axes[axis].name + "' twice";
    llvm::append_range(taken, axes);
  }
  return "";
}

std::string checkExplain(const Options &options) {
  bool explains = options.explain != Explain::No;
  if ((explains || !options.report.empty()) && options.until < Phase::Sharded)
    return (explains ? "--explain" : "--report") +
           std::string(
               " needs what phase sharded decides; give --compile-to sharded or a later one");
  return "";
}

/// Two documents on the standard output are none.
std::string checkStandardOutput(const Options &options) {
  bool prints = options.until < Phase::Executable && !options.dryRun &&
                (!options.isGiven("-o") || options.output == "-");
  std::string first;
  for (auto [flag, isPrinted] :
       {std::pair<const char *, bool>{"--explain", options.explain != Explain::No},
        {"--report", options.report == "-"},
        {"--dump-schedule", options.dumpSchedule == "-"},
        {"--plot-schedule", options.plotSchedule == "-"},
        {"--write-devices", options.writeDevices == "-"},
        {"--compile-to", prints}}) {
    if (isPrinted && !first.empty())
      return first + " and " + flag + " would both write to the screen; " +
             (prints ? "write the program to a file with -o FILE, or nowhere with --dry-run"
                     : "give " + std::string(flag) + " a file");
    if (isPrinted)
      first = flag;
  }
  return "";
}

/// Whether the planner is asked, and can be.
std::string checkAuto(const Options &options) {
  if (!options.isAuto) {
    for (const GivenFlag &given : options.given)
      if (isOfQuestion(given.flag))
        return given.flag + " is for the planner: give --auto, too, or leave it out";
    return "";
  }
  if (options.isGiven("--mesh") || options.isOneProcess)
    return "--auto chooses the mesh, and --mesh is given; leave one out, or settle axes with "
           "--fix dp=2";
  if (!isModelFile(options.model))
    return "--auto plans for a model (*.onnx); '" + options.model + "' is none";
  if (!options.isGiven("--cluster"))
    return "--auto needs --cluster: devices and links to plan for";
  return "";
}

} // namespace

bool weft::driver::needsStages(llvm::StringRef flag) {
  return llvm::is_contained({"--stages", "--stage-costs", "--dump-schedule", "--plot-schedule"},
                            flag);
}

std::string weft::driver::checkStages(const Options &options) {
  if (options.isAuto || !stageAxisOf(options.compile.phases).empty())
    return "";
  for (const GivenFlag &given : options.given)
    if (given.flag == "--schedule" || needsStages(given.flag))
      return given.flag + " is for the stages of a pipeline, and there are none; cut the model " +
             "with --mesh pp=N, or leave " + given.flag + " out";
  return "";
}

std::string weft::driver::checkProgram(const Options &options) {
  if (std::string wrong = checkBatchAxes(options.compile.phases); !wrong.empty())
    return wrong;
  return checkTraining(options);
}

bool Options::isGiven(llvm::StringRef flag) const {
  return llvm::any_of(given, [&](const GivenFlag &one) { return one.flag == flag; });
}

std::string weft::driver::checkOptions(const Options &options, bool resumes) {
  if (options.model.empty())
    return "no model given; write weft-compile MODEL.onnx -o OUT, or --help";
  if (std::string wrong = checkAuto(options); !wrong.empty())
    return wrong;
  if (makesExecutable(options) && options.output == "-")
    return "-o - is for text, with --compile-to; an executable is a file";
  if (!resumes && !isModelFile(options.model))
    return "";
  if (std::string wrong = checkExplain(options); !wrong.empty())
    return wrong;
  if (std::string wrong = checkStandardOutput(options); !wrong.empty())
    return wrong;
  // Without --mesh the model may ask for one.
  if (!resumes && !options.compile.phases.mesh.axes.empty())
    if (std::string wrong = checkStages(options); !wrong.empty())
      return wrong;
  if (!options.writeDevices.empty() && options.until < Phase::Sharded)
    return "--write-devices needs the placements of phase sharded; give --compile-to sharded or a "
           "later one";
  if (!(options.dumpSchedule + options.plotSchedule).empty() && options.until < Phase::Staged)
    return std::string(options.dumpSchedule.empty() ? "--plot-schedule" : "--dump-schedule") +
           " needs the schedule of phase staged; give --compile-to staged or a later one";
  Options asked = options;
  // Any mesh that may be chosen.
  if (options.isAuto)
    asked.compile.phases.mesh = *Mesh::parse("dp=2");
  return checkProgram(asked);
}
