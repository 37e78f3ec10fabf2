// Reads whole tensors of a checkpoint without a session, for tools.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/runtime/CheckpointFile.h"

#include "checkpoint/CheckpointFolder.h"
#include "checkpoint/CheckpointReader.h"

using namespace weft::runtime;

class CheckpointFile::Implementation {
public:
  explicit Implementation(std::string path) : path(std::move(path)) {}

  std::string path;
  CheckpointManifest manifest;
  std::vector<Tensor> tensors;

  Status open(const CheckpointCandidate &candidate) {
    WEFT_TRY(candidate.status);
    WEFT_TRY(parseManifest(candidate.manifest, manifest));
    CheckpointReader reader(manifest, path);
    for (uint32_t i = 0; i < manifest.files.size(); ++i)
      WEFT_TRY(reader.check(i));
    for (const CheckpointManifest::Tensor &tensor : manifest.tensors)
      tensors.push_back({tensor.name, tensor.dtype, tensor.shape, tensor.optimizer});
    return {};
  }

  Status read(size_t index, char *target) const {
    const CheckpointManifest::Tensor &tensor = manifest.tensors[index];
    int64_t count = tensor.numElements();
    CheckpointReader reader(manifest, path);
    WantedElements wanted(tensor, tensor.dtype, target, count);
    for (const CheckpointManifest::Box &box : tensor.boxes)
      WEFT_TRY(wanted.take(reader, box, 0, 0, count));
    // Boxes have the right number of elements and do not overlap.
    return {};
  }
};

CheckpointFile::CheckpointFile(std::unique_ptr<Implementation> implementation)
    : implementation(std::move(implementation)) {}
CheckpointFile::~CheckpointFile() = default;

Status CheckpointFile::open(const std::string &path, int64_t step,
                            std::unique_ptr<CheckpointFile> &file,
                            std::vector<std::string> &warnings) {
  std::vector<CheckpointCandidate> candidates;
  WEFT_TRY(chooseCheckpoints(path, step, candidates));
  Status worst;
  for (CheckpointCandidate &candidate : candidates) {
    if (candidate.manifest.empty())
      candidate = inspectCheckpoint(candidate.path);
    auto made = std::make_unique<Implementation>(candidate.path);
    Status status = made->open(candidate);
    if (status.ok()) {
      file.reset(new CheckpointFile(std::move(made)));
      return {};
    }
    std::string text = "checkpoint '" + candidate.path + "' is damaged: " + status.text();
    worst = Status::user(worst.ok() ? text : worst.text() + "; " + text);
    warnings.push_back(text + "; it is passed over");
  }
  warnings.clear();
  return worst;
}

const std::string &CheckpointFile::path() const { return implementation->path; }
const CheckpointInfo &CheckpointFile::info() const { return implementation->manifest.info; }
const std::vector<CheckpointFile::Tensor> &CheckpointFile::tensors() const {
  return implementation->tensors;
}
Status CheckpointFile::read(size_t tensor, char *target) const {
  return implementation->read(tensor, target);
}
