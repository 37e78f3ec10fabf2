// The files beside a model that hold elements of its tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/wire/ExternalFiles.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// Tensors stand in graphs, in attributes of nodes, in bodies of those, and in functions.
static void findLocations(const Message &message, llvm::StringSet<> &found) {
  if (message.GetDescriptor() == weft::onnx::Tensor::descriptor()) {
    for (const auto &entry : static_cast<const weft::onnx::Tensor &>(message).external_data())
      if (entry.key() == "location")
        found.insert(entry.value());
    return;
  }
  const google::protobuf::Reflection *fields = message.GetReflection();
  std::vector<const FieldDescriptor *> present;
  fields->ListFields(message, &present);
  for (const FieldDescriptor *field : present) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
      continue;
    if (!field->is_repeated()) {
      findLocations(fields->GetMessage(message, field), found);
      continue;
    }
    for (int i = 0; i < fields->FieldSize(message, field); ++i)
      findLocations(fields->GetRepeatedMessage(message, field, i), found);
  }
}

llvm::Error weft::onnx::checkHoldsNoData(llvm::StringRef output, const Model &model,
                                         llvm::StringRef path) {
  llvm::StringSet<> locations;
  findLocations(model, locations);
  for (llvm::StringRef location : locations.keys()) {
    llvm::SmallString<128> file(llvm::sys::path::parent_path(path));
    llvm::sys::path::append(file, location);
    if (llvm::sys::fs::equivalent(file, output))
      return llvm::createStringError("'" + output + "' holds weights of '" + path +
                                     "'; name another file");
  }
  return llvm::Error::success();
}
