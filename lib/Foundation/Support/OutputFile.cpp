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
namespace fs = llvm::sys::fs;

static std::error_code lastError() { return std::error_code(errno, std::generic_category()); }

OutputFile::OutputFile() = default;
OutputFile::~OutputFile() { discard(); }

void OutputFile::discard() {
  if (stream) {
    stream->clear_error(); // who asked for it was told
    stream.reset();
  }
  if (!temporary.empty())
    (void)fs::remove(temporary);
  temporary.clear();
  cleanup.reset();
}

bool OutputFile::fail(std::error_code code, std::string &error) {
  discard();
  error = "cannot write '" + path + "': " + code.message();
  return false;
}

bool OutputFile::open(llvm::StringRef wanted, std::string &error, bool isProgram) {
  path = wanted.str();
  target = path;
  if (path == "-") {
    stream = std::make_unique<llvm::raw_fd_ostream>(STDOUT_FILENO, /*shouldClose=*/false);
    return true;
  }
  fs::file_status status;
  bool exists = !fs::status(path, status) && fs::exists(status);
  if (exists && fs::is_directory(status))
    return fail(std::make_error_code(std::errc::is_a_directory), error);
  std::error_code code;
  if (exists && !fs::is_regular_file(status)) {
    stream = std::make_unique<llvm::raw_fd_ostream>(path, code, fs::CD_OpenExisting, fs::FA_Write,
                                                    fs::OF_None);
    return code ? fail(code, error) : true;
  }
  // A link stays one: what it leads to is replaced.
  llvm::SmallString<256> real;
  if (exists && !fs::real_path(path, real))
    target = real.str().str();
  if (exists && !fs::can_write(target))
    return fail(std::make_error_code(std::errc::permission_denied), error);
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
    return fail(code, error);
  }
  cleanup.emplace([name = temporary] { ::unlink(name.c_str()); });
  stream = std::make_unique<llvm::raw_fd_ostream>(descriptor, /*shouldClose=*/true);
  return true;
}

bool OutputFile::commit(std::string &error) {
  stream->flush();
  if (stream->has_error())
    return fail(stream->error(), error);
  if (temporary.empty()) {
    stream.reset();
    return true;
  }
  // Else a crash of the machine could leave the name without the bytes.
  int again = ::open(temporary.c_str(), O_WRONLY | O_CLOEXEC);
  if (again < 0)
    return fail(lastError(), error);
  bool synced = ::fsync(again) == 0;
  std::error_code code = synced ? std::error_code() : lastError();
  ::close(again);
  stream->close();
  if (!code && stream->has_error())
    code = stream->error();
  if (!code)
    code = fs::rename(temporary, target);
  if (code)
    return fail(code, error);
  temporary.clear();
  cleanup.reset();
  stream.reset();
  return true;
}

bool weft::writeOutput(llvm::StringRef path, llvm::StringRef bytes, std::string &error) {
  OutputFile file;
  if (!file.open(path, error))
    return false;
  file.os() << bytes;
  return file.commit(error);
}

bool weft::checkOutput(llvm::StringRef path, std::string &error) {
  fs::file_status status;
  bool exists = !fs::status(path, status) && fs::exists(status);
  // Opening a pipe would end it for whoever reads there.
  if (path == "-" ||
      (exists && !fs::is_regular_file(status) && !fs::is_directory(status) && fs::can_write(path)))
    return true;
  OutputFile file; // made and given up: what else could tell for sure?
  return file.open(path, error);
}

bool weft::flushStandardOutput(std::string &error) {
  llvm::outs().flush();
  if (!llvm::outs().has_error())
    return true;
  error = "cannot write the standard output: " + llvm::outs().error().message();
  llvm::outs().clear_error();
  return false;
}
