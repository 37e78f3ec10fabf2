// Finds NCCL and its functions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/libraries/Nccl.h"

#include "device/cuda/Driver.h"
#include "device/cuda/libraries/Library.h"

using namespace weft::runtime;
using namespace weft::runtime::cuda;

static constexpr int kOldestVersion = 21800;

Status Nccl::load() {
  std::string tried;
  void *library = openLibrary({"libnccl.so.2"}, tried);
  if (!library)
    return Status::user("NCCL, which moves between the ranks' GPUs, cannot be opened (" + tried +
                        "); install NCCL 2.18 or newer, or set WEFT_CUDA_PATH to the folder with "
                        "libnccl.so.2, or let collectives go through memory of the host: --comm "
                        "inproc, tcp or mpi");
  Symbols symbols(library);
#define WEFT_FIND(NAME, SYMBOL, PARAMETERS) symbols.find(NAME, SYMBOL);
  WEFT_NCCL(WEFT_FIND)
#undef WEFT_FIND
  symbols.find(errorText, "ncclGetErrorString");
  symbols.find(lastError, "ncclGetLastError");
  if (const char *missing = symbols.missing())
    return Status::user(std::string("the NCCL that was found has no ") + missing +
                        "; Weft needs NCCL 2.18 or newer");
  WEFT_TRY(check(version(&foundVersion), "asking for its version"));
  if (foundVersion < kOldestVersion)
    return Status::user("the NCCL that was found is " + std::to_string(foundVersion / 10000) + "." +
                        std::to_string(foundVersion % 10000 / 100) + "; Weft needs 2.18 or newer");
  return {};
}

Status Nccl::open(const Nccl *&nccl) {
  static Nccl only;
  static const Status status = only.load();
  nccl = &only;
  return status;
}

Status Nccl::check(NcclResult result, const std::string &what) const {
  if (result == NcclSuccess)
    return {};
  const char *text = errorText(result), *detail = lastError(nullptr);
  std::string told = "NCCL failed at " + what + ": " +
                     (text ? text : "an error that it has no text for") + " (" +
                     std::to_string(int(result)) + ")";
  if (detail && *detail)
    told += std::string(", ") + detail;
  const Driver *driver = nullptr;
  if (result == NcclUnhandledCudaError && Driver::open(driver).ok())
    if (std::string shortage = driver->shortage(); !shortage.empty())
      return {StatusCode::DoesNotFit, told + shortage};
  // Whoever it lost is known better from the board (Judge.h).
  return {result == NcclRemoteError ? StatusCode::RankFailed : StatusCode::UserError, told};
}
