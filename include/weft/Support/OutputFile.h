// Files that appear under their names when they are complete, or not at all.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WEFT_SUPPORT_OUTPUTFILE_H
#define WEFT_SUPPORT_OUTPUTFILE_H

#include "weft/Support/OnInterrupt.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <memory>
#include <optional>
#include <string>

namespace weft {

/// Writes into a file beside the one that is wanted, which takes its name in
/// `commit`; whoever reads sees the old file or the new one. Without `commit`,
/// after an error or at a signal, nothing is left. "-" is the standard output,
/// and pipes and devices are written as they are.
class OutputFile {
public:
  OutputFile();
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;

  /// `isProgram`: it can be executed. Errors name the file.
  llvm::Error open(llvm::StringRef path, bool isProgram = false);

  llvm::raw_pwrite_stream &os() { return *stream; }

  /// Puts the file on the disk, under its temporary name; nothing can be written after that. Who
  /// commits several files prepares all of them before the first of them takes its name, so that a
  /// full disk leaves the old ones together.
  llvm::Error prepare();

  /// Puts the file on the disk, if `prepare` has not, and gives it its name.
  llvm::Error commit();

private:
  llvm::Error fail(std::error_code code);
  /// Writes what is left; what went wrong, then or before.
  std::error_code endStream();
  void discard();

  std::string path, target, temporary;
  std::unique_ptr<llvm::raw_fd_ostream> stream;
  std::optional<OnInterrupt> cleanup;
};

/// Whether `path` can be made: an error if its folder is not there or not
/// writable. Found out before work that would be lost.
llvm::Error checkOutput(llvm::StringRef path);

/// Puts what was printed on the standard output out; an error if some of it was
/// lost, as on a full disk.
llvm::Error flushStandardOutput();

} // namespace weft

#endif // WEFT_SUPPORT_OUTPUTFILE_H
