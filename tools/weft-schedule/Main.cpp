// weft-schedule: makes, checks, compares and draws schedules of pipelines.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Report.h"

#include "weft/Pipeline/Check.h"
#include "weft/Pipeline/Plot.h"
#include "weft/runtime/FailedWrites.h"
#include "weft/runtime/OutputFile.h"
#include "weft/runtime/Terminal.h"

#include <cstdio>
#include <new>
#include <system_error>

using namespace weft;
using runtime::Status;
using runtime::StatusCode;

namespace {

Status write(const std::string &path, const std::string &text) {
  runtime::OutputFile file(path);
  WEFT_TRY(file.open());
  WEFT_TRY(file.write(text.data(), text.size()));
  return file.commit();
}

Status run(const schedule::Request &request) {
  WEFT_TRY(runtime::checkNotRead("-o", request.output, {request.file, request.costsFile}));
  WEFT_TRY(runtime::checkNotRead("--plot", request.plot, {request.file, request.costsFile}));
  schedule::Result result;
  WEFT_TRY(schedule::makeResult(request, result));
  if (!request.plot.empty())
    if (std::string wrong = pipeline::checkPicture(result.schedule); !wrong.empty())
      return {StatusCode::Usage, "--plot " + wrong};
  for (const std::string &remark : pipeline::remarks(result.schedule))
    runtime::tellWarning("weft-schedule", remark);
  if (!request.output.empty())
    WEFT_TRY(write(request.output, pipeline::writeSchedule(result.schedule)));
  if (!request.plot.empty())
    WEFT_TRY(write(request.plot, pipeline::plotSchedule(result.schedule, result.timing,
                                                        result.costs, schedule::titleOf(result))));
  if (request.json)
    return write("-", schedule::json(request, result));
  if (request.output != "-" && request.plot != "-")
    return write("-", schedule::summary(request, result));
  return {};
}

Status runOrSayWhatLacks(const schedule::Request &request) {
  try {
    return run(request);
  } catch (const std::bad_alloc &) {
    return Status::user("memory is not enough for so many ranks, chunks and microbatches");
  } catch (const std::system_error &error) {
    return Status::user(std::string("no thread can be started: ") + error.what() +
                        "; with --threads 1 none is");
  }
}

} // namespace

int main(int argc, char **argv) {
  runtime::surviveFailedWrites();
  schedule::Request request;
  Status status = schedule::parseRequest(std::vector<std::string>(argv + 1, argv + argc), request);
  if (status.ok() && !request.answer.empty())
    status = write("-", request.answer);
  else if (status.ok())
    status = runOrSayWhatLacks(request);
  if (!status.ok())
    runtime::tellError("weft-schedule", status.text());
  return int(status.code());
}
