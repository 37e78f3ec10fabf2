// Temporary files beside their targets, synced and renamed.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "weft/Support/OutputFile.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace weft;
using llvm::Error;
namespace fs = llvm::sys::fs;

static std::error_code lastError() { return std::error_code(errno, std::generic_category()); }

OutputFile::OutputFile() = default;
OutputFile::~OutputFile() { discard(); }

std::error_code OutputFile::endStream() {
  // The last bytes may be those that there is no place for; at an error that nobody has cleared a
  // stream ends the process with itself.
  path == "-" ? stream->flush() : stream->close();
  std::error_code code = stream->error();
  stream->clear_error();
  stream.reset();
  return code;
}

void OutputFile::discard() {
  if (stream)
    (void)endStream(); // who asked for it was told
  if (!temporary.empty())
    (void)fs::remove(temporary);
  temporary.clear();
  cleanup.reset();
}

Error OutputFile::fail(std::error_code code) {
  discard();
  return llvm::createStringError("cannot write '" + path + "': " + code.message());
}

Error OutputFile::open(llvm::StringRef wanted, bool isProgram) {
  path = wanted.str();
  target = path;
  if (path == "-") {
    stream = std::make_unique<llvm::raw_fd_ostream>(STDOUT_FILENO, /*shouldClose=*/false);
    return Error::success();
  }
  fs::file_status status;
  bool exists = !fs::status(path, status) && fs::exists(status);
  if (exists && fs::is_directory(status))
    return fail(std::make_error_code(std::errc::is_a_directory));
  std::error_code code;
  if (exists && !fs::is_regular_file(status)) {
    stream = std::make_unique<llvm::raw_fd_ostream>(path, code, fs::CD_OpenExisting, fs::FA_Write,
                                                    fs::OF_None);
    if (!code)
      return Error::success();
    stream.reset();
    return fail(code);
  }
  // A link stays one: what it leads to is replaced.
  llvm::SmallString<256> real;
  if (exists && !fs::real_path(path, real))
    target = real.str().str();
  if (exists && !fs::can_write(target))
    return fail(std::make_error_code(std::errc::permission_denied));
  llvm::SmallString<256> model(llvm::sys::path::parent_path(target));
  llvm::sys::path::append(model, "." + llvm::sys::path::filename(target) + ".%%%%%%%%.part");
  int descriptor = -1;
  for (int tries = 0; descriptor < 0 && tries < 16; ++tries) {
    llvm::SmallString<256> name;
    fs::createUniquePath(model, name, /*MakeAbsolute=*/false);
    temporary = name.str().str();
    descriptor =
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, isProgram ? 0777 : 0666);
    if (descriptor < 0 && errno != EEXIST)
      break;
  }
  if (descriptor < 0) {
    code = lastError();
    temporary.clear();
    return fail(code);
  }
  cleanup.emplace([name = temporary] { ::unlink(name.c_str()); });
  stream = std::make_unique<llvm::raw_fd_ostream>(descriptor, /*shouldClose=*/true);
  return Error::success();
}

/// Else a crash of the machine could leave the name without the bytes.
static std::error_code sync(const std::string &file) {
  int again = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (again < 0)
    return lastError();
  bool synced = ::fsync(again) == 0;
  std::error_code code = synced ? std::error_code() : lastError();
  ::close(again);
  return code;
}

Error OutputFile::prepare() {
  std::error_code code = endStream();
  if (!code && !temporary.empty())
    code = sync(temporary);
  return code ? fail(code) : Error::success();
}

Error OutputFile::commit() {
  if (stream)
    if (Error error = prepare())
      return error;
  if (!temporary.empty())
    if (std::error_code code = fs::rename(temporary, target))
      return fail(code);
  temporary.clear();
  cleanup.reset();
  return Error::success();
}

Error weft::checkOutput(llvm::StringRef path) {
  fs::file_status status;
  bool exists = !fs::status(path, status) && fs::exists(status);
  // Opening a pipe would end it for whoever reads there.
  if (path == "-" ||
      (exists && !fs::is_regular_file(status) && !fs::is_directory(status) && fs::can_write(path)))
    return Error::success();
  OutputFile file; // made and given up: what else could tell for sure?
  return file.open(path);
}

Error weft::flushStandardOutput() {
  llvm::outs().flush();
  if (!llvm::outs().has_error())
    return Error::success();
  Error lost = llvm::createStringError("cannot write the standard output: " +
                                       llvm::outs().error().message());
  llvm::outs().clear_error();
  return lost;
}
