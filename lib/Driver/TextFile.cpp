// Reads them, within bounds.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TextFile.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace weft;
using namespace weft::driver;
namespace fs = llvm::sys::fs;

char FileError::ID;

llvm::Error driver::fileError(llvm::StringRef flag, llvm::StringRef file,
                              const llvm::Twine &wrong) {
  return llvm::make_error<FileError>(flag + " '" + file + "': " + wrong,
                                     llvm::inconvertibleErrorCode());
}

llvm::Expected<std::string> driver::readText(llvm::StringRef flag, const std::string &file,
                                             uint64_t mostBytes) {
  fs::file_status status;
  if (std::error_code code = fs::status(file, status))
    return fileError(flag, file, "cannot be read: " + code.message());
  if (!fs::is_regular_file(status) || status.getSize() > mostBytes)
    return fileError(flag, file,
                     "must be a regular file of at most " + llvm::Twine(mostBytes) + " bytes");
  auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/true);
  if (!buffer)
    return fileError(flag, file, "cannot be read: " + buffer.getError().message());
  return (*buffer)->getBuffer().str();
}
