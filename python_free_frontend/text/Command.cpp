// Converts files between the two forms of a model.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/text/Command.h"

#include "python_free_frontend/text/Omissions.h"
#include "python_free_frontend/text/TextReader.h"
#include "python_free_frontend/text/TextWriter.h"
#include "python_free_frontend/wire/ExternalFiles.h"
#include "python_free_frontend/wire/Prescan.h"
#include "weft/Support/OutputFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace weft::text {
namespace {

Error toText(MemoryBuffer &input, StringRef output, raw_ostream &os, Outcome &outcome) {
  std::string name = input.getBufferIdentifier().str() + ": ";
  // The scan bounds what a hostile file may cost before protobuf reads it.
  onnx::ScanLimits limits;
  limits.inlineBytes = UINT64_MAX;
  limits.anyNames = true; // quoted in the text
  onnx::Skeleton scanned;
  onnx::Model model;
  if (Error wrong = onnx::prescanModel(input.getBuffer(), limits, scanned))
    return createStringError(name + toString(std::move(wrong)));
  if (!model.ParseFromString(scanned.bytes))
    return createStringError(name + "protobuf cannot read the model; files above 2 GiB need "
                                    "external data");
  if (Error wrong = onnx::checkHoldsNoData(output, model, input.getBufferIdentifier()))
    return wrong;
  if (scanned.numUnknownFields)
    outcome.warnings.push_back(name + std::to_string(scanned.numUnknownFields) +
                               " fields are newer than our schema, left out; first " +
                               scanned.firstUnknownField);
  for (const std::string &omission : findOmissions(model))
    outcome.warnings.push_back(name + omission);
  if (Error wrong = writeText(model, os))
    return createStringError(name + toString(std::move(wrong)));
  return Error::success();
}

Error toModel(MemoryBuffer &input, StringRef output, raw_ostream &os) {
  Expected<onnx::Model> model = readText(input.getBuffer(), input.getBufferIdentifier());
  if (!model)
    return model.takeError();
  if (Error wrong = onnx::checkHoldsNoData(output, *model, input.getBufferIdentifier()))
    return wrong;
  std::string bytes;
  if (!model->SerializeToString(&bytes))
    return createStringError(input.getBufferIdentifier() +
                             ": the model exceeds protobuf's limit of 2 GiB; keep large tensors in "
                             "external data");
  os << bytes;
  return Error::success();
}

} // namespace

Expected<Outcome> runText(bool isToText, const std::string &input, const std::string &output) {
  auto buffer = MemoryBuffer::getFileOrSTDIN(input,
                                             /*IsText=*/false,
                                             /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createStringError("cannot read '" + input + "': " + buffer.getError().message());
  OutputFile file;
  if (sys::fs::equivalent(input, output))
    return createStringError("'" + output + "' is the input itself; name another file");
  if (Error error = file.open(output))
    return error;
  Outcome outcome;
  if (Error error = isToText ? toText(**buffer, output, file.os(), outcome)
                             : toModel(**buffer, output, file.os()))
    return error;
  if (Error error = file.commit())
    return error;
  return outcome;
}

} // namespace weft::text
