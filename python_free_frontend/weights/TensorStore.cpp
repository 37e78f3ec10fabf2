// Tensors of .safetensors files.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "python_free_frontend/weights/TensorStore.h"

#include "python_free_frontend/builders/SafeTensors.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <algorithm>

using namespace llvm;
using weft::builders::SafeTensors;

namespace weft::weights {
namespace {

class SafetensorsStore : public TensorStore {
public:
  Error add(SafeTensors file) {
    for (const auto &[name, tensor] : file.tensors())
      if (!table.try_emplace(name, Entry{tensor.dtype, tensor.dims}).second)
        return createStringError(inconvertibleErrorCode(),
                                 "'%s' holds tensor '%s', which another of the "
                                 "files holds as well",
                                 file.path().c_str(), name.c_str());
    files.push_back(std::move(file));
    return Error::success();
  }
  Error read(const std::string &name, std::string &bytes) override {
    for (const SafeTensors &file : files)
      if (auto found = file.tensors().find(name); found != file.tensors().end())
        bytes = found->second.bytes.str();
    return Error::success();
  }

private:
  std::vector<SafeTensors> files;
};

Error listFolder(const std::string &path, std::vector<std::string> &files) {
  std::error_code code;
  size_t before = files.size();
  for (sys::fs::directory_iterator entry(path, code), end; !code && entry != end;
       entry.increment(code))
    if (sys::path::extension(entry->path()) == ".safetensors")
      files.push_back(entry->path());
  if (code)
    return createStringError(code, "cannot read '%s': %s", path.c_str(), code.message().c_str());
  if (files.size() == before)
    return createStringError(inconvertibleErrorCode(),
                             "there is neither a checkpoint nor a .safetensors "
                             "file in '%s'",
                             path.c_str());
  std::sort(files.begin() + before, files.end());
  return Error::success();
}

} // namespace

Expected<std::unique_ptr<TensorStore>> openSafetensors(const std::vector<std::string> &paths) {
  std::vector<std::string> files;
  for (const std::string &path : paths) {
    if (!sys::fs::is_directory(path))
      files.push_back(path);
    else if (Error error = listFolder(path, files))
      return std::move(error);
  }
  auto store = std::make_unique<SafetensorsStore>();
  for (const std::string &path : files) {
    Expected<SafeTensors> file = SafeTensors::open(path);
    if (!file)
      return file.takeError();
    if (Error error = store->add(std::move(*file)))
      return std::move(error);
  }
  return std::unique_ptr<TensorStore>(std::move(store));
}

} // namespace weft::weights
