// Finds cuBLASLt and its functions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device/cuda/libraries/CublasLt.h"

#include "device/cuda/Driver.h"
#include "device/cuda/libraries/Library.h"

using namespace weft::runtime;
using namespace weft::runtime::cuda;

CublasLt::~CublasLt() {
  if (handle)
    (void)destroy(handle);
}

Status CublasLt::open() {
  if (handle)
    return {};
  const Driver *driver = nullptr;
  WEFT_TRY(Driver::open(driver));
  int version = 0;
  WEFT_CUDA_TRY(*driver, driverVersion(&version), "asking for its version");
  // A library newer than the driver opens, and then fails.
  std::vector<std::string> names = {"libcublasLt.so.13", "libcublasLt.so.12"};
  if (version < 13000)
    std::swap(names[0], names[1]);
  std::string tried;
  void *library = openLibrary(names, tried);
  if (!library)
    return Status::user(
        "cuBLASLt, which computes the program's matrix products, cannot be opened (" + tried +
        "); install cuBLAS of CUDA 12 or 13, or set WEFT_CUDA_PATH to the "
        "folder with libcublasLt.so");
  Symbols symbols(library);
#define WEFT_FIND(NAME, SYMBOL, PARAMETERS) symbols.find(NAME, SYMBOL);
  WEFT_CUBLASLT(WEFT_FIND)
#undef WEFT_FIND
  symbols.find(statusName, "cublasLtGetStatusName");
  if (const char *missing = symbols.missing())
    return Status::user(std::string("the cuBLASLt that was found has no ") + missing +
                        "; Weft needs one of CUDA 12 or 13");
  return check(create(&handle), "starting it");
}

Status CublasLt::check(LtStatus status, const char *what) const {
  if (status == LtSuccess)
    return {};
  const char *name = statusName(status);
  StatusCode code = status == LtNoMemory ? StatusCode::DoesNotFit : StatusCode::UserError;
  return {code, std::string("cuBLASLt failed at ") + what + ": " +
                    (name ? name : "an error that it has no name for") + " (" +
                    std::to_string(int(status)) + ")"};
}
