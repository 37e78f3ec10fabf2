// Finds cuDNN and its functions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/libraries/Cudnn.h"

#include "device/cuda/libraries/Library.h"

using namespace weft::runtime;
using namespace weft::runtime::cuda;

/// Those before have faults in attention: before 9.6 sums must be cleared first, 9.10.0 and 9.10.1
/// are wrong forward.
static constexpr size_t kOldestVersion = 91002;
/// Wrong within windows, by NVIDIA's release notes.
static constexpr size_t kFaultyVersion = 91400;

static std::string versionText(size_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

std::string Cudnn::versionName() const { return versionText(version()); }

Cudnn::~Cudnn() {
  if (handle)
    (void)destroy(handle);
}

Status Cudnn::open() {
  if (handle)
    return {};
  std::string tried;
  void *library = openLibrary({"libcudnn.so.9"}, tried);
  if (!library)
    return Status::user(
        "cuDNN, which computes the program's attention, cannot be opened (" + tried +
        "); install cuDNN 9, or set WEFT_CUDA_PATH to the folder with libcudnn.so.9, or compile "
        "the model with --attention decomposed");
  WEFT_TRY(load(library));
  return check(create(&handle), "starting it");
}

Status Cudnn::load(void *library) {
  Symbols symbols(library);
#define WEFT_FIND(NAME, SYMBOL, PARAMETERS) symbols.find(NAME, SYMBOL);
  WEFT_CUDNN(WEFT_FIND)
#undef WEFT_FIND
  symbols.find(version, "cudnnGetVersion");
  symbols.find(errorText, "cudnnGetErrorString");
  symbols.find(lastError, "cudnnGetLastErrorString");
  const std::string wanted = "; Weft needs cuDNN " + versionText(kOldestVersion) +
                             " or newer of cuDNN 9, but not " + versionText(kFaultyVersion);
  if (const char *missing = symbols.missing())
    return Status::user(std::string("the cuDNN that was found has no ") + missing + wanted);
  size_t found = version();
  if (found < kOldestVersion || found == kFaultyVersion)
    return Status::user("the cuDNN that was found is " + versionText(found) +
                        ", whose attention has faults" + wanted);
  return {};
}

Status Cudnn::check(DnnStatus status, const char *what) const {
  if (status == DnnSuccess)
    return {};
  const char *text = errorText(status);
  char detail[1024] = "";
  lastError(detail, sizeof detail);
  return Status::user(std::string("cuDNN failed at ") + what + ": " +
                      (text ? text : "an error that it has no text for") + " (" +
                      std::to_string(int(status)) + ")" +
                      (*detail ? std::string(", ") + detail : ""));
}
