// Small text files that flags name: plans, clusters, schedules, costs.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_LIB_DRIVER_TEXTFILE_H
#define WEFT_LIB_DRIVER_TEXTFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace weft::driver {

/// What is wrong about a file that a flag names: wrong input, not a wrong command line.
class FileError : public llvm::ErrorInfo<FileError, llvm::StringError> {
public:
  using ErrorInfo::ErrorInfo;
  static char ID;
};

/// "--plan 'p.textproto': line 3: ..."
llvm::Error fileError(llvm::StringRef flag, llvm::StringRef file, const llvm::Twine &wrong);

/// The text in a regular file of at most `mostBytes`: no endless one, and no pipe that nobody
/// writes to. Errors are FileErrors.
llvm::Expected<std::string> readText(llvm::StringRef flag, const std::string &file,
                                     uint64_t mostBytes = 1 << 20);

} // namespace weft::driver

#endif // WEFT_LIB_DRIVER_TEXTFILE_H
