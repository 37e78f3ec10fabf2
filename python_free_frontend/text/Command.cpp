// Converts files between the two forms of a model.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/text/Command.h"

#include "python_free_frontend/text/Omissions.h"
#include "python_free_frontend/text/TextReader.h"
#include "python_free_frontend/text/TextWriter.h"
#include "python_free_frontend/wire/Prescan.h"
#include "weft/Support/OutputFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;

namespace weft::text {
namespace {

Error toText(MemoryBuffer &input, raw_ostream &os) {
  std::string name = input.getBufferIdentifier().str();
  // The scan bounds what a hostile file may cost before protobuf reads it.
  onnx::ScanLimits limits;
  limits.inlineBytes = UINT64_MAX;
  onnx::Skeleton scanned;
  onnx::Model model;
  if (Error wrong = onnx::prescanModel(input.getBuffer(), limits, scanned))
    return createStringError(name + ": error: " + toString(std::move(wrong)));
  if (!model.ParseFromString(scanned.bytes))
    return createStringError(inconvertibleErrorCode(),
                             "%s: error: protobuf cannot read the model; files "
                             "above 2 GiB need external data",
                             name.c_str());
  if (scanned.numUnknownFields)
    errs() << name << ": warning: " << scanned.numUnknownFields
           << " fields are newer than our schema, left out; first " << scanned.firstUnknownField
           << "\n";
  for (const std::string &omission : findOmissions(model))
    errs() << input.getBufferIdentifier() << ": warning: " << omission << "\n";
  if (Error error = writeText(model, os))
    return createStringError(inconvertibleErrorCode(), "%s: error: %s",
                             input.getBufferIdentifier().str().c_str(),
                             toString(std::move(error)).c_str());
  return Error::success();
}

Error toModel(MemoryBuffer &input, raw_ostream &os) {
  Expected<onnx::Model> model = readText(input.getBuffer(), input.getBufferIdentifier());
  if (!model)
    return model.takeError();
  std::string bytes;
  if (!model->SerializeToString(&bytes))
    return createStringError(inconvertibleErrorCode(),
                             "%s: error: the model exceeds protobuf's limit of "
                             "2 GiB; keep large tensors in external data",
                             input.getBufferIdentifier().str().c_str());
  os << bytes;
  return Error::success();
}

int fail(const std::string &why) {
  errs() << "error: " << why << "\n";
  return 1;
}

} // namespace

int runText(bool isToText, const std::string &input, const std::string &output) {
  auto buffer = MemoryBuffer::getFileOrSTDIN(input,
                                             /*IsText=*/false,
                                             /*RequiresNullTerminator=*/false);
  if (!buffer)
    return fail("cannot read '" + input + "': " + buffer.getError().message());
  OutputFile file;
  if (sys::fs::equivalent(input, output))
    return fail("'" + output + "' is the input itself; name another file");
  if (Error error = file.open(output))
    return fail(toString(std::move(error)));
  if (Error error = (isToText ? toText : toModel)(**buffer, file.os())) {
    errs() << toString(std::move(error)) << "\n";
    return 1;
  }
  if (Error error = file.commit())
    return fail(toString(std::move(error)));
  return 0;
}

} // namespace weft::text
