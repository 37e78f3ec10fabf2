// Checkpoints of the runtime as a source of weights.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CheckpointStore.h"

#include "weft/runtime/CheckpointFile.h"
#include "weft/runtime/Metadata.h"
#include "weft/runtime/Terminal.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using weft::runtime::CheckpointFile;

namespace weft {
namespace {

/// As the safetensors format names them, in the order of DType.
constexpr StringLiteral kTypes[] = {"F64", "F32", "BF16", "F16", "I8",  "I16", "I32",
                                    "I64", "U8",  "U16",  "U32", "U64", "BOOL"};
static_assert(std::size(kTypes) == runtime::kNumDTypes);

class CheckpointStore : public weights::TensorStore {
public:
  explicit CheckpointStore(std::unique_ptr<CheckpointFile> opened) : file(std::move(opened)) {
    for (size_t i = 0; i < file->tensors().size(); ++i) {
      const CheckpointFile::Tensor &tensor = file->tensors()[i];
      bool counter = tensor.name == runtime::kStepState;
      table[tensor.name] = {kTypes[unsigned(tensor.dtype)].str(), tensor.shape,
                            tensor.optimizer || counter};
      index[tensor.name] = i;
    }
  }
  Error read(const std::string &name, std::string &bytes) override {
    size_t number = index.at(name);
    const CheckpointFile::Tensor &tensor = file->tensors()[number];
    uint64_t size = runtime::dtypeBytes(tensor.dtype);
    for (int64_t dim : tensor.shape)
      size *= uint64_t(dim);
    bytes.resize(size);
    runtime::Status status = file->read(number, bytes.data());
    return status.ok() ? Error::success()
                       : createStringError(inconvertibleErrorCode(), "%s", status.text().c_str());
  }

private:
  std::unique_ptr<CheckpointFile> file;
  std::map<std::string, size_t> index;
};

bool holdsCheckpoint(const std::string &path) {
  if (!sys::fs::is_directory(path))
    return false;
  if (sys::fs::exists(path + "/manifest.json"))
    return true;
  std::error_code code;
  for (sys::fs::directory_iterator entry(path, code), end; !code && entry != end;
       entry.increment(code))
    if (sys::path::filename(entry->path()).starts_with("step-"))
      return true;
  return sys::path::filename(path).starts_with("step-");
}

} // namespace

Expected<std::unique_ptr<weights::TensorStore>> openCheckpointStore(const std::string &path,
                                                                    int64_t step) {
  if (!holdsCheckpoint(path))
    return std::unique_ptr<weights::TensorStore>();
  std::unique_ptr<CheckpointFile> file;
  std::vector<std::string> warnings;
  runtime::Status status = CheckpointFile::open(path, step, file, warnings);
  if (!status.ok())
    return createStringError(inconvertibleErrorCode(), "%s", status.text().c_str());
  for (const std::string &warning : warnings)
    runtime::tellWarning("weft-translate", warning);
  errs() << runtime::messageText("reading " + file->path()) << '\n';
  return std::unique_ptr<weights::TensorStore>(std::make_unique<CheckpointStore>(std::move(file)));
}

} // namespace weft
