// The files beside a model that hold elements of its tensors.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/wire/ExternalFiles.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// Calls `visit` with each tensor in `message`, whatever holds it.
template <typename Part, typename Visit> static void eachTensor(Part &message, Visit visit) {
  constexpr bool kIsConst = std::is_const_v<Part>;
  if (message.GetDescriptor() == weft::onnx::Tensor::descriptor()) {
    visit(static_cast<std::conditional_t<kIsConst, const weft::onnx::Tensor, weft::onnx::Tensor> &>(
        message));
    return;
  }
  const google::protobuf::Reflection *fields = message.GetReflection();
  std::vector<const FieldDescriptor *> present;
  fields->ListFields(message, &present);
  for (const FieldDescriptor *field : present) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
      continue;
    int count = field->is_repeated() ? fields->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i)
      if constexpr (kIsConst)
        eachTensor<const Message>(field->is_repeated()
                                      ? fields->GetRepeatedMessage(message, field, i)
                                      : fields->GetMessage(message, field),
                                  visit);
      else
        eachTensor<Message>(field->is_repeated()
                                ? *fields->MutableRepeatedMessage(&message, field, i)
                                : *fields->MutableMessage(&message, field),
                            visit);
  }
}

std::vector<weft::onnx::Tensor *> weft::onnx::tensorsOf(Model &model) {
  std::vector<Tensor *> found;
  eachTensor<Message>(model, [&](Tensor &tensor) { found.push_back(&tensor); });
  return found;
}

llvm::Error weft::onnx::checkHoldsNoData(llvm::StringRef output, const Model &model,
                                         llvm::StringRef path) {
  llvm::StringSet<> locations;
  eachTensor<const Message>(model, [&](const Tensor &tensor) {
    for (const auto &entry : tensor.external_data())
      if (entry.key() == "location")
        locations.insert(entry.value());
  });
  for (llvm::StringRef location : locations.keys()) {
    llvm::SmallString<128> file(llvm::sys::path::parent_path(path));
    llvm::sys::path::append(file, location);
    if (llvm::sys::fs::equivalent(file, output))
      return llvm::createStringError("'" + output + "' holds weights of '" + path +
                                     "'; name another file");
  }
  return llvm::Error::success();
}
